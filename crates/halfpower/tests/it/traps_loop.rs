//! Traps in the loop itself: queue depth that is requested but not reached, a CPU or a host that does not let
//! the loop run, and the program's own limit.

use crate::program::{Running, program_under, run, trial};
use crate::traps::{DEVICE, assert_alone, assert_silent, found, noise, write_file};
use record::{FindingCode, Severity, Trial};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::{LoopDevice, Mounted, requires};

#[test]
fn completions_that_wait_for_an_older_one_are_told_to_hold_the_loop_up() {
    let measure = |discipline: &str| {
        let words = format!("--iodepth 16 --runtime 60s --completion {discipline}");
        trial(0, &format!("sim:mmc,servers=16,service=1ms {words}"))
    };
    let held = measure("oldest-first");
    assert_alone(&held, FindingCode::DepthNotReached, Severity::Warning);
    assert!(held.result.concurrency < 12.0, "{}", held.result.concurrency);
    assert!(held.findings[0].remedy.contains("--completion any"), "{:?}", held.findings);
    assert_eq!(found(&measure("any")), []);
}

/// A trial on a mapped file in memory, by a program that always gets a CPU immediately.
fn in_memory(len: usize, flags: &str) -> Trial {
    let memory = Mounted::tmpfs(128 << 20).unwrap();
    let file = memory.path().join("data");
    write_file(&file, &noise(len));
    let words = format!("run {} --ioengine mmap {flags} --no-save --json", file.display());
    run(program_under("chrt --fifo 1"), &words).expect(0).trial()
}

#[test]
fn a_program_that_is_busy_between_its_requests_is_told_to_hold_the_loop_up() {
    requires!(Root, Mount);
    // Preparing the next request with its verification data takes about as long as copying a small one into
    // mapped memory that is in the CPU's cache, because the file is passed over many times. On the first pass
    // each page is a fault, which on some machines takes far longer. Which sizes are small depends on the
    // CPU. For even smaller ones, the program's own limit is reported instead.
    let words = "--overwrite --verify --rw write --io-size 64m --runtime 30s";
    let measure = |bs: &str| in_memory(1 << 20, &format!("{words} --bs {bs}"));
    let memory = (FindingCode::NoDevice, Severity::Warning);
    let depth = (FindingCode::DepthNotReached, Severity::Warning);
    let small = ["16k", "8k", "4k", "2k", "1k"].map(measure);
    let held = small.iter().find(|trial| found(trial) == [depth, memory]);
    let held = held.unwrap_or_else(|| panic!("{:#?}", small.each_ref().map(found)));
    let finding = held.findings.iter().find(|it| it.code == depth.0).unwrap();
    assert!(finding.claim.contains("halfpower was busy"), "{finding:?}");
    let one_pass = in_memory(64 << 20, &format!("{words} --bs 64k"));
    assert_eq!(found(&one_pass), [memory]);
}

#[test]
fn a_target_that_is_faster_than_the_program_is_told_and_requests_that_take_longer_are_not() {
    requires!(Root, Mount);
    let codes = |bs: &str| -> Vec<FindingCode> {
        let trial = in_memory(16 << 20, &format!("--pattern zipf --bs {bs} --runtime 300ms"));
        found(&trial).into_iter().map(|(code, _)| code).collect()
    };
    // A copy within the CPU's cache is over before the program has prepared the next request; reading the
    // clock also takes a part of its time.
    let limited = codes("512");
    assert!(limited.contains(&FindingCode::HarnessLimit), "{limited:?}");
    assert!(!limited.contains(&FindingCode::DepthNotReached), "one cause: {limited:?}");
    assert_eq!(codes("64k"), [FindingCode::NoDevice]);
}

/// The program, started by a shell that runs this script first.
fn after(script: &str) -> [String; 5] {
    let program = env!("CARGO_BIN_EXE_halfpower");
    ["sh", "-c", &format!("{script} && exec \"$@\""), "sh", program].map(str::to_owned)
}

/// The program in its own mount namespace, where `file` is mounted over a system file. Only the program sees
/// the change.
fn seeing(file: &Path, over: &str) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount").args(after(&format!("mount --bind {} {over}", file.display())));
    command
}

/// A trial on a loop device during which the host steals this many ticks (of 10 ms) of each second.
fn with_steal(device: &Path, ticks: u64) -> Trial {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stat");
    let real = std::fs::read_to_string("/proc/stat").unwrap();
    let (_, rest) = real.split_once('\n').unwrap();
    let first = |steal: u64| format!("cpu  1000 0 1000 100000 0 0 0 {steal:012} 0 0\n");
    std::fs::write(&path, format!("{}{rest}", first(0))).unwrap();
    let mut command = seeing(&path, "/proc/stat");
    let words = format!("run {} --runtime 1s --keep-warm-up --no-save --json", device.display());
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    let file = File::options().write(true).open(&path).unwrap();
    let start = Instant::now();
    while !running.has_ended() {
        std::thread::sleep(Duration::from_millis(50));
        let tenths = start.elapsed().as_millis() as u64 / 100;
        // In place and with constant length, so that no reader sees a partial text.
        file.write_all_at(first(tenths * ticks / 10).as_bytes(), 0).unwrap();
    }
    running.end().expect(0).trial()
}

#[test]
fn processor_time_that_the_host_takes_is_told_and_a_host_that_takes_none_is_not() {
    requires!(Root, Loop, Namespace);
    let device = LoopDevice::new(DEVICE).unwrap();
    // For all CPUs, so that it is a fifth of their time regardless of their number.
    let cpus = std::thread::available_parallelism().unwrap().get() as u64;
    let stolen = with_steal(device.path(), 20 * cpus);
    let steal =
        |trial: &Trial| trial.findings.iter().find(|it| it.code == FindingCode::CpuTaken).cloned();
    let finding = steal(&stolen).unwrap_or_else(|| panic!("{:?}", stolen.cpu));
    assert_eq!(finding.severity, Severity::Warning);
    assert_silent(&stolen);
    let none = with_steal(device.path(), 0);
    assert_eq!(steal(&none), None);
    assert_silent(&none);
}

#[test]
fn a_flag_of_rotation_that_says_nothing_is_told_and_a_kernel_that_gives_none_is_not() {
    requires!(Root, Loop, Namespace);
    let device = LoopDevice::new(DEVICE).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let over = format!("/sys/block/{name}/queue/rotational");
    let measure = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let words =
            format!("run {} --io-size 4m --runtime 60s --no-save --json", device.path().display());
        let trial = run(seeing(file.path(), &over), &words).expect(0).trial();
        crate::program::found(&trial.findings, FindingCode::RotationalUntrusted)
    };
    assert!(measure("0\n"));
    assert!(!measure("\n"));
}

/// A trial on a loop device whose driver counts only this share of its reads, according to /proc/diskstats.
fn counted(device: &Path, percent: u64) -> Trial {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("diskstats");
    let name = device.file_name().unwrap().to_str().unwrap();
    // Padded to constant length, so that no reader sees a partial text.
    let text = || {
        let real = std::fs::read_to_string("/proc/diskstats").unwrap();
        let line = real.lines().find(|line| line.split_whitespace().nth(2) == Some(name)).unwrap();
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        for counter in [3, 5] {
            words[counter] = (words[counter].parse::<u64>().unwrap() * percent / 100).to_string();
        }
        format!("{:300}\n", words.join(" "))
    };
    std::fs::write(&path, text()).unwrap();
    let mut command = seeing(&path, "/proc/diskstats");
    let words = format!("run {} --runtime 1s --no-save --json", device.display());
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    let file = File::options().write(true).open(&path).unwrap();
    while !running.has_ended() {
        file.write_all_at(text().as_bytes(), 0).unwrap();
        std::thread::sleep(Duration::from_millis(3));
    }
    running.end().expect(0).trial()
}

#[test]
fn bytes_that_the_device_did_not_count_are_told_and_a_device_that_counts_all_is_silent() {
    requires!(Root, Loop, Namespace);
    let device = LoopDevice::new(DEVICE).unwrap();
    let less = counted(device.path(), 50);
    assert_alone(&less, FindingCode::DeviceSawLess, Severity::Warning);
    let ratio = less.device_counters.value().unwrap().ratio_bytes.unwrap();
    assert!((0.4..0.6).contains(&ratio), "{ratio}");
    assert_silent(&counted(device.path(), 100));
}

/// A version 1 cgroup with a CPU quota; removed on drop.
struct QuotaGroup(PathBuf);

impl QuotaGroup {
    fn new() -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup/cpu");
        // Without a mounted controller, this would create an ordinary folder.
        root.join("tasks").exists().then_some(())?;
        let folder = root.join(format!("halfpower-test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        group.0.join("cpu.cfs_quota_us").exists().then_some(group)
    }

    /// A command in the group, which may use this many microseconds of every 100,000; -1 means no limit.
    fn entered(&self, quota_us: i64) -> Command {
        std::fs::write(self.0.join("cpu.cfs_quota_us"), quota_us.to_string()).unwrap();
        let [shell, words @ ..] = after(&format!("echo $$ > {}/tasks", self.0.display()));
        let mut command = Command::new(shell);
        command.args(words);
        command
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        let removed = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            std::fs::remove_dir(&self.0).is_ok()
        });
        if !removed {
            eprintln!("the control group {} was left behind", self.0.display());
        }
    }
}

#[test]
fn a_quota_of_processor_time_makes_the_upper_bound_unsure_and_no_quota_does_not() {
    requires!(Root, Loop);
    let name = "a_quota_of_processor_time";
    let Some(group) = QuotaGroup::new() else {
        return testkit::skip(name, "needs control groups of version 1 with a quota");
    };
    let device = LoopDevice::new(DEVICE).unwrap();
    let doubts = |quota_us: i64| {
        let words = format!("run {} --runtime 500ms --cpu-upper", device.path().display());
        let words = format!("{words} --no-save --json");
        let trial = run(group.entered(quota_us), &words).expect(0).trial();
        if let Some(why) = trial.cpu.reason() {
            testkit::skip(name, why);
            return None;
        }
        let unsure = |it: &&record::Finding| it.code == FindingCode::CpuBoundUnsure;
        let claims = trial.findings.iter().filter(unsure).map(|it| it.claim.as_str());
        Some(claims.collect::<Vec<_>>().join(" "))
    };
    // A machine with other load gives its own doubts, but not this one.
    let (Some(limited), Some(free)) = (doubts(180_000), doubts(-1)) else { return };
    assert!(limited.contains("quota allows 1.80 CPUs"), "{limited}");
    assert!(!free.contains("quota"), "{free}");
}
