//! The clock of real jobs: the processor's counter (TSC, CNTVCT) if it is proved reliable, otherwise the
//! kernel's monotonic clock.
//!
//! A job reads its clock twice per batch, and the counter costs less than the vDSO. The counter is used only
//! if all of these conditions hold:
//!
//! - the processor counts at the same rate in every power state ([`counter`]);
//! - the kernel itself uses it as its clock source, which it stops doing if counters differ between
//!   processors or drift from other timers;
//! - two consecutive calibrations, each by paired readings of both clocks, give the same rate.
//!
//! A pair is CLOCK_MONOTONIC read between two readings of the counter. The tightest of many pairs is used.
//! Its error is half the bracket (some 20 ns): about one part in a million of the rate over the 20 ms of the
//! calibration. Every [`JobClock::recheck`] takes another pair, checks that both clocks still agree, and
//! lengthens the base. After a minute, the error bound is below one in a thousand million. The origin is that
//! of CLOCK_MONOTONIC, so that deadlines passed to the kernel mean the same moment.
//!
//! Readings are ordered, as the kernel's are. Rejected: the kernel's conversion factors from the vDSO page or
//! from perf (private, or for another clock), CLOCK_MONOTONIC_RAW (another origin), and a table of offsets
//! per processor (the kernel has already rejected such machines).

use crate::counter::{self, count, invariant};
use crate::{Clock, MonotonicClock, platform};
use record::Nanos;
use std::time::Duration;

/// Length of each of the two consecutive calibrations.
const HALF: Duration = Duration::from_millis(10);
/// Number of brackets, of which the tightest is the pair.
const BRACKETS: u32 = 64;
/// Binary fraction digits of nanoseconds per count: enough for counters from 4 MHz.
const SHIFT: u32 = 56;
/// Maximum slew of CLOCK_MONOTONIC when the kernel follows a time server (adjtimex(2): 500 ppm), plus a
/// margin. Two reliable clocks can diverge at this rate after the last pair.
const SLEW_PPM: f64 = 600.0;
/// Minimum disagreement that counts. Below it, the scheduler may have run between the readings.
const FLOOR_NS: f64 = 200.0;
/// Maximum length of the calibration base. A longer one is restarted, so that the rate follows the kernel's.
const BASE_MAX_NS: u64 = 120_000_000_000;

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Pair {
    count: u64,
    time_ns: u64,
    /// Half of the bracket: the maximum error of the pair, in counts.
    error: u64,
}

impl Pair {
    fn take() -> Self {
        let mut best = Self { count: 0, time_ns: 0, error: u64::MAX };
        for _ in 0..BRACKETS {
            let before = count();
            let time_ns = MonotonicClock.now().0;
            let after = count();
            let error = after.saturating_sub(before).div_ceil(2);
            if error < best.error {
                best = Self { count: before + error, time_ns, error };
            }
        }
        best
    }

    /// Nanoseconds per count since an earlier pair; zero if no time has passed.
    fn rate_since(&self, earlier: &Self) -> f64 {
        let counts = self.count.saturating_sub(earlier.count).max(1);
        self.time_ns.saturating_sub(earlier.time_ns) as f64 / counts as f64
    }
}

/// A line through two pairs.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Start of the calibration base.
    first: Pair,
    /// Start of the line.
    anchor: Pair,
    /// Nanoseconds per count, times 2^[`SHIFT`].
    factor: u64,
}

impl Scale {
    fn new(first: Pair, anchor: Pair) -> Self {
        let factor = anchor.rate_since(&first) * (1u64 << SHIFT) as f64;
        Self { first, anchor, factor: factor as u64 }
    }

    #[inline]
    fn at(&self, count: u64) -> u64 {
        let counts = u128::from(count.saturating_sub(self.anchor.count));
        self.anchor.time_ns + ((counts * u128::from(self.factor)) >> SHIFT) as u64
    }

    fn ns(&self, counts: u64) -> f64 {
        counts as f64 * self.factor as f64 / (1u64 << SHIFT) as f64
    }

    /// Maximum error of the rate, in parts per million, from the errors of the pairs.
    fn bound_ppm(&self) -> f64 {
        let base = self.anchor.time_ns.saturating_sub(self.first.time_ns).max(1);
        self.ns(self.anchor.error + self.first.error) / base as f64 * 1e6
    }
}

/// The clock of real jobs. Its copies return the same time.
#[derive(Clone, Copy, Debug)]
pub struct JobClock {
    /// The counter's scale; `None` if CLOCK_MONOTONIC is used.
    counter: Option<Scale>,
}

impl JobClock {
    /// Calibrates the clock, which takes about 20 ms of sleep.
    #[must_use]
    pub fn calibrated() -> Self {
        let usable = invariant() && platform::counter_is_the_kernels();
        Self { counter: usable.then(calibrate).flatten() }
    }

    /// Takes another pair. If both clocks still agree, the line continues from there with a longer base. If
    /// they do not, the kernel's clock is used from now on. Call it before a run, while no job uses a copy,
    /// because time may step by the disagreement. Returns that disagreement (the counter's time minus the
    /// kernel's, in nanoseconds; 0 if the kernel's clock is in use).
    pub fn recheck(&mut self) -> f64 {
        let Some(scale) = self.counter else { return 0.0 };
        let pair = Pair::take();
        let error_ns = scale.at(pair.count) as f64 - pair.time_ns as f64;
        let elapsed_ns = pair.time_ns.saturating_sub(scale.anchor.time_ns);
        let sound = scale.ns(pair.error + scale.anchor.error)
            + elapsed_ns as f64 * (SLEW_PPM + scale.bound_ppm()) / 1e6;
        self.counter = if error_ns.abs() > sound.max(FLOOR_NS) {
            None
        } else if elapsed_ns < HALF.as_nanos() as u64 {
            Some(scale)
        } else {
            let long = pair.time_ns.saturating_sub(scale.first.time_ns) > BASE_MAX_NS;
            Some(Scale::new(if long { scale.anchor } else { scale.first }, pair))
        };
        error_ns
    }

    /// Name of the clock for documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.counter.is_some() { counter::NAME } else { platform::CLOCK_NAME }
    }
}

impl Clock for JobClock {
    #[inline]
    fn now(&self) -> Nanos {
        match &self.counter {
            Some(scale) => Nanos(scale.at(count())),
            None => MonotonicClock.now(),
        }
    }
}

/// Two consecutive calibrations that must agree within the error of their pairs.
fn calibrate() -> Option<Scale> {
    let first = Pair::take();
    std::thread::sleep(HALF);
    let middle = Pair::take();
    std::thread::sleep(HALF);
    let last = Pair::take();
    let scale = Scale::new(first, last);
    let halves = [middle.rate_since(&first), last.rate_since(&middle)];
    let ppm = (halves[1] / halves[0] - 1.0).abs() * 1e6;
    // The middle pair affects both halves, with opposite signs.
    let allowed_ns = scale.ns(first.error + 2 * middle.error + last.error);
    let allowed_ppm = allowed_ns / HALF.as_nanos() as f64 * 1e6 + 1.0;
    (ppm <= allowed_ppm && scale.factor > 0).then_some(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(count: u64, time_ns: u64) -> Pair {
        Pair { count, time_ns, error: 10 }
    }

    #[test]
    fn the_line_goes_through_both_pairs_and_on() {
        // 2.5 GHz: 0.4 ns per count.
        let scale = Scale::new(pair(1_000, 5_000), pair(50_001_000, 20_005_000));
        assert_eq!(scale.at(50_001_000), 20_005_000);
        let later = scale.at(50_001_000 + 25_000_000_000);
        assert!(later.abs_diff(10_020_005_000) <= 1, "{later}");
        assert!((scale.bound_ppm() - 0.4).abs() < 1e-6, "{}", scale.bound_ppm());
    }

    #[test]
    fn a_counter_that_left_the_kernels_clock_is_not_used_any_more() {
        let mut clock = JobClock::calibrated();
        let Some(scale) = clock.counter else { return };
        assert!(clock.recheck().abs() < 5_000.0 && clock.name() == counter::NAME, "{clock:?}");
        // A counter that has run 1 % too fast since an anchor a second ago.
        let mut early = scale;
        early.anchor.time_ns -= 1_010_000_000;
        early.anchor.count -= (1e9 / scale.ns(1)) as u64;
        early.first.time_ns -= 1_010_000_000;
        let mut planted = JobClock { counter: Some(early) };
        planted.recheck();
        assert_eq!(planted.name(), "CLOCK_MONOTONIC");
    }

    #[test]
    fn a_longer_base_bounds_the_rate_more_tightly() {
        let short = Scale::new(pair(0, 0), pair(50_000_000, 20_000_000));
        let long = Scale::new(pair(0, 0), pair(5_000_000_000, 2_000_000_000));
        assert!(long.bound_ppm() < short.bound_ppm() / 50.0);
    }
}
