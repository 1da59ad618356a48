//! Devices and files that disappear during a run.

use crate::program::{Outcome, Running, found, halfpower, profile, program};
use record::{DirectionResult, FindingCode};
use std::fs::File;
use std::path::Path;
use testkit::{LoopDevice, disk_folder, requires};

/// Runs on `target`, and truncates `file` in the middle of the measurement, which then ends with errors.
fn cut_off_during(target: &Path, file: &Path, flags: &str) -> Outcome {
    let words = format!("run {} {flags} --runtime 60s --no-save --json", target.display());
    let mut command = program();
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    running.wait_for_transfers();
    cut_off(file);
    running.end()
}

fn cut_off(file: &Path) {
    File::options().write(true).open(file).unwrap().set_len(0).unwrap();
}

fn reads(ended: &Outcome) -> DirectionResult {
    ended.trial().result.read.unwrap()
}

#[test]
fn errors_of_a_device_that_vanishes_during_a_run_are_counted_and_the_trial_is_not_clean() {
    requires!(Root, Loop);
    for engine in ["io_uring", "sync"] {
        let device = LoopDevice::new(64 << 20).unwrap();
        let flags = format!("--ioengine {engine}");
        let ended = cut_off_during(device.path(), &device.backing_file(), &flags).expect(1);
        let reads = reads(&ended);
        assert!(reads.ios > 0 && reads.errors > 0, "{ended:?}");
        assert_eq!(reads.error_kinds.iter().map(|kind| kind.count).sum::<u64>(), reads.errors);
        assert_eq!(reads.error_kinds[0].errno, 5, "not EIO");
        assert!(found(&ended.trial().findings, FindingCode::IoErrors));
    }
}

#[test]
fn a_device_that_is_gone_before_the_first_request_gives_no_result() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    cut_off(&device.backing_file());
    let path = device.path().display();
    let message = ["/dev/loop", "no request", "Input/output error", "dmesg"];
    halfpower(&format!("run {path} --runtime 500ms --no-save")).refuses(4, &message);
    halfpower(&format!("check {path} --budget 5s --no-save")).refuses(4, &message);
}

#[test]
fn a_device_that_vanishes_during_a_check_leaves_what_was_measured_marked_as_not_clean() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    let mut command = program();
    let words = format!("check {} --budget 10s --no-save --json", device.path().display());
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("repeats ...");
    cut_off(&device.backing_file());
    let profile = running.end().expect(1).profile();
    assert!(found(&profile.findings, FindingCode::IoErrors), "{:?}", profile.findings);
    assert!(profile.cells.iter().all(|cell| cell.ios > 0) && profile.cells.len() > 10);
}

#[test]
fn a_device_that_fails_every_request_gives_no_result() {
    let message = ["sim:mm1,error=1", "no request", "Input/output error"];
    halfpower("run sim:mm1,error=1 --no-save").refuses(4, &message);
    halfpower("check sim:mm1,error=1 --no-save").refuses(4, &message);
    // The opposite: errors among successful requests give a result that is not clean.
    let some = profile(1, "sim:mm1,service=1ms,error=0.01");
    assert!(found(&some.findings, FindingCode::IoErrors));
}

#[test]
fn short_transfers_of_a_file_that_is_truncated_are_counted_and_the_trial_is_not_clean() {
    requires!(Disk);
    for flags in ["--cache all", "--cache device", "--cache all --ioengine sync"] {
        let folder = disk_folder().unwrap();
        let file = folder.path().join("data");
        std::fs::write(&file, vec![7; 16 << 20]).unwrap();
        // Drop it from the page cache, so that the first reads come from the disk and are visible.
        let data = File::open(&file).unwrap();
        data.sync_all().unwrap();
        rustix::fs::fadvise(&data, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let ended = cut_off_during(&file, &file, flags).expect(1);
        let reads = reads(&ended);
        assert!(reads.ios > 0 && reads.short > 0 && reads.errors == 0, "{flags}: {ended:?}");
        assert!(found(&ended.trial().findings, FindingCode::ShortTransfers), "{flags}");
    }
}
