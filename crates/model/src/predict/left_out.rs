//! Estimates the table's error for requests that were not measured (leave-one-out). Each inner size and
//! depth is left out in turn and predicted from the rest. A load between two measured ones gets half of
//! their errors. Its gap is half as wide, and the error of a straight line across a bend grows with the gap
//! or with its square. Only the neighbours count, so a distant knee widens nothing. A size above the
//! measured ones gets the error of the largest, predicted from the others, for each doubling. A size below
//! them takes the time and the error of the smallest.

use super::table::{Table, class_of};
use record::{Bytes, Cell, HistogramSnapshot, Locality, MixClass, NORMAL_95, OpKind, PERCENTILES};
use stats::Ordered;
use std::collections::BTreeSet;
use std::f64::consts::LN_2;

/// Width of a gap between measured points, divided by the gap when one of them is left out.
const NARROWER: f64 = 0.5;

/// Minimum standard error of a size above the measured range, as a logarithm for each doubling: another
/// limit may begin there.
const LEAST_PER_DOUBLING: f64 = 0.03;
/// Maximum of the same: the rate changes at most in proportion to the size.
const MOST_PER_DOUBLING: f64 = LN_2 / NORMAL_95;

/// Logarithms of predicted over measured rates of one kind of request.
#[derive(Clone, Debug)]
pub(super) struct Between {
    pub(super) op: OpKind,
    pub(super) locality: Locality,
    /// For each inner size that was left out, the root mean square over its depths.
    sizes: Vec<(u64, f64)>,
    /// The largest size, with the standard error for each doubling beyond it.
    largest: (u64, f64),
    /// For each size and depth that was left out.
    depths: Vec<(u64, u32, f64)>,
    /// Root mean square for percentiles over the mean, by their index in [`PERCENTILES`]: each depth
    /// against the nearest other depth of the same size.
    pub(super) tails: [Option<f64>; 3],
}

impl Between {
    /// Standard error, as a logarithm, of a rate at a size that was not measured.
    pub(super) fn size_se(&self, bytes: u64) -> f64 {
        let (largest, per_doubling) = self.largest;
        if bytes > largest {
            return per_doubling * doublings(largest, bytes);
        }
        let below = self.sizes.iter().filter(|it| it.0 < bytes).max_by_key(|it| it.0);
        let above = self.sizes.iter().filter(|it| it.0 > bytes).min_by_key(|it| it.0);
        NARROWER * rms(below.into_iter().chain(above).map(|it| it.1)).unwrap_or(0.0)
    }

    /// The same at a depth that was not measured, for a size with other depths.
    pub(super) fn depth_se(&self, bytes: u64, depth: f64) -> f64 {
        let of_size = || self.depths.iter().filter(|it| it.0 == bytes);
        let below = of_size().filter(|it| f64::from(it.1) < depth).max_by_key(|it| it.1);
        let above = of_size().filter(|it| f64::from(it.1) > depth).min_by_key(|it| it.1);
        let near = rms(below.into_iter().chain(above).map(|it| it.2));
        // A size with only two depths takes the error of its kind.
        let of_kind = || rms(self.depths.iter().map(|it| it.2));
        NARROWER * near.or_else(of_kind).unwrap_or(0.0)
    }
}

/// The errors of all kinds of requests in the cells.
pub(super) fn between(cells: &[Cell]) -> Vec<Between> {
    // The latency histogram is not needed here and is most of a cell's memory.
    let bare = |cell: &Cell| Cell { histogram: HistogramSnapshot::default(), ..cell.clone() };
    let known: Vec<(MixClass, Cell)> =
        cells.iter().filter_map(|cell| Some((class_of(&cell.workload)?, bare(cell)))).collect();
    let kinds: BTreeSet<(OpKind, Locality)> =
        known.iter().map(|(class, _)| (class.op, class.locality)).collect();
    let of_kind = |(op, locality): (OpKind, Locality)| {
        let own = || known.iter().filter(|it| (it.0.op, it.0.locality) == (op, locality));
        let sizes: BTreeSet<u64> = own().map(|it| it.0.bytes).collect();
        let sizes: Vec<u64> = sizes.into_iter().collect();
        let error = |bytes: u64| {
            let of_size =
                |it: &Known| (it.0.op, it.0.locality, it.0.bytes) == (op, locality, bytes);
            Some((bytes, rms(off(&known, &of_size).into_iter())?))
        };
        let inner = sizes.iter().skip(1).take(sizes.len().saturating_sub(2));
        let of_sizes = inner.filter_map(|&bytes| error(bytes));
        let largest = sizes[sizes.len() - 1];
        let next = sizes.iter().rev().nth(1);
        let of_largest = next.and_then(|next| Some(error(largest)?.1 / doublings(largest, *next)));
        // A single size is extrapolated to the middle between its time and its throughput.
        let each = of_largest.unwrap_or(MOST_PER_DOUBLING / 2.0);
        let largest = (largest, each.clamp(LEAST_PER_DOUBLING, MOST_PER_DOUBLING));
        let depth = |it: &Known| it.1.workload.depth;
        let deepest = own().map(depth).max().unwrap_or(1);
        let between = own().filter(|it| depth(it) > 1 && depth(it) < deepest);
        let of_depths = between.filter_map(|one| {
            let off = off(&known, &|it| std::ptr::eq(it, one));
            Some((one.0.bytes, depth(one), *off.first()?))
        });
        let cells = cells.iter().filter(|cell| {
            class_of(&cell.workload).is_some_and(|it| (it.op, it.locality) == (op, locality))
        });
        let cells: Vec<&Cell> = cells.collect();
        let tails = PERCENTILES.map(|share| rms(tails_off(&cells, share).into_iter()));
        let (sizes, depths) = (of_sizes.collect(), of_depths.collect());
        Between { op, locality, sizes, largest, depths, tails }
    };
    kinds.into_iter().map(of_kind).collect()
}

/// Distance between two sizes, in doublings.
fn doublings(one: u64, other: u64) -> f64 {
    libm::fabs(libm::log2(one as f64 / other as f64))
}

/// A cell with its class.
type Known = (MixClass, Cell);

/// Logarithms of predicted over measured rates of the cells that are left out.
fn off(known: &[Known], left_out: &dyn Fn(&Known) -> bool) -> Vec<f64> {
    let table = Table::new(known.iter().filter(|it| !left_out(it)).map(|it| &it.1));
    let ratio = |it: &Known| {
        let time = table.time_ns(&it.0, it.1.workload.depth as usize)?;
        Some(libm::log(1e9 / time / it.1.iops.value)).filter(|log| log.is_finite())
    };
    known.iter().filter(|it| left_out(it)).filter_map(ratio).collect()
}

/// Log ratios of a percentile (over the mean) at each depth to that at the nearest other depth.
fn tails_off(cells: &[&Cell], share: f64) -> Vec<f64> {
    let tail = |cell: &Cell| {
        let time = cell.percentile(share)?;
        Some(libm::log(time / cell.latency_ns.value)).filter(|log| log.is_finite())
    };
    let known = cells.iter().filter_map(|cell| {
        Some((cell.workload.max_bs(), f64::from(cell.workload.depth), tail(cell)?))
    });
    let known: Vec<_> = known.collect();
    let off = |one: &(Bytes, f64, f64)| {
        let others = known.iter().filter(|it| it.0 == one.0 && it.1.total_cmp(&one.1).is_ne());
        let far = |it: &&(Bytes, f64, f64)| Ordered(libm::fabs(libm::log(it.1 / one.1)));
        Some(one.2 - others.min_by_key(far)?.2)
    };
    known.iter().filter_map(off).collect()
}

fn rms(logs: impl Iterator<Item = f64>) -> Option<f64> {
    let squares: Vec<f64> = logs.map(|log| log * log).collect();
    (!squares.is_empty()).then(|| libm::sqrt(stats::mean(&squares)))
}
