//! Computes throughput against request size, the half-power point, and the largest rates.
//!
//! A curve is one operation, pattern and depth over at least four sizes, with direct I/O. The half-power
//! point (Riedel, van Ingen, Gray 1997) is the smallest request that reaches half of the largest throughput
//! measured in this direction and pattern at any size and depth, because an advertised peak is rarely
//! known. The largest throughput is the largest point estimate, which is about one standard error too high.
//! The largest IOPS are those of [`Predictor::max_rate`], so that a check and a prediction agree.

use crate::Predictor;
use crate::characterise::rerun;
use record::{
    CacheMode, Cell, Limits, Locality, Mix, OpKind, Pattern, Profile, SizeCurve, SizePoint,
};
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

/// The largest rates of direct I/O to the whole area (the hit pattern measures a cache, not the device), as
/// another run would find them.
#[must_use]
pub fn limits(profile: &Profile) -> Limits {
    let predictor = Predictor::of_single_loads(profile);
    let rate = |op| {
        let mix = Mix::one(op, Locality::Random, smallest_random(&profile.cells, op)?);
        predictor.max_rate(&mix).ok()
    };
    let throughput = |op| {
        let whole_area = profile.cells.iter().filter(|cell| cell.workload.pattern != Pattern::Hit);
        let cell = fastest(whole_area.filter(|cell| direct(cell, op)))?;
        Some(rerun(profile, &cell.workload, &cell.bytes_per_s))
    };
    Limits {
        read_iops: rate(OpKind::Read),
        write_iops: rate(OpKind::Write),
        read_bytes_per_s: throughput(OpKind::Read),
        write_bytes_per_s: throughput(OpKind::Write),
    }
}

/// The smallest size of the random cells.
fn smallest_random(cells: &[Cell], op: OpKind) -> Option<u64> {
    let is_random = |cell: &&Cell| direct(cell, op) && cell.workload.pattern == Pattern::Random;
    cells.iter().filter(is_random).filter_map(only_size).min()
}

/// Whether a cell measured the device with requests of only this operation: direct I/O, with the device's
/// own cache on.
pub(crate) fn direct(cell: &Cell, op: OpKind) -> bool {
    cell.workload.cache == CacheMode::Device && cell.workload.only_op() == Some(op)
}

/// The cell with the largest throughput.
fn fastest<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<&'a Cell> {
    cells.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
}

/// The request size of a workload; `None` if it has several.
pub(crate) fn only_size(cell: &Cell) -> Option<u64> {
    match cell.workload.bs.as_slice() {
        [share] => Some(share.bytes.0),
        _ => None,
    }
}
