//! What-ifs against theory, on cells computed from theory, and the balance on random devices.

use crate::model::synthetic::{closed_cell, trial, workload};
use model::Predictor;
use model::whatif::{BalanceSide, Setup, WhatIfError, balance, document};
use record::{
    Cell, Change, Estimate, HistogramSnapshot, LoadState, Locality, Mix, MixClass, Offered, OpKind,
    Pattern, RaidLevel, bucket_index,
};

/// A closed loop of random requests with exponential times in its histogram.
fn cell(op: OpKind, pattern: Pattern, depth: u32, iops: f64) -> Cell {
    let constant = closed_cell(workload(op, pattern, 4096, depth), iops);
    let mean_ns = constant.latency_ns.value;
    // Quantiles of an exponential distribution.
    let quantile = |at: u32| -libm::log(1.0 - (f64::from(at) + 0.5) / 1000.0) * mean_ns;
    let mut buckets: Vec<(u32, u64)> = Vec::new();
    for at in 0..1000 {
        let bucket = bucket_index(quantile(at) as u64) as u32;
        match buckets.last_mut() {
            Some((last, count)) if *last == bucket => *count += 1,
            _ => buckets.push((bucket, 1)),
        }
    }
    Cell { histogram: HistogramSnapshot { buckets }, ..constant }
}

/// `servers` exponential servers of `rate` requests per second each, for reads and writes. Sequential
/// requests are ten times as fast, re-reads a hundred times.
fn servers(servers: u32, rate: f64) -> Predictor {
    let mut cells = Vec::new();
    for depth in [1u32, 2, 4, 8, 16, 32, 64] {
        for op in [OpKind::Read, OpKind::Write] {
            let iops = rate * f64::from(depth.min(servers));
            cells.push(cell(op, Pattern::Random, depth, iops));
            // Sequential writes faster than others would indicate a write buffer.
            let sequential = if op == OpKind::Read { 10.0 * iops } else { iops };
            cells.push(cell(op, Pattern::Sequential, depth, sequential));
        }
        let iops = 100.0 * rate * f64::from(depth.min(servers));
        cells.push(cell(OpKind::Read, Pattern::Hit, depth, iops));
    }
    Predictor::of_cells(&cells)
}

fn mix(reads: f64) -> Mix {
    let class = |op, share| MixClass { op, locality: Locality::Random, bytes: 4096, share };
    let classes = [class(OpKind::Read, reads), class(OpKind::Write, 1.0 - reads)];
    Mix { classes: classes.into_iter().filter(|class| class.share > 0.0).collect() }
}

fn open(reads: f64, rate: f64) -> Setup {
    Setup::new(mix(reads), Offered::PoissonPerS(rate))
}

#[track_caller]
fn after(setup: &Setup, change: Change, predictor: &Predictor) -> LoadState {
    setup.with(change, predictor).unwrap().state(predictor).unwrap()
}

#[track_caller]
fn near(estimate: &Estimate, truth: f64, rel: f64) {
    assert!((estimate.value / truth - 1.0).abs() < rel, "{estimate:?} against {truth}");
    assert!(estimate.low <= truth * 1.001 && truth <= estimate.high * 1.001, "{estimate:?}");
}

const MS: f64 = 1e6;

#[test]
fn a_faster_disk_is_the_same_queue_on_a_faster_clock() {
    // M/M/1 of 1 ms at half load: 2 ms. At 0.7 ms: 0.7 / (1 - 0.35).
    let disk = servers(1, 1000.0);
    near(&open(1.0, 500.0).state(&disk).unwrap().latency_ns, 2.0 * MS, 0.02);
    let found = after(&open(1.0, 500.0), Change::Faster(0.3), &disk);
    near(&found.latency_ns, 0.7 / 0.65 * MS, 0.02);
    near(&found.max_iops, 1000.0 / 0.7, 0.02);
    // A load that was too much before is sustainable after.
    assert!(open(1.0, 1200.0).state(&disk).is_err());
    assert!(after(&open(1.0, 1200.0), Change::Faster(0.3), &disk).saturation < 1.0);
}

#[test]
fn reads_over_four_stripes_are_four_queues_of_a_quarter() {
    let disk = servers(1, 1000.0);
    for raid in [RaidLevel::Raid0, RaidLevel::Raid5, RaidLevel::Raid6, RaidLevel::Raid10] {
        let change = Change::Array { disks: 4, raid, chunk_bytes: 64 << 10 };
        let found = after(&open(1.0, 2000.0), change, &disk);
        near(&found.latency_ns, 2.0 * MS, 0.02);
        near(&found.max_iops, 4000.0, 0.02);
    }
}

#[test]
fn small_writes_load_the_disks_of_each_level_as_often_as_the_formula_says() {
    let disk = servers(1, 1000.0);
    let penalties = [
        (8, RaidLevel::Raid0, 1.0),
        (8, RaidLevel::Raid10, 2.0),
        (8, RaidLevel::Raid5, 4.0),
        (8, RaidLevel::Raid6, 6.0),
    ];
    for (disks, raid, penalty) in penalties {
        let change = Change::Array { disks, raid, chunk_bytes: 64 << 10 };
        let found = after(&open(0.5, 400.0), change, &disk);
        // lambda_disk = (lambda_r + P lambda_w) / n
        let per_disk = (200.0 + penalty * 200.0) / f64::from(disks);
        assert!((found.saturation - per_disk / 1000.0).abs() < 0.01, "{raid:?}: {found:?}");
    }
}

#[test]
fn a_level_that_cannot_be_made_of_so_many_disks_is_refused() {
    let disk = servers(1, 1000.0);
    let array = |disks, raid| {
        open(1.0, 100.0).with(Change::Array { disks, raid, chunk_bytes: 64 << 10 }, &disk)
    };
    assert!(matches!(array(3, RaidLevel::Raid10), Err(WhatIfError::Disks(..))));
    assert!(matches!(array(2, RaidLevel::Raid5), Err(WhatIfError::Disks(..))));
    assert!(array(4, RaidLevel::Raid6).is_ok());
}

#[test]
fn a_mirrored_write_waits_for_the_later_of_two() {
    // Exponential times, each disk at half load: 2 ms times H_2.
    let disk = servers(1, 1000.0);
    let change = Change::Array { disks: 2, raid: RaidLevel::Raid1, chunk_bytes: 64 << 10 };
    near(&after(&open(0.0, 500.0), change, &disk).latency_ns, 3.0 * MS, 0.03);
}

#[test]
fn a_mirrored_write_takes_at_most_twice_as_long_however_much_the_times_vary() {
    // One write in a hundred takes a thousand times as long.
    let buckets = vec![(bucket_index(100_000) as u32, 990), (bucket_index(100_000_000) as u32, 10)];
    let stalling = |depth| {
        let plain = closed_cell(workload(OpKind::Write, Pattern::Random, 4096, depth), 900.0);
        Cell { histogram: HistogramSnapshot { buckets: buckets.clone() }, ..plain }
    };
    let disk = Predictor::of_cells(&[1, 2, 4].map(stalling));
    let change = Change::Array { disks: 2, raid: RaidLevel::Raid1, chunk_bytes: 64 << 10 };
    let before = open(0.0, 50.0).state(&disk).unwrap().latency_ns.value;
    let ratio = after(&open(0.0, 50.0), change, &disk).latency_ns.value / before;
    assert!((1.5..=2.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_ratio_has_the_errors_of_both_loads_unless_they_are_the_same_load() {
    // Eight servers, whose rate at each depth is only known to a factor of two.
    let unsure = |depth: u32| {
        let cell = cell(OpKind::Read, Pattern::Random, depth, 1000.0 * f64::from(depth.min(8)));
        Cell { iops: Estimate::within_ratio(cell.iops.value, 0.7), ..cell }
    };
    let cells = [1, 2, 4, 8, 16, 32, 64].map(unsure);
    let disk = Predictor::of_cells(&cells);
    let one = trial(&workload(OpKind::Read, Pattern::Random, 4096, 1), 1000.0);
    let profile = crate::model::compare::profile_of(&[one]);
    let ratio = |setup: &Setup, change: Change| {
        let found = document(&profile, &disk, setup, &[change], None, "0").unwrap();
        found.cases[0].latency_ratio.unwrap()
    };
    let lone = Setup::new(mix(1.0), Offered::Depth(1.0));
    let deeper = ratio(&lone, Change::Depth(16.0));
    near(&deeper, 2.0, 0.02);
    assert!(deeper.high > 4.0 && deeper.low < 1.0, "two cells: {deeper:?}");
    for setup in [lone, open(1.0, 100.0)] {
        let faster = ratio(&setup, Change::Faster(0.3));
        near(&faster, 0.7, 0.02);
        assert!(faster.low > 0.65 && faster.high < 0.76, "one cell: {faster:?}");
    }
}

#[test]
fn a_closed_loop_over_an_array_is_the_balanced_network() {
    let disk = servers(1, 1000.0);
    let change = Change::Array { disks: 4, raid: RaidLevel::Raid0, chunk_bytes: 64 << 10 };
    let setup = Setup::new(mix(1.0), Offered::Depth(8.0));
    let found = after(&setup, change, &disk);
    near(&found.iops, 32_000.0 / 11.0, 0.02);
    assert!((found.concurrency - 8.0).abs() < 1e-6);
}

#[test]
fn a_cache_of_a_stated_time_is_the_weighted_mean_of_hits_and_lighter_misses() {
    let disk = servers(1, 1000.0);
    let change = Change::CacheHit { share: 0.8, hit_ns: Some(0.1 * MS) };
    // A fifth of 500/s misses: 1 / (1 - 0.1) ms.
    let found = after(&open(1.0, 500.0), change, &disk);
    near(&found.latency_ns, 0.8 * 0.1 * MS + 0.2 * MS / 0.9, 0.02);
    near(&found.max_iops, 5000.0, 0.02);
    // Queue depth one: one request at a time, of either kind.
    let found = after(&Setup::new(mix(1.0), Offered::Depth(1.0)), change, &disk);
    near(&found.latency_ns, 0.8 * 0.1 * MS + 0.2 * MS, 0.02);
}

#[test]
fn a_cache_without_a_time_is_as_fast_as_measured_re_reads_and_unknown_without_them() {
    let disk = servers(1, 1000.0);
    let change = Change::CacheHit { share: 0.8, hit_ns: None };
    let found = after(&Setup::new(mix(1.0), Offered::Depth(1.0)), change, &disk);
    near(&found.latency_ns, 0.8 * 0.01 * MS + 0.2 * MS, 0.03);
    let cells: Vec<Cell> =
        (0..4).map(|at| cell(OpKind::Read, Pattern::Random, 1 << at, 1000.0)).collect();
    let bare = Predictor::of_cells(&cells);
    let error = open(1.0, 100.0).with(change, &bare).unwrap_err();
    assert!(error.to_string().contains("--hit-time"), "{error}");
}

#[test]
fn memory_takes_reads_away_and_leaves_writes_that_may_come_in_bursts() {
    let disk = servers(1, 1000.0);
    // 600/s, of which 360 are reads; 60 % of them stay in memory: 384/s are left.
    let found = after(&open(0.6, 600.0), Change::HostCache(0.6), &disk);
    let at_disk = MS / (1.0 - 0.384);
    near(&found.latency_ns, at_disk * 0.64, 0.03);
    near(&found.max_iops, 1000.0 / 0.64, 0.02);
    // The upper end includes the bursts: well above an interval of the model alone.
    assert!(found.latency_ns.high > 1.3 * found.latency_ns.value, "{:?}", found.latency_ns);
    assert!(open(0.0, 100.0).with(Change::HostCache(0.5), &disk).is_err());
}

#[test]
fn a_more_sequential_load_has_the_mean_of_its_parts() {
    let disk = servers(1, 1000.0);
    let setup = Setup::new(mix(1.0), Offered::Depth(1.0));
    let found = after(&setup, Change::Sequential(0.3), &disk);
    near(&found.latency_ns, 0.7 * MS + 0.3 * 0.1 * MS, 0.02);
    let error = setup.with(Change::Sequential(1.2), &disk).unwrap_err();
    assert!(error.to_string().contains("100 %"), "{error}");
}

#[test]
fn depth_size_and_cap_are_what_they_say() {
    let disk = servers(8, 1000.0);
    let deep = after(&open(1.0, 500.0), Change::Depth(16.0), &disk);
    near(&deep.latency_ns, 2.0 * MS, 0.02);
    near(&deep.iops, 8000.0, 0.02);
    // The same bytes in requests twice as large: half as many.
    let larger = open(1.0, 4000.0).with(Change::RequestBytes(8192), &disk).unwrap();
    assert_eq!(larger.offered, Offered::PoissonPerS(2000.0));
    // M/D/1 ahead of it at 80 %: 0.8 / (2 · 1000 · 0.2) s.
    let capped = after(&open(1.0, 800.0), Change::Cap(1000.0), &disk);
    near(&capped.latency_ns, MS + 2.0 * MS, 0.02);
    assert!(capped.latency_ns.low < 1.1 * MS);
    assert!(open(1.0, 800.0).with(Change::Cap(700.0), &disk).unwrap().state(&disk).is_err());
    let held = after(&Setup::new(mix(1.0), Offered::Depth(16.0)), Change::Cap(2000.0), &disk);
    near(&held.latency_ns, 8.0 * MS, 0.001);
}

#[test]
fn changes_together_are_one_setup() {
    let disk = servers(1, 1000.0);
    let array = Change::Array { disks: 4, raid: RaidLevel::Raid0, chunk_bytes: 64 << 10 };
    let both = open(1.0, 2800.0).with(Change::Faster(0.3), &disk).unwrap();
    let both = both.with(array, &disk).unwrap().state(&disk).unwrap();
    near(&both.latency_ns, 0.7 / (1.0 - 0.49) * MS, 0.02);
}

/// Numbers from 0 to 1 from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn balancing_never_makes_the_fullest_device_fuller_and_loses_no_request() {
    let mut draw = Draw(7);
    let mut moved = 0;
    for _ in 0..60 {
        let count = 2 + (draw.next() * 4.0) as usize;
        let disks: Vec<Predictor> = (0..count)
            .map(|_| servers(1 + (draw.next() * 8.0) as u32, 200.0 + 2000.0 * draw.next()))
            .collect();
        let sides: Vec<BalanceSide<'_>> = disks
            .iter()
            .enumerate()
            .map(|(at, predictor)| {
                let mix = mix((draw.next() * 10.0).round() / 10.0);
                // Some of them get more load than their maximum.
                let rate = predictor.max_rate(&mix).unwrap().value * draw.next() * 1.4;
                BalanceSide { name: format!("sd{at}"), predictor, mix, rate }
            })
            .collect();
        let found = balance(&sides).unwrap();
        let most = |of: fn(&record::BalancedDevice) -> f64| {
            found.devices.iter().map(of).fold(0.0, f64::max)
        };
        let (before, after) = (most(|one| one.saturation_before), most(|one| one.saturation_after));
        assert!(after <= before * (1.0 + 1e-9), "{before} became {after}: {found:?}");
        let sum =
            |of: fn(&record::BalancedDevice) -> f64| found.devices.iter().map(of).sum::<f64>();
        let (asked, given) = (sum(|one| one.iops_before), sum(|one| one.iops_after));
        assert!((asked / given - 1.0).abs() < 1e-9, "{asked} became {given}");
        moved += usize::from(!found.moves.is_empty());
    }
    assert!(moved > 30, "only {moved} of 60 were worth balancing");
}

#[test]
fn two_equal_devices_share_a_load_in_halves_and_level_ones_are_left_alone() {
    let disk = servers(1, 1000.0);
    let side = |name: &str, rate: f64| BalanceSide {
        name: name.to_owned(),
        predictor: &disk,
        mix: mix(1.0),
        rate,
    };
    let found = balance(&[side("a", 800.0), side("b", 0.0)]).unwrap();
    assert_eq!(found.moves.len(), 1);
    assert!((found.moves[0].share - 0.5).abs() < 0.011, "{found:?}");
    near(&found.devices[0].latency_before_ns.unwrap(), 5.0 * MS, 0.02);
    near(&found.devices[0].latency_after_ns.unwrap(), MS / 0.6, 0.02);
    assert!(balance(&[side("a", 400.0), side("b", 400.0)]).unwrap().moves.is_empty());
    assert!(balance(&[side("a", 400.0)]).is_err());
}
