//! The combined result of the parts of a load equals that of the whole load.

use clients::split;
use record::{Bytes, HistogramSnapshot, Nanos, TargetSharing, Workload};
use stats::{Histogram, SplitMix64};
use trial::{JobTotals, PartTotals, Segment, Slice, Stuck, Window, together};

const SEEDS: u64 = 200;

fn below(random: &mut SplitMix64, limit: u64) -> u64 {
    random.next_u64() % limit
}

/// A part with random latencies, which are also recorded in `all`.
fn part(random: &mut SplitMix64, all: &mut Histogram, begin: u64) -> PartTotals {
    let window = Window { begin: Nanos(begin), end: Nanos(begin + 1_000_000_000) };
    let mut totals = JobTotals::default();
    let mut histogram = Histogram::default();
    let mut slice = Slice::default();
    for _ in 0..below(random, 500) {
        // From tens of nanoseconds to seconds.
        let digits = below(random, 27);
        let latency = 16 + below(random, 1 << (5 + digits));
        histogram.record(latency);
        all.record(latency);
        slice.ios[0] += 1;
        slice.bytes[0] += 4_096;
        slice.latency_ns[0] += latency;
    }
    let mut segment = Segment::default();
    segment.latency[0] = histogram.snapshot();
    totals.slices.push(slice);
    totals.segments.push(segment);
    let (stuck, harness) = (Stuck::default(), None);
    PartTotals { window, end: window.end, ended_by: None, totals, stuck, harness }
}

#[test]
fn histograms_of_parts_add_up_to_the_histogram_of_all_requests_however_they_travelled() {
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let mut all = Histogram::default();
        let parts: Vec<PartTotals> = (0..1 + below(&mut random, 6))
            .map(|rank| part(&mut random, &mut all, rank * 7_777_777))
            .collect();
        let text = serde_json::to_string(&parts).unwrap();
        let travelled: Vec<PartTotals> = serde_json::from_str(&text).unwrap();
        let whole = together(&travelled).unwrap();
        let segments = whole.totals.segments.iter();
        let sum = segments
            .fold(HistogramSnapshot::default(), |sum, segment| sum.merged(&segment.latency[0]));
        assert_eq!(sum, all.snapshot(), "seed {seed}");
        let ios: u64 = whole.totals.slices.iter().map(|slice| slice.ios[0]).sum();
        assert_eq!(ios, sum.count(), "seed {seed}");
        // Percentiles of the whole are those of all requests, not means of percentiles.
        assert_eq!(sum.percentile(0.99), all.snapshot().percentile(0.99), "seed {seed}");
        assert_eq!(whole.window, Window { begin: Nanos(0), end: Nanos(1_000_000_000) });
    }
}

#[test]
fn shares_add_up_to_the_load_that_was_asked_for() {
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let (numjobs, iodepth) =
            (1 + below(&mut random, 40) as u32, 1 + below(&mut random, 64) as u32);
        let clients = 1 + below(&mut random, 9) as u32;
        let mut whole = Workload {
            numjobs,
            iodepth,
            depth: numjobs * iodepth,
            size_bytes: Bytes(1 << 30),
            rate_iops: Some(1 + below(&mut random, 10_000)),
            ..Workload::default()
        };
        whole.stop.max_bytes = Some(Bytes(1 + below(&mut random, 1 << 40)));
        for sharing in [TargetSharing::Shared, TargetSharing::Own] {
            let shares = split(&whole, seed, clients, sharing);
            assert_eq!(shares.len(), clients as usize);
            let depth: u32 = shares.iter().map(|it| it.jobs * it.workload.iodepth).sum();
            assert_eq!(depth, whole.depth, "seed {seed}, {sharing:?}");
            let bytes = shares.iter().filter_map(|it| it.workload.stop.max_bytes);
            let bytes: u64 = bytes.map(|bytes| bytes.0).sum();
            assert_eq!(Some(Bytes(bytes)), whole.stop.max_bytes, "seed {seed}, {sharing:?}");
            let mut next = 0;
            for share in &shares {
                assert_eq!(share.rank_first_job, next, "jobs are numbered through");
                next += share.jobs;
            }
            let active = || shares.iter().filter(|it| it.jobs > 0);
            match sharing {
                TargetSharing::Shared => {
                    assert!(active().all(|it| it.workload.numjobs == next && it.seed == seed));
                    assert!(active().all(|it| it.workload.rate_iops == whole.rate_iops));
                    assert!(active().all(|it| it.first_job == it.rank_first_job));
                }
                TargetSharing::Own => {
                    let rates: u64 = active().filter_map(|it| it.workload.rate_iops).sum();
                    assert_eq!(Some(rates), whole.rate_iops);
                    assert!(active().all(|it| it.workload.numjobs == it.jobs && it.first_job == 0));
                    let mut seeds: Vec<u64> = active().map(|it| it.seed).collect();
                    seeds.sort_unstable();
                    seeds.dedup();
                    assert_eq!(seeds.len(), active().count(), "each has requests of its own");
                }
            }
        }
    }
}

#[test]
fn a_plan_that_asks_for_less_depth_than_there_are_clients_leaves_some_idle() {
    let whole = Workload { numjobs: 1, iodepth: 2, depth: 2, ..Workload::default() };
    let jobs = |it: Vec<clients::Share>| it.iter().map(|it| it.jobs).collect::<Vec<_>>();
    assert_eq!(jobs(split(&whole, 1, 4, TargetSharing::Shared)), [1, 1, 0, 0]);
    let whole = Workload { iodepth: 10, depth: 10, ..whole };
    let dealt = split(&whole, 1, 4, TargetSharing::Shared);
    let depths: Vec<u32> = dealt.iter().map(|it| it.workload.iodepth).collect();
    assert_eq!(depths, [3, 3, 2, 2]);
    // The same depths as in the tests of the rules on stragglers.
    for (depth, expected) in [(4, [2, 1, 1]), (8, [3, 3, 2])] {
        let whole = Workload { iodepth: depth, depth, ..whole.clone() };
        let dealt = split(&whole, 1, 3, TargetSharing::Shared);
        let depths: Vec<u32> = dealt.iter().map(|it| it.jobs * it.workload.iodepth).collect();
        assert_eq!(depths, expected);
    }
}
