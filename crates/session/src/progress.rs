//! How far a command is, for people who watch.

use record::{Nanos, format_bytes};
use std::time::Instant;

/// Where people see how far a command is.
pub trait Display {
    /// Shows phase, share done (0 to 1) and a remark.
    fn show(&mut self, phase: &str, share: f64, remark: &str);

    /// Takes away what was shown.
    fn clear(&mut self);
}

/// A display that nobody watches.
pub(crate) struct NoDisplay;

impl Display for NoDisplay {
    fn show(&mut self, _phase: &str, _share: f64, _remark: &str) {}
    fn clear(&mut self) {}
}

/// A time of seconds, minutes or hours: `48 min`.
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

/// A remark with the time left before it.
#[must_use]
pub fn remaining(left: Nanos, label: &str) -> String {
    format!("{} left  {label}", duration(left))
}

/// Shows how far the test files are.
pub(crate) fn preparing(display: &mut dyn Display) -> impl FnMut(u64, u64) {
    let begin = Instant::now();
    move |done, total| {
        let share = done as f64 / total.max(1) as f64;
        let written = format!("{} of {}", format_bytes(done), format_bytes(total));
        // Before a twentieth is written, the rate so far says little.
        let remark = if share > 0.05 {
            let left = begin.elapsed().as_secs_f64() / share * (1.0 - share);
            remaining(Nanos((left * 1e9) as u64), &written)
        } else {
            written
        };
        display.show("write test file", share, &remark);
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
}
