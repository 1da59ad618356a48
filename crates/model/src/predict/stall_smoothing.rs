//! Removes the luck of stalls from open loads: it spreads a device's occasional stalls evenly over them. On
//! a virtual disk one visit in ten or twenty takes twice as long, and which load it hits is chance. So for
//! a load that was visited several times, the median visit is used, plus the average that stalls add to the
//! profile's loads. Reads and writes are separate, because a drive that collects its garbage delays them
//! differently.
//!
//! Rejected: medians alone, which predict a quiet device; weights by the inverse variance of each mean,
//! which favour the loads that met no stall; a share of each load's own excess (empirical Bayes), which
//! hardly ever exceeds its standard error; medians of three visits, which made errors of 8 % to 9 % on a
//! simulated device with stalls of its own.

use record::{Cell, Mix, OpKind};

/// Minimum number of loads for a common share.
const MIN_LOADS: usize = 8;
/// One load in this many, but at least one, is left out of the common share at each end: a visit that
/// stalled a hundred times longer than the others is an exception.
const TRIMMED: usize = 40;

/// The average that stalls add to reads and to writes of the profile's open loads, as shares of their
/// median visits; `None` if too few loads show it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StallSmoothing {
    added: [Option<f64>; 2],
}

impl StallSmoothing {
    pub(super) fn of(loads: &[(&Cell, &Mix)]) -> Self {
        let added = |op: OpKind| {
            let pairs = loads.iter().filter_map(|(cell, mix)| pair(cell, mix, op));
            let mut excesses: Vec<f64> = pairs.map(|(middle, mean)| mean / middle - 1.0).collect();
            if excesses.len() < MIN_LOADS {
                return None;
            }
            excesses.sort_by(f64::total_cmp);
            let trimmed = excesses.len().div_ceil(TRIMMED);
            let kept = &excesses[trimmed..excesses.len() - trimmed];
            Some(kept.iter().sum::<f64>() / kept.len() as f64)
        };
        Self { added: [OpKind::Read, OpKind::Write].map(added) }
    }

    /// Mean latencies of a load in nanoseconds: of all requests, and of reads and writes if known.
    pub(super) fn means(&self, cell: &Cell, mix: &Mix) -> (f64, [Option<f64>; 2]) {
        let of = |op: OpKind, measured: Option<f64>| match (
            self.added[op as usize],
            pair(cell, mix, op),
        ) {
            (Some(added), Some((middle, _))) => Some(middle * (1.0 + added)),
            _ => measured,
        };
        let all = cell.latency_ns.value;
        if let Some(op) = cell.workload.only_op() {
            let mean = of(op, None).unwrap_or(all);
            let mut by_op = [None; 2];
            by_op[op as usize] = Some(mean);
            return (mean, by_op);
        }
        let read = of(OpKind::Read, cell.read_latency_ns);
        let write = of(OpKind::Write, cell.write_latency_ns);
        let reads = mix.reads();
        let mean =
            read.zip(write).map_or(all, |(read, write)| reads * read + (1.0 - reads) * write);
        (mean, [read, write])
    }
}

/// Median visit and mean of an operation in a load; `None` if the load does not contain it, or has too few
/// visits.
fn pair(cell: &Cell, mix: &Mix, op: OpKind) -> Option<(f64, f64)> {
    let middle = cell.median_visit.as_ref()?;
    let of_op = mix.share(|class| class.op == op);
    let (middle, mean) = match op {
        _ if of_op >= 1.0 => (middle.latency_ns, cell.latency_ns.value),
        _ if of_op <= 0.0 => return None,
        OpKind::Read => (middle.read_latency_ns?, cell.read_latency_ns?),
        OpKind::Write => (middle.write_latency_ns?, cell.write_latency_ns?),
    };
    (middle > 0.0).then_some((middle, mean))
}
