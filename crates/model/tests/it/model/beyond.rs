//! Loads beyond the measured ones: they are flagged, and bounded by what was measured.

use crate::model::predict::{cell, reads, servers};
use model::Predictor;
use record::{Cell, HistogramSnapshot, Locality, Mix, Offered, OpKind, Workload};

#[test]
fn a_depth_beyond_the_measured_ones_is_flagged_and_its_interval_grows_with_each_doubling() {
    let predictor = Predictor::of_cells(&servers(8));
    let at = |depth: f64| predictor.predict(&reads(4096), Offered::Depth(depth)).unwrap();
    let flagged = |depth| at(depth).extrapolated.iter().any(|it| it.contains("up to QD 64"));
    assert!(!flagged(64.0) && flagged(65.0) && flagged(512.0), "{:?}", at(65.0).extrapolated);
    let widths = [64.0, 128.0, 512.0].map(|depth| at(depth).in_run_rel);
    assert!(widths[0] < widths[1] && 2.0 * widths[1] < widths[2], "{widths:?}");
    // A rate that still rises in proportion at the last measured depth may go on rising so.
    let rising = Predictor::of_cells(&servers(64));
    let found = rising.predict(&reads(4096), Offered::Depth(256.0)).unwrap().iops;
    assert!(found.includes(64_000.0) && found.includes(256_000.0), "{found:?}");
    assert_eq!(rising.max_rate(&reads(4096)).unwrap().value, 64_000.0);
}

#[test]
fn a_depth_between_measured_ones_may_reach_the_rate_in_proportion_to_it() {
    // Two servers, measured at QD 1 and 4: the rate at QD 2 is that at QD 4 already.
    let two = |depth: u32| {
        let iops = f64::from(depth.min(2)) * 1e3;
        cell(4096, depth, None, iops, f64::from(depth) / iops * 1e9)
    };
    let at = |depths: &[u32]| {
        let predictor = Predictor::of_cells(&depths.iter().map(|&it| two(it)).collect::<Vec<_>>());
        predictor.predict(&reads(4096), Offered::Depth(2.0)).unwrap()
    };
    let gap = at(&[1, 4]);
    assert!(gap.iops.includes(2_000.0), "{:?}", gap.iops);
    let named = |found: &record::Prediction| {
        found.extrapolated.iter().any(|it| it.contains("at QD 1 and 4, but not in between"))
    };
    assert!(named(&gap), "{:?}", gap.extrapolated);
    let measured = at(&[1, 2, 4]);
    assert!(!named(&measured) && measured.in_run_rel < gap.in_run_rel / 2.0, "{measured:?}");
}

#[test]
fn a_size_below_the_measured_ones_takes_the_time_of_the_smallest() {
    let per_byte = |bytes: u64, depth: u32| {
        // Not on a line, so that a size between the measured ones has an error.
        let time = 1.0 + f64::from(u32::from(bytes > 8192)) + bytes as f64 / 4096.0;
        let iops = f64::from(depth.min(8)) * 1e4 / time;
        cell(bytes, depth, None, iops, f64::from(depth) / iops * 1e9)
    };
    let sizes = [4096u64, 8192, 16384, 32768];
    let reads_only = sizes.iter().flat_map(|&bytes| [1, 2, 4, 8, 16].map(|at| per_byte(bytes, at)));
    let mut cells: Vec<Cell> = reads_only.collect();
    let predictor = Predictor::of_cells(&cells);
    let [small, smallest] = [512, 4096].map(|bytes| predictor.max_rate(&reads(bytes)).unwrap());
    assert_eq!(small, smallest);
    let found = predictor.predict(&reads(512), Offered::Depth(16.0)).unwrap();
    assert!(found.extrapolated.iter().any(|it| it.contains("smaller than the smallest measured")));
    // A write of a part of a block may have to wait for a read of the block: half the rate, if both take
    // the same time.
    let writes = cells.clone().into_iter().map(|cell| {
        let workload = Workload { read_percent: 0, ..cell.workload.clone() };
        Cell { cell: workload.cell(), workload, ..cell }
    });
    cells.extend(writes);
    let predictor = Predictor::of_cells(&cells);
    let write = |bytes| Mix::one(OpKind::Write, Locality::Random, bytes);
    let [small, smallest] = [512, 4096].map(|bytes| predictor.max_rate(&write(bytes)).unwrap());
    assert!((small.low / smallest.low - 0.5).abs() < 1e-9, "{small:?} {smallest:?}");
    assert_eq!((small.value, small.high), (smallest.value, smallest.high));
    let found = predictor.predict(&write(512), Offered::Depth(16.0)).unwrap();
    assert!(found.iops.low < 0.51 * found.iops.value, "{found:?}");
}

#[test]
fn a_load_of_reads_does_not_wait_for_the_stalls_of_writes() {
    let mut cells = servers(8);
    let writes = cells.clone().into_iter().map(|cell| {
        let workload = Workload { read_percent: 0, ..cell.workload.clone() };
        let stalled = (record::bucket_index(100_000_000) as u32, 10);
        let buckets = [cell.histogram.buckets.clone(), vec![stalled]].concat();
        Cell { workload, histogram: HistogramSnapshot { buckets }, ..cell }
    });
    cells.extend(writes.collect::<Vec<_>>());
    let predictor = Predictor::of_cells(&cells);
    let idle = |op| {
        let mix = Mix::one(op, Locality::Random, 4096);
        predictor.predict(&mix, Offered::PoissonPerS(1.0)).unwrap().latency_ns
    };
    let [reads, writes] = [OpKind::Read, OpKind::Write].map(idle);
    assert!(reads.high < 1.05e6 && writes.high > 1.5e6, "{reads:?} {writes:?}");
}
