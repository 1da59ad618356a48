//! The store from outside: saved documents, refusals, and the file after a kill.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod documents;
mod durability;
mod experiments;
mod migration;
mod refusals;

use record::{
    Bytes, DeviceFacts, EXPERIMENT_SCHEMA, Experiment, HistogramSnapshot, Limits, Measured, Nanos,
    OBSERVATION_SCHEMA, Observation, PROFILE_SCHEMA, PlannedTrial, Profile, TRIAL_SCHEMA, Target,
    TargetKind, Trial, TrialResult, Workload,
};
use std::collections::BTreeMap;

/// The workload of a simple cell.
fn workload() -> Workload {
    Workload { size_bytes: Bytes(1 << 30), runtime_ns: Nanos(1_000_000_000), ..Workload::default() }
}

/// A disk under a directory.
fn target() -> Target {
    let device = DeviceFacts {
        name: "sda1".to_owned(),
        disk: "sda".to_owned(),
        model: Some("EXAMPLE 1000".to_owned()),
        ..DeviceFacts::default()
    };
    Target {
        path: "/mnt/data".to_owned(),
        kind: TargetKind::Directory,
        size_bytes: Bytes(1 << 30),
        device: Some(device),
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    }
}

/// A measured trial with floats that a careless reader would round.
fn trial(id: &str) -> Trial {
    let direction = record::DirectionResult {
        offered_iops: None,
        ios: 30_000,
        bytes: 30_000 * 4096,
        iops: 30_000.0 / 0.999_999_7,
        bytes_per_s: 0.1 + 0.2,
        iops_ci95_rel: Some(1.0 / 3.0),
        errors: 0,
        error_kinds: Vec::new(),
        short: 0,
        latency_ns: None,
        completion_ns: None,
        histogram: HistogramSnapshot { buckets: vec![(700, 29_000), (701, 1_000)] },
    };
    Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: "0.1.0".to_owned(),
        measured_by: None,
        id: id.to_owned(),
        time: Some("2026-01-02T03:04:05.678Z".to_owned()),
        seed: u64::MAX,
        simulated: false,
        cell: workload().cell(),
        targets: vec![target()],
        workload: workload(),
        result: TrialResult {
            duration_ns: Nanos(999_999_700),
            steady: Some(true),
            read: Some(direction),
            write: None,
            concurrency: 0.999_2,
            ..TrialResult::default()
        },
        cpu: Measured::not("this document was made by hand"),
        device_counters: Measured::not("this document was made by hand"),
        harness: Measured::not("this document was made by hand"),
        findings: Vec::new(),
        environment: None,
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
        total: None,
        clients: None,
        parts: Vec::new(),
    }
}

/// The same trial on a simulated target.
fn simulated_trial(id: &str) -> Trial {
    Trial { simulated: true, time: None, ..trial(id) }
}

/// A profile without cells.
fn profile(id: &str) -> Profile {
    Profile {
        schema: PROFILE_SCHEMA.to_owned(),
        halfpower_version: "0.1.0".to_owned(),
        id: id.to_owned(),
        time: Some("2026-01-02T03:04:05Z".to_owned()),
        seed: 7,
        simulated: false,
        target: target(),
        clients: Vec::new(),
        facts: Vec::new(),
        environment: None,
        budget_ns: Nanos(60_000_000_000),
        measured_ns: Nanos(59_000_000_000),
        level_se_rel: None,
        run_spread: None,
        areas: Vec::new(),
        area_spreads: Vec::new(),
        earlier_levels: Vec::new(),
        cells: Vec::new(),
        mixes: Vec::new(),
        lone_reads: Vec::new(),
        caps: Vec::new(),
        sustained: Vec::new(),
        commits: Measured::not("the profile was made before halfpower measured commits"),
        service_time_fits: Vec::new(),
        depth_curves: Vec::new(),
        size_curves: Vec::new(),
        limits: Limits {
            read_iops: Some(record::Estimate::symmetric(31_234.567, 89.1, 5)),
            write_iops: None,
            read_bytes_per_s: None,
            write_bytes_per_s: None,
        },
        expectations: Vec::new(),
        advice: Vec::new(),
        findings: Vec::new(),
    }
}

/// An experiment of two trials, none of which has run.
fn experiment(id: &str) -> Experiment {
    let planned = |block: u32| PlannedTrial {
        block,
        levels: BTreeMap::from([("bs".to_owned(), "4k".to_owned())]),
        workload: workload(),
        seed: u64::from(block) + 1,
        preparation: Some("written".to_owned()),
        targets: Vec::new(),
    };
    Experiment {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        halfpower_version: "0.1.0".to_owned(),
        id: id.to_owned(),
        time: Some("2026-01-02T03:04:06Z".to_owned()),
        seed: 7,
        simulated: false,
        design: "riedel".to_owned(),
        design_text: "[axes]\nbs = [\"4k\"]\n".to_owned(),
        note: String::new(),
        targets: vec![target()],
        environment: None,
        axes: vec!["bs".to_owned()],
        plan: vec![planned(0), planned(1)],
        ..Experiment::default()
    }
}

/// An observation without intervals.
fn observation(id: &str) -> Observation {
    Observation {
        schema: OBSERVATION_SCHEMA.to_owned(),
        halfpower_version: "0.1.0".to_owned(),
        id: id.to_owned(),
        time: Some("2026-01-02T03:04:07Z".to_owned()),
        source: "live".to_owned(),
        ..Observation::default()
    }
}
