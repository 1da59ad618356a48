//! Defines what the coordinator waits for, how long at most, and what the user sees of it.
//!
//! A sign of life shows that a program is running, not that it makes progress: a file system whose server
//! is gone blocks the thread that opens a file, and no other. So each step up to the begin of a trial has
//! its own time limit, which restarts only when the agent reports progress in the step.

use plan::session::{Display, Shown};
use std::time::{Duration, Instant};

/// Default time that an agent may be silent; it sends a sign of life each second.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a launcher may take to start its agent: a login with a slow name service takes many seconds.
const START_TIME: Duration = Duration::from_secs(60);
/// How long it may take to open and check targets.
const OPEN_TIME: Duration = Duration::from_secs(60);
/// How long a step may take that waits until data are written: writing the page cache of a large machine to
/// a slow disk takes minutes.
const WRITE_TIME: Duration = Duration::from_secs(600);
/// Shorter waits are not shown.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// Number of hosts that are named; the rest are only counted.
const NAMED: usize = 3;

/// A step that all agents complete before the next request.
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
    /// Name for display, at most 15 columns.
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    pub(crate) silence: Duration,
    pub(crate) start: Duration,
    pub(crate) open: Duration,
    pub(crate) write: Duration,
}

impl Deadlines {
    /// The default limits. If the user sets the time for silence, it also applies while an agent starts,
    /// which is silent too.
    pub(crate) fn new(silence: Option<Duration>) -> Self {
        Self {
            silence: silence.unwrap_or(SILENCE),
            start: silence.unwrap_or(START_TIME),
            open: OPEN_TIME,
            write: WRITE_TIME,
        }
    }

    /// The longest time that an agent may take for a step, or between two progress reports in it.
    pub(crate) fn of(&self, step: Step) -> Duration {
        match step {
            Step::Start => self.start,
            Step::Clocks => self.silence,
            Step::Open => self.open,
            Step::WriteFile | Step::Prepare | Step::Flush | Step::Begin => self.write,
        }
    }

    /// How long an agent may be silent during a step; during the start it cannot send anything yet.
    pub(crate) fn silence_in(&self, step: Step) -> Duration {
        if step == Step::Start { self.start } else { self.silence }
    }
}

/// Why an agent is given up that is alive.
pub(crate) fn late_text(step: Step, within: Duration) -> String {
    format!(
        "it is alive, but has made no progress with {1:?} for {0} s; check that machine for the \
         cause, such as a lost file server or a disk that does not respond (dmesg)",
        within.as_secs_f64(),
        step.name()
    )
}

/// A wait, shown to the user once it takes long.
pub(crate) struct Waiting {
    step: Step,
    begin: Instant,
    shown: bool,
}

impl Waiting {
    pub(crate) fn begin(step: Step) -> Self {
        Self { step, begin: Instant::now(), shown: false }
    }

    /// Shows which agents it still waits for, and the completed share of the step.
    pub(crate) fn show(&mut self, display: &mut dyn Display, names: &[&str], share: f64) {
        if self.begin.elapsed() < TOLD_AFTER || names.is_empty() {
            return;
        }
        self.shown = true;
        let waits_for = named(names);
        let (phase, waits_for) = (self.step.name(), waits_for.as_str());
        display.show(&Shown { phase, share, waits_for, ..Shown::default() });
    }

    pub(crate) fn end(&self, display: &mut dyn Display) {
        if self.shown {
            display.clear();
        }
    }
}

/// The first few names, and the number of the others.
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
