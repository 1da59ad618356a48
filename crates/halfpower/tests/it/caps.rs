//! Caps that a check finds, and rates that fall during a load.

use crate::program::{Outcome, found, halfpower, profile, profiled_into, program, run};
use record::{FindingCode, Profile, StepCause};
use std::path::Path;

fn diagnosed(folder: &Path, device: &str, load: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", device, "--profile", "last", "--load", load]);
    run(command, &format!("--db {}", folder.join("db").display())).expect(0)
}

#[test]
fn a_check_names_the_caps_of_a_cloud_volume_and_a_diagnosis_says_when_they_hold() {
    let check = |device: &str| {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let profile = profiled_into(&database, device).profile();
        let page = halfpower(&format!("show last --db {}", database.display())).expect(0).stdout;
        (folder, profile, page)
    };
    let (_, cloud, page) = check("sim:cloud");
    let [requests, bytes] = cloud.caps.try_into().expect("two caps");
    assert!(
        page.contains(&format!("Capped at {} and {}.", requests.text(), bytes.text())),
        "{page}"
    );
    assert!(
        requests.per_s.includes(3_000.0) && bytes.per_s.includes(125.0 * 1_048_576.0),
        "{page}"
    );
    assert!(page.contains("[cap_met]") && page.contains("gp3"), "{page}");
    // Also a cap that no vendor publishes.
    let own = "sim:cloud,service=600us,iops=2600,throughput=77MiB/s";
    let (folder, Profile { caps, .. }, page) = check(own);
    assert_eq!(caps.iter().map(|cap| cap.bytes).collect::<Vec<_>>(), [false, true], "{page}");
    for (cap, truth) in caps.iter().zip([2_600.0, 77.0 * 1_048_576.0]) {
        assert!((cap.per_s.value / truth - 1.0).abs() < 0.01 && cap.op.is_none(), "{cap:?}");
    }
    let busy = diagnosed(folder.path(), own, "rate-iops=5000 arrival=poisson iodepth=64").stdout;
    assert!(busy.contains("CAPPED") && busy.contains("the cap that the check found"), "{busy}");
    assert!(!busy.contains("OVERLOADED (") && !busy.contains("Use queue depth"), "{busy}");
    let light = diagnosed(folder.path(), own, "rate-iops=1000 arrival=poisson iodepth=64").stdout;
    assert!(light.contains("HEALTHY") && !light.contains("CAPPED"), "{light}");
}

#[test]
fn what_a_device_does_by_itself_is_no_cap() {
    for device in [
        "sim:mm1",
        "sim:md1",
        "sim:mdc,servers=8,service=100us",
        "sim:mdc,servers=12,service=250us,rate=200MB/s",
        "sim:mmc,servers=64,service=80us,cv=0.2,rate=500MB/s",
        "sim:sata-ssd",
        "sim:atlas10k",
    ] {
        let profile = profile(0, device);
        assert!(profile.caps.is_empty(), "{device}: {:?}", profile.caps);
        assert!(!found(&profile.findings, FindingCode::CapMet), "{device}");
    }
}

#[test]
fn a_check_goes_on_until_the_credit_of_a_volume_is_used_up_and_says_when_it_is_back() {
    let volume = "sim:capped,servers=8,service=500us,burst=2000000";
    let brief = profile(0, volume);
    assert!(brief.sustained.is_empty() && brief.caps.is_empty(), "{:?}", brief.caps);
    let profile = profile(0, &format!("{volume} --sustained"));
    let reads = &profile.sustained[0];
    let step = reads.step.as_ref().expect("a step");
    assert_eq!(step.cause, StepCause::Credit);
    assert!((reads.iops.value / 16_000.0 - 1.0).abs() < 0.02, "{reads:?}");
    assert!((step.iops.value / 3_000.0 - 1.0).abs() < 0.01, "{step:?}");
    // An idle device regains 3,000 requests per second of those that it did beyond 3,000 per second.
    let back = step.back_after_ns.value().expect("it comes back");
    let truth = reads.ran_ns.0 as f64 * (16_000.0 - 3_000.0) / 3_000.0;
    assert!(back.includes(truth), "{back:?}, not {truth}");
    assert!(found(&profile.findings, FindingCode::BurstEnded));
    let cap = profile.caps.iter().find(|cap| !cap.bytes).expect("the cap behind the credit");
    assert!((cap.per_s.value / 3_000.0 - 1.0).abs() < 0.01, "{cap:?}");
}

#[test]
fn writes_that_fill_the_fast_part_of_a_drive_are_told_from_credit() {
    let drive = "sim:mmc,servers=8,service=200us,rate=400MB/s,write-cache=300GB,drain=300MB/s";
    let profile = profile(0, &format!("{drive} --sustained"));
    let steps: Vec<_> =
        profile.sustained.iter().map(|load| load.step.as_ref().map(|step| step.cause)).collect();
    assert_eq!(steps, [None, Some(StepCause::WriteCache)], "{:?}", profile.sustained);
    assert!(found(&profile.findings, FindingCode::WriteCacheFull));
    assert!(profile.caps.is_empty(), "{:?}", profile.caps);
    // A drive without such a credit or cache continues as it began.
    let plain = crate::program::profile(0, "sim:mmc,servers=8,service=2ms,rate=40MB/s --sustained");
    assert!(plain.sustained.iter().all(|load| load.step.is_none()), "{:?}", plain.sustained);
}
