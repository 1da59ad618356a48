//! Predicts the extra latency of a request that finds the device idle, from the isolated reads of a
//! profile.
//!
//! Between measured rates, the extra latency is linear in the logarithm of the idle time. The line begins
//! at zero, at the idle time between two requests of a closed loop, and ends at the longest measured idle
//! time. Idle times between random arrivals are exponential, so the extra latency is averaged over these.
//! Isolated writes were not measured. They are assumed to take the same extra time, with an error of the
//! same size.

use crate::curve::straight;
use record::{Estimate, LoneRead, Mix, OpKind};

/// Idle time between two requests of a closed loop: one or two system calls.
const BETWEEN_LOOPS_NS: f64 = 10_000.0;
/// Steps of the average over idle times.
const STEPS: u32 = 32;

/// Extra latency by idle time.
#[derive(Clone, Debug, Default)]
pub(super) struct AfterRest {
    /// Logarithm of the idle time in nanoseconds, the extra latency, and both ends of its interval, which are
    /// not negative; by rising idle time.
    points: Vec<[f64; 4]>,
}

impl AfterRest {
    pub(super) fn new(lone: &[LoneRead]) -> Self {
        let point = |lone: &LoneRead| {
            let rest_ns = 1e9 / lone.rate_per_s.max(1) as f64 - lone.latency_ns.value;
            let Estimate { value, low, high, .. } = lone.added_ns;
            [libm::log(rest_ns.max(BETWEEN_LOOPS_NS)), value, low.max(0.0), high]
        };
        let mut points: Vec<[f64; 4]> = lone.iter().map(point).collect();
        if !points.is_empty() {
            points.insert(0, [libm::log(BETWEEN_LOOPS_NS), 0.0, 0.0, 0.0]);
        }
        Self { points }
    }

    /// Extra latency for idle times of this mean; `None` without isolated reads.
    pub(super) fn longer_ns(&self, mix: &Mix, rest_ns: f64) -> Option<Estimate> {
        if self.points.is_empty() || !rest_ns.is_finite() {
            return None;
        }
        let share = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
        let mean = |of: usize| -> Option<f64> {
            let at = |step| {
                let rest_ns = (-libm::log1p(-share(step)) * rest_ns).max(1.0);
                straight(&self.points, libm::log(rest_ns), |it| it[0], |it| it[of])
            };
            Some((0..STEPS).map(at).sum::<Option<f64>>()? / f64::from(STEPS))
        };
        let (longer, low, high) = (mean(1)?, mean(2)?, mean(3)?);
        let unknown = mix.share(|class| class.op == OpKind::Write) * longer;
        let low = (longer - libm::hypot(longer - low, unknown)).max(0.0);
        Some(Estimate::spanning(longer, low, longer + libm::hypot(high - longer, unknown), 1))
    }
}
