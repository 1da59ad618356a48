//! Results of comparisons: which cells are matched, and which verdicts are given.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::model::synthetic::{trial, workload};
use model::{CompareOptions, Side, SideError, TraceObservation, compare};
use record::{
    Bytes, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison, CpuClock,
    DoneTrial, Environment, Experiment, Finding, FindingCode, Harness, Measured, Nanos, OpKind,
    Pattern, PlannedTrial, Profile, Severity, Trial, Workload,
};
use std::collections::BTreeMap;

/// A measured profile of these trials.
pub(crate) fn profile_of(trials: &[Trial]) -> Profile {
    model::characterise(model::Characterise {
        halfpower_version: "0.0.0".to_owned(),
        id: "profile".to_owned(),
        time: None,
        seed: 1,
        simulated: false,
        target: crate::model::synthetic::target(),
        environment: None,
        budget_ns: Nanos(60_000_000_000),
        target_rel: 0.05,
        trials,
        earlier: &[],
    })
}

fn reads(depth: u32) -> Workload {
    workload(OpKind::Read, Pattern::Random, 4096, depth)
}

/// Trials of one cell with these rates.
fn trials(workload: &Workload, rates: &[f64]) -> Vec<Trial> {
    rates.iter().map(|rate| trial(workload, *rate)).collect()
}

fn side(trials: &[Trial]) -> Side {
    Side::of_trials("side", trials).unwrap()
}

fn compared(a: &[Trial], b: &[Trial]) -> Comparison {
    compare(&side(a), &side(b), &CompareOptions::default())
}

fn row(comparison: &Comparison, metric: ComparedMetric) -> &ComparedRow {
    comparison.cells[0].rows.iter().find(|row| row.metric == metric).unwrap()
}

fn rate(comparison: &Comparison) -> &ComparedRow {
    row(comparison, ComparedMetric::RatePerS)
}

const AROUND: [f64; 4] = [0.99, 1.0, 1.01, 1.005];

fn around(rate: f64) -> Vec<f64> {
    AROUND.iter().map(|factor| factor * rate).collect()
}

#[test]
fn single_trials_tell_nothing_but_the_ratio() {
    let comparison = compared(&trials(&reads(1), &[1000.0]), &trials(&reads(1), &[500.0]));
    let row = rate(&comparison);
    assert_eq!((row.verdict, row.ratio), (ComparedVerdict::CannotTell, Some(0.5)));
    assert_eq!(row.reason.as_deref(), Some("1 and 1 trials; at least 3 of each are needed"));
    assert_eq!((row.ratio_low, comparison.tests), (None, 0));
}

#[test]
fn repeats_tell_a_difference_its_direction_and_its_absence() {
    let first = trials(&reads(1), &around(1000.0));
    let told = |rates: &[f64]| rate(&compared(&first, &trials(&reads(1), rates))).verdict;
    assert_eq!(told(&around(900.0)), ComparedVerdict::Worse);
    assert_eq!(told(&around(1100.0)), ComparedVerdict::Better);
    assert_eq!(told(&around(1002.0)), ComparedVerdict::Same);
    assert_eq!(told(&[800.0, 1000.0, 1200.0]), ComparedVerdict::CannotTell);
    // Lower cost is better.
    let mut costly = trials(&reads(1), &around(1001.0));
    for (trial, factor) in costly.iter_mut().zip(AROUND) {
        let Measured::Value(cpu) = &mut trial.cpu else { panic!() };
        cpu.lower_us_per_io = Some(6.0 * factor);
    }
    let comparison = compared(&first, &costly);
    assert_eq!(row(&comparison, ComparedMetric::CpuUsPerIo).verdict, ComparedVerdict::Worse);
}

#[test]
fn failing_takes_an_interval_beyond_the_limit() {
    let first = side(&trials(&reads(1), &around(1000.0)));
    let fails = |rate: f64, worse: f64| {
        let options =
            CompareOptions { fail_on_worse_rel: Some(worse), ..CompareOptions::default() };
        compare(&first, &side(&trials(&reads(1), &around(rate))), &options).fails()
    };
    assert!(fails(800.0, 0.1));
    assert!(!fails(895.0, 0.1), "worse by more than a tenth, but not established");
    assert!(fails(895.0, 0.05));
    assert!(!fails(1200.0, 0.05), "better");
}

#[test]
fn cells_that_ask_the_same_in_another_area_belong_together_and_the_area_is_a_condition() {
    let mut other = reads(4);
    other.size_bytes = Bytes(1 << 20);
    (other.iodepth, other.numjobs) = (1, 4);
    let comparison =
        compared(&trials(&reads(4), &around(1000.0)), &trials(&other, &around(1000.0)));
    assert_eq!(comparison.cells.len(), 1);
    assert_eq!(rate(&comparison).verdict, ComparedVerdict::Same);
    let area = comparison.conditions.iter().find(|condition| condition.what == "area").unwrap();
    assert_eq!((area.a.as_str(), area.b.as_str()), ("1 GiB", "1 MiB"));
}

#[test]
fn what_one_side_does_not_state_and_the_same_size_in_other_digits_are_no_differences() {
    let mut known = trials(&reads(1), &around(1000.0));
    let unknown = known.clone();
    for trial in &mut known {
        let kernel = "6.1".to_owned();
        trial.environment = Some(Environment { kernel, ..Environment::default() });
        trial.targets[0].size_bytes.0 += 1;
    }
    assert_eq!(compared(&known, &unknown).conditions, []);
    assert_eq!(compared(&unknown, &known).conditions, []);
    // Bare metal is known to have no hypervisor.
    let mut virtual_machine = known.clone();
    for trial in &mut virtual_machine {
        let environment = trial.environment.as_mut().unwrap();
        environment.virtualization = Some("KVM".to_owned());
    }
    let conditions = compared(&known, &virtual_machine).conditions;
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    assert_eq!((conditions[0].a.as_str(), conditions[0].b.as_str()), ("none", "KVM"));
}

#[test]
fn features_and_values_in_another_order_are_no_difference() {
    let with = |trials: &mut [Trial], features: &[&str]| {
        for trial in trials {
            trial.harness = Measured::Value(Harness {
                ceiling_iops: 1e6,
                clock: "tsc".to_owned(),
                clock_cost_ns: 20.0,
                engine_features: features.iter().map(|it| (*it).to_owned()).collect(),
                batching: None,
            });
        }
    };
    let mut pairs = [trials(&reads(1), &around(1000.0)), trials(&reads(1), &around(1000.0))];
    with(&mut pairs[0], &["rings", "buffers"]);
    with(&mut pairs[1], &["buffers", "rings"]);
    assert_eq!(compared(&pairs[0], &pairs[1]).conditions, []);
    // The trials of both sides used both, in another order.
    with(&mut pairs[0][..2], &["buffers"]);
    with(&mut pairs[1][2..], &["buffers"]);
    assert_eq!(compared(&pairs[0], &pairs[1]).conditions, []);
    with(&mut pairs[1], &["buffers"]);
    let conditions = compared(&pairs[0], &pairs[1]).conditions;
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    assert_eq!(conditions[0].a, "buffers, buffers rings");
}

#[test]
fn a_cell_of_one_side_is_not_comparable_and_says_where_it_is() {
    let comparison =
        compared(&trials(&reads(1), &around(1000.0)), &trials(&reads(2), &around(1000.0)));
    let reasons: Vec<&str> = comparison.rows().filter_map(|row| row.reason.as_deref()).collect();
    assert_eq!(reasons, ["only in A", "only in B"]);
    assert_eq!(comparison.count(ComparedVerdict::NotComparable), 2);
}

#[test]
fn trials_that_do_not_count_are_left_out_and_counted() {
    let mut second = trials(&reads(1), &[1000.0, 1001.0, 999.0, 1.0]);
    second[3].findings.push(Finding::new(FindingCode::IoErrors, Severity::Invalid, "", ""));
    let comparison = compared(&trials(&reads(1), &around(1000.0)), &second);
    assert_eq!((comparison.b.trials_left_out, rate(&comparison).n_b), (1, 3));
    assert!(comparison.notes.iter().any(|note| note.contains("1 trials of B")));
    second.truncate(0);
    assert_eq!(Side::of_trials("none", &second).unwrap_err(), SideError::Empty);
}

/// An experiment with two treatments in five blocks; each block has a level of its own.
fn arms(levels: [f64; 5], second_arm: f64) -> (Experiment, Vec<Trial>) {
    let mut experiment = Experiment { id: "e".to_owned(), ..Experiment::default() };
    experiment.axes = vec!["cache".to_owned()];
    let mut trials = Vec::new();
    for (block, level) in (0..).zip(levels) {
        for (arm, factor) in [("all", 1.0), ("device", second_arm)] {
            // Tiny noise, different in each block and treatment.
            let noise = 1.0 + 0.002 * f64::from((block * 7 + factor.to_bits() as u32 % 5) % 5);
            let mut trial = trial(&reads(1), 1000.0 * level * factor * noise);
            trial.id = format!("{block}{arm}");
            experiment.done.push(DoneTrial {
                position: trials.len() as u32,
                trial_id: trial.id.clone(),
                extras: BTreeMap::new(),
            });
            experiment.plan.push(PlannedTrial {
                block,
                levels: BTreeMap::from([("cache".to_owned(), arm.to_owned())]),
                workload: reads(1),
                ..PlannedTrial::default()
            });
            trials.push(trial);
        }
    }
    (experiment, trials)
}

fn arm(level: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("cache".to_owned(), level.to_owned())])
}

#[test]
fn arms_of_one_experiment_are_compared_block_by_block() {
    let (experiment, trials) = arms([1.0, 1.5, 0.7, 1.2, 0.9], 0.95);
    let side = |level: &str| Side::of_experiment("e", &experiment, &trials, &arm(level)).unwrap();
    let comparison = compare(&side("all"), &side("device"), &CompareOptions::default());
    let found = rate(&comparison);
    assert!(found.paired, "{found:?}");
    assert_eq!(found.verdict, ComparedVerdict::Worse, "{found:?}");
    // The same numbers as two experiments: the blocks differ far more than the treatments.
    let mut other = experiment.clone();
    other.id = "other".to_owned();
    let apart = Side::of_experiment("o", &other, &trials, &arm("device")).unwrap();
    let comparison = compare(&side("all"), &apart, &CompareOptions::default());
    assert_eq!(rate(&comparison).verdict, ComparedVerdict::CannotTell);
}

#[test]
fn an_axis_or_level_that_is_not_there_is_an_error_that_says_what_is() {
    let (experiment, trials) = arms([1.0; 5], 1.0);
    let error = |arm: BTreeMap<String, String>| {
        Side::of_experiment("e", &experiment, &trials, &arm).unwrap_err().to_string()
    };
    assert_eq!(error(arm("some")), "its axis cache has no level some; it has all, device");
    let axis = BTreeMap::from([("bs".to_owned(), "4k".to_owned())]);
    assert_eq!(error(axis), "it has no axis bs; it has cache");
}

#[test]
fn three_runs_of_each_side_hold_what_runs_differ_in() {
    let runs = |levels: [f64; 3]| {
        let sides = levels.map(|level| {
            let (mut experiment, trials) = arms([level; 5], 1.0);
            experiment.id = format!("{level}");
            Side::of_experiment("e", &experiment, &trials, &arm("all")).unwrap()
        });
        Side::together("runs", &sides).unwrap()
    };
    // Each run is quiet, and runs differ by a tenth.
    let comparison =
        compare(&runs([1.0, 1.1, 0.9]), &runs([1.05, 0.92, 1.0]), &CompareOptions::default());
    let found = rate(&comparison);
    assert_eq!((comparison.a.unit, found.n_a), (ComparedUnit::Run, 3));
    assert_eq!(found.verdict, ComparedVerdict::CannotTell, "{found:?}");
    let comparison =
        compare(&runs([1.0, 1.01, 0.99]), &runs([0.5, 0.51, 0.49]), &CompareOptions::default());
    assert_eq!(rate(&comparison).verdict, ComparedVerdict::Worse);
}

#[test]
fn three_trials_of_each_side_are_whole_runs_and_need_no_note_about_drift() {
    let drifts = |count: usize| {
        let of = |rate: f64| {
            let one = |rate: &f64| side(&[Trial { simulated: false, ..trial(&reads(1), *rate) }]);
            let sides: Vec<Side> = around(rate).iter().take(count).map(one).collect();
            Side::together("runs", &sides).unwrap()
        };
        let comparison = compare(&of(1000.0), &of(800.0), &CompareOptions::default());
        comparison.notes.iter().any(|note| note.contains("drift between whole runs"))
    };
    assert_eq!([1, 2, 3].map(drifts), [true, true, false]);
}

#[test]
fn the_level_of_a_profile_widens_its_rows() {
    let profile = |rate: f64, level_se_rel: Option<f64>| {
        let trials = trials(&reads(1), &[rate, rate * 1.001, rate * 0.999, rate * 1.0005]);
        let mut profile = profile_of(&trials);
        profile.id = format!("{rate}");
        profile.level_se_rel = level_se_rel;
        Side::of_profile("p", &profile, &trials).unwrap()
    };
    let verdict = |level: Option<f64>| {
        let (a, b) = (profile(1000.0, level), profile(900.0, level));
        rate(&compare(&a, &b, &CompareOptions::default())).verdict
    };
    assert_eq!(verdict(Some(0.0)), ComparedVerdict::Worse);
    assert_eq!(verdict(Some(0.05)), ComparedVerdict::CannotTell);
    let unknown =
        compare(&profile(1000.0, None), &profile(1001.0, None), &CompareOptions::default());
    assert!(
        unknown.notes.iter().any(|note| note.contains("drift between whole runs")),
        "{unknown:?}"
    );
}

#[test]
fn a_relative_path_that_may_be_the_same_is_no_other_target() {
    let others = |a: &str, b: &str| {
        let on = |path: &str| {
            let mut trials = trials(&reads(1), &around(1000.0));
            trials.iter_mut().for_each(|trial| trial.targets[0].path = path.to_owned());
            trials
        };
        let conditions = compared(&on(a), &on(b)).conditions;
        conditions.iter().filter(|condition| condition.what == "target").count()
    };
    assert_eq!(others("/mnt/db/data", "data"), 0);
    assert_eq!(others("/mnt/db/data", "other"), 1);
    assert_eq!(others("/mnt/db/data", "/mnt/data"), 1);
}

#[test]
fn two_profiles_make_no_side() {
    let trials = trials(&reads(1), &around(1000.0));
    let profile = Side::of_profile("p", &profile_of(&trials), &[]).unwrap();
    let together = Side::together("two", &[profile.clone(), profile.clone()]);
    assert_eq!(together.unwrap_err(), SideError::TwoProfiles);
    let mixed = Side::together("mixed", &[profile, side(&trials)]);
    assert_eq!(mixed.unwrap_err(), SideError::Mixed);
}

#[test]
fn other_processors_are_compared_by_clocks() {
    let on = |cpu: &str, hz: f64, us: f64| {
        let mut trials = trials(&reads(1), &around(1000.0));
        for (trial, factor) in trials.iter_mut().zip(AROUND) {
            trial.environment = Some(Environment { cpu: cpu.to_owned(), ..Environment::default() });
            let Measured::Value(cost) = &mut trial.cpu else { panic!() };
            cost.clock = Some(CpuClock { hz, source: "cpuinfo".to_owned() });
            cost.lower_us_per_io = Some(us * factor);
        }
        side(&trials)
    };
    // Half the clock rate, twice the time: the same work.
    let comparison =
        compare(&on("old", 1e9, 8.0), &on("new", 2e9, 4.0), &CompareOptions::default());
    let found = row(&comparison, ComparedMetric::CpuClocksPerIo);
    assert_eq!(found.verdict, ComparedVerdict::Same, "{found:?}");
    assert!((found.a.unwrap() - 8000.0).abs() < 100.0, "{found:?}");
    let whats: Vec<&str> =
        comparison.conditions.iter().map(|condition| condition.what.as_str()).collect();
    assert_eq!(whats, ["processor", "processor clock"]);
}

#[test]
fn repeated_lines_of_a_trace_are_observations_and_a_trace_against_itself_is_the_same() {
    let line = |iops: f64| TraceObservation {
        key: "read 4 KiB".to_owned(),
        label: "read 4 KiB".to_owned(),
        iops,
        requests: 60.0 * iops,
        cpu_us_per_io: Some(20.0),
    };
    let trace = |id: &str, rates: &[f64]| {
        let lines: Vec<TraceObservation> = rates.iter().map(|rate| line(*rate)).collect();
        Side::of_trace(id, id.to_owned(), &lines).unwrap()
    };
    let first = trace("a", &around(100.0));
    let comparison = compare(&first, &trace("b", &around(50.0)), &CompareOptions::default());
    assert_eq!(rate(&comparison).verdict, ComparedVerdict::Worse);
    let itself = compare(&first, &first, &CompareOptions::default());
    assert!(
        itself.rows().all(|row| row.verdict == ComparedVerdict::Same && row.ratio == Some(1.0))
    );
}

#[test]
fn cells_of_one_kind_tell_together_what_none_of_them_can_alone() {
    let profile = |id: &str, factor: f64| {
        let mut all = Vec::new();
        for (op, depths) in [(OpKind::Read, 1..9), (OpKind::Write, 1..9)] {
            for depth in depths {
                let workload = workload(op, Pattern::Random, 4096, depth);
                let slower = if op == OpKind::Read { factor } else { 1.0 };
                let noise = 0.98 + 0.005 * f64::from((depth * 3 + id.len() as u32) % 8);
                let rates = [0.97, 1.0, 1.03].map(|visit| 1000.0 * slower * noise * visit);
                all.extend(trials(&workload, &rates));
            }
        }
        let mut profile = profile_of(&all);
        profile.id = id.to_owned();
        profile.level_se_rel = Some(0.0);
        Side::of_profile(id, &profile, &[]).unwrap()
    };
    let comparison =
        compare(&profile("first", 1.0), &profile("second one", 0.85), &CompareOptions::default());
    let rows = comparison.cells.iter().flat_map(|cell| &cell.rows);
    let mut rates = rows.filter(|row| row.metric == ComparedMetric::RatePerS);
    assert!(rates.all(|row| row.verdict == ComparedVerdict::CannotTell), "three visits");
    let verdicts: Vec<(&str, ComparedVerdict)> =
        comparison.groups.iter().map(|group| (group.label.as_str(), group.row.verdict)).collect();
    let expected =
        [("random reads", ComparedVerdict::Worse), ("random writes", ComparedVerdict::Same)];
    assert_eq!(verdicts, expected, "{:?}", comparison.groups);
}
