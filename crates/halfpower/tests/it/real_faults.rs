//! Faults of real file systems and devices: nothing hangs, and no faulty trial is reported as clean.

use crate::program::{
    Outcome, Running, found, halfpower, program, program_under, run, unprivileged,
};
use record::{DirectionResult, EndedBy, FindingCode, Trial};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::{LoopDevice, Mounted, Undo, disk_folder, requires};

const MIB: u64 = 1 << 20;
/// Input/output error and no space left on device (errno(3)).
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn writes(trial: &Trial) -> &DirectionResult {
    trial.result.write.as_ref().unwrap()
}

/// Fills a file system until this much space is left.
fn fill_but(folder: &Path, left: u64) {
    let filler = folder.join("filler");
    let mut df = Command::new("df");
    let output = df.args(["--block-size=1", "--output=avail"]).arg(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let free: u64 = text.lines().last().unwrap().trim().parse().unwrap();
    let length = (free - left).to_string();
    let filled = Command::new("fallocate").args(["--length", &length]).arg(filler).status();
    assert!(filled.unwrap().success());
}

#[test]
fn a_file_system_that_fills_up_under_the_writes_is_counted_by_its_own_error() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(64 * MIB).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let write = |name: &str, code: i32| {
        let sparse = disk.path().join(name);
        File::create(&sparse).unwrap().set_len(16 * MIB).unwrap();
        // One pass, however long it takes on a busy machine; there is space for a quarter of it.
        let words = "--overwrite --rw randwrite --bs 64k --passes 1 --runtime 1m --no-save --json";
        halfpower(&format!("run {} {words}", sparse.display())).expect(code).trial()
    };
    fill_but(disk.path(), 4 * MIB);
    let full = write("full", 1);
    assert!(writes(&full).ios > 0 && writes(&full).errors > 0, "{full:?}");
    assert!(writes(&full).error_kinds.iter().all(|kind| kind.errno == ENOSPC), "{full:?}");
    assert!(found(&full.findings, FindingCode::IoErrors));
    // With space for all of it, no request fails.
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    let roomy = write("roomy", 0);
    assert!(writes(&roomy).errors == 0 && !found(&roomy.findings, FindingCode::IoErrors));
}

#[test]
fn a_device_whose_backing_disk_is_full_fails_its_writes_and_the_trial_is_not_clean() {
    requires!(Root, Loop, Mount);
    let memory = Mounted::tmpfs(8 * MIB).unwrap();
    let device = LoopDevice::within(memory.path(), 64 * MIB, 512).unwrap();
    let name = device.path().file_name().unwrap().to_string_lossy().into_owned();
    let words = format!(
        "run {} --rw randwrite --bs 64k --runtime 500ms --destroy-data-on {name} --no-save --json",
        device.path().display()
    );
    let trial = halfpower(&words).expect(1).trial();
    assert!(writes(&trial).ios > 0 && writes(&trial).errors > 0, "{trial:?}");
    let known = |errno| [EIO, ENOSPC].contains(&errno);
    assert!(writes(&trial).error_kinds.iter().all(|kind| known(kind.errno)), "{trial:?}");
    for code in [FindingCode::IoErrors, FindingCode::DataDestroyed] {
        assert!(found(&trial.findings, code), "{:?}", trial.findings);
    }
}

#[test]
fn a_mapped_file_that_is_truncated_under_a_run_ends_in_counted_failures_not_in_a_signal() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7; 16 << 20]).unwrap();
    let mut command = program();
    command.arg("run").arg(&file);
    let words = "--ioengine mmap --cache all --runtime 800ms --no-save --json";
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    std::thread::sleep(Duration::from_millis(100));
    File::options().write(true).open(&file).unwrap().set_len(0).unwrap();
    let trial = running.end().expect(1).trial();
    let reads = trial.result.read.as_ref().unwrap();
    assert!(reads.ios > 0 && reads.errors + reads.short > 0, "{reads:?}");
    let told = [FindingCode::IoErrors, FindingCode::ShortTransfers];
    assert!(told.iter().any(|&code| found(&trial.findings, code)), "{:?}", trial.findings);
}

#[test]
fn a_file_on_a_file_system_that_is_read_only_is_not_opened_for_writing() {
    requires!(Mount);
    let disk = Mounted::tmpfs(8 * MIB).unwrap();
    let file = disk.path().join("data");
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    disk.make_read_only().unwrap();
    halfpower(&format!("run {} --overwrite --rw write --no-save", file.display()))
        .refuses(4, &["Read-only file system", "mounted read-write"]);
    let words = format!("run {} --cache all --io-size 4m --runtime 60s --no-save", file.display());
    halfpower(&words).expect(0);
}

#[test]
fn a_loop_device_that_is_detached_holds_nothing_and_says_so() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    let path = device.path().to_owned();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    drop(device);
    for flags in ["", &format!("--rw write --destroy-data-on {name}")] {
        halfpower(&format!("run {} {flags} --no-save", path.display()))
            .refuses(2, &["/dev/loop", "has 0 bytes"]);
    }
}

#[test]
fn a_loop_device_that_is_detached_during_a_run_ends_with_the_run() {
    requires!(Root, Loop);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let mut command = program();
    command.arg("run").arg(device.path());
    command.args("--runtime 600ms --no-save --json".split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    // The kernel waits until the last user is gone.
    let path = device.path().to_owned();
    drop(device);
    let trial = running.end().expect(0).trial();
    assert!(trial.result.read.as_ref().unwrap().ios > 0);
    // The kernel releases the files of a ring with a delay.
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let bound = Path::new("/sys/block").join(name).join("loop/backing_file");
    let start = Instant::now();
    while bound.exists() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    halfpower(&format!("run {} --no-save", path.display())).refuses(2, &["has 0 bytes"]);
}

/// Checks a run that a silent device ended: the completed requests are included, and a finding reports it.
#[track_caller]
fn ended_by_silence(ended: Outcome) {
    let trial = ended.expect(1).trial();
    assert!(found(&trial.findings, FindingCode::DeviceSilent), "{:?}", trial.findings);
    assert_eq!(trial.result.ended_by, Some(EndedBy::Silence));
    assert!(!trial.clean());
}

/// A loop device on a separate file system, which can be frozen. Dropped from the top.
struct Freezable {
    device: LoopDevice,
    disk: Mounted,
    _below: LoopDevice,
}

impl Freezable {
    fn new() -> Self {
        let below = LoopDevice::new(96 * MIB).unwrap();
        let disk = Mounted::ext4(below.path()).unwrap();
        let device = LoopDevice::within(disk.path(), 16 * MIB, 512).unwrap();
        Self { device, disk, _below: below }
    }

    /// Starts random writes to the device, and waits until they run.
    fn written(&self, limits: &str) -> Running {
        let path = self.device.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut command = program();
        let words = format!(
            "run {} --rw randwrite {limits} --destroy-data-on {name} --no-save --json",
            path.display()
        );
        command.args(words.split_whitespace());
        let mut running = Running::start(command);
        running.wait_for("measure ...");
        std::thread::sleep(Duration::from_millis(300));
        running
    }

    /// Freezes the file system. Only the kernel's own worker waits for it, no thread of the program.
    fn frozen(&self) -> Undo {
        testkit::frozen(self.disk.path()).unwrap()
    }
}

#[test]
fn a_device_that_stops_answering_ends_the_run_with_what_is_known() {
    requires!(Root, Loop, Mount, Ext4, Freeze);
    let disk = Freezable::new();
    let running = disk.written("--runtime 30s --io-timeout 2s");
    let frozen = disk.frozen();
    let ended = running.end();
    drop(frozen);
    assert!(writes(&ended.trial()).ios > 0);
    assert!(!ended.stderr.contains("still wait"), "nothing kept it: {ended:?}");
    ended_by_silence(ended);
}

#[test]
fn a_device_that_answers_within_the_time_allowed_is_not_given_up() {
    requires!(Root, Loop, Mount, Ext4, Freeze);
    let disk = Freezable::new();
    let running = disk.written("--runtime 3s --io-timeout 20s");
    let frozen = disk.frozen();
    std::thread::sleep(Duration::from_secs(1));
    drop(frozen);
    let trial = running.end().expect(0).trial();
    assert!(!found(&trial.findings, FindingCode::DeviceSilent), "{:?}", trial.findings);
    assert!(trial.clean() && trial.result.ended_by.is_none());
}

#[test]
fn a_file_system_that_takes_no_writes_ends_the_run_and_its_test_file_is_gone() {
    requires!(Root, Loop, Mount, Ext4, Freeze);
    for engine in ["io_uring", "sync"] {
        let device = LoopDevice::new(1600 * MIB).unwrap();
        let disk = Mounted::ext4(device.path()).unwrap();
        let before = crate::program::names(disk.path());
        let mut command = program();
        command.current_dir(disk.path());
        let words = format!(
            "run . --size 16m --rw randwrite --ioengine {engine} --runtime 30s --io-timeout 2s \
             --no-save --json"
        );
        command.args(words.split_whitespace());
        let mut running = Running::start(command);
        running.wait_for("measure ...");
        std::thread::sleep(Duration::from_millis(300));
        let frozen = testkit::frozen(disk.path()).unwrap();
        // The kernel does not release a thread that waits for the file system. The document is printed
        // before, but the process does not end; it says what it waits for.
        running.wait_for("still wait");
        let said = running.said();
        drop(frozen);
        let document: Trial =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{engine}: {error}: {said}"));
        assert!(found(&document.findings, FindingCode::DeviceSilent), "{engine}");
        let ended = running.end();
        for word in ["in the kernel", "fsfreeze --unfreeze"] {
            assert!(ended.stderr.contains(word), "{engine}: {ended:?}");
        }
        ended_by_silence(ended);
        assert_eq!(crate::program::names(disk.path()), before, "{engine}");
    }
}

#[test]
fn more_targets_than_files_may_be_open_are_refused_with_limit_and_need() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let names: Vec<String> = (0..100).map(|index| format!("f{index}")).collect();
    for name in &names {
        std::fs::write(folder.path().join(name), vec![7; 65_536]).unwrap();
    }
    let words = format!(
        "run {} --chunk 4k --cache all --size 64k --io-size 64k --runtime 30s --no-save",
        names.join(" ")
    );
    let within = |limits: &str| {
        let mut command = program_under(&format!("prlimit --nofile={limits}"));
        command.current_dir(folder.path());
        run(command, &words)
    };
    within("64:64").refuses(4, &["open files", "64", "ulimit -n"]);
    // A low soft limit alone is no obstacle.
    within("64:4096").expect(0);
}

#[test]
fn a_tiny_limit_of_locked_memory_is_told_with_the_need_and_the_run_goes_on() {
    requires!(Root, Disk, Setpriv);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![7; 16 << 20]).unwrap();
    File::open(folder.path().join("data")).unwrap().sync_all().unwrap();
    let trial = |limit: &str| {
        let limited = unprivileged(folder.path());
        let mut command = Command::new("prlimit");
        command.arg(format!("--memlock={limit}")).arg(limited.get_program());
        command
            .args(limited.get_args())
            .env_remove("HALFPOWER_DB")
            .env("XDG_DATA_HOME", "/proc/none");
        command.current_dir(folder.path());
        let words = "run data --cache all --bs 64k --iodepth 32 --runtime 200ms --no-save --json";
        run(command, words).expect(0).trial()
    };
    let tiny = trial("65536:65536");
    assert_eq!(tiny.workload.engine, record::EngineName::IoUring);
    let told = tiny.findings.iter().find(|finding| finding.code == FindingCode::LockedMemory);
    let told = told.unwrap_or_else(|| panic!("{:?} {:?}", tiny.harness, tiny.findings));
    // The limit, and the need: at least 32 buffers of 64 KiB.
    assert!(told.claim.contains("65536"), "{}", told.claim);
    let numbers = told.claim.split(|c: char| !c.is_ascii_digit());
    let largest = numbers.filter_map(|word| word.parse::<u64>().ok()).max().unwrap();
    assert!(largest >= 32 * 65_536, "{}", told.claim);
    let enough = trial("4194304:4194304");
    assert!(!found(&enough.findings, FindingCode::LockedMemory), "{:?}", enough.findings);
}
