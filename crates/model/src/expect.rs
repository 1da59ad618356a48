//! Predicts the latency of an open load of random requests at shares of the largest measured rate, by the
//! load-dependent model of [`crate::queueing`] on the isotonic depth curve of [`crate::curve`]. M/M/1 with
//! S = 1/X_max is shown next to it with its error, because many readers know it. On a device that works in
//! parallel, M/M/1 is wrong by construction.
//!
//! The interval is a parametric bootstrap (Efron and Tibshirani 1993, section 6.5). Points are drawn around
//! the fitted curve and fitted again. Each draw is evaluated at the share of its own maximum, because at a
//! fixed rate near saturation many draws have no finite latency. Draws are slower than the curve that they
//! come from, so the value is divided by their median error. The ends are the wider of the basic and the
//! percentile interval: alone, the latter covers 46 to 60 % on a flat plateau at 90 %, the former 53 to 80
//! % on a slowly rising curve. Together they cover 92 to 100 % (tested at 25 to 90 %, noise of 2 to 5 %).
//! If the ends are more than [`SPAN_MAX`] apart, no latency is stated. The seed is fixed, so that a profile
//! always gives the same interval. Rejected: all rates at their low or high ends at once.

use crate::curve::{Rate, isotonic, rates, up_to_the_best};
use crate::queueing::{birth_death_latency, mm1_response, service_rates};
use record::{DepthCurve, Estimate, Expectation, SATURATIONS};
use stats::SplitMix64;

/// Curves drawn for an interval. With this number its ends are known to about 1 % of probability.
const DRAWS: usize = 400;
/// Seed of the random sequence.
const SEED: u64 = 0x6861_6c66_706f_7765;
/// Minimum of a drawn rate as a share of the fitted one: a rate cannot be negative.
const LEAST_DRAWN_SHARE: f64 = 0.05;
/// If the upper end exceeds the lower end by more than this factor, no latency and no knee is stated: about
/// ±60 %.
pub(crate) const SPAN_MAX: f64 = 3.0;

/// Latencies at [`SATURATIONS`] of the curve's largest rate, as far as they are known.
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

/// Latency in seconds at a share of the last service rate, which is the largest.
fn latency_at(rates: &[f64], saturation: f64) -> Option<f64> {
    birth_death_latency(rates, saturation * rates.last()?)
}

/// Service rates at every depth, interpolated between the points.
fn by_depth(points: &[Rate], fitted: &[f64]) -> Vec<f64> {
    let pairs = points.iter().zip(fitted);
    service_rates(&pairs.map(|(point, &rate)| (point.depth, rate)).collect::<Vec<_>>())
}

/// A random curve that a measurement might give.
fn drawn_rates(points: &[Rate], fitted: &[f64], random: &mut SplitMix64) -> Vec<f64> {
    let draw = |(point, &rate): (&Rate, &f64)| {
        (rate + random.normal() * point.se).max(LEAST_DRAWN_SHARE * rate)
    };
    let drawn: Vec<f64> = points.iter().zip(fitted).map(draw).collect();
    by_depth(points, &isotonic(points, &drawn))
}
