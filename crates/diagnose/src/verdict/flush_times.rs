//! Flushes that take longer than they should: what is known of them, and its sentences.
//!
//! The kernel counts flushes and their time apart from reads and writes, so a device whose flushes became
//! slower looks as fast as before in every other counter. `flushing` finds them.

use super::classes::Class;
use super::judgement::Number;
use super::odds::SLOW_FROM;
use crate::words::times;
use record::format_nanos;

/// Fewest flushes for a comparison, and the least share of the time in them that matters.
pub(super) const FLUSHES_MIN: f64 = 10.0;
pub(super) const MATTERS: f64 = 0.05;

/// Flushes of a segment that take, or may take, longer than they should.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowFlushes {
    pub(super) each_ns: f64,
    /// Time of a flush with as much to write out, behind as many requests; for a class, the longest usual one.
    pub(super) expected_ns: f64,
    pub(super) than: Than,
    /// Odds that they are slow.
    pub(crate) odds: f64,
}

/// What flushes are compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Than {
    /// A commit of the profile, with its time.
    Commit(f64),
    /// Flushes at another time of the recording, with their time.
    OtherTime(f64),
    Class(Class),
}

impl SlowFlushes {
    /// Whether they are more likely slow than not.
    pub(crate) fn is_likely(&self) -> bool {
        self.odds >= 1.0
    }

    /// Whether only the class of the device shows that they are slow.
    pub(crate) fn is_by_class(&self) -> bool {
        matches!(self.than, Than::Class(_))
    }

    /// What else could explain their time, and what decides.
    pub(crate) fn rival(&self) -> (&'static str, &'static str) {
        let because = match self.than {
            Than::Class(_) => {
                "Without a profile, only the usual flush time of such devices is known, not that \
                 of this one."
            }
            _ => "The flushes may have more to write out than the counters show.",
        };
        (because, "Run `halfpower check DIRECTORY` on the quiet device: it measures commits.")
    }

    pub(crate) fn sentence(&self) -> String {
        let takes = format!("Flushes of the device take {}", format_nanos(self.each_ns));
        let (usual_ns, what) = match self.than {
            Than::Commit(ns) => (ns, "of a whole commit in the profile"),
            Than::OtherTime(ns) => (ns, "at another time of this recording"),
            Than::Class(class) => {
                let (longest, name) = (format_nanos(self.expected_ns), class.name);
                return match class.is_unknown() {
                    true => format!(
                        "{takes}: a rotating disk may take that long, but it is too long for a \
                         flash drive, and the kind of this device is unknown"
                    ),
                    false => {
                        format!("{takes}; with these writes, at most {longest} is usual for {name}")
                    }
                };
            }
        };
        let more = match self.expected_ns >= SLOW_FROM * usual_ns {
            true => format!(
                " ({} with the data and requests of this load)",
                format_nanos(self.expected_ns)
            ),
            false => String::new(),
        };
        let (ratio, usual) = (times(self.each_ns / usual_ns), format_nanos(usual_ns));
        format!("{takes}, {ratio} the {usual} {what}{more}")
    }

    pub(crate) fn numbers(&self) -> Vec<Number> {
        let mut numbers = vec![("latency of a flush", self.each_ns, "ns")];
        numbers.extend(match self.than {
            Than::Commit(ns) => Some(("latency of a commit in the profile", ns, "ns")),
            Than::OtherTime(ns) => Some(("latency of a flush at another time", ns, "ns")),
            Than::Class(_) => None,
        });
        numbers.push(("expected with this load", self.expected_ns, "ns"));
        numbers
    }
}
