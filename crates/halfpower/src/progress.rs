//! What is going on, on standard error: a bar on a terminal, elsewhere a line per phase when it
//! begins for the first time (trials of several phases may take turns).

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use session::Display;
use std::collections::BTreeSet;
use std::io::IsTerminal;

/// Columns of the phase, of which the longest is "write test file", and of the bar: of 80 columns
/// they leave 55, enough for the time left and a cell with its depth.
const TEMPLATE: &str = "{prefix:15} {bar:8} {wide_msg}";
/// Steps of a bar.
const STEPS: u64 = 1_000;

#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Phases that were printed, where there is no bar.
    printed: BTreeSet<String>,
}

impl Progress {
    /// For a terminal or a log, whichever standard error is.
    pub(crate) fn new() -> Self {
        Self { bar: std::io::stderr().is_terminal().then(bar), printed: BTreeSet::new() }
    }
}

/// A bar that nothing has been drawn of.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE);
    ProgressBar::new(STEPS).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl Display for Progress {
    fn show(&mut self, phase: &str, share: f64, remark: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(phase.to_owned());
                bar.set_message(report::escape(remark));
                bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
            }
            None if self.printed.insert(phase.to_owned()) => {
                output::remark(&format!("{phase} ..."));
            }
            None => {}
        }
    }

    fn clear(&mut self) {
        // A bar that is finished is never drawn again: what is shown later gets one of its own.
        if let Some(shown) = &mut self.bar {
            shown.finish_and_clear();
            *shown = bar();
        }
    }
}
