//! What an open load of random requests would see at shares of the largest measured rate.
//!
//! The response time comes from the load-dependent model of [`crate::queueing`] on the depth
//! curve: Poisson arrivals, service rate mu(n) = X(n). M/M/1 with S = 1/X_max stands beside it with
//! its error, because many readers know it and it is what Friedman's method gives; on a device
//! that works in parallel it is wrong by construction.
//!
//! *The interval* answers: if the curve were measured again, what response time would be stated
//! for this share of its maximum? A parametric bootstrap (Efron and Tibshirani 1993, section 6.5):
//! each point of the curve is drawn anew from a normal with its own standard error, the maximum
//! and the response time at the share of it are computed again, and the middle 95 % of the results
//! is the interval. The rate follows the drawn maximum: at a *fixed* rate near saturation many
//! draws have no finite response time at all, and what a reader wants to know there is the error of
//! the maximum, which stands beside it with an interval of its own. The seed is fixed: the same
//! profile always gives the same interval. Rejected: the response with all rates at their low or
//! high ends, which takes all points to be wrong in the same direction at once.

use crate::queueing::{birth_death_response, mm1_response, service_rates};
use record::{DepthCurve, Estimate, Expectation};

/// The shares of the largest rate at which a response time is given.
pub const SATURATIONS: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// Curves drawn for an interval: its ends are then known to about 1 % of probability.
const DRAWS: usize = 400;

/// Where the random sequence starts.
const SEED: u64 = 0x6861_6c66_706f_7765;

/// A drawn rate is at least this share of the measured one: a rate cannot be negative.
const LEAST_DRAWN_SHARE: f64 = 0.05;

/// Response times at [`SATURATIONS`] of the curve's largest rate.
#[must_use]
pub fn expectations(curve: &DepthCurve) -> Vec<Expectation> {
    let measured: Vec<(u32, f64)> =
        curve.points.iter().map(|point| (point.depth, point.iops.value)).collect();
    let mut random = Random(SEED);
    let drawn: Vec<Vec<f64>> = (0..DRAWS).map(|_| drawn_rates(curve, &mut random)).collect();
    SATURATIONS
        .iter()
        .filter_map(|&saturation| expectation(curve, &service_rates(&measured), &drawn, saturation))
        .collect()
}

fn expectation(
    curve: &DepthCurve,
    rates: &[f64],
    drawn: &[Vec<f64>],
    saturation: f64,
) -> Option<Expectation> {
    let value_s = response_at(rates, saturation)?;
    let mm1_s = mm1_response(1.0 / curve.max_iops.value, saturation)?;
    let mut repeats: Vec<f64> =
        drawn.iter().filter_map(|rates| response_at(rates, saturation)).collect();
    repeats.sort_by(f64::total_cmp);
    let quantile = |p: f64| {
        let position = (p * (repeats.len().saturating_sub(1)) as f64) as usize;
        repeats.get(position).copied().unwrap_or(value_s)
    };
    // The running maximum makes draws a little faster than the curve: the interval must still
    // hold the value that is stated.
    let (low, high) = (quantile(0.025).min(value_s), quantile(0.975).max(value_s));
    let fewest_observations = curve.points.iter().map(|point| point.iops.n).min().unwrap_or(0);
    Some(Expectation {
        op: curve.op,
        bs_bytes: curve.bs_bytes,
        saturation,
        iops: saturation * curve.max_iops.value,
        response_ns: Estimate {
            value: value_s * 1e9,
            low: low * 1e9,
            high: high * 1e9,
            se: (high - low) / 2.0 / 1.96 * 1e9,
            n: fewest_observations,
        },
        mm1_response_ns: mm1_s * 1e9,
        mm1_error_rel: mm1_s / value_s - 1.0,
    })
}

/// Response time in seconds at a share of the last, which is the largest, service rate.
fn response_at(rates: &[f64], saturation: f64) -> Option<f64> {
    birth_death_response(rates, saturation * rates.last()?)
}

/// The curve as another measurement might have given it.
fn drawn_rates(curve: &DepthCurve, random: &mut Random) -> Vec<f64> {
    let points: Vec<(u32, f64)> = curve
        .points
        .iter()
        .map(|point| {
            let rate = point.iops.value + random.normal() * point.iops.se;
            (point.depth, rate.max(LEAST_DRAWN_SHARE * point.iops.value))
        })
        .collect();
    service_rates(&points)
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough for a few hundred draws.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A standard normal value by inversion; the middle of each of 2^52 cells, so never 0 or 1.
    fn normal(&mut self) -> f64 {
        let cell = (self.next() >> 12) as f64;
        stats::normal_quantile((cell + 0.5) / (1u64 << 52) as f64)
    }
}
