//! Arrays that the program makes from targets: the content of each target, a failed one, its rebuild, and the
//! findings of a check.

use crate::program::{found, halfpower, trial};
use record::{
    Bytes, EndedBy, FindingCode, LegCheck, OpKind, RebuildResult, SizeShare, Trial, Workload,
};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use testkit::{LoopDevice, disk_folder, requires};
use workload::RequestStream;
use workload::volume::{DiskLoad, Plan, Volume};

const LEG: usize = 4 << 20;
const CHUNK: usize = 64 << 10;

/// Files with different bytes, so that nothing agrees by chance.
fn legs(count: usize) -> (TempDir, Vec<PathBuf>) {
    let folder = disk_folder().unwrap();
    let leg = |number: usize| {
        let path = folder.path().join(number.to_string());
        let bytes: Vec<u8> = (0..LEG).map(|at| (at / 7 * (number + 3)) as u8).collect();
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let legs = (0..count).map(leg).collect();
    (folder, legs)
}

fn words(legs: &[PathBuf], more: &str) -> String {
    let paths: Vec<String> = legs.iter().map(|leg| leg.display().to_string()).collect();
    format!("{} --runtime 60s {more}", paths.join(" "))
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The exclusive or of files.
fn sum(legs: &[PathBuf]) -> Vec<u8> {
    let mut sum = vec![0; LEG];
    for leg in legs {
        sum.iter_mut().zip(bytes(leg)).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn agree(level: u32, legs: &[PathBuf]) -> bool {
    match level {
        1 => legs.iter().all(|leg| bytes(leg) == bytes(&legs[0])),
        _ => sum(legs).iter().all(|&byte| byte == 0),
    }
}

#[track_caller]
fn check(trial: &Trial) -> &LegCheck {
    let array = trial.result.array.as_ref();
    array.and_then(|array| array.check.as_ref()).unwrap_or_else(|| panic!("{trial:#?}"))
}

#[track_caller]
fn rebuild(trial: &Trial) -> &RebuildResult {
    let array = trial.result.array.as_ref();
    array.and_then(|array| array.rebuild.as_ref()).unwrap_or_else(|| panic!("{trial:#?}"))
}

/// Number of good blocks; fails if any block is bad or unchecked.
#[track_caller]
fn all_good(trial: &Trial) -> u64 {
    let verify = trial.result.verify.as_ref().unwrap();
    let bad = verify.lost + verify.misplaced + verify.torn + verify.stale + verify.unchecked;
    assert_eq!(bad, 0, "{verify:?}");
    verify.good
}

#[test]
fn what_is_written_reads_back_and_copies_and_parity_fit_by_every_engine() {
    requires!(Disk);
    let loads = [
        (1, 2, "--ioengine io_uring --iodepth 16 --bs 4k"),
        (1, 3, "--ioengine threads --iodepth 4 --bs 4k/50:96k/50"),
        (5, 3, "--ioengine io_uring --iodepth 16 --bs 4k/50:96k/50 --numjobs 3"),
        (5, 4, "--ioengine libaio --iodepth 8 --bs 12k --fsync 16"),
        (5, 5, "--ioengine sync --numjobs 4 --bs 256k --chunk 32k"),
        (5, 3, "--ioengine mmap --bs 8k --chunk 8k"),
    ];
    for (level, count, load) in loads {
        let (_folder, legs) = legs(count);
        let more = format!(
            "--raid {level} {load} --rw randwrite --io-size 6m --overwrite --verify --seed 3"
        );
        let trial = trial(0, &words(&legs, &more));
        assert!(all_good(&trial) > 0 && trial.clean(), "{load}");
        let check = check(&trial);
        let rows = (LEG / trial.workload.stripe_bytes.unwrap().0 as usize) as u64;
        assert_eq!((check.good, check.bad, check.unchecked), (rows, 0, 0), "{load}: {check:?}");
        assert_eq!(check.made, rows, "nothing agreed before: {check:?}");
        assert!(agree(level, &legs), "{load}");
        let data = if level == 1 { 1 } else { count as u64 - 1 };
        assert_eq!(trial.workload.size_bytes, Bytes(data * LEG as u64), "{load}");
    }
}

#[test]
fn without_any_one_target_everything_reads_back_and_what_is_written_then_too() {
    requires!(Disk);
    for (level, count) in [(1, 2), (5, 4)] {
        let (_folder, legs) = legs(count);
        let written = |more: &str| {
            let fill = "--rw write --bs 64k --passes 1 --verify --overwrite --seed 7 --iodepth 4";
            trial(0, &words(&legs, &format!("--raid {level} {fill} {more}")))
        };
        let read = |failed: usize| {
            let read = "--rw read --bs 64k --passes 1 --verify --seed 7";
            trial(0, &words(&legs, &format!("--raid {level} --failed {failed} {read}")))
        };
        let blocks = all_good(&written(""));
        for failed in 0..count {
            assert_eq!(all_good(&read(failed)), blocks, "RAID {level} without {failed}");
        }
        let before = bytes(&legs[1]);
        let trial = written("--failed 1");
        assert_eq!(all_good(&trial), blocks);
        assert_eq!((check(&trial).good, check(&trial).bad), (0, 0), "nothing to compare with");
        assert!(!check(&trial).note.is_empty());
        assert!(bytes(&legs[1]) == before, "a failed target is not touched");
        assert_eq!(all_good(&read(1)), blocks);
    }
}

#[test]
fn a_target_is_rebuilt_beside_the_load_and_the_load_without_that_stands_beside_it() {
    requires!(Disk);
    for (level, count, pace) in [(1, 2, "max"), (5, 4, "max"), (5, 3, "40m")] {
        let (_folder, legs) = legs(count);
        let more = format!(
            "--raid {level} --failed 1 --rebuild {pace} --rw randrw --bs 4k/80:64k/20 --iodepth 4 \
             --io-size 2m --overwrite --verify"
        );
        let trial = trial(0, &words(&legs, &more));
        assert!(all_good(&trial) > 0 && trial.clean());
        let rebuild = rebuild(&trial);
        assert!(rebuild.complete && rebuild.errors == 0, "{rebuild:?}");
        let leg = Bytes(LEG as u64);
        assert_eq!((rebuild.leg, rebuild.leg_bytes, rebuild.rebuilt_bytes), (1, leg, leg));
        let read: u64 = rebuild.read_bytes.iter().map(|bytes| bytes.0).sum();
        let others = if level == 1 { 1 } else { count as u64 - 1 };
        assert_eq!((read, rebuild.written_bytes), (others * leg.0, leg), "{rebuild:?}");
        assert_eq!(rebuild.read_bytes[1], Bytes(0));
        assert_eq!(rebuild.whole_leg_ns, Some(rebuild.duration_ns));
        let without: Vec<OpKind> = rebuild.without.iter().map(|figures| figures.op).collect();
        assert_eq!(without, OpKind::ALL, "the load ran before, by itself");
        let check = check(&trial);
        let rows = (LEG / CHUNK) as u64;
        assert_eq!((check.good, check.bad, check.unchecked), (rows, 0, 0), "{check:?}");
        assert!(agree(level, &legs), "byte for byte");
    }
}

#[test]
fn a_run_ends_with_its_rebuild_and_a_rebuild_that_is_left_off_says_what_all_of_it_takes() {
    requires!(Disk);
    let (_folder, legs) = legs(3);
    let load = "--raid 5 --failed 2 --rw randread --iodepth 2 --overwrite";
    let paths: Vec<String> = legs.iter().map(|leg| leg.display().to_string()).collect();
    let slow = trial(0, &format!("{} --rebuild 64k --runtime 500ms {load}", paths.join(" ")));
    let left = rebuild(&slow);
    assert!(!left.complete && left.rebuilt_bytes < left.leg_bytes, "{left:?}");
    let any = left.rebuilt_bytes.0 > 0;
    assert_eq!(left.whole_leg_ns > Some(left.duration_ns), any, "{left:?}");
    let part = check(&slow);
    assert_eq!(part.good, left.rebuilt_bytes.0 / CHUNK as u64, "{part:?}");
    assert!(part.unchecked > 0 && !part.note.is_empty(), "{part:?}");
    let quick = trial(0, &format!("{} --rebuild max --runtime 3s {load}", paths.join(" ")));
    let complete = rebuild(&quick).complete;
    assert_eq!(quick.result.ended_by == Some(EndedBy::Rebuilt), complete);
    assert_eq!(sum(&legs).iter().all(|&byte| byte == 0), complete);
}

#[test]
fn jobs_beside_the_first_are_on_the_same_array_and_beside_its_rebuild() {
    requires!(Disk);
    let (_folder, legs) = legs(3);
    let more = "--raid 5 --failed 0 --rebuild max --rw randwrite --bs 4k --iodepth 4 --io-size 1m \
                --overwrite --size 2m";
    let mut command = crate::program::program();
    command.args(["run", "--json", "--no-save"]);
    command.args(["--beside", "--rw write --bs 20k --io-size 1m --size 2m --iodepth 4"]);
    let trial = crate::program::run(command, &words(&legs, more)).expect(0).trial();
    assert_eq!(trial.beside.len(), 1);
    assert_eq!(trial.workload.beside[0].workload.array, trial.workload.array);
    assert!(rebuild(&trial).complete);
    assert_eq!((check(&trial).good, check(&trial).bad), (32, 0));
    let half = |leg: &PathBuf| bytes(leg)[..LEG / 2].to_vec();
    let all: Vec<Vec<u8>> = legs.iter().map(half).collect();
    assert!((0..LEG / 2).all(|row| all.iter().fold(0, |sum, leg| sum ^ leg[row]) == 0));
}

#[test]
fn what_a_kill_between_data_and_parity_leaves_is_found_by_a_check_and_named() {
    requires!(Disk);
    for (level, count) in [(1, 2), (5, 3)] {
        let (_folder, legs) = legs(count);
        let fill = "--rw write --bs 64k --passes 1 --verify --overwrite --seed 7";
        trial(0, &words(&legs, &format!("--raid {level} {fill}")));
        // The parity of the second row is on the last leg but one; in a mirror, this is a copy.
        let damaged = std::fs::OpenOptions::new().write(true).open(&legs[1]).unwrap();
        let before = bytes(&legs[1])[CHUNK + 100];
        damaged.write_all_at(&[!before], CHUNK as u64 + 100).unwrap();
        drop(damaged);
        let checks = format!("--raid {level} --rw read --bs 64k --passes 1 --verify --seed 7");
        let checked = trial(1, &words(&legs, &checks));
        assert!(found(&checked.findings, FindingCode::ArrayInconsistent), "RAID {level}");
        let check = check(&checked);
        assert_eq!((check.bad, check.good), (1, (LEG / CHUNK) as u64 - 1), "{check:?}");
        assert!(check.first_bad[0].contains(&(CHUNK + 100).to_string()), "{check:?}");
        // The next writer gets consistent legs, and a finding.
        let again = format!("--raid {level} --rw write --passes 1 --bs 64k --verify --overwrite");
        let mended = trial(0, &words(&legs, &again));
        assert_eq!(mended.result.array.unwrap().check.unwrap().made, 1);
    }
}

/// Sectors read and written of a block device.
fn sectors(device: &LoopDevice) -> [u64; 2] {
    let name = device.path().file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [numbers[2], numbers[6]]
}

#[test]
fn the_legs_are_asked_for_exactly_the_bytes_that_the_plan_of_the_simulator_says() {
    requires!(Root, Loop);
    for (level, count, failed) in [(1, 2, ""), (5, 4, ""), (5, 4, "--failed 2")] {
        let devices: Vec<LoopDevice> =
            (0..count).map(|_| LoopDevice::new(LEG as u64).unwrap()).collect();
        let paths: Vec<PathBuf> = devices.iter().map(|it| it.path().to_owned()).collect();
        let named: Vec<String> = paths
            .iter()
            .map(|path| format!("--destroy-data-on {}", path.file_name().unwrap().display()))
            .collect();
        let more = format!(
            "--raid {level} {failed} --rw randrw --rwmixread 40 --bs 4k/70:100k/30 --iodepth 8 \
             --io-size 8m --seed 11 {}",
            named.join(" ")
        );
        // The first time, the reads that open a device go through the page cache.
        trial(0, &words(&paths, &more));
        let before: Vec<[u64; 2]> = devices.iter().map(sectors).collect();
        let trial = trial(0, &words(&paths, &more));
        let expected = predicted(&trial.workload, 11, 8 << 20);
        for (leg, device) in devices.iter().enumerate() {
            let after = sectors(device);
            let moved = [0, 1].map(|op| (after[op] - before[leg][op]) * 512);
            assert_eq!(moved[1], expected[leg][1], "written of leg {leg}, RAID {level} {failed}");
            let more = moved[0].checked_sub(expected[leg][0]);
            // A mirror chooses the leg by its queues, so the legs are counted together.
            assert!(level == 1 || more.is_some_and(|it| it < 1 << 20), "read of leg {leg}");
        }
        let read = |of: &dyn Fn(usize) -> u64| (0..count).map(of).sum::<u64>();
        let all = read(&|leg| (sectors(&devices[leg])[0] - before[leg][0]) * 512);
        let planned = read(&|leg| expected[leg][0]);
        assert!((planned..planned + (4 << 20)).contains(&all), "{all} for {planned}");
    }
}

/// Bytes read and written on each leg by a run of `bytes` bytes.
fn predicted(workload: &Workload, seed: u64, bytes: u64) -> Vec<[u64; 2]> {
    let spec = workload::volume_spec(workload).unwrap();
    let legs = workload.targets as usize;
    let mut volume = Volume::new(&spec, workload.targets, workload.array.unwrap().leg_bytes.0);
    let mut moved = vec![[0; 2]; legs];
    let mut stream = RequestStream::new(workload, seed, 0);
    let mut batch = vec![workload::Request { offset: 0, bytes: 0, op: OpKind::Read }; 1];
    let (mut plan, mut sum) = (Plan::default(), 0);
    while sum < bytes {
        stream.fill(&mut batch);
        let request = batch[0];
        sum += u64::from(request.bytes);
        let loads = vec![DiskLoad::default(); legs];
        volume.plan(request.op, request.offset, request.bytes, &loads, &mut plan);
        for piece in &plan.pieces {
            moved[piece.disk as usize][piece.op as usize] += u64::from(piece.bytes);
        }
    }
    moved
}

#[test]
fn flags_of_arrays_that_do_not_go_together_are_refused_with_what_to_change() {
    let refused = |words: &str, parts: &[&str]| {
        halfpower(&format!("run . . . {words} --no-save")).refuses(2, parts);
    };
    refused("--failed 1", &["--failed", "--raid 1 or --raid 5"]);
    refused("--raid 0 --failed 1", &["--failed", "--raid 1 or --raid 5"]);
    refused("--raid 1 --failed 3", &["--failed", "0 to 2"]);
    refused("--raid 6", &["--raid", "0, 1 or 5"]);
    refused("--raid 5 --chunk 1000", &["--chunk 1000", "512"]);
    refused("--raid 1 --failed 1 --rebuild 1k", &["--rebuild", "64 KiB"]);
    refused("--raid 1 --ioengine null", &["--raid", "null"]);
    refused("--raid 1 --failed 1 --rebuild max --cost-fit", &["--rebuild", "--cost-fit"]);
    halfpower("run . . --raid 5 --no-save").refuses(2, &["--raid 5", "3 targets"]);
    halfpower("run . --raid 1 --no-save").refuses(2, &["--raid", "more than one"]);
}

#[test]
fn a_rebuild_writes_and_asks_for_the_permission_of_every_write() {
    requires!(Disk);
    let (_folder, legs) = legs(2);
    let before = bytes(&legs[1]);
    let more = "--raid 1 --failed 1 --rebuild max --rw randread --no-save";
    halfpower(&format!("run {}", words(&legs, more))).refuses(3, &["--overwrite"]);
    assert!(bytes(&legs[1]) == before);
}

#[test]
fn the_cell_of_an_array_is_another_than_that_of_a_stripe() {
    let plain = Workload {
        stripe_bytes: Some(Bytes(65_536)),
        bs: vec![SizeShare { bytes: Bytes(4_096), percent: 100 }],
        targets: 3,
        ..Workload::default()
    };
    let array = record::Redundancy {
        level: record::RaidLevel::Raid5,
        leg_bytes: Bytes(1 << 20),
        failed: None,
        rebuild: None,
    };
    let with = Workload { array: Some(array), ..plain.clone() };
    let failed = record::Redundancy { failed: Some(1), ..array };
    let without_one = Workload { array: Some(failed), ..plain.clone() };
    assert_ne!(plain.cell(), with.cell());
    assert_ne!(without_one.cell(), with.cell());
}

#[test]
fn a_simulated_disk_is_rebuilt_beside_the_load_and_the_document_depends_on_its_line_alone() {
    let words = "sim:st15150n,disks=4,raid=5,chunk=1m,failed=2,rebuild=50m --rw randrw --bs 8k \
                 --iodepth 2 --seed 5 --no-save --json";
    let run = |runtime: &str| halfpower(&format!("run {words} --runtime {runtime}")).expect(0);
    // The whole rebuild takes seconds of CPU time, its first minute a fraction of one.
    assert_eq!(run("60s").stdout, run("60s").stdout);
    let one = run("10h");
    let trial = one.trial();
    assert_eq!(trial.result.ended_by, Some(EndedBy::Rebuilt));
    let rebuild = rebuild(&trial);
    assert!(rebuild.complete && rebuild.leg == 2, "{rebuild:?}");
    let leg = rebuild.leg_bytes;
    assert_eq!(rebuild.read_bytes, [leg, leg, Bytes(0), leg]);
    assert_eq!((rebuild.written_bytes, rebuild.rebuilt_bytes), (leg, leg));
    for (without, with) in rebuild.without.iter().zip(trial.load_figures()) {
        assert_eq!(without.op, with.op);
        assert!(with.latency_mean_ns > without.latency_mean_ns, "{without:?} {with:?}");
    }
    assert_eq!(rebuild.without.len(), 2);
    halfpower("run sim:st15150n,disks=4,raid=5,rebuild=max --no-save").refuses(2, &["failed=1"]);
    let wrong = "run sim:st15150n,disks=4,raid=5,failed=1,rebuild=fast --no-save";
    halfpower(wrong).refuses(2, &["rebuild=fast"]);
}

#[test]
fn holes_of_all_legs_are_told_of_the_area_of_all_legs() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let leg = |number: usize| {
        let path = folder.path().join(number.to_string());
        std::fs::File::create(&path).unwrap().set_len(LEG as u64).unwrap();
        path
    };
    let legs: Vec<PathBuf> = (0..3).map(leg).collect();
    let trial = trial(1, &words(&legs, "--raid 5 --rw randread --bs 4k --io-size 1m"));
    let holes = trial.findings.iter().find(|it| it.code == FindingCode::UnwrittenExtents).unwrap();
    assert!(holes.claim.contains("12 MiB of the area (12 MiB)"), "{}", holes.claim);
}
