//! Shows progress on standard error. A terminal gets a bar. Elsewhere, a line is printed when a phase begins
//! for the first time (trials of several phases may alternate) and every half minute.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use plan::session::{Display, ProgressLines, Shown};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Instant;

/// Columns of the phase (the longest is "write test file") and of the bar. Of 80 columns they leave 55,
/// enough for the remaining time and a cell with its depth.
const TEMPLATE: &str = "{prefix:15} {bar:8} {wide_msg}";
/// Steps of a bar.
const STEPS: u64 = 1_000;

/// The progress display of a command. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Progress(Rc<RefCell<Form>>);

#[derive(Debug)]
enum Form {
    Bar(ProgressBar),
    Lines(ProgressLines),
    /// The user wants no progress.
    Quiet,
}

impl Progress {
    /// A bar if standard error is a terminal, otherwise lines.
    pub(crate) fn new() -> Self {
        let form = match std::io::stderr().is_terminal() {
            _ if output::is_quiet() => Form::Quiet,
            true => Form::Bar(bar()),
            false => Form::Lines(ProgressLines::default()),
        };
        Self(Rc::new(RefCell::new(form)))
    }
}

/// A new bar that has not been drawn.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE);
    ProgressBar::new(STEPS).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl Display for Progress {
    fn show(&mut self, shown: &Shown<'_>) {
        match &mut *self.0.borrow_mut() {
            Form::Bar(bar) => {
                bar.set_prefix(shown.phase.to_owned());
                bar.set_message(report::escape(&shown.remark()));
                bar.set_position((shown.share.clamp(0.0, 1.0) * STEPS as f64) as u64);
            }
            Form::Lines(lines) => {
                if let Some(line) = lines.next(shown, Instant::now()) {
                    output::remark(&line);
                }
            }
            Form::Quiet => {}
        }
    }

    fn clear(&mut self) {
        // A finished bar is never drawn again, so later progress gets a new one.
        if let Form::Bar(shown) = &mut *self.0.borrow_mut() {
            shown.finish_and_clear();
            *shown = bar();
        }
    }
}
