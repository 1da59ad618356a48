//! Traps on the way to the device: other users of the device, requests that reach it in another form, and
//! requests that are not completed as issued.

use crate::program::{Running, found as has, program, run, trial};
use crate::traps::{
    DEVICE, assert_alone, assert_silent, assert_silent_of, found, noise, write_file,
};
use record::{FindingCode, Severity, Trial};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{LoopDevice, Throttle, disk_folder, requires};

/// A trial on `target` while another process reads or writes `other`.
fn beside(target: &LoopDevice, other: &LoopDevice, rw: &str) -> Trial {
    let path = other.path().display();
    let mut command = program();
    let name = other.path().file_name().unwrap().to_str().unwrap();
    let word = if rw == "write" { format!("--destroy-data-on {name}") } else { String::new() };
    let words = format!("run {path} --rw {rw} --bs 64k --runtime 30s --no-save {word}");
    command.args(words.split_whitespace());
    let mut other = Running::start(command);
    other.wait_for("measure ...");
    other.wait_for_transfers();
    // Long enough that the other process gets a CPU, however busy the machine is.
    let trial = trial(0, &format!("{} --io-size 128m --runtime 60s", target.path().display()));
    other.kill();
    trial
}

#[test]
fn requests_of_others_on_the_same_device_are_told_and_those_on_another_are_not() {
    requires!(Root, Loop);
    let ours = LoopDevice::new(DEVICE).unwrap();
    let another = LoopDevice::new(DEVICE).unwrap();
    for rw in ["read", "write"] {
        let disturbed = beside(&ours, &ours, rw);
        assert_alone(&disturbed, FindingCode::ForeignIo, Severity::Warning);
        assert_silent(&beside(&ours, &another, rw));
    }
}

/// A queue setting of a device, restored on drop.
pub(crate) struct QueueSetting {
    file: PathBuf,
    before: String,
}

impl QueueSetting {
    pub(crate) fn new(device: &LoopDevice, name: &str, value: &str) -> Self {
        let device = device.path().file_name().unwrap().to_str().unwrap();
        let file = Path::new("/sys/block").join(device).join("queue").join(name);
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, value).unwrap();
        Self { file, before }
    }
}

impl Drop for QueueSetting {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.file, self.before.trim());
    }
}

#[test]
fn requests_larger_than_the_queue_takes_are_told_to_be_split() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    let run = |bs: &str| {
        let words = format!("{} --bs {bs} --io-size 64m --runtime 30s", device.path().display());
        trial(0, &words)
    };
    let _setting = QueueSetting::new(&device, "max_sectors_kb", "64");
    let split = run("256k");
    assert_alone(&split, FindingCode::RequestsSplit, Severity::Info);
    let counters = split.device_counters.value().unwrap();
    assert!((3.9..=4.1).contains(&counters.ratio_ios.unwrap()), "{counters:?}");
    assert_silent(&run("64k"));
}

#[test]
fn small_sequential_reads_that_the_page_cache_makes_large_are_explained() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    // One pass at most, so that nothing is read twice.
    let run = |cache: &str| {
        let drop_cache = if cache == "all" { "--drop-cache dontneed" } else { "" };
        let words = format!("--rw read --runtime 60s --io-size 32m --cache {cache} {drop_cache}");
        trial(0, &format!("{} {words}", device.path().display()))
    };
    let merged = run("all");
    assert_alone(&merged, FindingCode::RequestsMerged, Severity::Info);
    let counters = merged.device_counters.value().unwrap();
    assert!(counters.mean_request_bytes.unwrap() > 60e3, "{counters:?}");
    assert_silent(&run("device"));
}

/// A run on `target`. If `file` is given, it is truncated to half in the middle of the run. Requests to the
/// remaining half still succeed, so the trial has results even if a busy machine read nothing before the cut.
fn cut_off_during(target: &Path, file: Option<&Path>, code: i32) -> Trial {
    let mut command = program();
    let words = format!("run {} --runtime 600ms --no-save --json", target.display());
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    running.wait_for_transfers();
    std::thread::sleep(Duration::from_millis(200));
    if let Some(file) = file {
        let file = File::options().write(true).open(file).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }
    running.end().expect(code).trial()
}

#[test]
fn a_device_that_loses_half_of_its_backing_file_gives_errors_and_one_that_keeps_it_none() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    assert_silent(&cut_off_during(device.path(), None, 0));
    let cut = cut_off_during(device.path(), Some(&device.backing_file()), 1);
    assert_alone(&cut, FindingCode::IoErrors, Severity::Invalid);
}

#[test]
fn a_file_that_is_truncated_gives_short_transfers_and_one_that_is_not_none() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let file = folder.path().join("data");
    write_file(&file, &noise(64 << 20));
    let graver = |trial: &Trial| -> Vec<_> {
        // The area is a small part of the disk that the tests run on. Other processes use the disk, and its
        // cache may be as fast as the program.
        let of_the_disk =
            [FindingCode::CacheSizedArea, FindingCode::ForeignIo, FindingCode::HarnessLimit];
        found(trial).into_iter().filter(|(code, _)| !of_the_disk.contains(code)).collect()
    };
    assert_eq!(graver(&cut_off_during(&file, None, 0)), []);
    let cut = cut_off_during(&file, Some(&file), 1);
    assert_eq!(graver(&cut), [(FindingCode::ShortTransfers, Severity::Invalid)]);
}

/// The opposite (no step, no finding) is tested in virtual time, below. Here the kernel grants the requests
/// of a limit in bursts, which become real steps on a busy machine.
#[test]
fn a_device_that_slows_down_in_the_middle_is_told() {
    requires!(Root, Loop, BlkioGroup);
    let device = LoopDevice::new(DEVICE).unwrap();
    let group = testkit::ThrottledGroup::new().unwrap();
    // Below the device's own rate, so that only the limit determines the rate, regardless of other load.
    group.limit(device.path(), Throttle::ReadIops, 1_200).unwrap();
    let mut command = group.entered();
    // With immediate access to a CPU: the noise of other tests would hide the step.
    command.args(["chrt", "--fifo", "1", env!("CARGO_BIN_EXE_halfpower")]);
    let words =
        format!("run {} --runtime 2s --keep-warm-up --no-save --json", device.path().display());
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    std::thread::sleep(Duration::from_millis(1000));
    group.limit(device.path(), Throttle::ReadIops, 300).unwrap();
    let slowed = running.end().expect(0).trial();
    assert!(has(&slowed.findings, FindingCode::NotSteady), "{:?}", slowed.result.series);
}

#[test]
fn a_simulated_device_that_drifts_is_told_and_one_that_does_not_is_silent() {
    let drifting = trial(0, "sim:mm1,service=1ms,drift=100% --runtime 120s --keep-warm-up");
    let codes: Vec<_> = drifting.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::NotSteady]);
    assert_eq!(trial(0, "sim:mm1,service=1ms --runtime 120s").findings, []);
}

#[test]
fn the_sync_engine_below_the_depth_asked_for_is_told_and_io_uring_at_it_is_silent() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    let measure = |flags: &str| {
        let words = format!("{} --io-size 4m --runtime 60s {flags}", device.path().display());
        run(program(), &format!("run {words} --no-save --json")).expect(0).trial()
    };
    let sync = measure("--iodepth 8 --ioengine sync");
    assert_alone(&sync, FindingCode::DepthNotReached, Severity::Warning);
    let reached = measure("--iodepth 8 --ioengine io_uring");
    assert_silent_of(FindingCode::DepthNotReached, &reached);
}
