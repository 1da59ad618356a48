//! `diagnose` for a user without a profile, whose disk is slow now, and for one whose disk is healthy.

use crate::program::{Outcome, halfpower, profiled_into, program, run};
use record::Observation;
use std::path::Path;
use store::Store;
use testkit::{LoopDevice, requires};

/// `diagnose` with a load, which may contain spaces, and the database of a folder.
fn diagnose(folder: &Path, device: &str, load: &str, more: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", device, "--load", load]);
    let db = if more.contains("--db") {
        String::new()
    } else {
        format!("--db {}", folder.join("db").display())
    };
    run(command, &format!("{db} {more}"))
}

fn page(folder: &Path, device: &str, load: &str) -> String {
    diagnose(folder, device, load, "").expect(0).stdout
}

#[test]
fn a_deep_queue_is_named_without_a_profile_with_the_command_that_settles_it() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "sim:mmc,servers=8,service=100us", "iodepth=256");
    assert!(page.contains("OVERLOADED") && !page.contains("NOT ENOUGH EVIDENCE"), "{page}");
    for words in [
        "do first",
        "Halve the program's queue depth",
        "rests on",
        "to settle it",
        "halfpower check",
    ] {
        assert!(page.contains(words), "{words:?}: {page}");
    }
    let line = page.lines().position(|line| line.contains("to settle it")).unwrap();
    assert!(line <= 24 && !page.contains("certain"), "{page}");
}

#[test]
fn a_cloud_volume_at_its_limit_is_capped_with_a_profile_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let bare = page(folder.path(), "sim:cloud", "iodepth=64");
    assert!(bare.contains("CAPPED") && bare.contains("gp3"), "{bare}");
    let known = tempfile::tempdir().unwrap();
    profiled_into(&known.path().join("db"), "sim:cloud");
    let profiled = page(known.path(), "sim:cloud", "rate-iops=5000 iodepth=64");
    assert!(profiled.contains("CAPPED"), "{profiled}");
    assert!(
        !profiled.contains("OVERLOADED (certain)") && !profiled.contains("queue depth 2"),
        "{profiled}"
    );
}

#[test]
fn a_paced_program_is_no_trouble_and_leaving_the_disk_alone_takes_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:mmc,servers=8,service=100us";
    let loads = ["rate-iops=2800 iodepth=1", "rate-iops=300 iodepth=1", "rate-iops=20000"];
    for load in loads {
        let bare = page(folder.path(), device, load);
        for alarm in
            ["SLOW", "CAPPED", "OVERLOADED", "saves", "Find the cap", "Leave the disk alone"]
        {
            assert!(!bare.contains(alarm), "{alarm:?} under {load}: {bare}");
        }
        assert!(bare.contains("no evidence against this disk"), "{load}: {bare}");
    }
    let known = tempfile::tempdir().unwrap();
    profiled_into(&known.path().join("db"), device);
    for load in loads {
        let profiled = page(known.path(), device, load);
        for alarm in ["SLOW", "CAPPED", "OVERLOADED", "saves", "Find the cap"] {
            assert!(!profiled.contains(alarm), "{alarm:?} under {load}: {profiled}");
        }
        assert!(profiled.contains("Leave the disk alone"), "{load}: {profiled}");
    }
}

#[test]
fn what_a_higher_rate_costs_in_latency_is_not_called_saved() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:mmc,servers=8,service=1ms";
    profiled_into(&folder.path().join("db"), device);
    let page = page(folder.path(), device, "iodepth=64 limit=1000");
    assert!(page.contains("CAPPED") && page.contains("times the rate"), "{page}");
    assert!(!page.contains("saves"), "{page}");
}

/// Number of reads that a block device has completed.
fn reads(device: &LoopDevice) -> u64 {
    let name = device.path().file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_named_disk_without_a_profile_is_asked_for_lone_reads_and_with_no_probe_for_none() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let diagnose = |more: &str| {
        let before = reads(&device);
        let mut command = program();
        command.args(["diagnose", "--for", "3s", "--json", "--db"]).arg(folder.path().join("db"));
        command.arg(device.path());
        run(command, more).expect(0);
        reads(&device) - before
    };
    assert_eq!(diagnose("--no-probe"), 0);
    let asked = diagnose("");
    assert!((1..=70).contains(&asked), "{asked} reads");
}

/// Makes an observation look like another recording of the same disk on the same host.
fn named_alike(mut observation: Observation, id: &str, day: u64) -> Observation {
    let time = Some(format!("2026-01-{day:02}T00:00:00Z"));
    (observation.id, observation.time) = (id.to_owned(), time);
    observation.source = "live".to_owned();
    observation.host = Some("db1".to_owned());
    for device in &mut observation.devices {
        (device.name, device.file_hash) = ("sdk".to_owned(), None);
    }
    let begin_ns = (1_767_225_600 + (day - 1) * 86_400) * 1_000_000_000;
    observation.contexts.iter_mut().for_each(|it| it.begin_ns += begin_ns);
    for interval in &mut observation.intervals {
        interval.device = "sdk".to_owned();
        interval.begin_ns += begin_ns;
    }
    observation
}

#[test]
fn a_disk_that_took_a_quarter_of_the_time_in_an_earlier_recording_is_slow_today() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let observed = |service: &str| {
        let simulated = folder.path().join("simulated");
        let device = format!("sim:mmc,servers=8,service={service}");
        diagnose(folder.path(), &device, "rate-iops=900", &format!("--db {}", simulated.display()));
        Store::open(&simulated).unwrap().document::<Observation>("last").unwrap()
    };
    let early = named_alike(observed("1ms"), "0e", 1);
    let late = named_alike(observed("4ms"), "1a", 8);
    let mut store = Store::open(&kept).unwrap();
    store.add_document(&late).unwrap();
    let said =
        || halfpower(&format!("diagnose last --no-save --db {}", kept.display())).expect(0).stdout;
    assert!(!said().contains("SLOW"), "{}", said());
    // Both, in chronological order.
    std::fs::remove_file(&kept).unwrap();
    let mut store = Store::open(&kept).unwrap();
    store.add_document(&early).unwrap();
    store.add_document(&late).unwrap();
    let today = said();
    assert!(today.contains("SLOW") && today.contains("earlier recordings"), "{today}");
}
