//! Rate and latency against depth, the knee, and how deep is enough.
//!
//! A curve is made of the random cells of the smallest size with two depths or more, file-system
//! cache bypassed. The knee is the smallest depth from which no larger one gains the asked share
//! per doubling. It is compared with every larger depth, so that one low point cannot end the curve
//! early, and a gain must exceed the intervals, so that noise cannot prolong it. A curve that grew
//! up to its last depth has no knee. Rejected: the maximum of X/R, which has no parameter to reason
//! about, and curvature, which needs more points.
//!
//! The knee is for whoever waits for each request. Where it gives less than four fifths of the
//! largest rate (a knee at 8 with 65 % of the rate of depth 128 was seen), the smallest depth that
//! does is enough ([`enough`]): the one rule of a check and of a diagnosis ([`deep_enough`]).
//! Rejected: a share of the rate alone, which at nine tenths accepts queues three times as deep as
//! the knee, and at four fifths cuts a growing curve short.

use crate::size::{direct, only_size};
use record::{Cell, DepthCurve, DepthPoint, Estimate, OpKind, Pattern};
use std::collections::BTreeSet;

/// Gain per doubling of depth below which more depth does not pay. At 15 % a doubling multiplies
/// the latency by 2/1.15 = 1.74 (R = n/X), a poor trade for anyone.
pub const DEFAULT_KNEE_GAIN: f64 = 0.15;

/// Share of the largest rate that is enough for throughput.
const ENOUGH: f64 = 0.8;

const MIN_POINTS: usize = 2;

/// The rate at each depth, as [`enough`] takes them.
#[must_use]
pub fn rates(points: &[DepthPoint]) -> Vec<(f64, Estimate)> {
    points.iter().map(|point| (f64::from(point.depth), point.iops)).collect()
}

/// The curves that the cells hold: at most one per operation, reads first. `knee_gain` is a share,
/// normally [`DEFAULT_KNEE_GAIN`].
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
        // `max_by` takes the last of equals; from the deep end that is the smallest depth.
        let max = points.iter().rev().max_by(|a, b| a.iops.value.total_cmp(&b.iops.value))?;
        let (max_iops, max_depth) = (max.iops, max.depth);
        let knee = knee(&rates(&points), knee_gain).map(|index| points[index].depth);
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

/// The points of one request size by rising depth. Of two cells with the same depth (the same
/// product of jobs and requests per job) the first in the design counts.
pub(crate) fn depth_points(cells: &[&Cell], bs_bytes: u64) -> Vec<DepthPoint> {
    let mut points: Vec<DepthPoint> = cells
        .iter()
        .filter(|cell| only_size(cell) == Some(bs_bytes))
        .map(|cell| DepthPoint {
            depth: cell.workload.depth,
            iops: cell.iops,
            latency_ns: cell.latency_ns,
            p99_ns: cell.histogram.percentile(0.99),
            cpu_us_per_io: cell.cpu_us_per_io.value().map(|cost| cost.value),
        })
        .collect();
    // Stable, so that `dedup` keeps the first of equals.
    points.sort_by_cached_key(|point| point.depth);
    points.dedup_by_key(|point| point.depth);
    points
}

/// The smallest depth that is deep enough, as an index into depths with the rates that they give,
/// by rising depth: the knee, or a deeper one where that gives too little, or the last where the
/// rate grew up to there. `None` without depths.
#[must_use]
pub fn deep_enough(rates: &[(f64, Estimate)], knee_gain: f64) -> Option<usize> {
    let last = rates.len().checked_sub(1)?;
    let from = knee(rates, knee_gain).unwrap_or(last);
    Some(enough(rates, from))
}

/// The first index from `from` on that gives four fifths of the largest of these rates, as far as
/// their intervals tell, and never less than half of it; they come by rising depth.
#[must_use]
pub fn enough(rates: &[(f64, Estimate)], from: usize) -> usize {
    let most = rates.iter().map(|(_, rate)| rate).max_by(|a, b| a.value.total_cmp(&b.value));
    let gives = |rate: &Estimate| {
        most.is_none_or(|most| {
            let least = most.scaled(ENOUGH);
            let half = 0.5 * most.value;
            rate.value >= least.value || (rate.value >= half && !least.exceeds(rate))
        })
    };
    rates.iter().position(|(_, rate)| gives(rate)).unwrap_or(from).max(from)
}

fn knee(rates: &[(f64, Estimate)], knee_gain: f64) -> Option<usize> {
    let (_, candidates) = rates.split_last()?;
    candidates
        .iter()
        .enumerate()
        .position(|(index, from)| rates[index + 1..].iter().all(|to| !gains(from, to, knee_gain)))
}

/// Whether the rate at `to` exceeds that at `from` significantly and by the asked share for each
/// doubling of depth between them.
fn gains(from: &(f64, Estimate), to: &(f64, Estimate), knee_gain: f64) -> bool {
    let doublings = libm::log2(to.0 / from.0);
    let asked = libm::pow(1.0 + knee_gain, doublings);
    to.1.exceeds(&from.1) && to.1.value >= asked * from.1.value
}
