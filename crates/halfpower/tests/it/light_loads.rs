//! Loads so light that each request finds the device idle.

use crate::program::{Outcome, halfpower, program, run};
use record::Diagnosis;
use std::path::Path;

/// Eight servers that sleep after 5 ms without a request. Waking up takes longer than a request.
const SLEEPY: &str = "sim:mmc,servers=8,service=100us,cv=0.3,wake=150us";
const AWAKE: &str = "sim:mmc,servers=8,service=100us,cv=0.3";

fn check(folder: &Path, device: &str, more: &str) -> Outcome {
    halfpower(&format!("check {device} {more} --db {}", folder.join("db").display())).expect(0)
}

/// Diagnoses a device in another state with the last profile.
fn diagnose(folder: &Path, device: &str, load: &str, more: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", device, "--profile", "last", "--load", load]);
    run(command, &format!("--db {} {more}", folder.join("db").display())).expect(0)
}

#[test]
fn a_check_shows_what_a_rest_adds_and_only_where_it_adds_something() {
    let folder = tempfile::tempdir().unwrap();
    let profile = check(folder.path(), SLEEPY, "--json").profile();
    let rates: Vec<u64> = profile.lone_reads.iter().map(|lone| lone.rate_per_s).collect();
    assert_eq!(rates, [1_000, 100, 10, 1]);
    for lone in &profile.lone_reads {
        let sleeps = lone.rate_per_s <= 100;
        let truth = if sleeps { 150e3 } else { 0.0 };
        assert!((lone.added_ns.value - truth).abs() < 25e3, "{lone:?}");
    }
    let page = check(folder.path(), SLEEPY, "").stdout;
    assert!(
        page.contains("A read after an idle period: 1/s 2") && page.contains("(medians)"),
        "{page}"
    );
    let page = check(folder.path(), AWAKE, "").stdout;
    assert!(!page.contains("after an idle period"), "{page}");
    let page = check(folder.path(), AWAKE, "--verbose").stdout;
    assert!(page.contains("A read after an idle period: 1/s"), "{page}");
    // A rate that leaves no idle time is omitted; with a short budget, so are others.
    let slow = check(folder.path(), "sim:md1,service=8ms", "--json").profile();
    assert_eq!(slow.lone_reads.iter().map(|lone| lone.rate_per_s).collect::<Vec<_>>(), [10, 1]);
    let short = check(folder.path(), AWAKE, "--json --budget 10s").profile();
    assert_eq!(short.lone_reads.len(), 2);
}

#[test]
fn a_light_load_is_expected_to_take_what_lone_reads_took() {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), SLEEPY, "--quiet");
    let expected = |device: &str, load: &str| {
        let printed = diagnose(folder.path(), device, load, "--json").stdout;
        let diagnosis: Diagnosis = serde_json::from_str(&printed).unwrap();
        diagnosis.devices[0].episodes[0].calibrated.unwrap().expected_ns.value
    };
    let light = expected(SLEEPY, "rate-iops=10 arrival=poisson");
    assert!((light - 250e3).abs() < 30e3, "{light}");
    let deep = expected(SLEEPY, "iodepth=1");
    assert!((deep - 100e3).abs() < 5e3, "{deep}");
    let page = |device: &str, per_s: u32| {
        let load = format!("rate-iops={per_s} arrival=poisson");
        diagnose(folder.path(), device, &load, "").stdout
    };
    let well = page(SLEEPY, 20);
    assert!(well.contains("Leave the disk alone") && !well.contains("SLOW"), "{well}");
    // A device that takes twice as long even without the wake-up is slow, unless programs hardly wait for it.
    let slow = "sim:mmc,servers=8,service=400us,cv=0.3,wake=150us";
    let (felt, not_felt) = (page(slow, 150), page(slow, 20));
    assert!(felt.contains("SLOW"), "{felt}");
    assert!(not_felt.contains("NOT THE DISK") && not_felt.contains("or slow"), "{not_felt}");
}
