//! When the next sample is due.
//!
//! Samples are due at multiples of the interval from the start, so a slow sample does not shift the
//! later ones. Samples that the machine missed, because it slept or stood still, are not made up
//! for: the interval is longer and says so. Rejected: sleeping for an interval between samples,
//! which drifts by the cost of each sample.

use record::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a sleep lasts before the stop flag is read again.
const NAP: Duration = Duration::from_millis(50);

/// When the next sample is due.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    due: Instant,
    missed: u64,
}

impl Pace {
    /// The first sample is due one interval from now.
    #[must_use]
    pub fn new(interval: Nanos) -> Self {
        let interval = Duration::from_nanos(interval.0);
        Self { interval, due: Instant::now() + interval, missed: 0 }
    }

    /// The time until the next sample is due.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// A sample is taken now: the next one is due at the next multiple in the future.
    pub fn step(&mut self) {
        let now = Instant::now();
        self.due += self.interval;
        if self.due <= now {
            let missed = (now - self.due).as_nanos() / self.interval.as_nanos().max(1) + 1;
            let missed = u32::try_from(missed).unwrap_or(u32::MAX);
            self.due += self.interval * missed;
            self.missed += u64::from(missed);
        }
    }

    /// Samples that were due and not taken so far.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Sleeps until the sample is due; `false` if `stop` was set meanwhile.
    pub fn wait(&mut self, stop: &AtomicBool) -> bool {
        while !stop.load(Ordering::Relaxed) {
            let left = self.left();
            if left.is_zero() {
                self.step();
                return true;
            }
            std::thread::sleep(left.min(NAP));
        }
        false
    }
}
