//! `diagnose` for a reader whose disk is slow now and who has no profile, and for one whose disk is well.

use crate::program::{Outcome, halfpower, program, run};
use std::path::Path;

/// `diagnose` with a load, which may hold spaces, and the database of a folder.
fn diagnose(folder: &Path, device: &str, load: &str, more: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", device, "--load", load]);
    run(command, &format!("--db {} {more}", folder.join("db").display()))
}

fn page(folder: &Path, device: &str, load: &str) -> String {
    diagnose(folder, device, load, "").expect(0).stdout
}

#[test]
fn a_deep_queue_is_named_without_a_profile_with_the_command_that_settles_it() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "sim:mmc,servers=8,service=100us", "iodepth=256");
    assert!(page.contains("OVERLOADED") && !page.contains("NOT ENOUGH EVIDENCE"), "{page}");
    for words in ["do first", "half as many", "rests on", "to settle it", "halfpower check"] {
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
    halfpower(&format!("check sim:cloud --json --db {}", folder.path().join("db").display()))
        .expect(0);
    let profiled = page(folder.path(), "sim:cloud", "rate-iops=5000 iodepth=64");
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
        assert!(bare.contains("Nothing points at this disk"), "{load}: {bare}");
    }
    halfpower(&format!("check {device} --json --db {}", folder.path().join("db").display()))
        .expect(0);
    for load in loads {
        let profiled = page(folder.path(), device, load);
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
    halfpower(&format!("check {device} --json --db {}", folder.path().join("db").display()))
        .expect(0);
    let page = page(folder.path(), device, "iodepth=64 limit=1000");
    assert!(page.contains("CAPPED") && page.contains("times the rate"), "{page}");
    assert!(!page.contains("saves"), "{page}");
}
