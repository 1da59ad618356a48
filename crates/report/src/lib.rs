//! Renders records as text, in pure functions.
//!
//! A reader at a terminal is tired, has 80 columns and perhaps no colour, or reads a log file a
//! week later. Each page therefore gives the answer first and then its support, explains each
//! number next to it, and uses single-width characters. Nothing here computes a result: only
//! recorded values are printed, and the same record gives the same bytes. Rejected: a templating
//! language (most of the work is alignment, which templates do not do), and printing straight to
//! the terminal (pages could neither be compared in tests nor sent elsewhere).
//!
//! `number` formats values, `page` escapes, wraps and colours; most other modules render one kind
//! of document each.
#![forbid(unsafe_code)]

pub mod chart;
mod comparison;
mod cost_fit;
mod csv;
mod diagnosis;
mod finding;
mod fio_json;
mod fio_log;
mod fio_options;
mod fleet;
mod html;
mod issuers;
mod limits;
mod list;
mod number;
mod observation;
mod page;
mod papers;
mod path_map;
mod plot_files;
mod plots;
mod prediction;
mod profile;
mod requests;
mod saved;
mod set;
mod settings;
mod shared;
mod story;
mod sweep_script;
mod tables;
mod target;
mod trace;
mod traced;
mod trial;
mod validation;
mod view;
mod watch;
mod whatif;
mod zones;

pub use self::papers::papers;
pub use chart::CSV_HEADER;
pub use comparison::comparison;
pub use cost_fit::cost_fit;
pub use csv::{csv, diagnosis_csv, diagnosis_header, intervals_csv, intervals_header};
pub use diagnosis::{diagnosis, diagnosis_of};
pub use fio_json::{FioRun, fio_json};
pub use fio_log::{FioLogColumn, fio_log, is_fio_log_line};
pub use fleet::fleet;
pub use html::{HTML_HEAD, report_html};
pub use limits::limits;
pub use list::{
    capabilities_text, code_text, codes_text, experiment_list_text, kept_list_text,
    next_steps_text, preset_list_text, profile_list_text,
};
pub use observation::observation;
pub use page::{Tone, escape};
pub use plot_files::{PLOT_MARK, plot_files};
pub use prediction::prediction;
pub use profile::profile;
pub use requests::{requests, reuse};
pub use saved::stories;
pub use set::experiment;
pub use settings::{settings, settings_text};
pub use shared::shared;
pub use story::{
    Action, Alternative, BEFORE_CUTS, Badge, Block, Cell, Column, Cut, Fact, Level, Section, Side,
    Story, Table, capital, severity,
};
pub use sweep_script::{ScriptLine, sweep_script};
pub use tables::{BucketError, TABLES, TableFile, TrialTables, table_headers};
pub use target::target_text;
pub use trace::{
    TRACE_HEADER, TraceError, TraceLine, check_trace_comment, check_trace_line,
    check_trace_workload, read_trace, trace_line,
};
pub use trial::trial;
pub use validation::{predicted, validation};
pub use view::{findings_text, markdown, summary, terminal, tickets};
pub use watch::{
    PastMoment, SortBy, VerdictProbability, WatchData, WatchPlace, WatchRow, WatchVerdict,
    WatchView, watch_header, watch_line, watch_order, watch_place, watch_screen, watch_table,
};
pub use whatif::whatif;
pub use zones::zones;

/// The style of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to send colour codes to a terminal.
    pub color: bool,
    /// Columns of the terminal. Pages are 60 to 160 columns wide, and paragraphs at most 100.
    pub width: usize,
    /// Whether rows of tables may be wider than that. Otherwise they are truncated.
    pub whole_rows: bool,
    /// How much of a story to print.
    pub extent: Extent,
    /// Words that name the database in printed commands for a saved document, such as `--db FILE`;
    /// empty if these commands find it by themselves.
    pub database: &'static str,
}

/// How much of a story a terminal page has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The answer in one line.
    Line,
    /// The essential parts, on one screen. The parts left out are named.
    Short,
    /// Everything.
    #[default]
    Whole,
}

impl Default for Style {
    /// For a log file: no colour, 80 columns, everything.
    fn default() -> Self {
        Self { color: false, width: 80, whole_rows: false, extent: Extent::Whole, database: "" }
    }
}
