//! Shows the progress of a command to the user.

use record::{Nanos, format_bytes};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Interval between two lines of a log.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Progress of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown<'a> {
    /// Name of the current phase.
    pub phase: &'a str,
    /// Completed share, 0 to 1.
    pub share: f64,
    /// Number of the current trial, from 1, and of all trials; `None` if not known in advance.
    pub trial: Option<(usize, usize)>,
    /// Remaining time, estimated from the parts so far; `None` if unknown.
    pub left: Option<Nanos>,
    /// What it is working on; may be empty.
    pub what: &'a str,
    /// Other machines that it waits for; empty if none.
    pub waits_for: &'a str,
}

/// From this duration on the remaining time counts as unknown: a run that ends by bytes has a limit of a
/// year, which it does not reach.
const UNKNOWN_FROM: Nanos = Nanos(30 * 86_400 * 1_000_000_000);

/// Remaining time in words.
fn told(left: Option<Nanos>) -> Option<String> {
    left.filter(|left| *left < UNKNOWN_FROM).map(|left| format!("{} left", duration(left)))
}

impl Shown<'_> {
    /// The remaining time, if known, followed by the current work or the machines that it waits for.
    #[must_use]
    pub fn remark(&self) -> String {
        let left = told(self.left).map(|left| format!("{left}  "));
        let mut remark = left.unwrap_or_default() + self.what;
        if !self.waits_for.is_empty() {
            remark.push_str("waiting for ");
            remark.push_str(self.waits_for);
        }
        remark
    }
}

/// A display for the progress of a command.
pub trait Display {
    /// Shows the progress.
    fn show(&mut self, shown: &Shown<'_>);

    /// Removes the progress display.
    fn clear(&mut self);
}

pub(crate) struct NoDisplay;

impl Display for NoDisplay {
    fn show(&mut self, _shown: &Shown<'_>) {}
    fn clear(&mut self) {}
}

/// A duration in seconds, minutes or hours: `48 min`.
#[must_use]
pub fn duration(time: Nanos) -> String {
    let seconds = time.as_secs_f64();
    let (seconds, minutes) = (seconds.ceil() as u64, (seconds / 60.0).round() as u64);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Shows the progress of the test files.
pub(crate) fn preparing(display: &mut dyn Display) -> impl FnMut(u64, u64) {
    let begin = Instant::now();
    move |done, total| {
        let share = done as f64 / total.max(1) as f64;
        let written = format!("{} of {}", format_bytes(done), format_bytes(total));
        // Below a twentieth the rate so far is not reliable.
        let left = (share > 0.05).then(|| {
            let left = begin.elapsed().as_secs_f64() / share * (1.0 - share);
            Nanos((left * 1e9) as u64)
        });
        let phase = "write test file";
        display.show(&Shown { phase, share, left, what: &written, ..Shown::default() });
    }
}

/// Progress lines for a log: one when a phase begins for the first time, and one every half minute.
#[derive(Debug, Default)]
pub struct ProgressLines {
    /// Phases that have begun.
    begun: BTreeSet<String>,
    /// When the last line was due.
    last: Option<Instant>,
}

impl ProgressLines {
    /// The line that is due now, if any.
    pub fn next(&mut self, shown: &Shown<'_>, now: Instant) -> Option<String> {
        let is_new = self.begun.insert(shown.phase.to_owned());
        let due = self.last.is_none_or(|last| now.saturating_duration_since(last) >= LINES_EVERY);
        if !is_new && !due {
            return None;
        }
        self.last = Some(now);
        let mut line = match shown.waits_for {
            "" => shown.phase.to_owned(),
            hosts => format!("waiting for {hosts}: {}", shown.phase),
        };
        line.extend(shown.trial.map(|(number, of)| format!(" {number} of {of}")));
        if is_new {
            return Some(line + " ...");
        }
        line.extend(told(shown.left).map(|left| format!(", {left}")));
        if shown.trial.is_none() && shown.left.is_none() {
            line.push_str(&format!(", {:.0} % done", 100.0 * shown.share.clamp(0.0, 1.0)));
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_the_unit_that_a_reader_waits_in() {
        let told = [400, 119_000, 120_000, 2_880_000, 7_200_000, 9_000_000]
            .map(|ms| duration(Nanos(ms * 1_000_000)));
        assert_eq!(told, ["1 s", "119 s", "2 min", "48 min", "2 h 0 min", "2 h 30 min"]);
    }

    /// The log lines for progress shown at these seconds.
    fn lines(shown: &[(u64, Shown<'_>)]) -> Vec<String> {
        let (mut lines, begin) = (ProgressLines::default(), Instant::now());
        let at = |second: &u64| begin + Duration::from_secs(*second);
        shown.iter().filter_map(|(second, shown)| lines.next(shown, at(second))).collect()
    }

    fn trial(number: usize, left_s: Option<u64>) -> Shown<'static> {
        let left = left_s.map(|seconds| Nanos(seconds * 1_000_000_000));
        Shown { phase: "trial", trial: Some((number, 288)), left, ..Shown::default() }
    }

    #[test]
    fn a_log_is_told_at_once_and_then_each_half_minute() {
        let shown = [
            (0, trial(1, None)),
            (1, trial(2, None)),
            (29, trial(11, Some(200))),
            (30, trial(12, Some(180))),
            (59, trial(20, Some(170))),
            (95, trial(40, Some(100))),
        ];
        let told =
            ["trial 1 of 288 ...", "trial 12 of 288, 3 min left", "trial 40 of 288, 100 s left"];
        assert_eq!(lines(&shown), told);
    }

    #[test]
    fn a_new_phase_is_told_when_it_begins_and_once() {
        let phase = |phase| Shown { phase, share: 0.25, ..Shown::default() };
        let shown = [(0, phase("matrix")), (1, phase("repeats")), (2, phase("matrix"))];
        assert_eq!(lines(&shown), ["matrix ...", "repeats ..."]);
        let shown = [(0, phase("matrix")), (31, phase("matrix"))];
        assert_eq!(lines(&shown), ["matrix ...", "matrix, 25 % done"]);
    }

    #[test]
    fn who_is_waited_for_is_told_once_with_what_for_and_again_where_it_lasts() {
        let wait = |waits_for| Shown { phase: "open targets", waits_for, ..Shown::default() };
        let shown = [(0, wait("a, b")), (1, wait("b")), (40, wait("b"))];
        let told = ["waiting for a, b: open targets ...", "waiting for b: open targets, 0 % done"];
        assert_eq!(lines(&shown), told);
        assert_eq!(wait("b").remark(), "waiting for b");
    }
}
