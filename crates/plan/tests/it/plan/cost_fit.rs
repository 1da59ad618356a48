//! The cost fit: the plan, and lines through the costs of the 1997 paper.

use plan::session::{Session, simulated};
use plan::{CostFitPlan, Plan, Preparation, cost_lines, fit};
use record::{
    Bytes, CacheMode, CpuCost, CpuSplit, EngineName, Estimate, Measured, Pattern, SizeShare, Trial,
    Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn base() -> Workload {
    Workload { size_bytes: Bytes(256 << 20), ..Workload::default() }
}

fn all(mut plan: CostFitPlan) -> Vec<Workload> {
    let planned = std::iter::from_fn(|| plan.next());
    let workloads = planned.map(|planned| {
        // A direct write evicts the area from the page cache.
        let filled = matches!(planned.preparation, Preparation::FillPageCache { .. });
        assert_eq!(filled, planned.workload.cache == CacheMode::All);
        planned.workload
    });
    workloads.collect()
}

#[test]
fn every_size_is_visited_three_times_in_both_cache_modes_in_another_order_each_round() {
    let visits = all(CostFitPlan::new(&base(), 512, 1).unwrap());
    assert_eq!(visits.len(), 2 * 12 * 3);
    let key = |workload: &Workload| (workload.cache, workload.max_bs());
    let rounds: Vec<Vec<_>> =
        visits.chunks(24).map(|round| round.iter().map(key).collect()).collect();
    let first: BTreeSet<_> = rounds[0].iter().copied().collect();
    assert_eq!(first.len(), 24);
    for round in &rounds[1..] {
        assert_eq!(round.iter().copied().collect::<BTreeSet<_>>(), first);
        assert_ne!(*round, rounds[0]);
    }
    assert_eq!(first.iter().map(|(_, bytes)| bytes.0).min(), Some(512));
    assert_eq!(first.iter().map(|(_, bytes)| bytes.0).max(), Some(1 << 20));
    // The run time is divided among the visits, and the area stays in the cache.
    let measured: u64 = visits.iter().map(|workload| workload.runtime_ns.0).sum();
    assert!(measured <= base().runtime_ns.0 && measured > base().runtime_ns.0 / 2);
    assert!(visits.iter().all(|workload| workload.size_bytes == Bytes(64 << 20)));
}

#[test]
fn the_plan_keeps_what_was_asked_and_respects_alignment_and_area() {
    let asked = Workload { read_percent: 0, pattern: Pattern::Sequential, iodepth: 4, ..base() };
    let visits = all(CostFitPlan::new(&asked, 4096, 1).unwrap());
    assert!(visits.iter().all(|w| w.max_bs().0 >= 4096 && w.read_percent == 0 && w.iodepth == 4));
    assert!(visits.iter().all(|workload| workload.pattern == Pattern::Sequential));
    let small = Workload { size_bytes: Bytes(100_000), ..base() };
    assert!(CostFitPlan::new(&small, 512, 1).is_none());
}

#[test]
fn too_few_points_have_no_line_and_say_so() {
    let point = |bytes, us| (Bytes(bytes), Estimate::symmetric(us, 1.0, 3));
    let (model, line) = fit(&[point(512, 1.0), point(1024, 2.0)]);
    assert!(line.is_none() && model.reason().unwrap().contains("three sizes"));
    let (lines, break_even) = cost_lines(&[]);
    assert_eq!(lines.len(), 2);
    assert!(break_even.reason().unwrap().contains("both cache modes"));
}

/// The six drives and modes of the 1997 paper's figure 4: µs per request by size in KiB.
fn figure_4() -> BTreeMap<String, Vec<(Bytes, Estimate)>> {
    let text = include_str!("../../../../trial/tests/data/riedel/fig04_cpu_ms_per_request.csv");
    let mut series: BTreeMap<String, Vec<(Bytes, Estimate)>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let (kib, rest) = row.split_once(',').unwrap();
        let (name, value) = rest.trim_start_matches('"').split_once("\",").unwrap();
        let ms: f64 = value.split(',').next().unwrap().parse().unwrap();
        // See the folder's README: these points were measured at 256 KiB.
        let kib = if kib == "192" && name.starts_with("Fast") { "256" } else { kib };
        // The paper repeated its runs within 3 %.
        let cost = Estimate::symmetric(ms * 1e3, 0.03 * ms * 1e3, 3);
        let bytes = Bytes(kib.parse::<u64>().unwrap() << 10);
        series.entry(name.to_owned()).or_default().push((bytes, cost));
    }
    series
}

#[test]
fn the_fixed_cost_of_1997_comes_out_at_103_to_120_microseconds() {
    let series = figure_4();
    assert_eq!(series.len(), 6);
    for (name, points) in series {
        assert_eq!(points.len(), 8, "{name}");
        let (model, _) = fit(&points);
        let model = model.value().unwrap();
        let (fixed, marginal) = (model.fixed_us.value, model.us_per_kib.value);
        assert!((103.0..=120.0).contains(&fixed), "{name}: {fixed}");
        assert!((0.3..=0.8).contains(&marginal), "{name}: {marginal}");
        assert!(model.fixed_us.low < fixed && fixed < model.fixed_us.high, "{name}");
    }
}

/// CPU time of a trial, µs per request.
fn cost(lower_us_per_io: f64) -> CpuCost {
    CpuCost {
        user_ms: 0.0,
        system_ms: 0.0,
        workers_ms: 0.0,
        lower_us_per_io: Some(lower_us_per_io),
        upper_us_per_io: None,
        upper_method: None,
        upper: None,
        clocks_per_byte: None,
        clock: None,
        instructions_per_io: Measured::not("not counted in this test"),
        saturation_iops: None,
        saturation_bytes_per_s: None,
        ms_per_mib: None,
        steal_ms: None,
        all_cpus_ms: None,
        others_user_ms: None,
        idle_ms: None,
        split: CpuSplit::Exact,
    }
}

/// The break-even of costs on two lines: fixed part, part per KiB, and standard error of a point.
fn break_even(buffered: (f64, f64, f64), direct: (f64, f64, f64)) -> Measured<Estimate> {
    let spec = simulated("sim:md1").unwrap().unwrap();
    let mut session = Session::simulated(&spec, None, 1, &Arc::default());
    let asked = Workload { engine: EngineName::Sim, size_bytes: Bytes(1 << 20), ..base() };
    let trial = session.trial(&asked, 1, &mut |_| ()).unwrap();
    let error_of_one = stats::visits_mean(&[-1.0, 0.0, 1.0]).unwrap().se;
    let mut trials: Vec<Trial> = Vec::new();
    for (cache, (fixed, per_kib, se)) in [(CacheMode::All, buffered), (CacheMode::Device, direct)] {
        for power in 0..9 {
            let bytes = Bytes(4096 << power);
            let mean = fixed + per_kib * bytes.0 as f64 / 1024.0;
            for step in [-1.0, 0.0, 1.0] {
                let bs = vec![SizeShare { bytes, percent: 100 }];
                trials.push(Trial {
                    workload: Workload { cache, bs, ..asked.clone() },
                    cpu: Measured::Value(cost(mean + step * se / error_of_one)),
                    ..trial.clone()
                });
            }
        }
    }
    cost_lines(&trials).1
}

#[test]
fn the_break_even_is_where_the_lines_cross_with_the_sizes_that_cannot_be_told_apart() {
    // The 2000 paper's SCSI pairs (its Table 11): 12 + 6 per KiB buffered, 50 + 0.5 direct.
    let found = break_even((12.0, 6.0, 0.5), (50.0, 0.5, 0.5));
    let size = found.value().unwrap();
    assert!((size.value / 1024.0 - 6.9).abs() < 0.02, "{size:?}");
    assert!(size.low < size.value && size.value < size.high, "{size:?}");
    // Its IDE pairs.
    let found = break_even((12.0, 6.0, 0.01), (57.0, 0.53, 0.01));
    assert!((found.value().unwrap().value / 1024.0 - 8.23).abs() < 0.02);
    let wide = break_even((12.0, 6.0, 5.0), (50.0, 0.5, 5.0));
    let wide = wide.value().unwrap();
    assert!(wide.high - wide.low > 3.0 * (size.high - size.low), "{wide:?}");
}

#[test]
fn lines_that_do_not_cross_in_the_range_say_which_is_dearer() {
    let none = break_even((12.0, 6.0, 0.5), (9.0, 0.5, 0.5));
    assert!(none.reason().unwrap().contains("buffered cost more at every size"));
    let none = break_even((1.0, 0.1, 0.1), (50.0, 0.5, 0.1));
    assert!(none.reason().unwrap().contains("with direct I/O cost more"));
}

#[test]
fn lines_that_lie_within_their_errors_have_no_break_even_and_no_dearer_side() {
    let crossing = break_even((4.36, 0.213, 60.0), (4.26, 0.214, 60.0));
    assert!(
        crossing.reason().unwrap().contains("differ by less than their error bars"),
        "{crossing:?}"
    );
    let parallel = break_even((4.0, 0.2, 60.0), (4.5, 0.2, 60.0));
    assert!(
        parallel.reason().unwrap().contains("differ by less than their error bars"),
        "{parallel:?}"
    );
}
