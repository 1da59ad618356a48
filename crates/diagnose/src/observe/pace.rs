//! Schedules the samples.
//!
//! Samples are due at multiples of the interval from the start, so a slow sample does not shift
//! later ones. Samples missed because the machine slept or stalled are not made up: the interval is
//! longer, and its recorded length shows that. Rejected: sleeping for one interval between samples,
//! which drifts by the cost of each sample.

use record::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest sleep before the stop flag is read again.
const NAP: Duration = Duration::from_millis(50);

/// The schedule of samples.
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

    /// Time until the next sample is due.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Marks a sample as taken. The next one is due at the next multiple in the future.
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

    /// Number of samples that were due but not taken.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Sleeps until the next sample is due. Returns `false` if `stop` was set in the meantime.
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
