//! Loads so light that each request finds the device idle.

use crate::program::{Outcome, halfpower, profile, profiled_into, program, run};
use record::{Diagnosis, Profile};
use std::path::Path;

/// Eight servers that sleep after 5 ms without a request. Waking up takes longer than a request.
const SLEEPY: &str = "sim:mmc,servers=8,service=100us,cv=0.3,wake=150us";
const AWAKE: &str = "sim:mmc,servers=8,service=100us,cv=0.3";

/// The profile of a device, its page, and the page with details.
fn checked(device: &str) -> (Profile, [String; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let profile = profiled_into(&database, device).profile();
    let pages = ["", "--verbose"].map(|more| {
        halfpower(&format!("show last {more} --db {}", database.display())).expect(0).stdout
    });
    (profile, pages)
}

/// Diagnoses a device in another state with the last profile.
fn diagnose(folder: &Path, device: &str, load: &str, more: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", device, "--profile", "last", "--load", load]);
    run(command, &format!("--db {} {more}", folder.join("db").display())).expect(0)
}

#[test]
fn a_check_shows_what_a_rest_adds_and_only_where_it_adds_something() {
    let (sleepy, [page, _]) = checked(SLEEPY);
    let rates: Vec<u64> = sleepy.lone_reads.iter().map(|lone| lone.rate_per_s).collect();
    assert_eq!(rates, [1_000, 100, 10, 1]);
    for lone in &sleepy.lone_reads {
        let sleeps = lone.rate_per_s <= 100;
        let truth = if sleeps { 150e3 } else { 0.0 };
        assert!((lone.added_ns.value - truth).abs() < 25e3, "{lone:?}");
    }
    assert!(
        page.contains("A read after an idle period: 1/s 2") && page.contains("(medians)"),
        "{page}"
    );
    let (_, [page, details]) = checked(AWAKE);
    assert!(!page.contains("after an idle period"), "{page}");
    assert!(details.contains("A read after an idle period: 1/s"), "{details}");
    // A rate that leaves no idle time is omitted; with a short budget, so are others.
    let slow = profile(0, "sim:md1,service=8ms");
    assert_eq!(slow.lone_reads.iter().map(|lone| lone.rate_per_s).collect::<Vec<_>>(), [10, 1]);
    let short = profile(0, &format!("{AWAKE} --budget 10s"));
    assert_eq!(short.lone_reads.len(), 2);
}

#[test]
fn a_light_load_is_expected_to_take_what_lone_reads_took() {
    let folder = tempfile::tempdir().unwrap();
    profiled_into(&folder.path().join("db"), SLEEPY);
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
