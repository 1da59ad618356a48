//! Measures the cost of reading a clock, which every time measured by a job includes.

use crate::Clock;

/// Mean cost of one reading of `clock` in nanoseconds: the minimum of five runs of 2,000 readings, because
/// disturbances can only increase it.
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
