//! The plan of `check` on simulated devices: which cells it visits, how often, and in what time.

use plan::session::{self, End};
use plan::{CheckPlan, CheckSettings, DiagnosisPlan, Plan, PlannedTrial, Progress, check_cells};
use record::{Bytes, EngineName, Nanos, OpKind, Pattern, Trial};
use simdisk::SimSpec;
use std::collections::BTreeMap;

const AREA: Bytes = Bytes(1 << 30);
const SEED: u64 = 1;

pub(crate) fn settings(budget_s: u64) -> CheckSettings {
    CheckSettings {
        area: AREA,
        areas: Vec::new(),
        read_areas: Vec::new(),
        engine: EngineName::Sim,
        alignment: 512,
        budget: Nanos(budget_s * 1_000_000_000),
        write: true,
        full: false,
        target_rel: 0.05,
        seed: SEED,
    }
}

/// A plan that records the phase of each of its trials.
struct Noted<P>(P, Vec<&'static str>);

impl<P: Plan> Plan for Noted<P> {
    fn next(&mut self) -> Option<PlannedTrial> {
        let planned = self.0.next()?;
        self.1.push(self.0.progress().phase);
        Some(planned)
    }
    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.0.observe(trial, spent);
    }
    fn progress(&self) -> Progress {
        self.0.progress()
    }
}

/// Runs a whole plan; returns its trials, their phases and the number of points left out.
fn run(device: &str, settings: CheckSettings) -> (Vec<Trial>, Vec<&'static str>, usize) {
    carried_out(device, CheckPlan::new(settings).unwrap())
}

fn carried_out(device: &str, plan: impl Plan) -> (Vec<Trial>, Vec<&'static str>, usize) {
    let mut noted = Noted(plan, Vec::new());
    let spec = SimSpec::parse(device).unwrap();
    let finished = session::simulate(&spec, AREA, SEED, &mut noted).unwrap();
    assert_eq!(finished.end, End::Completed);
    (finished.trials, noted.1, noted.0.skipped())
}

fn visits(trials: &[Trial]) -> BTreeMap<&str, usize> {
    let mut visits = BTreeMap::new();
    for trial in trials {
        *visits.entry(trial.cell.as_str()).or_default() += 1;
    }
    visits
}

fn depths(trials: &[Trial], op: OpKind) -> Vec<u32> {
    let mut depths: Vec<u32> = trials
        .iter()
        .map(|trial| &trial.workload)
        .filter(|w| w.only_op() == Some(op) && w.pattern == Pattern::Random)
        .filter(|w| w.max_bs() == Bytes(4096) && w.cache == record::CacheMode::Device)
        .map(|workload| workload.depth)
        .collect();
    depths.sort_unstable();
    depths.dedup();
    depths
}

#[test]
fn on_a_fast_device_every_cell_is_visited_three_times_and_no_point_is_left_out() {
    let (trials, _, skipped) = run("mmc,servers=8,service=100us,rate=500MB", settings(60));
    assert_eq!(skipped, 0);
    let visits = visits(&trials);
    assert!(visits.len() > 55, "{} cells", visits.len());
    assert!(visits.values().all(|&count| count >= 3), "{visits:?}");
}

#[test]
fn more_visits_come_in_doublings() {
    let (trials, ..) = run("mm1,service=2ms", settings(120));
    let visits = visits(&trials);
    assert!(visits.values().any(|&count| count > 3), "some cell needed more");
    // The end of the budget may cut the last refinement.
    let odd = visits.values().filter(|&&count| ![3, 6, 12, 24, 48].contains(&count)).count();
    assert!(odd * 4 < visits.len(), "{visits:?}");
}

#[test]
fn on_a_slow_device_the_matrix_stays_whole_and_the_curves_get_shorter() {
    let slow = run("mm1,service=40ms", settings(30));
    assert!(slow.2 > 0, "points were left out");
    let cells = visits(&slow.0);
    assert!(cells.len() >= check_cells(false, true).len());
    let spent: u64 = slow.0.iter().map(|t| t.workload.runtime_ns.0 + t.workload.ramp_ns.0).sum();
    assert!(spent <= 30_000_000_000, "{spent}");
}

#[test]
fn the_depth_ladder_ends_soon_after_the_servers_are_busy() {
    let (trials, ..) = run("mdc,servers=8,service=100us", settings(60));
    let reads = depths(&trials, OpKind::Read);
    assert!(reads.ends_with(&[8, 16, 32]), "{reads:?}");
    let (trials, ..) = run("mdc,servers=1024,service=100us", settings(60));
    let reads = depths(&trials, OpKind::Read);
    assert_eq!(reads, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
}

#[test]
fn a_flat_start_does_not_end_the_depth_ladder_before_depth_32() {
    let (trials, ..) = run("mm1,service=100us", settings(60));
    for op in [OpKind::Read, OpKind::Write] {
        assert_eq!(depths(&trials, op), [1, 2, 4, 8, 16, 32], "{op:?}");
    }
}

#[test]
fn rounds_go_through_the_cells_in_orders_of_their_own() {
    let (trials, phases, _) = run("mdc,servers=8,service=100us", settings(60));
    let repeats: Vec<&str> = trials
        .iter()
        .zip(&phases)
        .filter(|(_, phase)| **phase == "repeats")
        .map(|(trial, _)| trial.cell.as_str())
        .collect();
    let (second, third) = repeats.split_at(repeats.len() / 2);
    assert_ne!(second, third);
    let sorted = |round: &[&str]| {
        let mut cells: Vec<String> = round.iter().map(|&cell| cell.to_owned()).collect();
        cells.sort();
        cells
    };
    assert_eq!(sorted(second), sorted(third), "each round visits each cell once");
}

#[test]
fn without_writes_nothing_is_written() {
    let (trials, ..) = run("mdc", CheckSettings { write: false, ..settings(20) });
    assert!(!trials.is_empty() && trials.iter().all(|trial| !trial.workload.writes()));
}

#[test]
fn the_full_matrix_has_thirty_six_cells_at_depth_one() {
    let cells = check_cells(true, true);
    let matrix = cells.iter().filter(|cell| cell.iodepth == 1 && cell.cache.direct());
    // The one additional cell is the random write past all caches.
    let device = matrix.filter(|cell| cell.cache == record::CacheMode::Device).count();
    assert_eq!(device, 36);
}

#[test]
fn a_plan_that_is_told_the_stored_trials_goes_on_where_it_was() {
    let (trials, ..) = run("mdc,servers=4,service=200us", settings(20));
    let half = trials.len() / 2;
    let mut plan = CheckPlan::new(settings(20)).unwrap();
    for trial in &trials[..half] {
        let planned = plan.next().unwrap();
        assert_eq!(planned.workload.cell(), trial.cell);
        plan.observe(trial, planned.workload.ramp_ns.plus(planned.workload.runtime_ns));
    }
    let next = plan.next().unwrap();
    assert_eq!((next.workload.cell(), next.seed), (trials[half].cell.clone(), trials[half].seed));
}

#[test]
fn cells_that_do_not_fit_the_alignment_are_left_out() {
    let coarse = CheckSettings { alignment: 16 << 10, ..settings(20) };
    let mut plan = CheckPlan::new(coarse).unwrap();
    let first = plan.next().unwrap();
    assert_eq!(first.workload.max_bs().0 % (16 << 10), 0);
    assert!(CheckPlan::new(CheckSettings { area: Bytes(1024), ..settings(20) }).is_none());
}

#[test]
fn a_device_that_completes_nothing_in_a_visit_ends_with_the_budget() {
    let (trials, ..) = run("md1,service=3s", settings(10));
    assert!(trials.len() >= check_cells(false, true).len(), "the matrix was tried");
    let spent: u64 = trials.iter().map(|t| t.workload.runtime_ns.0 + t.workload.ramp_ns.0).sum();
    assert!(spent <= 10_000_000_000);
    let most = visits(&trials).values().copied().max();
    assert!(most <= Some(3), "cells are given up: {most:?}");
}

/// The plan of `check --for-diagnosis` uses the budget that remains after three rounds.
#[test]
fn rounds_for_diagnosis_go_on_until_the_budget_is_spent() {
    // Without writes three rounds take half of it.
    let settings = CheckSettings { write: false, ..settings(100) };
    let budget = settings.budget;
    let plan = DiagnosisPlan::new(settings).unwrap();
    let (trials, _, skipped) = carried_out("mmc,servers=4,service=1ms", plan);
    assert_eq!(skipped, 0);
    let length = |trial: &Trial| trial.workload.runtime_ns.0 + trial.workload.ramp_ns.0;
    let spent: u64 = trials.iter().map(length).sum();
    let (opens, loops): (Vec<Trial>, Vec<Trial>) =
        trials.into_iter().partition(|trial| trial.workload.rate_iops.is_some());
    let (opens, loops) = (visits(&opens), visits(&loops));
    let fewest = |visits: &BTreeMap<&str, usize>| *visits.values().min().unwrap();
    let most = |visits: &BTreeMap<&str, usize>| *visits.values().max().unwrap();
    assert!(most(&opens) > 3, "{opens:?}");
    // Both kinds of rounds alternate, and the last one is incomplete.
    assert!(most(&opens) - fewest(&opens) <= 1, "{opens:?}");
    assert!(most(&loops) - fewest(&loops) <= 1, "{loops:?}");
    assert!(most(&loops).abs_diff(most(&opens)) <= 1);
    assert!(spent <= budget.0 && spent > budget.0 / 100 * 99, "{spent}");
}
