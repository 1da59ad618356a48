//! Computes throughput against request size, and the half-power point.
//!
//! A curve is one operation, pattern and depth over at least four sizes, with direct I/O. The half-power
//! point (Riedel, van Ingen, Gray 1997) is the smallest request that reaches half of the largest throughput
//! measured in this direction and pattern at any size and depth, because an advertised peak is rarely
//! known. The largest throughput is the largest point estimate, which is about one standard error too high.

use record::{CacheMode, Cell, OpKind, Pattern, SizeCurve, SizePoint};
use std::collections::BTreeSet;

const MIN_SIZES: usize = 4;

/// The curves in the cells: reads before writes, sequential before random, by rising depth.
#[must_use]
pub fn size_curves(cells: &[Cell]) -> Vec<SizeCurve> {
    let mut curves = Vec::new();
    for op in [OpKind::Read, OpKind::Write] {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let chosen: Vec<&Cell> = cells
                .iter()
                .filter(|cell| direct(cell, op) && cell.workload.pattern == pattern)
                .collect();
            let depths: BTreeSet<u32> = chosen.iter().map(|cell| cell.workload.depth).collect();
            let curve = |depth| size_curve(&chosen, op, pattern, depth);
            curves.extend(depths.into_iter().filter_map(curve));
        }
    }
    curves
}

/// One curve; `None` with too few sizes. `cells` are all of this operation and pattern.
fn size_curve(cells: &[&Cell], op: OpKind, pattern: Pattern, depth: u32) -> Option<SizeCurve> {
    let mut points: Vec<SizePoint> = cells
        .iter()
        .filter(|cell| cell.workload.depth == depth)
        .filter_map(|cell| {
            Some(SizePoint {
                bytes: only_size(cell)?,
                bytes_per_s: cell.bytes_per_s,
                iops: cell.iops,
                latency_ns: cell.latency_ns,
                cpu_us_per_io: cell.cpu_us_per_io.value().map(|cost| cost.value),
            })
        })
        .collect();
    // A stable sort: if two cells have one size, the first in the design is used.
    points.sort_by_cached_key(|point| point.bytes);
    points.dedup_by_key(|point| point.bytes);
    let most = fastest(cells.iter().copied())?.bytes_per_s;
    let half_of_max_bytes_per_s = most.value / 2.0;
    let half_power_bytes = points
        .iter()
        .find(|point| point.bytes_per_s.value >= half_of_max_bytes_per_s)
        .map(|point| point.bytes);
    (points.len() >= MIN_SIZES).then_some(SizeCurve {
        op,
        pattern,
        depth,
        points,
        half_of_max_bytes_per_s,
        half_power_bytes,
    })
}

/// Whether a cell measured the device with requests of only this operation: direct I/O, with the device's
/// own cache on.
pub(crate) fn direct(cell: &Cell, op: OpKind) -> bool {
    cell.workload.cache == CacheMode::Device && cell.workload.only_op() == Some(op)
}

/// The cell with the largest throughput.
pub(crate) fn fastest<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<&'a Cell> {
    cells.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
}

/// The request size of a workload; `None` if it has several.
pub(crate) fn only_size(cell: &Cell) -> Option<u64> {
    match cell.workload.bs.as_slice() {
        [share] => Some(share.bytes.0),
        _ => None,
    }
}
