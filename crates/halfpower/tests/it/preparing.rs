//! Preparations of the measured run: `--precondition` and `--drop-cache`.

use crate::program::{found, halfpower, program, run, trial, unprivileged};
use record::{Bytes, DropCache, FindingCode};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{disk_folder, requires, skip};

const AREA: u64 = 8 << 20;

/// A file of `AREA` bytes that has been read, so that it is in the page cache.
fn cached_file(folder: &Path) -> PathBuf {
    let path = folder.join("file");
    std::fs::write(&path, vec![9; AREA as usize]).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    std::fs::read(&path).unwrap();
    path
}

#[test]
fn a_steady_device_is_preconditioned_in_five_rounds() {
    let words = "sim:mm1,service=100us --precondition --rw randwrite --size 8m --runtime 1s";
    let trial = trial(0, words);
    let done = trial.preconditioning.unwrap();
    assert!(done.steady);
    assert_eq!(done.filled_bytes, Bytes(16 << 20), "twice the area");
    assert_eq!(done.round_iops.len(), 5, "{:?}", done.round_iops);
    assert!(done.round_iops.iter().all(|rate| (9_000.0..11_000.0).contains(rate)));
    assert!(!found(&trial.findings, FindingCode::NotPreconditioned));
}

#[test]
fn a_device_that_goes_on_changing_is_given_up_after_25_rounds_with_a_finding() {
    let words = "sim:md1,service=1ms,drift=1000% --precondition --rw randwrite --size 8m \
                 --runtime 10s --keep-warm-up";
    let ended = halfpower(&format!("run {words} --no-save --json"));
    let trial = ended.trial();
    let done = trial.preconditioning.unwrap();
    assert!(!done.steady);
    assert_eq!(done.round_iops.len(), 25);
    assert!(found(&trial.findings, FindingCode::NotPreconditioned));
}

#[test]
fn a_file_is_written_twice_first_also_for_a_run_of_reads() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let path = cached_file(folder.path());
    let words = format!("{} --precondition --runtime 100ms --iodepth 4", path.display());
    halfpower(&format!("run {words} --no-save")).refuses(3, &["--overwrite"]);
    let ended = halfpower(&format!("run {words} --overwrite --no-save --json"));
    let done = ended.trial().preconditioning.unwrap();
    assert_eq!(done.filled_bytes, Bytes(2 * AREA));
    // The plan ends if a stalled disk completes nothing in a round. The number of rounds of a steady device
    // is tested by the plan's own tests, in virtual time.
    assert!((1..=25).contains(&done.round_iops.len()), "{:?}", done.round_iops);
    assert_ne!(std::fs::read(&path).unwrap(), vec![9; AREA as usize]);
}

#[test]
fn dontneed_empties_the_cache_of_the_area_before_the_run() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let path = cached_file(folder.path());
    let words = format!("{} --cache all --io-size 4m --runtime 60s --drop-cache", path.display());
    let trial = trial(0, &format!("{words} dontneed"));
    let cache_dropped = trial.cache_dropped.unwrap();
    assert_eq!(cache_dropped.method, DropCache::Dontneed);
    // Other processes may have taken some of the memory before.
    let before = cache_dropped.resident_before_bytes.unwrap();
    assert!((1..=AREA).contains(&before.0), "{before:?}");
    assert_eq!(cache_dropped.resident_after_bytes, Some(Bytes(0)));
    assert!(!found(&trial.findings, FindingCode::CachedPagesLeft));
}

#[test]
fn dropping_all_caches_says_that_it_takes_root() {
    requires!(Disk, Setpriv);
    // A folder that other users can reach; the build folder may not be.
    let folder = tempfile::tempdir().unwrap();
    let path = cached_file(folder.path());
    let open = Command::new("chmod").arg("-R").arg("a+rwX").arg(folder.path()).status();
    assert!(open.unwrap().success());
    let words = format!("run {} --cache all --drop-cache drop-caches --no-save", path.display());
    run(unprivileged(folder.path()), &words)
        .refuses(4, &["drop_caches", "root", "--drop-cache dontneed"]);
}

/// A cgroup (version 1 or 2) with a memory limit; removed on drop.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("halfpower-test-{}", std::process::id());
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
            .into_iter()
            .find_map(|(root, file)| {
                let group = Path::new(root).join(&name);
                std::fs::create_dir(&group).ok()?;
                let group = Self(group);
                std::fs::write(group.0.join(file), bytes.to_string()).ok()?;
                Some(group)
            })
    }

    /// A shell in the group, which runs these words with the program as `$0`.
    fn shell(&self, words: &str) -> Command {
        let mut command = Command::new("sh");
        let enter = format!("echo $$ > {}/cgroup.procs && ", self.0.display());
        command.arg("-c").arg(enter + words).arg(program().get_program());
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Where the kernel supports it, first release the pages that are charged to the group.
        let _ = std::fs::write(self.0.join("memory.force_empty"), "0");
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_scratch_read_pushes_the_area_out_of_memory_without_dropping_it() {
    requires!(Root, Disk);
    // In a group of 64 MiB, so that a few pages suffice, and no other process loses its cache.
    let Some(group) = MemoryGroup::new(64 << 20) else {
        let name = "a_scratch_read_pushes_the_area_out_of_memory_without_dropping_it";
        return skip(name, "needs control groups that limit memory");
    };
    let folder = disk_folder().unwrap();
    let path = cached_file(folder.path());
    // The file's pages must be charged to the group, so they are dropped here and read by the group.
    let input = format!("if={}", path.display());
    let dropped = Command::new("dd").args([&input, "iflag=nocache", "count=0"]).output();
    assert!(dropped.unwrap().status.success());
    // Read repeatedly, so that its pages are as hard to evict as possible.
    let file = path.display();
    let words = format!(
        "cat {file} {file} {file} > /dev/null && exec $0 run {file} --cache all --io-size 4m --runtime 60s \
         --drop-cache scratch-read --no-save --json"
    );
    let ended = run(group.shell(&words), "");
    let trial = ended.trial();
    let cache_dropped = trial.cache_dropped.unwrap();
    assert_eq!(cache_dropped.method, DropCache::ScratchRead);
    assert_eq!(cache_dropped.resident_before_bytes, Some(Bytes(AREA)));
    assert_eq!(cache_dropped.resident_after_bytes, Some(Bytes(0)));
    assert!(!found(&trial.findings, FindingCode::CachedPagesLeft));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no scratch file is left");
}
