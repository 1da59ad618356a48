//! `--verify`: written blocks are read back, and blocks that were damaged meanwhile are found and named.

use crate::program::{Running, found, halfpower, halfpower_in, program, trial};
use record::{BlockFault, FindingCode, Trial, VerifyResult};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::{LoopDevice, disk_folder, requires};

const BLOCK: usize = 4_096;
const BLOCKS: usize = 64;

/// A file of this many bytes without a hole, in a folder on a disk.
fn written_file(bytes: usize) -> (TempDir, PathBuf) {
    let folder = disk_folder().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0x5A; bytes]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    (folder, path)
}

#[track_caller]
fn verified(trial: &Trial) -> &VerifyResult {
    trial.result.verify.as_ref().unwrap_or_else(|| panic!("nothing was verified: {trial:#?}"))
}

fn faults(result: &VerifyResult) -> [u64; 4] {
    [result.lost, result.misplaced, result.torn, result.stale]
}

/// The fault of each bad block, by its number.
fn named(result: &VerifyResult) -> Vec<(usize, BlockFault)> {
    let number = |offset: u64| offset as usize / BLOCK;
    let mut named: Vec<_> =
        result.bad.iter().map(|bad| (number(bad.offset_bytes), bad.fault)).collect();
    named.sort_by_key(|(number, _)| *number);
    named
}

#[test]
fn what_every_engine_wrote_through_every_cache_reads_back_good() {
    requires!(Disk);
    let (_folder, path) = written_file(4 << 20);
    let shapes = [
        "--ioengine io_uring --iodepth 16 --rw randwrite",
        "--ioengine io_uring --iodepth 8 --numjobs 2 --rw randrw --cache all",
        "--ioengine libaio --iodepth 8 --rw randwrite --bs 4k/60:16k/40",
        "--ioengine sync --rw write --bs 64k --cache none",
        "--ioengine threads --iodepth 4 --rw randwrite --cache fs",
        "--ioengine mmap --rw randwrite",
    ];
    for shape in shapes {
        let words =
            format!("{} --overwrite --verify --io-size 2m --runtime 30s {shape}", path.display());
        let trial = trial(0, &words);
        let result = verified(&trial);
        assert!(result.good > 0, "{shape}: {result:?}");
        assert_eq!((faults(result), result.unchecked), ([0; 4], 0), "{shape}: {result:?}");
        assert!(!found(&trial.findings, FindingCode::DataCorrupt), "{shape}");
        let buffered = trial.workload.cache == record::CacheMode::All;
        assert_eq!(result.method.contains("emptied first"), buffered || shape.contains("fs"));
    }
}

#[test]
fn a_stripe_over_two_files_reads_back_good() {
    requires!(Disk);
    let (_one, first) = written_file(2 << 20);
    let (_two, second) = written_file(2 << 20);
    let words = format!(
        "{} {} --chunk 64k --overwrite --verify --rw randwrite --bs 96k --iodepth 4 \
         --io-size 2m --runtime 30s",
        first.display(),
        second.display()
    );
    let trial = trial(0, &words);
    let result = verified(&trial);
    assert!(result.good > 0);
    assert_eq!(faults(result), [0; 4], "{result:?}");
}

#[test]
fn requests_of_a_sector_are_verified_by_the_sector() {
    requires!(Root, Loop);
    let device = LoopDevice::new(1 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_string_lossy().into_owned();
    let words = format!(
        "{} --destroy-data-on {name} --verify --rw randwrite --bs 512 --io-size 4m --runtime 60s",
        device.path().display()
    );
    let trial = trial(0, &words);
    let result = verified(&trial);
    assert_eq!((result.block_bytes.0, faults(result)), (512, [0; 4]));
    assert!(result.good > 0);
}

#[test]
fn reads_alone_find_what_was_damaged_since_the_run_that_wrote() {
    requires!(Disk);
    let (_folder, path) = written_file(BLOCKS * BLOCK);
    let write = format!(
        "{} --overwrite --verify --seed 7 --rw write --passes 1 --runtime 10s",
        path.display()
    );
    assert_eq!(verified(&trial(0, &write)).good, BLOCKS as u64);
    let read = format!("{} --verify --seed 7 --rw read --passes 1 --runtime 30s", path.display());
    assert_eq!(verified(&trial(0, &read)).good, BLOCKS as u64);

    let file = File::options().read(true).write(true).open(&path).unwrap();
    let block = |number: usize| {
        let mut content = vec![0; BLOCK];
        file.read_exact_at(&mut content, (number * BLOCK) as u64).unwrap();
        content
    };
    let put = |content: &[u8], number: usize, within: usize| {
        file.write_all_at(content, (number * BLOCK + within) as u64).unwrap();
    };
    put(&[0; BLOCK], 3, 0);
    put(&block(40), 9, 0);
    put(&[0x11; BLOCK / 2], 20, BLOCK / 2);
    file.sync_all().unwrap();
    let trial_found = trial(1, &read);
    let result = verified(&trial_found);
    assert_eq!(faults(result), [1, 1, 1, 0], "{result:?}");
    let expected = [(3, BlockFault::Lost), (9, BlockFault::Misplaced), (20, BlockFault::Torn)];
    assert_eq!(named(result), expected);
    let detail = |place: usize| result.bad[place].detail.clone();
    assert!(detail(0).contains("only zeros"), "{}", detail(0));
    assert!(detail(1).contains(&(40 * BLOCK).to_string()), "{}", detail(1));
    assert!(detail(2).contains("0 to 3 of write"), "{}", detail(2));
    assert!(found(&trial_found.findings, FindingCode::DataCorrupt));

    let other_seed =
        format!("{} --verify --seed 8 --rw read --passes 1 --runtime 30s", path.display());
    let trial = trial(1, &other_seed);
    assert_eq!(verified(&trial).good, 0, "the tags of another run");
    assert!(verified(&trial).bad[0].detail.contains("another run"));
}

/// The four faults, made in the file while the run still writes other blocks of it. Each block is written
/// twice; the damaged ones have just been written for the second time.
#[test]
fn a_run_finds_all_four_faults_of_a_device_that_lies_to_it() {
    requires!(Disk);
    let (_folder, path) = written_file(BLOCKS * BLOCK);
    let mut command = program();
    command.args([path.to_str().unwrap(), "--overwrite", "--verify", "--rw", "write"]);
    let words = "--passes 2 --rate-iops 64 --runtime 20s --no-save --json";
    let mut arguments = vec!["run"];
    arguments.extend(words.split(' '));
    let mut command_line = program();
    command_line.args(arguments).args(command.get_args());
    let running = Running::start(command_line);
    let damaged = damage_four(&path);
    let outcome = running.end().expect(1);
    let trial = outcome.trial();
    let result = verified(&trial);
    assert_eq!(faults(result), [1, 1, 1, 1], "{result:#?}");
    assert_eq!(result.good, BLOCKS as u64 - 4);
    let mut expected = damaged;
    expected.sort_by_key(|(number, _)| *number);
    assert_eq!(named(result), expected);
    assert!(found(&trial.findings, FindingCode::DataCorrupt));
}

/// Waits until blocks have been written for the second time, and damages four of them, each in a different
/// way.
fn damage_four(path: &Path) -> Vec<(usize, BlockFault)> {
    // For reading: a target that another process has open for writing would be refused.
    let seen_file = File::open(path).unwrap();
    let read = || {
        let mut content = vec![0; BLOCKS * BLOCK];
        seen_file.read_exact_at(&mut content, 0).unwrap();
        content
    };
    let untouched = read();
    let mut first: Vec<Option<Vec<u8>>> = vec![None; BLOCKS];
    let mut rewritten: Vec<usize> = Vec::new();
    let begin = Instant::now();
    while rewritten.len() < 4 {
        assert!(begin.elapsed() < Duration::from_secs(30), "the run does not write");
        std::thread::sleep(Duration::from_millis(1));
        let (seen, again) = (read(), read());
        for (number, first) in first.iter_mut().enumerate() {
            let place = number * BLOCK..(number + 1) * BLOCK;
            let now = &seen[place.clone()];
            // A concurrent read may see a partial write.
            if now != &again[place.clone()] || now == &untouched[place] {
                continue;
            }
            match first {
                None => *first = Some(now.to_vec()),
                Some(old) if old != now && !rewritten.contains(&number) => rewritten.push(number),
                Some(_) => {}
            }
        }
    }
    let old = |number: usize| first[number].clone().unwrap();
    let file = File::options().write(true).open(path).unwrap();
    let put = |content: &[u8], number: usize| {
        file.write_all_at(content, (number * BLOCK) as u64).unwrap();
    };
    let [lost, misplaced, torn, stale] = rewritten[..4] else { unreachable!("four of them") };
    put(&[0; BLOCK], lost);
    put(&old(stale), misplaced);
    put(&old(torn)[..BLOCK / 2], torn);
    put(&old(stale), stale);
    file.sync_all().unwrap();
    vec![
        (lost, BlockFault::Lost),
        (misplaced, BlockFault::Misplaced),
        (torn, BlockFault::Torn),
        (stale, BlockFault::Stale),
    ]
}

#[test]
fn verifying_reads_says_what_it_needs() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
    let words = format!("run {} --cache all --rw read --verify --no-save", file.path().display());
    halfpower(&words).refuses(2, &["--verify", "--seed", "--rw write"]);
    let folder = tempfile::tempdir().unwrap();
    halfpower_in(folder.path(), "run . --cache all --rw read --verify --seed 1 --no-save")
        .refuses(2, &["--verify", "file or a device"]);
    let words = format!("run {} --overwrite --cache all --rw write", file.path().display());
    halfpower(&format!("{words} --verify --bs 1000 --no-save")).refuses(2, &["--verify", "512"]);
}
