//! The plan of commits, and two interleaved plans. The results of trials are made up, because a simulated
//! device has no flush.

use plan::session::Session;
use plan::{CheckPlan, CheckSettings, CommitsPlan, Plan, PlannedTrial, Preparation, SideBySide};
use record::{
    Bytes, CacheMode, DirectionResult, EngineName, FlushKind, LogKind, Nanos, Trial, TrialResult,
};
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::sync::Arc;

const AREA: Bytes = Bytes(256 << 20);

fn settings(budget_ms: u64) -> CheckSettings {
    CheckSettings {
        area: AREA,
        areas: Vec::new(),
        read_areas: Vec::new(),
        engine: EngineName::IoUring,
        budget: Nanos(budget_ms * 1_000_000),
        ..crate::plan::check::settings(0)
    }
}

/// A trial of the plan in which `ios` requests completed and `errors` failed.
fn told(planned: &PlannedTrial, ios: u64, errors: u64) -> Trial {
    let spec = SimSpec::parse("mm1").unwrap();
    let mut session = Session::simulated(&spec, Some(AREA), 1, &Arc::default());
    let plain = record::Workload {
        runtime_ns: Nanos(1_000_000),
        size_bytes: AREA,
        engine: EngineName::Sim,
        ..Default::default()
    };
    let trial = session.trial(&plain, 1, &mut |_| {}).unwrap();
    let seconds = planned.workload.runtime_ns.as_secs_f64();
    let write = DirectionResult { ios, iops: ios as f64 / seconds, errors, ..Default::default() };
    let result = TrialResult {
        duration_ns: planned.workload.runtime_ns,
        write: Some(write),
        ..TrialResult::default()
    };
    let (cell, workload) = (planned.workload.cell(), planned.workload.clone());
    Trial { cell, workload, result, findings: Vec::new(), ..trial }
}

fn log(planned: &PlannedTrial) -> LogKind {
    model::log_kind(&planned.workload).unwrap()
}

/// All trials of a plan on a device whose rate varies strongly.
fn all(plan: &mut dyn Plan) -> Vec<PlannedTrial> {
    let mut trials = Vec::new();
    while let Some(planned) = plan.next() {
        let ios = [400, 2_000, 900, 5_000][trials.len() % 4];
        plan.observe(&told(&planned, ios, 0), planned.longest());
        trials.push(planned);
    }
    trials
}

#[test]
fn each_number_of_committers_commits_three_times_to_old_blocks_and_to_new_ones() {
    let trials = all(&mut CommitsPlan::new(settings(10_000), FlushKind::Fdatasync).unwrap());
    let mut visits: BTreeMap<(LogKind, u32), usize> = BTreeMap::new();
    for planned in &trials {
        let workload = &planned.workload;
        assert_eq!(workload.cache, CacheMode::All);
        assert_eq!(workload.flush.unwrap().every, 1);
        let new = log(planned) == LogKind::NewBlocks;
        assert_eq!(
            planned.preparation,
            match new {
                true => Preparation::Treatment("new-blocks".to_owned()),
                false => Preparation::None,
            }
        );
        // New blocks are after the end of the file, old ones inside it.
        assert_eq!(workload.offset_bytes, if new { AREA } else { Bytes(0) });
        *visits.entry((log(planned), workload.numjobs)).or_default() += 1;
    }
    let committers: Vec<u32> = visits.keys().map(|key| key.1).collect();
    assert_eq!(committers, [1, 2, 4, 8, 16, 32, 64, 1, 2, 4, 8, 16, 32, 64]);
    assert!(visits.values().all(|&visits| visits == 3), "{visits:?}");
    let spent: u64 = trials.iter().map(|planned| planned.longest().0).sum();
    assert!((9_900_000_000..=10_000_000_000).contains(&spent), "{spent}");
}

#[test]
fn less_time_has_fewer_points_and_too_little_none() {
    let numbers = |budget_ms| {
        let plan = CommitsPlan::new(settings(budget_ms), FlushKind::Fdatasync);
        let mut plan = plan?;
        let mut numbers: Vec<u32> =
            all(&mut plan).iter().map(|planned| planned.workload.numjobs).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers)
    };
    assert_eq!(numbers(3_000), Some(vec![1, 4, 16, 64]));
    assert_eq!(numbers(1_700), Some(vec![1, 16]));
    assert_eq!(numbers(800), None);
}

#[test]
fn a_point_whose_writes_fail_is_not_tried_again() {
    let mut plan = CommitsPlan::new(settings(3_000), FlushKind::Fdatasync).unwrap();
    let mut failed = 0;
    while let Some(planned) = plan.next() {
        let new = log(&planned) == LogKind::NewBlocks;
        failed += u32::from(new);
        plan.observe(&told(&planned, 1000, u64::from(new)), planned.longest());
    }
    assert_eq!(failed, 4, "once with each number of committers");
}

#[test]
fn plans_beside_each_other_share_the_time_from_begin_to_end() {
    let (requests, commits) = (settings(25_000), settings(5_000));
    let mut plan = SideBySide::new(vec![
        (Box::new(CheckPlan::new(requests).unwrap()), Nanos(25_000_000_000)),
        (Box::new(CommitsPlan::new(commits, FlushKind::Fdatasync).unwrap()), Nanos(5_000_000_000)),
    ]);
    let trials = all(&mut plan);
    let end = plan.progress();
    assert!(end.share > 0.95, "{end:?}");
    let quarter = trials.len() / 4;
    for (place, part) in trials.chunks(quarter).take(4).enumerate() {
        let commits = part.iter().filter(|planned| planned.workload.flush.is_some()).count();
        assert!(commits > 0 && commits < part.len() / 2, "quarter {place}: {commits} of {quarter}");
    }
}
