//! Computes rate and latency against queue depth, the knee, and the sufficient queue depth.
//!
//! A curve consists of the random cells of the smallest size with two depths or more, all with direct I/O.
//! The knee is the smallest depth that gives four fifths of the largest rate of the curve
//! ([`deep_enough`]). Checks, diagnoses and settings all use this rule. The errors of the rates do not move
//! the knee. They give the range of depths in which another check may find it. A curve that still grows at
//! its last depth has no known largest rate, and so no knee. Neither has a curve whose errors leave too many
//! depths open ([`SufficientIndex::is_undecided`]).
//!
//! Rejected: the smallest depth from which no deeper one gains a share per doubling, which stops at
//! the first flat piece of a curve (at 51 % of the largest rate, once) and at depth 1 where errors
//! exceed every gain; nine tenths of the rate, which takes queues three times as deep; the maximum
//! of X/R, which has no parameter to reason about; and curvature, which needs more points.

use crate::curve::moderated;
use crate::expect::SPAN_MAX;
use crate::size::{direct, only_size};
use record::{Cell, DepthCurve, DepthPoint, Estimate, OpKind, Pattern};
use std::collections::BTreeSet;

/// A curve still grows if its rate gains at least this share per doubling of the depth. At 15 % a doubling
/// multiplies the latency by 2/1.15 = 1.74 (R = n/X).
pub const DEFAULT_KNEE_GAIN: f64 = 0.15;

/// A knee is undecided if the largest depth that may be it exceeds the smallest by more than this factor.
const KNEE_SPAN_MAX: f64 = 16.0;

/// Share of the largest rate that is enough.
pub const ENOUGH_SHARE: f64 = 0.8;

const MIN_POINTS: usize = 2;

/// The sufficient depth or size, as an index into the measured ones in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SufficientIndex {
    /// The smallest that gives the requested share of the largest rate, or the last if the rate still
    /// grows.
    pub at: usize,
    /// The smallest that may give it, within the errors of the rates.
    pub least: usize,
    /// The smallest that gives it for certain, even with the errors.
    pub most: usize,
}

impl SufficientIndex {
    /// Whether the errors of the rates, those that this was computed from, leave depths open that span more
    /// than four doublings.
    #[must_use]
    pub fn is_undecided(&self, rates: &[(f64, Estimate)]) -> bool {
        rates[self.most].0 > KNEE_SPAN_MAX * rates[self.least].0
    }
}

/// The rate at each depth, as [`deep_enough`] takes them.
#[must_use]
pub fn rates(points: &[DepthPoint]) -> Vec<(f64, Estimate)> {
    points.iter().map(|point| (f64::from(point.depth), point.iops)).collect()
}

/// The curves in the cells: at most one per operation, reads first. `knee_gain` is a share, normally
/// [`DEFAULT_KNEE_GAIN`]: a curve whose last doubling still gains that share has no knee.
#[must_use]
pub fn depth_curves(cells: &[Cell], knee_gain: f64) -> Vec<DepthCurve> {
    [OpKind::Read, OpKind::Write]
        .into_iter()
        .filter_map(|op| depth_curve(cells, op, knee_gain))
        .collect()
}

fn depth_curve(cells: &[Cell], op: OpKind, knee_gain: f64) -> Option<DepthCurve> {
    let random: Vec<&Cell> = cells
        .iter()
        .filter(|cell| direct(cell, op) && cell.workload.pattern == Pattern::Random)
        .collect();
    let sizes: BTreeSet<u64> = random.iter().filter_map(|cell| only_size(cell)).collect();
    sizes.into_iter().find_map(|bs_bytes| {
        let points = depth_points(&random, bs_bytes);
        // `max_by` takes the last of equals. In reverse order, that is the smallest depth.
        let max = points.iter().rev().max_by(|a, b| a.iops.value.total_cmp(&b.iops.value))?;
        let (max_iops, max_depth) = (max.iops, max.depth);
        let rates = rates(&points);
        let enough = deep_enough(&rates, knee_gain)?;
        let decided = enough.at + 1 < points.len() && !enough.is_undecided(&rates);
        let knee = decided.then(|| points[enough.at].depth);
        (points.len() >= MIN_POINTS).then_some(DepthCurve {
            op,
            bs_bytes,
            points,
            knee,
            knee_gain,
            max_iops,
            max_depth,
        })
    })
}

/// The points of one request size by rising depth, whose rates have moderated errors ([`moderated`]). If two
/// cells have the same depth (the same product of
/// jobs and requests per job), the first in the design is used.
pub(crate) fn depth_points(cells: &[&Cell], bs_bytes: u64) -> Vec<DepthPoint> {
    let mut points: Vec<DepthPoint> = cells
        .iter()
        .filter(|cell| only_size(cell) == Some(bs_bytes))
        .map(|cell| DepthPoint {
            depth: cell.workload.depth,
            iops: cell.iops,
            latency_ns: cell.latency_ns,
            p99_ns: cell.percentile(0.99),
            cpu_us_per_io: cell.cpu_us_per_io.value().map(|cost| cost.value),
        })
        .collect();
    // Stable, so that `dedup` keeps the first of equals.
    points.sort_by_cached_key(|point| point.depth);
    points.dedup_by_key(|point| point.depth);
    let measured: Vec<Estimate> = points.iter().map(|point| point.iops).collect();
    for (point, rate) in points.iter_mut().zip(moderated(&measured)) {
        point.iops = rate;
    }
    points
}

/// The smallest sufficient depth, from rates by rising depth. `None` without depths.
#[must_use]
pub fn deep_enough(rates: &[(f64, Estimate)], knee_gain: f64) -> Option<SufficientIndex> {
    let last = rates.len().checked_sub(1)?;
    if still_grows(rates, knee_gain) {
        return Some(SufficientIndex { at: last, least: last, most: last });
    }
    let rates: Vec<Estimate> = rates.iter().map(|(_, rate)| *rate).collect();
    enough(&rates, ENOUGH_SHARE)
}

/// Whether a rate is so uncertain (about ±60 %) that it supports no recommendation.
#[must_use]
pub fn is_uncertain(rate: &Estimate) -> bool {
    rate.high > SPAN_MAX * rate.low
}

/// The smallest index that gives this share of the largest rate. `None` without rates. A largest rate that
/// is uncertain by ±60 % may be a lucky one, and leaves every index open.
#[must_use]
pub fn enough(rates: &[Estimate], share: f64) -> Option<SufficientIndex> {
    // `max_by` takes the last of equals. In reverse order, that is the smallest.
    let by_rate = |a: &usize, b: &usize| rates[*a].value.total_cmp(&rates[*b].value);
    let largest = (0..rates.len()).rev().max_by(by_rate)?;
    let asked = rates[largest].scaled(share);
    let uncertain = is_uncertain(&asked);
    let first = |gives: &dyn Fn(&Estimate) -> bool| {
        rates[..largest].iter().position(gives).unwrap_or(largest)
    };
    Some(SufficientIndex {
        at: first(&|rate| rate.value >= asked.value),
        least: if uncertain { 0 } else { first(&|rate| !asked.exceeds(rate)) },
        most: if uncertain { rates.len() - 1 } else { first(&|rate| rate.exceeds(&asked)) },
    })
}

/// Whether the last depth has the largest rate and gains the requested share per doubling over the one
/// before it, beyond their errors.
fn still_grows(rates: &[(f64, Estimate)], knee_gain: f64) -> bool {
    let [before @ .., last] = rates else { return false };
    let Some(nearest) = before.last() else { return false };
    let doublings = libm::log2(last.0 / nearest.0);
    let asked = libm::pow(1.0 + knee_gain, doublings) * nearest.1.value;
    let is_largest = before.iter().all(|(_, rate)| rate.value <= last.1.value);
    is_largest && last.1.exceeds(&nearest.1) && last.1.value >= asked
}
