//! Computes throughput against request size, the half-power point, and the largest rates.
//!
//! A curve is one operation, pattern and depth over at least four sizes, with direct I/O. The half-power
//! point (Riedel, van Ingen, Gray 1997) is the smallest request that reaches half of the largest throughput
//! measured in this direction and pattern at any size and depth, because an advertised peak is rarely
//! known. Maxima are the largest point estimates, which are about one standard error too high.

use record::{CacheMode, Cell, Estimate, Limits, OpKind, Pattern, SizeCurve, SizePoint};
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
    let most = largest(cells.iter().copied(), |cell| cell.bytes_per_s, |_, most| *most)?;
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

/// The largest rates among the direct I/O cells that cover the whole area (the hit pattern measures a
/// cache, not the device). `told` converts each cell's estimate into the reported one.
#[must_use]
pub fn limits(cells: &[Cell], told: impl Fn(&Cell, &Estimate) -> Estimate) -> Limits {
    let rate = |op| largest(largest_random(cells, op), |cell| cell.iops, &told);
    let throughput = |op| {
        let whole_area = cells.iter().filter(|cell| cell.workload.pattern != Pattern::Hit);
        largest(whole_area.filter(|cell| direct(cell, op)), |cell| cell.bytes_per_s, &told)
    };
    Limits {
        read_iops: rate(OpKind::Read),
        write_iops: rate(OpKind::Write),
        read_bytes_per_s: throughput(OpKind::Read),
        write_bytes_per_s: throughput(OpKind::Write),
    }
}

/// The random cells of the smallest size.
fn largest_random(cells: &[Cell], op: OpKind) -> impl Iterator<Item = &Cell> {
    let random = move || {
        cells
            .iter()
            .filter(move |cell| direct(cell, op) && cell.workload.pattern == Pattern::Random)
    };
    let smallest = random().filter_map(only_size).min();
    random().filter(move |cell| smallest.is_some() && only_size(cell) == smallest)
}

/// Whether a cell measured the device with requests of only this operation: direct I/O, with the device's
/// own cache on.
pub(crate) fn direct(cell: &Cell, op: OpKind) -> bool {
    cell.workload.cache == CacheMode::Device && cell.workload.only_op() == Some(op)
}

fn largest<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    estimate: impl Fn(&Cell) -> Estimate,
    told: impl Fn(&Cell, &Estimate) -> Estimate,
) -> Option<Estimate> {
    let found = cells.map(|cell| (cell, estimate(cell)));
    let (cell, most) = found.max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    Some(told(cell, &most))
}

/// The request size of a workload; `None` if it has several.
pub(crate) fn only_size(cell: &Cell) -> Option<u64> {
    match cell.workload.bs.as_slice() {
        [share] => Some(share.bytes.0),
        _ => None,
    }
}
