//! CLOCK_MONOTONIC through the vDSO: about 25 ns a reading where the kernel's clock source is the TSC.

use crate::Clock;
use record::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC: nanoseconds since boot, not counting suspension.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// Mean cost of one reading of `clock` in nanoseconds: the least of five runs of 2,000 readings,
/// since disturbances only ever add.
#[must_use]
pub fn clock_cost_ns(clock: &impl Clock) -> f64 {
    const READINGS: u32 = 2_000;
    let run = || {
        let start = clock.now();
        let mut last = start;
        for _ in 0..READINGS {
            last = clock.now();
        }
        last.since(start).0 as f64 / f64::from(READINGS)
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}
