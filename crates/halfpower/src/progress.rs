//! What is going on, on standard error: a bar on a terminal, elsewhere a line per phase when it
//! begins for the first time (trials of several phases may take turns).

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use record::{Nanos, format_bytes};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Instant;

/// Columns of the phase, of which the longest is "write test file", and of the bar: of 80 columns
/// they leave 55, enough for the time left and a cell with its depth.
const TEMPLATE: &str = "{prefix:15} {bar:8} {wide_msg}";
/// Steps of a bar.
const STEPS: u64 = 1_000;

/// Progress of one command.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    phase: String,
    /// Phases that were said, where there is no bar.
    said: BTreeSet<String>,
    /// When the present phase began, for the time left.
    since: Instant,
}

impl Progress {
    /// For a terminal or a log, whichever standard error is.
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(STEPS);
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, phase: String::new(), said: BTreeSet::new(), since: Instant::now() }
    }

    /// Shows phase, share done (0 to 1) and a remark.
    pub(crate) fn show(&mut self, phase: &str, share: f64, remark: &str) {
        let changed = self.phase != phase;
        if changed {
            phase.clone_into(&mut self.phase);
            self.since = Instant::now();
        }
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(phase.to_owned());
                bar.set_message(report::escape(remark));
                bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
            }
            None if changed && self.said.insert(phase.to_owned()) => {
                output::say(&format!("halfpower: {phase} ..."));
            }
            None => {}
        }
    }

    /// Shows how far the test file is.
    pub(crate) fn preparing(&mut self, done: u64, total: u64) {
        let share = done as f64 / total.max(1) as f64;
        let written = format!("{} of {}", format_bytes(done), format_bytes(total));
        let elapsed = self.since.elapsed().as_secs_f64();
        // Before a twentieth is written, the rate so far says little.
        let remark = if share > 0.05 {
            format!("{:.0} s left  {written}", elapsed / share * (1.0 - share))
        } else {
            written
        };
        self.show("write test file", share, &remark);
    }

    /// Shows how far the measuring is.
    pub(crate) fn measuring(&mut self, phase: &str, what: &str, spent: Nanos, budget: Nanos) {
        let left = budget.since(spent).as_secs_f64();
        let share = spent.as_secs_f64() / budget.as_secs_f64().max(1e-9);
        self.show(phase, share, &format!("{left:.0} s left  {what}"));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
