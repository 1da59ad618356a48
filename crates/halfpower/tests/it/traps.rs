//! Traps in what is read and written. Each case is compared with an opposite that differs in one condition:
//! the trap gives exactly one finding, and the opposite none.
//!
//! Two kinds of findings are ignored: those that the kernel causes on every loop device, and, on real
//! targets, those that a busy machine causes in any run. Tests of such findings request them explicitly.
//! Simulated targets must have no other findings at all.

use crate::program::trial;
use record::{EngineName, FindingCode, Severity, Trial};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use testkit::{LoopDevice, Mounted, requires};

/// Size of the devices in bytes.
pub(crate) const DEVICE: u64 = 512 << 20;
/// Size of the files in bytes: an area that is not reported as small.
const FILE: usize = 64 << 20;

/// Findings that a busy machine causes, or that every loop device has.
const OF_THE_MACHINE: [FindingCode; 4] = [
    FindingCode::NotSteady,
    FindingCode::WarmUpCut,
    FindingCode::CpuTaken,
    FindingCode::RotationalUntrusted,
];

/// Findings that depend on how soon this program gets a CPU; ignored on real targets only.
const OF_A_BUSY_MACHINE: [FindingCode; 3] =
    [FindingCode::HarnessLimit, FindingCode::DepthNotReached, FindingCode::TooFewRequests];

/// The other findings, most severe first.
pub(crate) fn found(trial: &Trial) -> Vec<(FindingCode, Severity)> {
    let all = trial.findings.iter().map(|finding| (finding.code, finding.severity));
    let mut found: Vec<_> = all.filter(|(code, _)| !OF_THE_MACHINE.contains(code)).collect();
    found.sort_by_key(|(code, severity)| (std::cmp::Reverse(*severity), *code));
    found
}

/// The findings that a test can rely on, including the kind `asked`.
fn found_surely(trial: &Trial, asked: Option<FindingCode>) -> Vec<(FindingCode, Severity)> {
    let simulated = trial.workload.engine == EngineName::Sim;
    let mut found = found(trial);
    found
        .retain(|(code, _)| simulated || asked == Some(*code) || !OF_A_BUSY_MACHINE.contains(code));
    found
}

/// Checks that this is the only finding, and that it has evidence and remedy.
#[track_caller]
pub(crate) fn assert_alone(trial: &Trial, code: FindingCode, severity: Severity) {
    let found = found_surely(trial, Some(code));
    assert_eq!(found, [(code, severity)], "{:#?}", trial.findings);
    let finding = trial.findings.iter().find(|finding| finding.code == code).unwrap();
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
}

/// Checks that there are no findings.
#[track_caller]
pub(crate) fn assert_silent(trial: &Trial) {
    assert_eq!(found_surely(trial, None), [], "{:#?}", trial.findings);
}

/// Checks that there are no findings, including this kind, which a busy machine may cause.
#[track_caller]
pub(crate) fn assert_silent_of(code: FindingCode, trial: &Trial) {
    assert_eq!(found_surely(trial, Some(code)), [], "{:#?}", trial.findings);
}

/// Incompressible bytes: a mebibyte of xorshift64 (Marsaglia 2003), repeated. What compresses here sees a page
/// (zram) or 128 KiB (btrfs) at a time.
pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    const PERIOD: usize = 1 << 20;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let period: Vec<u8> = (0..PERIOD / 8).flat_map(|_| next().to_le_bytes()).collect();
    period.repeat(bytes / PERIOD)
}

/// Writes a file and syncs it to the device.
pub(crate) fn write_file(path: &Path, data: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(data).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn what_was_never_written_is_told_for_the_area_that_is_read_and_for_no_other() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(DEVICE).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let half = disk.path().join("half");
    write_file(&half, &noise(FILE));
    // Allocated but not written, as a database does with its log.
    let grow = ["--offset", "64m", "--length", "64m"];
    assert!(Command::new("fallocate").args(grow).arg(&half).status().unwrap().success());
    let run = |code, area: &str| {
        trial(code, &format!("{} --io-size 4m --runtime 60s {area}", half.display()))
    };
    assert_silent(&run(0, "--size 64m"));
    let unwritten = run(1, "--offset 64m --size 64m");
    assert_alone(&unwritten, FindingCode::UnwrittenExtents, Severity::Invalid);
    let sparse = disk.path().join("sparse");
    File::create(&sparse).unwrap().set_len(FILE as u64).unwrap();
    let holes = trial(1, &format!("{} --io-size 4m --runtime 60s", sparse.display()));
    assert_alone(&holes, FindingCode::UnwrittenExtents, Severity::Invalid);
}

#[test]
fn reads_of_a_warm_file_are_told_to_be_memory_and_those_past_the_page_cache_are_not() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(DEVICE).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let file = disk.path().join("data");
    write_file(&file, &noise(FILE));
    let run = |cache: &str| {
        trial(0, &format!("{} --io-size 4m --runtime 30s --cache {cache}", file.display()))
    };
    assert_alone(&run("all"), FindingCode::PageCacheServed, Severity::Warning);
    assert_silent(&run("device"));
}

#[test]
fn data_that_the_file_system_compresses_is_told_and_random_data_is_not() {
    requires!(Root, Loop, Mount, Btrfs);
    let device = LoopDevice::new(DEVICE).unwrap();
    let disk = Mounted::btrfs(device.path(), "compress-force=zstd").unwrap();
    let file = disk.path().join("data");
    write_file(&file, &noise(FILE));
    let write = |data: &str| {
        // Limited by bytes: with few requests, no conclusion is drawn.
        let words = "--overwrite --rw write --bs 256k --cache fs --passes 1 --runtime 60s";
        trial(0, &format!("{} {words} {data}", file.display()))
    };
    for data in ["--zeros", "--compressible 80"] {
        assert_compressed(&write(data));
    }
    assert_not_compressed(&write(""));
    let read = |name: &str, data: &[u8]| {
        let file = disk.path().join(name);
        write_file(&file, data);
        trial(0, &format!("{} --rw read --bs 128k --passes 1 --runtime 60s", file.display()))
    };
    assert_compressed(&read("sevens", &vec![7; FILE]));
    assert_not_compressed(&read("noise", &noise(FILE)));
}

/// In both cases a note says that the file system can compress; its own metadata may be compressed, too.
#[track_caller]
fn assert_compressed(trial: &Trial) {
    let graver: Vec<_> =
        found_surely(trial, None).into_iter().filter(|it| it.1 > Severity::Info).collect();
    let expected = [(FindingCode::DataCompressed, Severity::Warning)];
    assert_eq!(graver, expected, "{:#?}", trial.findings);
}

#[track_caller]
fn assert_not_compressed(trial: &Trial) {
    let found = found_surely(trial, None);
    assert!(found.contains(&(FindingCode::CompressedFilesystem, Severity::Info)), "{found:?}");
    assert!(found.iter().all(|(_, severity)| *severity == Severity::Info), "{:#?}", trial.findings);
}

#[test]
fn an_area_that_fits_the_cache_of_a_drive_is_told_and_the_whole_device_is_not() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    let run = |size: &str| {
        trial(0, &format!("{} --io-size 4m --runtime 60s {size}", device.path().display()))
    };
    assert_alone(&run("--size 32m"), FindingCode::CacheSizedArea, Severity::Warning);
    assert_silent(&run("--size 64m"));
    assert_silent(&run(""));
    // Less than a hundredth of a large device can still be too large for a cache.
    let large = LoopDevice::new(16 << 30).unwrap();
    let run = |size: &str| {
        trial(0, &format!("{} --io-size 4m --runtime 60s {size}", large.path().display()))
    };
    assert_alone(&run("--size 128m"), FindingCode::CacheSizedArea, Severity::Info);
    assert_silent(&run("--size 256m"));
}

#[test]
fn a_file_that_opens_with_o_direct_and_has_none_is_told() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(DEVICE).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device.path()).status();
    assert!(made.unwrap().success());
    let run = |code, journal: &str| {
        let disk = Mounted::with_options("ext4", device.path(), journal).unwrap();
        let file = disk.path().join("data");
        write_file(&file, &noise(FILE));
        trial(code, &format!("{} --rw read --io-size 4m --runtime 60s", file.display()))
    };
    // Data goes through the journal, and so through the page cache.
    assert_alone(
        &run(1, "data=journal,noinit_itable"),
        FindingCode::DirectIgnored,
        Severity::Invalid,
    );
    assert_silent(&run(0, "data=ordered,noinit_itable"));
}
