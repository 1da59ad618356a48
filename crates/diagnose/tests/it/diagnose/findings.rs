//! Tests findings on a profile, each with its counterpart.

use crate::diagnose::synthetic::{Noise, depths, rounds, sizes, target, trial, visits, workload};
use crate::diagnose::{profile, profile_of};
use diagnose::{Omitted, profile_findings};
use record::{Bytes, Finding, FindingCode, OpKind, Pattern, Target, TargetKind, Trial, Workload};

fn findings(trials: &[Trial]) -> Vec<Finding> {
    profile_findings(&profile(trials), trials, Omitted::default())
}

fn codes(trials: &[Trial]) -> Vec<FindingCode> {
    findings(trials).iter().map(|finding| finding.code).collect()
}

fn codes_on(target: Target) -> Vec<FindingCode> {
    let mut trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, 1), 1000.0);
    trials.extend(visits(&workload(OpKind::Write, Pattern::Random, 4096, 1), 1000.0));
    let profile = profile_of(target, &trials);
    let findings = profile_findings(&profile, &trials, Omitted::default());
    findings.iter().map(|finding| finding.code).collect()
}

fn find(trials: &[Trial], code: FindingCode) -> Finding {
    let found = findings(trials).into_iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("{code:?} not among {:?}", codes(trials)))
}

#[test]
fn a_quiet_disk_measured_well_gives_no_finding() {
    assert_eq!(codes_on(target()), []);
    assert!(codes(&[]).is_empty());
}

fn hit_and_random(hit: f64, random: f64) -> Vec<Trial> {
    let mut trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, 1), random);
    trials.extend(visits(&workload(OpKind::Read, Pattern::Hit, 4096, 1), hit));
    trials
}

#[test]
fn faster_rereads_are_a_cache_and_equal_ones_are_none() {
    let seen = find(&hit_and_random(5000.0, 1000.0), FindingCode::CacheSeen);
    assert!(seen.claim.contains("5.0 times as fast"), "{}", seen.claim);
    assert!((seen.evidence[0].value - 5.0).abs() < 1e-9);
    assert!((0.1..0.5).contains(&seen.evidence[1].value), "{:?}", seen.evidence);
    let none = find(&hit_and_random(1000.0, 1000.0), FindingCode::NoCacheSeen);
    assert!(none.claim.contains("no sign of a cache"), "{}", none.claim);
}

#[test]
fn a_comparison_that_cannot_decide_is_neither() {
    let mut trials = hit_and_random(1200.0, 1000.0);
    trials.push(trial(&workload(OpKind::Read, Pattern::Hit, 4096, 1), 2500.0));
    let codes = codes(&trials);
    assert!(!codes.contains(&FindingCode::CacheSeen), "{codes:?}");
    assert!(!codes.contains(&FindingCode::NoCacheSeen), "{codes:?}");
}

#[test]
fn hits_of_another_size_are_not_compared() {
    let mut trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, 1), 1000.0);
    trials.extend(visits(&workload(OpKind::Read, Pattern::Hit, 8192, 1), 5000.0));
    assert!(codes(&trials).is_empty());
}

/// 43 cells, visited three times each. The rate of each trial is `speed` of its position in the run (0 to 1).
fn run_with(speed: impl Fn(f64) -> f64, noise_rel: f64, seed: u64) -> Vec<Trial> {
    let mut design = depths(OpKind::Read, 128);
    design.extend(depths(OpKind::Write, 128));
    design.extend([1, 2, 4].iter().flat_map(|&depth| sizes(OpKind::Read, depth)));
    let mut noise = Noise(seed);
    let count = 3 * design.len();
    (0..count)
        .map(|index| {
            let workload = &design[index % design.len()];
            let position = index as f64 / count as f64;
            let rate = 1000.0 * f64::from(workload.depth.min(4));
            trial(workload, rate * speed(position) * (1.0 + noise_rel * noise.next()))
        })
        .collect()
}

#[test]
fn a_device_that_slows_down_drifts_and_a_noisy_one_does_not() {
    let slowing = run_with(|position| 1.0 - 0.15 * position, 0.03, 1);
    let found = find(&slowing, FindingCode::Drift);
    assert!(found.claim.contains("slower"), "{}", found.claim);
    let change = found.evidence[0].value;
    assert!((-0.20..-0.11).contains(&change), "{change}");
    let false_alarms = (0..200)
        .filter(|&seed| codes(&run_with(|_| 1.0, 0.08, seed)).contains(&FindingCode::Drift))
        .count();
    assert!(false_alarms <= 4, "{false_alarms} of 200");
}

#[test]
fn a_drift_too_small_to_matter_is_not_reported() {
    let creeping = run_with(|position| 1.0 + 0.02 * position, 0.001, 1);
    assert!(!codes(&creeping).contains(&FindingCode::Drift));
}

#[test]
fn a_cell_that_drifts_alone_is_named() {
    let alone = workload(OpKind::Write, Pattern::Random, 4096, 16);
    let still = workload(OpKind::Read, Pattern::Random, 4096, 1);
    // There are twenty times as many other cells, so the pool does not drift.
    let mut trials = Vec::new();
    for round in 0..12 {
        trials.push(trial(&alone, 1000.0 * (1.0 + 0.01 * f64::from(round))));
        for other in 0..20 {
            let sign = if (round + other) % 2 == 0 { 1.0 } else { -1.0 };
            trials.push(trial(&still, 1000.0 * (1.0 + 0.2 * sign)));
        }
    }
    let found = find(&trials, FindingCode::Drift);
    assert!(found.claim.contains("random 4 KiB writes at QD 16"), "{}", found.claim);
    assert!(found.claim.contains("faster"), "{}", found.claim);
}

#[test]
fn wide_cells_are_counted_and_the_widest_is_named() {
    let read = workload(OpKind::Read, Pattern::Random, 4096, 1);
    let write = workload(OpKind::Write, Pattern::Random, 4096, 1);
    let mut trials = visits(&read, 1000.0);
    trials.extend([500.0, 1000.0, 1500.0].map(|iops| trial(&write, iops)));
    let found = find(&trials, FindingCode::PrecisionNotReached);
    assert!(found.claim.starts_with("1 of 2 cells"), "{}", found.claim);
    assert!(found.claim.contains("random 4 KiB writes at QD 1"), "{}", found.claim);
    let mut precise = visits(&read, 1000.0);
    precise.extend(visits(&write, 1000.0));
    assert!(codes(&precise).is_empty());
}

#[test]
fn where_most_cells_are_wide_the_median_stands_beside_the_widest() {
    let mut trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, 1), 1000.0);
    for (depth, spread) in [(2, 0.1), (4, 0.2)] {
        let load = workload(OpKind::Read, Pattern::Random, 4096, depth);
        trials.extend([1.0 - spread, 1.0, 1.0 + spread].map(|by| trial(&load, 1000.0 * by)));
    }
    let claim = find(&trials, FindingCode::PrecisionNotReached).claim;
    assert!(claim.starts_with("2 of 3 cells"), "{claim}");
    // t(0.98, 2) / sqrt(3) = 2.80 times the spread.
    assert!(
        claim.contains("the median within this run is ±28 %, the widest ±56 % (random 4 KiB reads"),
        "{claim}"
    );
}

#[test]
fn only_a_disk_can_be_shared() {
    let load = workload(OpKind::Read, Pattern::Random, 4096, 1);
    let trials = [500.0, 1000.0, 1500.0].map(|iops| trial(&load, iops));
    let remedy = |target, simulated| {
        let profile = record::Profile { simulated, ..profile_of(target, &trials) };
        let mut found = profile_findings(&profile, &trials, Omitted::default());
        found.retain(|finding| finding.code == FindingCode::PrecisionNotReached);
        found.remove(0).remedy
    };
    assert_eq!(
        remedy(target(), false),
        "Increase --budget; other users of a shared disk cause variation."
    );
    assert_eq!(remedy(target(), true), "Increase --budget.");
    assert_eq!(remedy(Target { device: None, ..target() }, false), "Increase --budget.");
}

fn line_with_bump(bump: f64) -> Vec<Trial> {
    let rate = |workload: &Workload| {
        let bytes = workload.max_bs().0 as f64;
        let factor = if workload.max_bs().0.trailing_zeros() % 2 == 1 { bump } else { 1.0 };
        factor * 1e9 / (80_000.0 + 2.0 * bytes)
    };
    rounds(&sizes(OpKind::Write, 1), rate, 3, 0.003, &mut Noise(1))
}

#[test]
fn a_line_that_does_not_hold_is_called_poor() {
    let found = find(&line_with_bump(1.6), FindingCode::FitPoor);
    assert!(found.claim.contains("sequential writes"), "{}", found.claim);
    assert!(!codes(&line_with_bump(1.0)).contains(&FindingCode::FitPoor));
}

fn served_by(servers: u32) -> Vec<Trial> {
    let rate = |workload: &Workload| 1000.0 * f64::from(workload.depth.min(servers));
    rounds(&depths(OpKind::Read, 32), rate, 3, 0.005, &mut Noise(1))
}

#[test]
fn a_rate_that_still_grows_is_not_called_the_limit() {
    let found = find(&served_by(64), FindingCode::KneeNotReached);
    assert!(found.remedy.contains("--rw randread --iodepth 64"), "{}", found.remedy);
    assert!(!codes(&served_by(16)).contains(&FindingCode::KneeNotReached));
}

#[test]
fn an_area_that_is_a_small_part_of_the_device_is_pointed_out() {
    let on = |device_bytes| {
        let mut target = target();
        target.device.as_mut().unwrap().size_bytes = Bytes(device_bytes);
        codes_on(target)
    };
    assert_eq!(on(100 << 30), [FindingCode::SmallArea]);
    assert_eq!(on(8 << 30), []);
    assert_eq!(on(0), [], "a device of unknown size");
}

#[test]
fn what_was_found_when_the_target_was_opened_is_not_found_again() {
    let in_memory = Target { kind: TargetKind::Directory, device: None, ..target() };
    assert_eq!(codes_on(in_memory), []);
    let mut virtual_disk = target();
    let device = virtual_disk.device.as_mut().unwrap();
    (device.rotational, device.rotational_trusted) = (Some(true), false);
    assert_eq!(codes_on(virtual_disk), []);
}

#[test]
fn a_file_that_is_only_read_says_why_there_are_no_writes() {
    let with = |op, kind| {
        let trials = visits(&workload(op, Pattern::Random, 4096, 1), 1000.0);
        let profile = profile_of(Target { kind, ..target() }, &trials);
        profile_findings(&profile, &trials, Omitted::default())
    };
    let found = with(OpKind::Read, TargetKind::File);
    assert_eq!(found[0].code, FindingCode::WritesSkipped);
    assert!(found[0].claim.contains("never writes to an existing file"), "{}", found[0].claim);
    assert!(with(OpKind::Write, TargetKind::File).is_empty());
    assert!(with(OpKind::Read, TargetKind::Directory).is_empty());
}

#[test]
fn what_was_left_out_is_said() {
    let trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, 1), 1000.0);
    let directory = Target { kind: TargetKind::Directory, ..target() };
    let profile = profile_of(directory, &trials);
    let with = |omitted| profile_findings(&profile, &trials, omitted);
    let omitted = Omitted { writes: true, points: 3, interrupted: true };
    let codes: Vec<FindingCode> = with(omitted).iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        [FindingCode::Interrupted, FindingCode::WritesSkipped, FindingCode::PointsSkipped]
    );
    assert!(with(omitted)[1].claim.contains("test file itself was written"));
    assert!(with(Omitted::default()).is_empty());
}
