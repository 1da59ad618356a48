//! `--fsync` and `--fdatasync`: which calls are made, what is counted, and what is refused.

use crate::program::{halfpower, halfpower_in, program_under, run};
use record::{FindingCode, FlushKind};
use testkit::{disk_folder, requires};

#[test]
fn as_many_flushes_are_counted_as_the_kernel_was_asked_for() {
    requires!(Disk, Strace);
    let folder = disk_folder().unwrap();
    for (flag, every, flushes) in
        [("fdatasync", 1, 64), ("fdatasync", 4, 16), ("fsync", 8, 8), ("sync-file-range", 2, 32)]
    {
        let path = folder.path().join(format!("{flag}{every}"));
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let log = tempfile::NamedTempFile::new().unwrap();
        let call = flag.replace('-', "_");
        // `sync_file_range` writes out the page cache, so it needs buffered writes.
        let cache = if call == flag { "device" } else { "all" };
        let words = format!("strace -f -qq -e trace={call} -o {}", log.path().display());
        let load = format!("{} --rw write --bs 4k --io-size 256k --runtime 60s", path.display());
        let load = format!(
            "run {load} --overwrite --ioengine sync --cache {cache} --{flag} {every} --no-save --json"
        );
        let trial = run(program_under(&words), &load).expect(0).trial();
        let (write, flush) = (trial.result.write.as_ref().unwrap(), trial.result.flush.unwrap());
        assert_eq!((write.ios, flush.ios, flush.errors), (64, flushes, 0), "{flag} {every}");
        assert!(flush.latency_ns.is_some_and(|times| times.mean > 0.0), "{flag} {every}");
        let log = std::fs::read_to_string(log.path()).unwrap();
        let called = log.lines().filter(|line| line.contains(&format!(" {call}("))).count();
        assert_eq!(called as u64, flushes, "{log}");
        let asked = trial.workload.flush.unwrap();
        assert_eq!((asked.kind == FlushKind::Fsync, asked.every), (flag == "fsync", every));
    }
}

#[test]
fn the_page_has_flushes_beside_writes_and_a_command_that_repeats_them() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --size 8m --rw randwrite --fdatasync 8 --iodepth 8 --io-size 4m --runtime 60s --no-save --verbose";
    let page = halfpower_in(folder.path(), words).expect(0).stdout;
    for words in ["fdatasync after every 8 writes", "; flushes ", "--fdatasync 8", "  flushes "] {
        assert!(page.contains(words), "{words:?} is not in {page}");
    }
    // Flushes drain the queue, so a low depth is no finding.
    assert!(!page.contains(&format!("[{}]", FindingCode::DepthNotReached.name())), "{page}");
}

#[test]
fn flushes_without_writes_of_both_kinds_or_on_a_simulated_device_are_refused() {
    let refused = |words: &str, said: &[&str]| {
        halfpower(&format!("run {words} --no-save")).refuses(2, said);
    };
    refused(". --fsync 1", &["--fsync", "--rw write"]);
    refused(". --rw write --fsync 0", &["--fsync", "1 to"]);
    refused(". --rw write --fsync 1 --fdatasync 1", &["--fsync", "--fdatasync"]);
    refused(". --rw write --fsync 1 --cache none", &["--fsync", "--cache device"]);
    refused(". --rw write --sync-file-range 1", &["--sync-file-range", "--cache all"]);
    let libaio = ". --rw write --cache all --sync-file-range 1 --ioengine libaio";
    refused(libaio, &["--sync-file-range", "--ioengine io_uring"]);
    refused("sim:mm1 --rw write --fdatasync 1", &["--fdatasync", "simulated"]);
}
