//! Rate and response time against depth, and where more depth stops paying.
//!
//! The curve of a direction is made of its random cells at the smallest request size that was
//! measured at two depths or more, with the file-system cache bypassed: small random requests are
//! where depth matters, because large or adjacent ones fill the path on their own.
//!
//! The knee is the smallest depth from which no larger measured depth gains the asked share per
//! doubling. Each candidate is compared with *every* larger depth (the gain to four times the
//! depth is spread over two doublings), so that one low point between cannot end the curve early,
//! and a gain counts only where the two rates differ by more than their intervals allow for, so
//! that noise on the plateau cannot prolong it. Where only the last depth qualifies, the curve
//! still grew and there is no knee. Rejected: the maximum of X/R ("power"), which has no parameter
//! that a user could reason about, and curvature of a smoothed curve, which needs more points than
//! a minute allows.

use crate::size::only_size;
use record::{CacheMode, Cell, DepthCurve, DepthPoint, Estimate, OpKind, Pattern};

/// Gain per doubling of depth below which more depth does not pay. At 15 % a doubling multiplies
/// the response time by 2/1.15 = 1.74 (R = n/X), a poor trade for anyone.
pub const DEFAULT_KNEE_GAIN: f64 = 0.15;

/// Fewest depths that make a curve.
const MIN_POINTS: usize = 2;

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
        .filter(|cell| {
            let workload = &cell.workload;
            workload.pattern == Pattern::Random
                && workload.cache == CacheMode::Device
                && workload.only_op() == Some(op)
        })
        .collect();
    let mut sizes: Vec<u64> = random.iter().filter_map(|cell| only_size(cell)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().find_map(|bs_bytes| {
        let points = depth_points(&random, bs_bytes);
        // `max_by` takes the last of equals; from the deep end that is the smallest depth.
        let max = points.iter().rev().max_by(|a, b| a.iops.value.total_cmp(&b.iops.value))?;
        let (max_iops, max_depth) = (max.iops, max.depth);
        let knee = knee(&points, knee_gain);
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
fn depth_points(cells: &[&Cell], bs_bytes: u64) -> Vec<DepthPoint> {
    let mut points: Vec<DepthPoint> = cells
        .iter()
        .filter(|cell| only_size(cell) == Some(bs_bytes))
        .map(|cell| DepthPoint {
            depth: cell.workload.depth,
            iops: cell.iops,
            response_ns: cell.response_ns,
            p99_ns: cell.histogram.percentile(0.99),
            cpu_us_per_io: cell.cpu_us_per_io.value().map(|cost| cost.value),
        })
        .collect();
    // Stable, so that `dedup` keeps the first of equals.
    points.sort_by_key(|point| point.depth);
    points.dedup_by_key(|point| point.depth);
    points
}

/// See the module's introduction.
fn knee(points: &[DepthPoint], knee_gain: f64) -> Option<u32> {
    let (_, candidates) = points.split_last()?;
    candidates
        .iter()
        .enumerate()
        .find(|(index, from)| points[index + 1..].iter().all(|to| !gains(from, to, knee_gain)))
        .map(|(_, point)| point.depth)
}

/// Whether the rate at `to` exceeds that at `from` significantly and by the asked share for each
/// doubling of depth between them.
fn gains(from: &DepthPoint, to: &DepthPoint, knee_gain: f64) -> bool {
    let doublings = libm::log2(f64::from(to.depth) / f64::from(from.depth));
    let asked = libm::pow(1.0 + knee_gain, doublings);
    exceeds(&to.iops, &from.iops) && to.iops.value >= asked * from.iops.value
}

/// Whether one estimate is above another by more than the 95 % interval of their difference.
fn exceeds(larger: &Estimate, smaller: &Estimate) -> bool {
    let se = (larger.se * larger.se + smaller.se * smaller.se).sqrt();
    larger.value - smaller.value > 1.96 * se
}
