//! Tests how the findings of many trials are combined, each rule with its counterpart.

use crate::diagnose::synthetic::{trial, visits, workload};
use diagnose::trial_findings;
use record::{Finding, FindingCode, Measured, OpKind, Pattern, Severity, Trial, Workload};

fn random_read(depth: u32) -> Workload {
    workload(OpKind::Read, Pattern::Random, 4096, depth)
}

fn one(code: FindingCode, severity: Severity, claim: &str) -> Finding {
    Finding::new(code, severity, claim, "Wait.")
}

#[test]
fn findings_are_counted_by_kind_and_the_gravest_is_kept() {
    let mut trials = visits(&random_read(1), 1000.0);
    let foreign = |severity| one(FindingCode::ForeignIo, severity, "Others wrote.");
    trials[0].findings.push(foreign(Severity::Info));
    trials[2].findings.push(foreign(Severity::Warning));
    trials[2].findings.push(foreign(Severity::Info));
    trials[1].findings.push(one(FindingCode::DeviceSawLess, Severity::Invalid, "Half of it."));
    let found = trial_findings(&trials, &[]);
    let claims: Vec<&str> = found.iter().map(|finding| finding.claim.as_str()).collect();
    assert_eq!(claims, ["In 1 of 3 trials: Half of it.", "In 2 of 3 trials: Others wrote."]);
    assert_eq!(found[1].severity, Severity::Warning);
    assert!(trial_findings(&visits(&random_read(1), 1000.0), &[]).is_empty());
}

#[test]
fn requests_that_failed_are_added_up_over_the_trials() {
    let mut trials = visits(&random_read(1), 1000.0);
    let error = |errno, message: &str, count| record::ErrorCount {
        errno,
        message: message.to_owned(),
        count,
    };
    let kinds = [
        vec![error(5, "Input/output error", 2)],
        Vec::new(),
        vec![error(28, "No space left on device", 1), error(5, "Input/output error", 40)],
    ];
    for (trial, kinds) in trials.iter_mut().zip(kinds) {
        let read = trial.result.read.as_mut().unwrap();
        read.errors = kinds.iter().map(|kind| kind.count).sum();
        read.error_kinds = kinds;
        if read.errors > 0 {
            let claim = format!("{} requests failed.", read.errors);
            let finding = one(FindingCode::IoErrors, Severity::Invalid, &claim);
            let finding = finding.with("failed requests", read.errors as f64, "");
            trial.findings.push(finding.with("completed requests", 1000.0, ""));
        }
    }
    trials[1].result.read.as_mut().unwrap().short = 1;
    trials[1].findings.push(one(FindingCode::ShortTransfers, Severity::Invalid, "1 request."));
    let found = trial_findings(&trials, &[]);
    let claims: Vec<&str> = found.iter().map(|finding| finding.claim.as_str()).collect();
    assert_eq!(
        claims,
        [
            "43 requests failed in 2 of 3 trials: 42 x Input/output error, 1 x No space left on \
             device.",
            "1 request transferred less than requested in 1 of 3 trials; they are not counted.",
        ]
    );
    let numbers: Vec<f64> = found[0].evidence.iter().map(|evidence| evidence.value).collect();
    assert_eq!(numbers, [43.0, 2000.0]);
    // In a single trial the latencies cover the other requests; here that trial is excluded.
    assert!(found[0].remedy.contains("excluded from all numbers"), "{}", found[0].remedy);
}

#[test]
fn of_numbers_that_cannot_be_added_the_worst_is_quoted_as_such() {
    let claim_of = |code, ratios: [f64; 3]| {
        let mut trials = visits(&random_read(1), 1000.0);
        for (trial, ratio) in trials.iter_mut().zip(ratios) {
            let finding = one(code, Severity::Warning, &format!("Ratio {ratio}."));
            trial.findings.push(finding.with("device bytes over this run's", ratio, ""));
        }
        trial_findings(&trials, &[]).remove(0).claim
    };
    let foreign = claim_of(FindingCode::ForeignIo, [1.5, 3.5, 2.5]);
    assert_eq!(foreign, "In 3 of 3 trials (worst case shown): Ratio 3.5.");
    let less = claim_of(FindingCode::DeviceSawLess, [0.5, 0.25, 0.75]);
    assert_eq!(less, "In 3 of 3 trials (worst case shown): Ratio 0.25.");
}

#[test]
fn what_the_profile_says_already_is_not_said_again() {
    let mut trials = visits(&random_read(1), 1000.0);
    let before = one(FindingCode::ForeignIo, Severity::Info, "Before, others were busy.");
    let limit = one(FindingCode::CgroupLimit, Severity::Warning, "The group limits reads.");
    for trial in &mut trials {
        trial.findings.extend([before.clone(), limit.clone()]);
        let words = "The same limit in other words.";
        trial.findings.push(one(FindingCode::CgroupLimit, Severity::Warning, words));
    }
    trials[1].findings.push(one(FindingCode::ForeignIo, Severity::Warning, "Others wrote."));
    let found = trial_findings(&trials, &[before, limit]);
    let claims: Vec<&str> = found.iter().map(|finding| finding.claim.as_str()).collect();
    assert_eq!(claims, ["In 1 of 3 trials: Others wrote."]);
    assert_eq!(trial_findings(&trials, &[]).len(), 2, "without them all is new");
}

#[test]
fn a_rate_that_moved_is_a_note_and_only_above_the_rate_of_false_alarms() {
    let with = |moved: usize| {
        let mut trials: Vec<Trial> = (0..40).map(|_| trial(&random_read(1), 1000.0)).collect();
        for trial in &mut trials[..moved] {
            trial.result.steady = Some(false);
            trial.findings.push(one(FindingCode::NotSteady, Severity::Warning, "It moved."));
        }
        trial_findings(&trials, &[])
    };
    assert!(with(4).is_empty());
    let found = with(10);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
    assert!(found[0].claim.starts_with("In 10 of 40 visits (25 %)"), "{}", found[0].claim);
    assert!(found[0].remedy.contains("--budget") && !found[0].remedy.contains("--runtime"));
}

#[test]
fn requests_are_counted_over_all_visits_of_a_cell_and_thin_cells_are_named() {
    let few = |trial: &mut Trial| {
        let finding = one(FindingCode::TooFewRequests, Severity::Warning, "Only 44 requests.");
        trial.findings.push(finding);
    };
    let mut enough = visits(&random_read(1), 44.0);
    enough.iter_mut().for_each(few);
    assert!(trial_findings(&enough, &[]).is_empty(), "three times 44 are enough");
    let mut trials = visits(&random_read(1), 1000.0);
    trials.extend(visits(&random_read(2), 20.0));
    trials.iter_mut().for_each(few);
    let found = trial_findings(&trials, &[]);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    let claim = &found[0].claim;
    assert!(claim.starts_with("1 of 2 cells") && claim.contains("QD 2 (60)"), "{claim}");
}

/// Trials of random reads and of writes at several depths, some of which got no request.
fn cells(reads: u32, empty_reads: u32, writes: u32, empty_writes: u32) -> Vec<Trial> {
    let of = |op, count: u32, empty: u32| {
        (0..count).map(move |at| {
            let mut one = trial(&workload(op, Pattern::Random, 4096, at + 1), 1000.0);
            let result = &mut one.result;
            for direction in result.read.iter_mut().chain(&mut result.write).filter(|_| at < empty)
            {
                direction.ios = 0;
            }
            one
        })
    };
    of(OpKind::Read, reads, empty_reads).chain(of(OpKind::Write, writes, empty_writes)).collect()
}

#[test]
fn an_empty_cell_is_named_and_the_profile_stays_valid() {
    let found = trial_findings(&cells(81, 1, 1, 0), &[]);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{found:?}");
    let claim = &found[0].claim;
    assert_eq!(
        claim,
        "Not measured: no request completed in the cell random 4 KiB reads at QD \
                       1."
    );
    let fifth = trial_findings(&cells(10, 2, 0, 0), &[]);
    assert_eq!(fifth[0].severity, Severity::Warning);
    let claim = &fifth[0].claim;
    assert!(claim.contains("2 of 10 cells") && claim.contains("at QD 2"), "{claim}");
}

#[test]
fn too_many_empty_cells_or_all_of_an_operation_make_a_profile_not_valid() {
    assert_eq!(trial_findings(&cells(10, 3, 0, 0), &[])[0].severity, Severity::Invalid);
    assert_eq!(trial_findings(&cells(80, 0, 2, 2), &[])[0].severity, Severity::Invalid);
    assert_eq!(trial_findings(&cells(80, 0, 2, 1), &[])[0].severity, Severity::Warning);
    assert_eq!(trial_findings(&cells(1, 1, 0, 0), &[])[0].severity, Severity::Invalid);
}

#[test]
fn cpu_time_that_others_took_counts_over_all_visits_together() {
    // Two CPUs for three seconds.
    let with = |stolen_ms: [f64; 3], others_ms: f64, idle_ms: f64| {
        let mut trials = visits(&random_read(1), 1000.0);
        for (trial, stolen_ms) in trials.iter_mut().zip(stolen_ms) {
            let Measured::Value(cpu) = &mut trial.cpu else { panic!("synthetic trials have it") };
            (cpu.all_cpus_ms, cpu.steal_ms) = (Some(2000.0), Some(stolen_ms));
            (cpu.others_user_ms, cpu.idle_ms) = (Some(others_ms), Some(idle_ms));
            trial.findings.push(one(FindingCode::CpuTaken, Severity::Warning, "Taken."));
        }
        trial_findings(&trials, &[])
    };
    assert!(with([290.0, 0.0, 0.0], 0.0, 1900.0).is_empty(), "one bad visit of three");
    let claim = |stolen_ms, others_ms, idle_ms| {
        let found = with([stolen_ms; 3], others_ms, idle_ms);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].claim.clone()
    };
    let stolen = claim(200.0, 0.0, 1800.0);
    assert!(stolen.contains("The hypervisor took 10 % of the CPU time"), "{stolen}");
    let used = claim(0.0, 1500.0, 100.0);
    assert!(used.contains("Other programs used 75 % of the CPU time, and 5 % was idle"), "{used}");
    assert!(with([0.0; 3], 1000.0, 900.0).is_empty(), "one of two CPUs is free");
    assert!(with([0.0; 3], 100.0, 20.0).is_empty(), "the load itself keeps the CPUs busy");
}

#[test]
fn a_warning_on_less_than_a_hundredth_of_the_trials_is_a_note() {
    let with = |concerned: usize, severity| {
        let mut trials: Vec<Trial> = (0..200).map(|_| trial(&random_read(1), 1000.0)).collect();
        for trial in &mut trials[..concerned] {
            trial.findings.push(one(FindingCode::ForeignIo, severity, "Others wrote."));
        }
        trial_findings(&trials, &[])[0].severity
    };
    assert_eq!(with(1, Severity::Warning), Severity::Info);
    assert_eq!(with(2, Severity::Warning), Severity::Warning);
    assert_eq!(with(1, Severity::Invalid), Severity::Invalid, "not a number of it is right");
}

#[test]
fn notes_that_explain_one_trial_are_not_carried_into_a_profile() {
    let mut trials = visits(&random_read(1), 1000.0);
    for trial in &mut trials {
        trial.findings.push(one(FindingCode::RequestsSplit, Severity::Info, "In parts."));
        trial.findings.push(one(FindingCode::CacheSizedArea, Severity::Info, "A small area."));
    }
    let small = one(FindingCode::SmallArea, Severity::Info, "The area is a part of the device.");
    assert!(trial_findings(&trials, &[small]).is_empty());
    let claims = |already: &[Finding]| -> Vec<String> {
        trial_findings(&trials, already).into_iter().map(|finding| finding.claim).collect()
    };
    assert_eq!(claims(&[]), ["A small area."], "nobody else says it");
}

#[test]
fn an_area_that_fits_a_cache_is_one_fact_and_not_so_many_of_so_many_trials() {
    let mut trials = visits(&random_read(1), 1000.0);
    for (trial, severity) in trials.iter_mut().zip([Severity::Info, Severity::Warning]) {
        trial.findings.push(one(FindingCode::CacheSizedArea, severity, "It fits the cache."));
    }
    let small = one(FindingCode::SmallArea, Severity::Info, "The area is a part of the device.");
    let found = trial_findings(&trials, &[small]);
    let said: Vec<_> = found.iter().map(|it| (it.claim.as_str(), it.severity)).collect();
    assert_eq!(said, [("It fits the cache.", Severity::Warning)]);
}
