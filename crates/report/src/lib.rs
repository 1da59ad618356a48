//! Every rendering: pure functions from records to text.
//!
//! A reader at a terminal is tired, has 80 columns, may have no colour, and may be reading a log
//! file a week later. So each page gives the answer first, then what supports it; says what each
//! number means beside it; and uses glyphs that take one column. Nothing here computes a result:
//! what is printed was recorded, and the same record gives the same bytes. Rejected: a templating
//! language (alignment is the work here, and templates do not align), and printing straight to
//! the terminal (pages could be neither compared in tests nor sent elsewhere).
//!
//! `number` writes values, `page` escapes, wraps and paints, `table` aligns and draws bars;
//! the other modules are one page or one section each.
#![forbid(unsafe_code)]

pub mod chart;
mod comparison;
mod cost_fit;
mod diagnosis;
mod experiment;
mod finding;
mod html;
mod imported;
mod intervals;
mod limits;
mod list;
mod number;
mod page;
mod papers;
mod papers_html;
mod prediction;
mod profile;
mod quantities;
mod set;
mod settings;
mod story;
mod table;
mod target;
mod trace;
mod traced;
mod trial;
mod watch;
mod whatif;

pub use self::papers::papers_text;
pub use comparison::comparison_text;
pub use cost_fit::cost_fit_text;
pub use diagnosis::{DIAGNOSIS_CSV_HEADER, diagnosis_csv, diagnosis_text};
pub use experiment::{PresetRow, experiment_list_text, experiment_text, preset_list_text};
pub use finding::findings_text;
pub use html::{HTML_HEAD, report_html};
pub use imported::observation_text;
pub use intervals::{intervals_csv, intervals_header};
pub use limits::{limits_text, price_text, zones_text};
pub use list::{ProfileListRow, capabilities_text, next_steps_text, profile_list_text};
pub use page::escape;
pub use papers_html::papers_html;
pub use prediction::{foretold_text, prediction_text, validation_text};
pub use profile::profile_text;
pub use quantities::quantities_markdown;
pub use settings::settings_text;
pub use story::{
    Action, Fact, Kept, Sheet, Story, report_csv, report_csv_header, report_markdown, stories,
};
pub use target::target_text;
pub use trace::{
    TRACE_HEADER, TraceError, TraceLine, check_trace_comment, check_trace_line,
    check_trace_workload, read_trace, trace_line,
};
pub use trial::trial_text;
pub use watch::{
    PastMoment, SortBy, WATCH_COLUMNS, WATCH_KEYS, WatchData, WatchRow, WatchVerdict, WatchView,
    watch_header, watch_line, watch_order, watch_screen,
};
pub use whatif::whatif_text;

/// How a page is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to send colour codes to a terminal.
    pub color: bool,
    /// Columns of the terminal. Pages are at least 80 and at most 100 columns wide.
    pub width: usize,
}

impl Default for Style {
    /// For a log file: no colour, 80 columns.
    fn default() -> Self {
        Self { color: false, width: 80 }
    }
}
