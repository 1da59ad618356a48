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

/// Mean response times of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    /// Over all requests.
    pub(super) latency_ns: f64,
    /// Of the reads, and of the writes, where there are both.
    pub(super) read_ns: Option<f64>,
    pub(super) write_ns: Option<f64>,
}

/// What stalls add to reads and to writes of the profile's open loads, as shares of their median
/// visits; `None` where too few loads tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StallSmoothing {
    added: [Option<f64>; 2],
}

impl StallSmoothing {
    /// Of these open loads.
    pub(super) fn of(loads: &[(&Cell, Mix)]) -> Self {
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

    /// The means of a load.
    pub(super) fn means(&self, cell: &Cell, mix: &Mix) -> Means {
        let of = |op: OpKind, measured: Option<f64>| match (
            self.added[op as usize],
            pair(cell, mix, op),
        ) {
            (Some(added), Some((middle, _))) => Some(middle * (1.0 + added)),
            _ => measured,
        };
        let all = cell.latency_ns.value;
        let reads = mix.reads();
        if reads >= 1.0 || reads <= 0.0 {
            let op = if reads >= 1.0 { OpKind::Read } else { OpKind::Write };
            let latency_ns = of(op, None).unwrap_or(all);
            return Means { latency_ns, read_ns: None, write_ns: None };
        }
        let read_ns = of(OpKind::Read, cell.read_latency_ns);
        let write_ns = of(OpKind::Write, cell.write_latency_ns);
        let both = read_ns.zip(write_ns);
        let latency_ns = both.map_or(all, |(read, write)| reads * read + (1.0 - reads) * write);
        Means { latency_ns, read_ns, write_ns }
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

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Estimate, Locality, Measured, MedianVisit, MixClass, Workload};

    /// Mean and median over visits.
    fn of_visits(visits: &[f64]) -> (f64, f64) {
        (visits.iter().sum::<f64>() / visits.len() as f64, stats::median(visits.to_vec()))
    }

    /// A load, half of it writes, by what its visits saw of reads and of writes.
    fn load(at: usize, reads: &[f64], writes: &[f64]) -> (Cell, Mix) {
        let both: Vec<f64> = reads.iter().zip(writes).map(|(a, b)| (a + b) / 2.0).collect();
        let ((all, middle), (read, middle_read), (write, middle_write)) =
            (of_visits(&both), of_visits(reads), of_visits(writes));
        let cell = Cell {
            latency_ns: Estimate::symmetric(all, 0.1 * all, visits(reads)),
            read_latency_ns: Some(read),
            write_latency_ns: Some(write),
            median_visit: Some(MedianVisit {
                latency_ns: middle,
                read_latency_ns: Some(middle_read),
                write_latency_ns: Some(middle_write),
            }),
            cell: at.to_string(),
            workload: Workload::default(),
            trial_ids: Vec::new(),
            ios: 10_000,
            iops: Estimate::symmetric(100.0, 0.1, 6),
            rerun_iops: Estimate::symmetric(100.0, 0.1, 6),
            bytes_per_s: Estimate::symmetric(4e5, 4e2, 6),
            histogram: Default::default(),
            utilization: Measured::not("synthetic"),
            service_ns: Measured::not("synthetic"),
            device_share: Measured::not("synthetic"),
            cpu_us_per_io: Measured::not("synthetic"),
            precise: true,
        };
        let class = |op| MixClass { op, locality: Locality::Random, bytes: 4096, share: 0.5 };
        (cell, Mix { classes: vec![class(OpKind::Read), class(OpKind::Write)] })
    }

    fn visits(of: &[f64]) -> u32 {
        u32::try_from(of.len()).unwrap()
    }

    fn evened(loads: &[(Cell, Mix)]) -> StallSmoothing {
        let loads: Vec<(&Cell, Mix)> =
            loads.iter().map(|(cell, mix)| (cell, mix.clone())).collect();
        StallSmoothing::of(&loads)
    }

    #[test]
    fn stalls_that_hit_some_loads_are_shared_by_all() {
        // Every fourth load met one: its mean is 1.8 times the others', for no fault of its own.
        let loads: Vec<(Cell, Mix)> = (0..40)
            .map(|at| {
                let stalled = if at % 4 == 0 { 5.0 } else { 1.0 };
                let times = [1.0, 1.0, stalled, 1.0, 1.0];
                load(at, &times.map(|time| time * 1e6), &times.map(|time| time * 3e6))
            })
            .collect();
        let evened = evened(&loads);
        // A quarter of the loads, 0.8 above; one load is left out at each end.
        let expected = 1.0 + 0.8 * 9.0 / 38.0;
        for (cell, mix) in &loads {
            let means = evened.means(cell, mix);
            assert!((means.read_ns.unwrap() / 1e6 - expected).abs() < 1e-9, "{means:?}");
            assert!((means.write_ns.unwrap() / 3e6 - expected).abs() < 1e-9, "{means:?}");
            assert!((means.latency_ns / 2e6 - expected).abs() < 1e-9, "{means:?}");
        }
    }

    #[test]
    fn writes_that_wait_for_garbage_do_not_slow_reads() {
        let loads: Vec<(Cell, Mix)> =
            (0..12).map(|at| load(at, &[1e5; 3], &[1e5, 1e5, 4e5])).collect();
        let means = evened(&loads).means(&loads[3].0, &loads[3].1);
        assert!((means.read_ns.unwrap() - 1e5).abs() < 1e-6, "{means:?}");
        assert!((means.write_ns.unwrap() - 2e5).abs() < 1e-6, "{means:?}");
        assert!((means.latency_ns - 1.5e5).abs() < 1e-6, "{means:?}");
    }

    #[test]
    fn few_loads_and_few_visits_are_taken_as_they_were_measured() {
        let few: Vec<(Cell, Mix)> =
            (0..7).map(|at| load(at, &[1e6, 1e6, 2e6], &[3e6, 3e6, 4e6])).collect();
        let as_measured = |cell: &Cell| Means {
            latency_ns: cell.latency_ns.value,
            read_ns: cell.read_latency_ns,
            write_ns: cell.write_latency_ns,
        };
        let close = |means: Means, (cell, _): &(Cell, Mix)| {
            let measured = as_measured(cell);
            assert_eq!((means.read_ns, means.write_ns), (measured.read_ns, measured.write_ns));
            assert!((means.latency_ns / measured.latency_ns - 1.0).abs() < 1e-9, "{means:?}");
        };
        close(evened(&few).means(&few[0].0, &few[0].1), &few[0]);
        let mut many: Vec<(Cell, Mix)> =
            (0..20).map(|at| load(at, &[1e6, 1e6, 2e6], &[3e6, 3e6, 4e6])).collect();
        let evened = evened(&many);
        many[0].0.median_visit = None;
        close(evened.means(&many[0].0, &many[0].1), &many[0]);
    }
}
