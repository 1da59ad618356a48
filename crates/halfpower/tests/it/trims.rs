//! Trims: holes in a file, and discards of a device.

use crate::program::halfpower_in;
use record::{FindingCode, Trial};
use std::os::unix::fs::MetadataExt;
use testkit::{LoopDevice, requires};

const MIB: u64 = 1 << 20;

fn codes(trial: &Trial) -> Vec<FindingCode> {
    trial.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_file_keeps_its_length_and_gives_each_block_back_by_every_engine_that_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    for engine in ["io_uring", "sync", "threads"] {
        std::fs::write(&path, vec![7; MIB as usize]).unwrap();
        let words = format!(
            "run data --rw trim --bs 64k --iodepth 2 --passes 1 --cache all --json --no-save \
             --ioengine {engine}"
        );
        halfpower_in(folder.path(), &words).refuses(3, &["--overwrite"]);
        let outcome = halfpower_in(folder.path(), &format!("{words} --overwrite"));
        let trial = outcome.trial();
        let trims = trial.result.trim.as_ref().unwrap();
        assert_eq!(
            (trims.ios, trims.bytes, trims.errors, trims.short),
            (16, MIB, 0, 0),
            "{engine}"
        );
        assert!(trial.result.write.is_none());
        assert!(trims.latency_ns.as_ref().is_some_and(|times| times.max > 0));
        assert_eq!(std::fs::read(&path).unwrap(), vec![0; MIB as usize], "{engine}");
        assert_eq!(std::fs::metadata(&path).unwrap().blocks(), 0, "{engine}");
        assert!(!codes(&trial).contains(&FindingCode::TrimmedAgain));
    }
    // Blocks that were trimmed before are trimmed again.
    let words = "run data --rw randtrim --bs 64k --io-size 2m --cache all --json --no-save \
                 --overwrite --ioengine sync";
    let again = halfpower_in(folder.path(), words).trial();
    assert!(codes(&again).contains(&FindingCode::TrimmedAgain), "{:?}", codes(&again));
}

#[test]
fn a_device_is_discarded_with_leave_alone_and_counts_it() {
    requires!(Root, Loop);
    let device = LoopDevice::new(4 * MIB).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = device.path().display().to_string();
    let name = device.path().file_name().unwrap().to_str().unwrap();
    for engine in ["io_uring", "threads"] {
        std::fs::write(device.path(), vec![7; 4 * MIB as usize]).unwrap();
        let words = format!(
            "run {path} --rw trim --bs 64k --passes 1 --json --no-save --ioengine {engine}"
        );
        halfpower_in(folder.path(), &words).refuses(3, &["--destroy-data-on"]);
        let words = format!("{words} --destroy-data-on {name}");
        let trial = halfpower_in(folder.path(), &words).trial();
        let trims = trial.result.trim.as_ref().unwrap();
        assert_eq!((trims.ios, trims.bytes, trims.errors), (64, 4 * MIB, 0), "{engine}");
        let counted = trial.device_counters.value().expect("counters of a loop device");
        assert_eq!(counted.bytes, 4 * MIB, "{engine}: discards are counted, not writes");
        assert_eq!(std::fs::read(device.path()).unwrap(), vec![0; 4 * MIB as usize], "{engine}");
    }
}

#[test]
fn what_knows_no_trims_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refuses = |words: &str, reasons: &[&str]| {
        let mut command = crate::program::program();
        command.current_dir(folder.path()).arg("run").arg("--no-save");
        command.args(shlex::split(words).unwrap());
        crate::program::run(command, "").refuses(2, reasons);
    };
    refuses(". --rw trim --ioengine libaio", &["libaio", "not support trims", "io_uring"]);
    refuses(". --rw trim --ioengine mmap --cache all", &["mmap", "not support trims"]);
    refuses(". --rw randtrim --verify", &["--verify", "a trim has no data"]);
    refuses(". --rw trim --hipri", &["--hipri", "omit it"]);
    refuses("sim:mmc --rw trim", &["simulated"]);
    refuses(". --verify --rw randwrite --beside '--rw randtrim'", &["--verify", "trims"]);
    refuses(". --rw trim --sqlio-csv lines.csv --comment a", &["--sqlio-csv", "trims"]);
}
