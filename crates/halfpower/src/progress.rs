//! What is going on, on standard error: a bar on a terminal, elsewhere a line when a phase begins for
//! the first time (trials of several phases may take turns) and one each half minute.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use plan::session::{Display, ProgressLines, Shown};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Instant;

/// Columns of the phase, of which the longest is "write test file", and of the bar: of 80 columns
/// they leave 55, enough for the time left and a cell with its depth.
const TEMPLATE: &str = "{prefix:15} {bar:8} {wide_msg}";
/// Steps of a bar.
const STEPS: u64 = 1_000;

/// The one place of a command where it is shown: clones show in the same.
#[derive(Clone, Debug)]
pub(crate) struct Progress(Rc<RefCell<Form>>);

#[derive(Debug)]
enum Form {
    Bar(ProgressBar),
    Lines(ProgressLines),
    /// The user asked for nothing of it.
    Quiet,
}

impl Progress {
    /// For a terminal or a log, whichever standard error is.
    pub(crate) fn new() -> Self {
        let form = match std::io::stderr().is_terminal() {
            _ if output::is_quiet() => Form::Quiet,
            true => Form::Bar(bar()),
            false => Form::Lines(ProgressLines::default()),
        };
        Self(Rc::new(RefCell::new(form)))
    }
}

/// A bar that nothing has been drawn of.
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
        // A bar that is finished is never drawn again: what is shown later gets one of its own.
        if let Form::Bar(shown) = &mut *self.0.borrow_mut() {
            shown.finish_and_clear();
            *shown = bar();
        }
    }
}
