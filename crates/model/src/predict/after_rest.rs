//! What a request takes longer that finds the device at rest, by the lone reads of a profile.
//!
//! Between the rates that were measured it is a straight line over the logarithm of the rest, which
//! begins at none for the rest between two requests of a closed loop and ends at the longest one. Rests
//! between requests that come by chance are exponential, so it is averaged over these. Writes were not
//! measured alone: they are taken to wait for the same, and the error is as large as that.

use crate::curve::straight;
use record::{Estimate, LoneRead, Mix, NORMAL_95, OpKind};

/// The rest between two requests of a closed loop: a system call or two.
const BETWEEN_LOOPS_NS: f64 = 10_000.0;
/// Steps of the average over rests.
const STEPS: u32 = 32;

/// Rests and what they add.
#[derive(Clone, Debug, Default)]
pub(super) struct AfterRest {
    /// Logarithm of the rest in nanoseconds, what it adds, and the standard error of that; by rising
    /// rest.
    points: Vec<[f64; 3]>,
}

impl AfterRest {
    /// What these show.
    pub(super) fn new(lone: &[LoneRead]) -> Self {
        let point = |lone: &LoneRead| {
            let rest_ns = 1e9 / lone.rate_per_s.max(1) as f64 - lone.latency_ns.value;
            [libm::log(rest_ns.max(BETWEEN_LOOPS_NS)), lone.added_ns.value, lone.added_ns.se]
        };
        let mut points: Vec<[f64; 3]> = lone.iter().map(point).collect();
        if !points.is_empty() {
            points.insert(0, [libm::log(BETWEEN_LOOPS_NS), 0.0, 0.0]);
        }
        Self { points }
    }

    /// After rests of this mean length; `None` where no lone reads were measured.
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
        let (longer, se) = (mean(1)?, mean(2)?);
        let unknown = mix.share(|class| class.op == OpKind::Write) * longer / NORMAL_95;
        Some(Estimate::from_se(longer, libm::hypot(se, unknown), 1))
    }
}
