//! Traps in the state before a run: pages that dropping the cache does not remove, preconditioning rounds
//! that do not converge, O_DIRECT that is silently ignored, a fragmented file, a start that differs from the
//! rest.

use crate::program::{Running, program, program_under, run, trial};
use crate::traps::{DEVICE, assert_alone, assert_silent, noise, write_file};
use crate::traps_device::QueueSetting;
use record::{FindingCode, Severity, Trial};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testkit::{LoopDevice, Mounted, requires};

/// Size of the files in bytes: an area that is not reported as small.
const FILE: usize = 64 << 20;

/// The findings of a simulated trial, which nothing else can cause.
fn codes(trial: &Trial) -> Vec<FindingCode> {
    trial.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn pages_that_somebody_maps_stay_after_a_scrub_and_are_told_and_those_of_another_file_are_not() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(DEVICE).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let (ours, another) = (disk.path().join("ours"), disk.path().join("another"));
    write_file(&ours, &noise(FILE));
    write_file(&another, &noise(FILE));
    // One pass with requests as long as the read-ahead: the run reads everything exactly once.
    let _setting = QueueSetting::new(&device, "read_ahead_kb", "128");
    let measure = |mapped: &Path, cache: &str| {
        let mut command = program();
        let words = "--ioengine mmap --rw read --bs 64k --rate-iops 3000 --cache all";
        let words = format!("run {} {words} --runtime 30s --no-save", mapped.display());
        command.args(words.split_whitespace());
        let mut other = Running::start(command);
        other.wait_for("measure ...");
        std::thread::sleep(Duration::from_millis(800));
        let words = "--rw read --bs 128k --passes 1 --drop-cache dontneed";
        let trial = trial(0, &format!("{} {words} --cache {cache}", ours.display()));
        other.kill();
        drop(other);
        trial
    };
    let kept = measure(&ours, "all");
    assert_alone(&kept, FindingCode::CachedPagesLeft, Severity::Warning);
    let cache_dropped = kept.cache_dropped.as_ref().unwrap();
    assert_eq!(cache_dropped.resident_after_bytes.map(|bytes| bytes.0), Some(FILE as u64));
    // With direct I/O it does not matter, so it is a note.
    assert_alone(&measure(&ours, "device"), FindingCode::CachedPagesLeft, Severity::Info);
    assert_silent(&measure(&another, "all"));
}

#[test]
fn rounds_that_do_not_come_to_agree_are_told_and_those_of_a_device_that_holds_still_are_not() {
    let measure = |drift: &str| {
        let words = "--precondition --rw randwrite --size 8m --runtime 10s --keep-warm-up";
        trial(0, &format!("sim:md1,service=1ms,drift={drift} {words}"))
    };
    let changing = measure("1000%");
    assert_eq!(codes(&changing), [FindingCode::NotPreconditioned]);
    let finding = &changing.findings[0];
    assert_eq!(finding.severity, Severity::Warning);
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
    let still = measure("0%");
    assert_eq!(codes(&still), []);
    assert!(still.preconditioning.unwrap().steady);
}

#[test]
fn read_ahead_below_direct_requests_is_told_where_the_kernel_does_not_say_that_it_ignores_them() {
    requires!(Root, Loop, Mount, Ext4, Strace);
    let device = LoopDevice::new(DEVICE).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device.path()).status();
    assert!(made.unwrap().success());
    // A kernel before 6.1 does not report it; the size of the device's requests is the only evidence.
    let silent_kernel =
        "strace -f -qq -o /dev/null --seccomp-bpf -e trace=statx -e inject=statx:error=ENOSYS";
    let measure = |journal: &str| {
        let disk = Mounted::with_options("ext4", device.path(), journal).unwrap();
        let file = disk.path().join("data");
        write_file(&file, &noise(FILE));
        let words =
            "--rw read --bs 4k --passes 1 --runtime 20s --drop-cache dontneed --no-save --json";
        run(program_under(silent_kernel), &format!("run {} {words}", file.display()))
            .expect(0)
            .trial()
    };
    let ignored = measure("data=journal,noinit_itable");
    assert_alone(&ignored, FindingCode::DirectIgnored, Severity::Warning);
    let size = ignored.device_counters.value().unwrap().mean_request_bytes.unwrap();
    assert!(size > 60e3, "{size}");
    assert_silent(&measure("data=ordered,noinit_itable"));
}

#[test]
fn a_file_in_many_pieces_is_told_and_one_that_was_written_in_one_go_is_not() {
    requires!(Root, Loop, Mount, Ext4);
    let measure = |in_pieces: bool| {
        let device = LoopDevice::new(DEVICE).unwrap();
        let disk = Mounted::ext4(device.path()).unwrap();
        // Leaves only holes of 256 KiB each, into which the file must go.
        let script = "cd $0 && free=$(df --block-size=1 --output=avail . | tail -1) && \
                      fallocate --length $free filler && at=0 && while [ $at -lt 400 ]; do \
                      fallocate --punch-hole --offset $((at * 524288)) --length 262144 filler; \
                      at=$((at + 1)); done";
        let filled = Command::new("sh").args(["-c", script]).arg(disk.path()).status();
        assert!(filled.unwrap().success());
        if !in_pieces {
            std::fs::remove_file(disk.path().join("filler")).unwrap();
        }
        let file = disk.path().join("data");
        write_file(&file, &noise(FILE));
        trial(0, &format!("{} --io-size 4m --runtime 60s", file.display()))
    };
    assert_alone(&measure(true), FindingCode::Fragmented, Severity::Info);
    assert_silent(&measure(false));
}

#[test]
fn a_start_that_differs_is_told_to_be_cut_off_and_a_run_without_one_is_whole() {
    let measure = |cache: &str| {
        let words = "--size 4m --runtime 20s";
        trial(0, &format!("sim:md1,service=2ms,hit=100us,cache={cache} {words}"))
    };
    let filling = measure("4m");
    assert_eq!(codes(&filling), [FindingCode::WarmUpCut]);
    let cut = filling.result.warm_up.as_ref().unwrap();
    assert!(cut.iops < filling.result.read.as_ref().unwrap().iops, "{cut:?}");
    assert_eq!(codes(&measure("0")), []);
}
