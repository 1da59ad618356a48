//! What agents are waited for, how long at most, and how people see that.
//!
//! A sign of life tells that a program is there, not that it comes to an end: a file system whose server is
//! gone keeps the thread that opens a file, and no other. So each step up to the begin of a trial has a
//! time of its own, which begins anew only where the agent tells that it has done a part of the step.

use plan::session::{Display, Shown};
use std::time::{Duration, Instant};

/// How long an agent may say nothing where the user does not say it: it gives a sign of life each second.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a launcher has to bring up its agent: a login with a slow name service takes many seconds.
const START_TIME: Duration = Duration::from_secs(60);
/// How long targets may take to be opened and looked at.
const OPEN_TIME: Duration = Duration::from_secs(60);
/// How long a step may take that waits until data are written: what the page cache of a large machine holds for a
/// slow disk takes minutes.
const WRITE_TIME: Duration = Duration::from_secs(600);
/// What takes less is not worth a line.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// Hosts that are named; of more it is said how many.
const NAMED: usize = 3;

/// What all agents are asked to do before they are asked anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Start,
    Clocks,
    Open,
    WriteFile,
    Prepare,
    Flush,
    Begin,
}

impl Step {
    /// As people read it, in at most 15 columns.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start agents",
            Self::Clocks => "compare clocks",
            Self::Open => "open targets",
            Self::WriteFile => "write test file",
            Self::Prepare => "prepare targets",
            Self::Flush => "flush",
            Self::Begin => "begin trial",
        }
    }
}

/// How long agents are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    /// An agent that says nothing at all.
    pub(crate) silence: Duration,
    pub(crate) start: Duration,
    pub(crate) open: Duration,
    pub(crate) write: Duration,
}

impl Deadlines {
    /// The usual ones. A time for silence that the user set holds from the start of the launcher on: an
    /// agent that does not come up says nothing either.
    pub(crate) fn new(silence: Option<Duration>) -> Self {
        Self {
            silence: silence.unwrap_or(SILENCE),
            start: silence.unwrap_or(START_TIME),
            open: OPEN_TIME,
            write: WRITE_TIME,
        }
    }

    /// The longest time that an agent may take for a step, or for a part of it that it tells of.
    pub(crate) fn of(&self, step: Step) -> Duration {
        match step {
            Step::Start => self.start,
            Step::Clocks => self.silence,
            Step::Open => self.open,
            Step::WriteFile | Step::Prepare | Step::Flush | Step::Begin => self.write,
        }
    }

    /// How long an agent may say nothing meanwhile: one that is being started cannot say anything yet.
    pub(crate) fn silence_in(&self, step: Step) -> Duration {
        if step == Step::Start { self.start } else { self.silence }
    }
}

/// Why an agent that gives signs of life is given up.
pub(crate) fn late_text(step: Step, within: Duration) -> String {
    format!(
        "it is alive, but has made no progress with {1:?} for {0} s; check that machine for the \
         cause, such as a lost file server or a disk that does not respond (dmesg)",
        within.as_secs_f64(),
        step.name()
    )
}

/// A wait that people see once it takes long.
pub(crate) struct Waiting {
    step: Step,
    begin: Instant,
    shown: bool,
}

impl Waiting {
    pub(crate) fn begin(step: Step) -> Self {
        Self { step, begin: Instant::now(), shown: false }
    }

    /// Shows for whom it still waits, and the share of the step that is done.
    pub(crate) fn show(&mut self, display: &mut dyn Display, names: &[&str], share: f64) {
        if self.begin.elapsed() < TOLD_AFTER || names.is_empty() {
            return;
        }
        self.shown = true;
        let waits_for = named(names);
        let (phase, waits_for) = (self.step.name(), waits_for.as_str());
        display.show(&Shown { phase, share, waits_for, ..Shown::default() });
    }

    /// Takes away what was shown.
    pub(crate) fn end(&self, display: &mut dyn Display) {
        if self.shown {
            display.clear();
        }
    }
}

/// The first of some names, and how many more there are.
fn named(names: &[&str]) -> String {
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_for_silence_holds_from_the_start_of_the_launcher_on() {
        let usual = Deadlines::new(None);
        assert_eq!(usual.silence_in(Step::Start), START_TIME);
        assert_eq!(usual.silence_in(Step::Open), SILENCE);
        for seconds in [3, 300].map(Duration::from_secs) {
            let set = Deadlines::new(Some(seconds));
            assert_eq!(set.of(Step::Start), seconds);
            assert_eq!(set.silence_in(Step::Start), seconds);
            assert_eq!(set.silence_in(Step::Open), seconds);
            assert_eq!(set.of(Step::Open), OPEN_TIME);
        }
    }

    #[test]
    fn of_many_hosts_the_first_are_named() {
        assert_eq!(named(&["a"]), "a");
        assert_eq!(named(&["a", "b", "c"]), "a, b, c");
        assert_eq!(named(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
