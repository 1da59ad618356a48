//! What an open load of random requests would see at shares of the largest measured rate.
//!
//! The response time comes from the load-dependent model of [`crate::queueing`] on the depth
//! curve: Poisson arrivals, service rate mu(n) = X(n). M/M/1 with S = 1/X_max stands beside it with
//! its error, because many readers know it and it is what Friedman's method gives; on a device
//! that works in parallel it is wrong by construction.
//!
//! *The curve* is the isotonic one of [`crate::monotone`], and the largest rate is its last: the mean
//! of a plateau, not its luckiest point.
//!
//! *The interval* is that of the response time at this share of the true maximum. A parametric
//! bootstrap (Efron and Tibshirani 1993, section 6.5): points are drawn around the fitted curve, each
//! with its standard error, fitted again, and the response time at the share of the drawn maximum is
//! computed again. The rate follows the drawn maximum: at a *fixed* rate near saturation many draws
//! have no finite response time at all, and what a reader wants to know there is the error of the
//! maximum, which stands beside it with an interval of its own. Noise on a plateau can only make the
//! fitted curve climb further there, so draws are slower than the curve that they came from, and
//! the fit was slower than the truth by as much: times are compared as ratios, the value is divided
//! by the draws' median error, and the ends are taken both from that reflection (the basic
//! interval) and from the draws as they are (the percentile interval), whichever is wider. One alone
//! does not do: the percentile interval misses a flat plateau (coverage 46 to 60 % at 90 % of the
//! maximum), the basic one a curve that rises so slowly that its fit is flat (53 to 80 %).
//!
//! Where the ends are more than a factor of [`SPAN_MAX`] apart nothing is stated: near saturation
//! a curve that is known to a few per cent does not tell whether its end is flat or rises, and the
//! response time there hangs on that.
//!
//! Coverage at 25, 50, 75 and 90 % of the maximum, over flat, slowly rising and falling curves to depth
//! 256 with three or six visits of 2 to 5 % noise each: 92 to 100 %, and at most one measurement in
//! ten states what is not so (the tests hold it to that). Half-widths at 75 and 90 % where eight
//! requests are served at once: ±5 and ±22 % after three visits of 2 %, ±9 and ±45 % after six of
//! 5 %. A running maximum instead of the fit, drawn with standard errors that Student's t widens point
//! by point as if all were off at once, gives ±9 and ±44 % after three visits of 2 %, and ±37 and
//! ±186 % after three of 5 %.
//!
//! The seed is fixed: the same profile always gives the same interval. Rejected: the response with
//! all rates at their low or high ends, which takes all points to be wrong in the same direction at
//! once.

use crate::monotone::{Rate, isotonic, rates, up_to_the_best};
use crate::queueing::{birth_death_latency, mm1_response, service_rates};
use record::{DepthCurve, Estimate, Expectation, SATURATIONS};
use stats::SplitMix64;

/// Curves drawn for an interval: its ends are then known to about 1 % of probability.
const DRAWS: usize = 400;

/// Where the random sequence starts.
const SEED: u64 = 0x6861_6c66_706f_7765;

/// A drawn rate is at least this share of the measured one: a rate cannot be negative.
const LEAST_DRAWN_SHARE: f64 = 0.05;

/// Upper over lower end beyond which a response time is not stated: about ±60 %.
const SPAN_MAX: f64 = 3.0;

/// Response times at [`SATURATIONS`] of the curve's largest rate, as far as they are known.
#[must_use]
pub fn expectations(curve: &DepthCurve) -> Vec<Expectation> {
    let points = up_to_the_best(rates(&curve.points));
    let measured: Vec<f64> = points.iter().map(|point| point.rate).collect();
    let fitted = isotonic(&points, &measured);
    let mut random = SplitMix64::new(SEED);
    let drawn: Vec<Vec<f64>> =
        (0..DRAWS).map(|_| drawn_rates(&points, &fitted, &mut random)).collect();
    let rates = by_depth(&points, &fitted);
    let stated = |&saturation: &f64| expectation(curve, &rates, &drawn, saturation);
    SATURATIONS.iter().filter_map(stated).collect()
}

fn expectation(
    curve: &DepthCurve,
    rates: &[f64],
    drawn: &[Vec<f64>],
    saturation: f64,
) -> Option<Expectation> {
    let max_iops = *rates.last()?;
    let fitted_s = latency_at(rates, saturation)?;
    let mut repeats: Vec<f64> =
        drawn.iter().filter_map(|rates| latency_at(rates, saturation)).collect();
    repeats.sort_by(f64::total_cmp);
    let quantile = |p: f64| {
        let position = (p * (repeats.len().saturating_sub(1)) as f64) as usize;
        repeats.get(position).copied().unwrap_or(fitted_s)
    };
    let reflected = |drawn_s: f64| fitted_s * (fitted_s / drawn_s);
    let (first, last) = (quantile(0.025), quantile(0.975));
    let (low, high) = (first.min(reflected(last)), last.max(reflected(first)));
    let value_s = reflected(quantile(0.5));
    let mm1_s = mm1_response(1.0 / max_iops, saturation)?;
    let fewest_observations = curve.points.iter().map(|point| point.iops.n).min().unwrap_or(0);
    (high <= SPAN_MAX * low).then(|| Expectation {
        op: curve.op,
        bs_bytes: curve.bs_bytes,
        saturation,
        iops: saturation * max_iops,
        latency_ns: Estimate::spanning(value_s, low, high, fewest_observations).scaled(1e9),
        mm1_response_ns: mm1_s * 1e9,
        mm1_error_rel: mm1_s / value_s - 1.0,
    })
}

/// Response time in seconds at a share of the last, which is the largest, service rate.
fn latency_at(rates: &[f64], saturation: f64) -> Option<f64> {
    birth_death_latency(rates, saturation * rates.last()?)
}

/// Rates at the points' depths and between them.
fn by_depth(points: &[Rate], fitted: &[f64]) -> Vec<f64> {
    let pairs = points.iter().zip(fitted);
    service_rates(&pairs.map(|(point, &rate)| (point.depth, rate)).collect::<Vec<_>>())
}

/// The curve as a measurement of it might give it.
fn drawn_rates(points: &[Rate], fitted: &[f64], random: &mut SplitMix64) -> Vec<f64> {
    let draw = |(point, &rate): (&Rate, &f64)| {
        (rate + random.normal() * point.se).max(LEAST_DRAWN_SHARE * rate)
    };
    let drawn: Vec<f64> = points.iter().zip(fitted).map(draw).collect();
    by_depth(points, &isotonic(points, &drawn))
}
