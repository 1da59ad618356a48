//! Traps that a profile reports: what a check omitted, what it could not reach, and how much of a device it
//! covered. Each has an opposite that differs in one condition and gives no finding.

use crate::program::{found, profile};
use record::{Finding, FindingCode, Profile, Severity};
use testkit::{LoopDevice, requires};

/// The only finding of this kind, which must have evidence and a remedy.
#[track_caller]
fn told(profile: &Profile, code: FindingCode, severity: Severity) -> &Finding {
    let mut of_kind = profile.findings.iter().filter(|finding| finding.code == code);
    let finding = of_kind.next().unwrap_or_else(|| panic!("{:#?}", profile.findings));
    assert!(of_kind.next().is_none(), "twice: {:#?}", profile.findings);
    assert_eq!(finding.severity, severity, "{finding:?}");
    assert!(!finding.remedy.is_empty() && !finding.evidence.is_empty(), "{finding:?}");
    finding
}

#[test]
fn points_that_do_not_fit_the_budget_are_told_and_a_budget_that_holds_them_all_is_not() {
    let with = |budget: &str| profile(0, &format!("sim:md1,service=20ms --budget {budget}"));
    let short = with("10s");
    let finding = told(&short, FindingCode::PointsSkipped, Severity::Info);
    assert!(finding.remedy.contains("--budget"), "{finding:?}");
    let long = with("600s");
    assert!(!found(&long.findings, FindingCode::PointsSkipped), "{:#?}", long.findings);
    let points = |profile: &Profile| profile.cells.len();
    assert!(points(&short) < points(&long));
}

#[test]
fn a_rate_that_still_grows_at_the_largest_depth_is_told_and_one_that_does_not_is_not() {
    let with = |servers: u32| profile(0, &format!("sim:mdc,service=1ms,servers={servers}"));
    let growing = with(4096);
    let knees: Vec<_> = growing.depth_curves.iter().map(|curve| curve.knee).collect();
    assert_eq!(knees, [None, None]);
    let told = growing.findings.iter().filter(|it| it.code == FindingCode::KneeNotReached);
    let told: Vec<_> = told.collect();
    // One for the curve of reads, one for that of writes.
    assert_eq!(told.len(), 2, "{:#?}", growing.findings);
    assert!(told.iter().all(|it| it.severity == Severity::Warning && !it.evidence.is_empty()));
    let limited = with(16);
    assert!(!found(&limited.findings, FindingCode::KneeNotReached), "{:#?}", limited.findings);
}

#[test]
fn a_small_part_of_the_device_is_told_once_and_a_large_one_is_not() {
    requires!(Root, Loop);
    let device = LoopDevice::new(4 << 30).unwrap();
    let with =
        |size: &str| profile(0, &format!("{} --budget 5s --size {size}", device.path().display()));
    let large = with("450m");
    for code in [FindingCode::SmallArea, FindingCode::CacheSizedArea] {
        assert!(!found(&large.findings, code), "{:#?}", large.findings);
    }
    // Less than a hundredth: each trial has this note, and the profile does not repeat those notes.
    let small = with("32m");
    told(&small, FindingCode::SmallArea, Severity::Info);
    // That the area fits in a drive's cache is a separate finding, reported once and not once per trial.
    let finding = told(&small, FindingCode::CacheSizedArea, Severity::Warning);
    assert!(finding.claim.starts_with("The area of 32 MiB fits"), "{finding:?}");
}
