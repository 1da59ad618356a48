//! `check` recovers the parameters of every queue device, and reports when a device has no stable ones.

use crate::program::{found, halfpower, profile};
use record::{DepthCurve, Estimate, FindingCode, OpKind, Profile, Severity};

/// A run of two seconds has 2,000 requests on a server of 1 ms. Times that vary twice as much as their mean
/// are then known to ±9 %, plus the error of the check itself.
const WIDE: f64 = 0.15;

/// Estimates of several checks, with the truth of each.
///
/// A 95 % interval misses one time in twenty, so single ones prove nothing. The number of intervals that
/// include the truth must be at most three standard deviations below its mean. None may be too wide to be
/// meaningful, or be off by a tenth. `cargo test` makes some of the checks, `HALFPOWER_PROVE=1` all.
#[derive(Default)]
struct Recovered {
    held: Vec<bool>,
}

impl Recovered {
    #[track_caller]
    fn add(&mut self, what: &str, estimate: &Estimate, truth: f64) {
        let error = estimate.value / truth - 1.0;
        assert!(error.abs() < 0.1, "{what}: {estimate:?}, not {truth}");
        assert!(estimate.relative_half_width() < WIDE, "{what}: {estimate:?}");
        self.held.push(estimate.low <= truth && truth <= estimate.high);
    }

    #[track_caller]
    fn check(&self) {
        let held = self.held.iter().filter(|held| **held).count();
        println!("{held} of {} intervals hold the truth", self.held.len());
        let all = self.held.len() as f64;
        assert!(held as f64 >= 0.95 * all - 3.0 * (all * 0.95 * 0.05).sqrt(), "{held} of {all}");
    }
}

fn reads(profile: &Profile) -> &DepthCurve {
    profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read).unwrap()
}

/// Mean latency of reads at queue depth 1: the service time.
fn service_ns(profile: &Profile) -> &Estimate {
    &reads(profile).points[0].latency_ns
}

#[test]
fn a_check_recovers_service_time_and_limit_whatever_the_variation() {
    let mut recovered = Recovered::default();
    for cv in ["0.2", "0.5", "1.5", "2"] {
        for seed in 1..=testkit::draws(1, 4) {
            let target = format!("sim:mg1,cv={cv},service=1ms --seed {seed}");
            let profile = profile(0, &format!("{target} --budget 300s"));
            let limits = &profile.limits;
            recovered.add(&target, service_ns(&profile), 1e6);
            recovered.add(&target, limits.read_iops.as_ref().unwrap(), 1_000.0);
            recovered.add(&target, limits.write_iops.as_ref().unwrap(), 1_000.0);
            assert_eq!(reads(&profile).knee, Some(1), "{target}");
        }
    }
    recovered.check();
}

#[test]
fn a_check_recovers_a_cap_and_the_service_time_below_it() {
    let mut recovered = Recovered::default();
    for seed in 1..=testkit::draws(4, 12) {
        let target = format!("sim:capped --seed {seed}");
        let profile = profile(0, &target);
        let limits = &profile.limits;
        recovered.add(&target, service_ns(&profile), 500e3);
        recovered.add(&target, limits.read_iops.as_ref().unwrap(), 3_000.0);
        recovered.add(&target, limits.write_iops.as_ref().unwrap(), 3_000.0);
        // Two servers of 500 us do 4,000 requests per second: the cap is reached between depths 1 and 2.
        assert_eq!(reads(&profile).knee, Some(2), "{target}");
    }
    recovered.check();
}

#[test]
fn a_bucket_that_outlasts_a_visit_makes_the_level_depend_on_what_came_before_and_that_is_told() {
    let profile = profile(0, "sim:capped,burst=3000");
    assert!(found(&profile.findings, FindingCode::Drift), "{:?}", profile.findings);
}

#[test]
fn a_check_recovers_a_cap_on_bytes() {
    let profile = profile(0, "sim:mdc,service=200us,throughput=125MB/s");
    let limit = profile.limits.read_bytes_per_s.as_ref().unwrap();
    assert!((limit.value / 125e6 - 1.0).abs() < 0.02, "{limit:?}");
}

#[test]
fn a_check_recovers_what_stalls_leave() {
    let mut recovered = Recovered::default();
    for seed in 1..=testkit::draws(2, 6) {
        let target = format!("sim:jittery --seed {seed}");
        let profile = profile(0, &format!("{target} --budget 300s"));
        let limit = profile.limits.read_iops.as_ref().unwrap();
        recovered.add(&target, service_ns(&profile), 1e6 * 1.04);
        recovered.add(&target, limit, 8_000.0 / 1.04);
        assert_eq!(reads(&profile).knee, Some(8), "{target}");
    }
    recovered.check();
}

#[test]
fn what_is_wrong_with_a_device_is_told_of_that_device_alone() {
    for (device, code, exit) in [
        ("sim:drifting,drift=50%", FindingCode::Drift, 0),
        ("sim:faulty,error=1e-3", FindingCode::IoErrors, 1),
    ] {
        let wrong = profile(exit, device);
        assert!(found(&wrong.findings, code), "{device}: {:?}", wrong.findings);
        // It has no neighbours, and another check would not help, so the behaviour of its model is only a
        // note.
        let drift = wrong.findings.iter().find(|finding| finding.code == FindingCode::Drift);
        assert!(drift.is_none_or(|finding| finding.severity == Severity::Info), "{drift:?}");
    }
    for device in ["sim:drifting,drift=0", "sim:faulty,error=0"] {
        let right = profile(0, device);
        for code in [FindingCode::Drift, FindingCode::IoErrors] {
            assert!(!found(&right.findings, code), "{device}: {:?}", right.findings);
        }
    }
}

#[test]
fn every_page_and_document_of_a_simulated_device_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db").display().to_string();
    let run = format!("run sim:capped --runtime 2s --db {database}");
    let check = format!("check sim:capped --budget 5s --db {database}");
    for words in [&run, &check] {
        let page = halfpower(words).expect(0).stdout;
        assert!(page.lines().next().unwrap().contains("SIMULATED"), "{page}");
        let document = halfpower(&format!("{words} --json")).expect(0).stdout;
        assert!(document.contains("\"simulated\": true"), "{document}");
        assert!(!document.contains("\"components\""), "a queue has none: left out, not empty");
    }
    for words in ["show list", "show last"] {
        let page = halfpower(&format!("{words} --db {database}")).expect(0).stdout;
        assert!(page.contains("SIMULATED"), "{page}");
    }
    let intervals = folder.path().join("intervals.csv").display().to_string();
    let words = format!("run sim:mm1 --runtime 2s --interval 1s --csv {intervals} --no-save");
    let page = halfpower(&words).expect(0).stdout;
    assert!(page.contains("SIMULATED"), "{page}");
}
