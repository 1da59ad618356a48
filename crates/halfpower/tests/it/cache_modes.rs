//! How `--cache` opens files, and how the page cache changes figures.

use crate::program::{found, program_under, run, trial};
use record::FindingCode;
use std::collections::BTreeSet;
use testkit::{LoopDevice, Mounted, disk_folder, requires};

/// Which of the two flags of cache modes a run uses to open its target.
fn flags_of(mode: &str) -> BTreeSet<&'static str> {
    let folder = disk_folder().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let words = format!("strace -f -qq -e trace=open,openat -o {}", log.path().display());
    let mut command = program_under(&words);
    command.current_dir(folder.path());
    let words = "run . --size 16m --io-size 1m --runtime 30s --rw randrw --no-save --cache";
    run(command, &format!("{words} {mode}")).expect(0);
    let log = std::fs::read_to_string(log.path()).unwrap();
    // The first open is for the run; the test file is always written with direct I/O.
    let opening = log.lines().find(|line| line.contains("/proc/self/fd/") && line.contains("O_"));
    let opening = opening.unwrap_or_else(|| panic!("no opening for a run in {log}"));
    ["O_DIRECT", "O_DSYNC"].into_iter().filter(|flag| opening.contains(flag)).collect()
}

#[test]
fn each_cache_mode_and_its_letter_open_with_their_flags() {
    requires!(Disk, Strace);
    let modes: [(&str, &str, &[&str]); 4] = [
        ("all", "Y", &[]),
        ("fs", "S", &["O_DSYNC"]),
        ("device", "H", &["O_DIRECT"]),
        ("none", "N", &["O_DIRECT", "O_DSYNC"]),
    ];
    for (name, letter, flags) in modes {
        let flags: BTreeSet<&str> = flags.iter().copied().collect();
        assert_eq!(flags_of(name), flags, "{name}");
        assert_eq!(flags_of(letter), flags, "{letter}");
    }
}

#[test]
fn reads_that_memory_serves_are_told_and_reads_of_the_device_are_not() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    let re_reads = |cache: &str| {
        // The run ends after a number of bytes, so that its counters are never read too late.
        let words =
            format!("{} --pattern hit --io-size 16m --runtime 60s", device.path().display());
        trial(0, &format!("{words} --ramp-time 0 --cache {cache}"))
    };
    let buffered = re_reads("all");
    assert!(found(&buffered.findings, FindingCode::PageCacheServed), "{:?}", buffered.findings);
    let direct = re_reads("device");
    assert!(!found(&direct.findings, FindingCode::PageCacheServed), "{:?}", direct.findings);
}

#[test]
fn a_device_that_is_read_past_the_page_cache_counts_what_we_count() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    for (rw, bs, engine) in
        [("randread", "4k", "io_uring"), ("read", "64k", "io_uring"), ("randread", "4k", "sync")]
    {
        let words = format!("--rw {rw} --bs {bs} --ioengine {engine} --io-size 16m --runtime 60s");
        let trial = trial(0, &format!("{} {words}", device.path().display()));
        let counters = trial.device_counters.value().unwrap();
        // Other processes may read a new device.
        let near = |ratio: Option<f64>| (1.0..=1.02).contains(&ratio.unwrap());
        assert!(near(counters.ratio_bytes), "{words}: {counters:?}");
        assert!(near(counters.ratio_ios), "{words}: {counters:?}");
        assert_eq!(counters.device, device.path().file_name().unwrap().to_str().unwrap());
    }
}

#[test]
fn a_cold_start_drops_the_pages_that_a_warm_one_reads() {
    requires!(Root, Loop, Mount, Ext4);
    const FILE_BYTES: u64 = 4 << 20;
    let device = LoopDevice::new(64 << 20).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let file = disk.path().join("data");
    std::fs::write(&file, vec![7; FILE_BYTES as usize]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    // Counted here, because the program's own counters start with the run.
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let bytes_read = || {
        let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        // The third field: sectors of 512 bytes (Documentation/block/stat.rst).
        text.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() * 512
    };
    let bytes_from_device = |drop_cache: &str| {
        let before = bytes_read();
        let words = "--rw read --bs 64k --cache all --io-size 32m --runtime 60s --drop-cache";
        let trial = trial(0, &format!("{} {words} {drop_cache}", file.display()));
        assert!(trial.result.read.unwrap().bytes > FILE_BYTES, "it was not read in full");
        bytes_read() - before
    };
    bytes_from_device("none");
    let (warm, cold) = (bytes_from_device("none"), bytes_from_device("dontneed"));
    assert!(warm < FILE_BYTES / 16 && cold >= FILE_BYTES, "{warm} and {cold} bytes");
}
