//! What open loads see of a device that stalls now and then, with the stalls spread evenly. On a
//! virtual disk one visit in ten or twenty takes twice as long, and which load it hits says nothing
//! of that load. So of a load that was visited several times the median visit is taken, plus what
//! stalls add to the profile's loads on average: reads and writes apart, because a drive that
//! collects its garbage keeps them waiting for different times.
//!
//! Rejected: medians alone, which predict a quiet device; weights by the inverse variance of each
//! mean, which favour the loads that met no stall; a share of each load's own excess (empirical
//! Bayes), which is hardly ever more than its standard error; medians of three visits, which made
//! errors of 8 % to 9 % on a simulated device with stalls of its own.

use record::{Cell, Mix, OpKind};

/// Loads without which a common share is not known.
const MIN_LOADS: usize = 8;
/// One load of so many, at least one, is left out of the common share at each end: a visit that
/// stalled a hundred times longer than the others is not the rule.
const TRIMMED: usize = 40;

/// What stalls add to reads and to writes of the profile's open loads, as shares of their median
/// visits; `None` where too few loads tell.
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

    /// Mean latencies of a load in nanoseconds: of all its requests, and of its reads and writes as
    /// far as they are known.
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

/// Median visit and mean of an operation in a load; `None` where it has none of it, or was visited
/// too seldom.
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
