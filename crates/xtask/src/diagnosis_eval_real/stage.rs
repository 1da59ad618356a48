//! Stages cases on a device with a folder on it, a profile of it, and an empty database.

use super::cases::{Case, Change, Known};
use super::load::{BUFFERED, FILE, FLOODED, FRAGMENTED, FRAGMENTED_BYTES, LOADED, Load, Running};
use super::medium::Medium;
use crate::contest::target::fill;
use crate::{child, place};
use anyhow::{Context, Result, anyhow};
use host::kernel;
use nix::fcntl::posix_fallocate;
use record::{Diagnosis, OpKind, Profile};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::{DiskService, Folder, LoopDevice, Mounted, ServedDisk, Undo, Zram};
use workload::Rng;

/// Size of a device. Only the written part takes memory; `check` leaves a gibibyte free.
const DEVICE_BYTES: u64 = 4 << 30;
/// Time from the start of a load to its recording, and the length of the recording.
const WARM_UP: Duration = Duration::from_secs(2);
const WATCHED: &str = "12s";
/// A file system in memory.
const MEMORY: &str = "/dev/shm";
/// Share of the maximum IOPS that defines the knee.
const MOST: f64 = 0.8;
/// Number of busy programs per CPU.
const BUSY_PER_PROCESSOR: usize = 3;
/// Size of the swap file, and the memory that a program needs beyond its limit.
const SWAP_BYTES: u64 = 400 << 20;
const SWAPS_BEYOND: u64 = 80 << 20;
/// Bytes of another file between two pieces of a fragmented one.
const BETWEEN: i64 = 4096;
/// How often the alternation of limits checks whether it must end.
const STEP: Duration = Duration::from_millis(100);

/// A folder on a device, the device, and the program.
pub(super) struct Stage {
    binary: PathBuf,
    folder: PathBuf,
    pub(super) device: PathBuf,
    /// The disk whose latencies are chosen, and its usual latencies.
    served: Option<(Rc<ServedDisk>, DiskService)>,
    /// While open, keeps the CPUs awake, for devices whose work the CPUs do.
    _awake: Option<std::fs::File>,
    /// Resources of the stage. The file system is dropped before its device.
    _held: Box<dyn Any>,
    /// Folder for databases and recordings.
    kept: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

/// Keeps all CPUs from sleeping as long as the file is open; `None` if the kernel does not support it.
fn awake() -> Option<std::fs::File> {
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

impl Stage {
    /// Recordings are saved in a folder with the medium's name below `recordings`, if given. `seed`
    /// determines the latencies of a served disk.
    pub(super) fn new(
        binary: PathBuf,
        medium: Medium,
        recordings: Option<&Path>,
        seed: u64,
    ) -> Result<Self> {
        let (kept, temporary) = match recordings {
            Some(folder) => (std::path::absolute(folder.join(medium.name()))?, None),
            None => {
                let folder = tempfile::tempdir()?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        std::fs::create_dir_all(&kept)?;
        let of_memory = || LoopDevice::within(Path::new(MEMORY), DEVICE_BYTES, 512);
        let mut served = None;
        let (folder, device, held): (PathBuf, PathBuf, Box<dyn Any>) = match medium {
            Medium::Loop => {
                let device = of_memory()?;
                let mounted = Mounted::ext4(device.path())?;
                let paths = (mounted.path().to_owned(), device.path().to_owned());
                (paths.0, paths.1, Box::new((mounted, device)))
            }
            Medium::Zram => {
                let device = Zram::new(DEVICE_BYTES)?;
                let mounted = Mounted::ext4(device.path())?;
                let paths = (mounted.path().to_owned(), device.path().to_owned());
                (paths.0, paths.1, Box::new((mounted, device)))
            }
            Medium::Served | Medium::Journal => {
                let (disk, service) = drawn(seed)?;
                let disk = Rc::new(disk);
                served = Some((Rc::clone(&disk), service));
                let path = disk.path().to_owned();
                if medium == Medium::Served {
                    let mounted = Mounted::ext4_with_journal(&path, None)?;
                    (mounted.path().to_owned(), path, Box::new((mounted, disk)))
                } else {
                    let data = of_memory()?;
                    let device = data.path().to_owned();
                    let mounted = Mounted::ext4_with_journal(&device, Some(&path))?;
                    (mounted.path().to_owned(), device, Box::new((mounted, data, disk)))
                }
            }
            Medium::Disk => {
                let folder = Folder::within(&place::target_folder(), "diagnosis-")?;
                let path = folder.path().to_owned();
                let disk = kernel::disk_of(&kernel::Roots::default(), &path)
                    .with_context(|| format!("{} is on no block device", path.display()))?;
                (path, Path::new("/dev").join(disk.disk), Box::new(folder))
            }
        };
        let awake = (medium != Medium::Disk).then(awake).flatten();
        let stage = Self {
            binary,
            folder,
            device,
            served,
            _awake: awake,
            _held: held,
            kept,
            _temporary: temporary,
        };
        fill(&stage.folder.join(LOADED), BUFFERED)?;
        stage.serves_as_usual();
        Ok(stage)
    }

    fn serves_as_usual(&self) {
        if let Some((disk, usual)) = &self.served {
            disk.serves(|service| *service = *usual);
        }
    }

    /// Changes the latencies of the served disk.
    fn serves(&self, change: impl FnOnce(&mut DiskService)) -> Box<dyn Any> {
        if let Some((disk, _)) = &self.served {
            disk.serves(change);
        }
        Box::new(())
    }

    /// Runs preparatory work while the served disk has no latency.
    fn at_once<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some((disk, _)) = &self.served else { return work() };
        let before = disk.serves(|service| *service = DiskService::default());
        let done = work();
        disk.serves(|service| *service = before);
        done
    }

    /// Makes the profile and returns its figures.
    pub(super) fn profiled(&self) -> Result<Known> {
        let words = format!("check . --for-diagnosis --budget 90s --size {FILE} --seed 1");
        let profile: Profile = self.ask(&words, "profiled")?;
        rates(&profile).context("the profile has no depth curve")
    }

    /// The JSON output of a command. `database` selects one with the profile or an empty one.
    fn ask<D: DeserializeOwned>(&self, words: &str, database: &str) -> Result<D> {
        let mut command = self.command(words, database);
        command.arg("--json");
        Ok(serde_json::from_slice(&child::output(&mut command, &[0, 1])?)?)
    }

    fn command(&self, words: &str, database: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words.split_whitespace()).current_dir(&self.folder);
        command.arg("--db").arg(self.kept.join(database));
        command
    }

    /// Makes a change for a case; it is reverted when the result is dropped.
    fn change(&self, change: &Change) -> Result<Vec<Box<dyn Any>>> {
        let queue = |setting: &str| {
            let name = self.device.file_name().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("/sys/block/{name}/queue/{setting}"))
        };
        let script = |script: &str| Running::script(&self.folder, script);
        let millis = Duration::from_millis;
        Ok(vec![match change {
            Change::ComeAndGoMs(..) => return Ok(Vec::new()),
            Change::Scheduler(name) => Box::new(testkit::scheduler(&self.device, name)?),
            Change::Queue(setting, value) => {
                Box::new(testkit::setting(&queue(setting), &value.to_string())?)
            }
            Change::FlushTakesMs(time) => self.serves(|service| service.flush = millis(*time)),
            Change::DiscardTakesMs(time) => self.serves(|service| service.discard = millis(*time)),
            Change::CapAt(per_s) => self.serves(|service| service.cap = Some(*per_s as f64)),
            Change::MountedSync => Box::new(self.remounted("sync", "async")?),
            Change::Swaps => Box::new(self.swapping("dd if=/dev/zero of=/dev/null bs=160M")?),
            // A shell that has filled a variable and then waits.
            Change::Swapped => Box::new(self.at_once(|| {
                self.swapping("full=$(head -c 130000000 /dev/zero | tr '\\0' x); sleep 100")
            })?),
            Change::Fragmented(bytes) => Box::new(self.at_once(|| self.fragmented(*bytes))?),
            Change::Full => Box::new(self.at_once(|| self.filled())?),
            Change::NoReadAhead => Box::new(testkit::setting(&queue("read_ahead_kb"), "0")?),
            Change::DirtyBytes(bytes) => Box::new(testkit::dirty_bytes(*bytes)?),
            Change::Flood => Box::new(script(&format!(
                "while :; do dd if=/dev/zero of={FLOODED} bs=1M count=900 2> /dev/null; done"
            ))?),
            Change::Discards => Box::new(script(&format!(
                "while :; do fallocate -l 200M {FLOODED} && sync {FLOODED} && rm {FLOODED} && fstrim .; done"
            ))?),
            Change::BusyProcessors => {
                let processors = std::thread::available_parallelism()?.get();
                let busy = |_| script("while :; do :; done");
                let all = (0..processors * BUSY_PER_PROCESSOR).map(busy);
                Box::new(all.collect::<Result<Vec<_>>>()?)
            }
        }])
    }

    /// Mounts the file system with an option until the result is dropped.
    fn remounted(&self, option: &str, back: &str) -> Result<Undo> {
        let folder = self.folder.to_string_lossy();
        let [option, back] = [option, back].map(|option| format!("remount,{option}"));
        child::output(Command::new("mount").args(["-o", &option, &folder]), &[0])?;
        Ok(Undo::by(format!("mount option {option}"), &["mount", "-o", &back, &folder]))
    }

    /// Sets up a swap file, and a program with less memory than it uses.
    fn swapping(&self, script: &str) -> Result<(Running, testkit::MemoryGroup, Undo, Remains)> {
        let file = self.folder.join("swap");
        let remains = Remains(vec![file.clone()]);
        let swap = self.at_once(|| {
            fill(&file, SWAP_BYTES)?;
            Ok(testkit::swap_on(&file)?)
        })?;
        let group = testkit::MemoryGroup::new(SWAPS_BEYOND)?;
        let mut command = group.entered();
        command.args(["sh", "-c", script]);
        let running = Running::of(command)?;
        std::thread::sleep(WARM_UP);
        Ok((running, group, swap, remains))
    }

    /// Writes a fragmented file, with pieces of another file in between.
    fn fragmented(&self, bytes: u64) -> Result<Remains> {
        let path = |name: &str| self.folder.join(name);
        let paths = [path(FRAGMENTED), path("between")];
        paths[0].parent().map(std::fs::create_dir_all).transpose()?;
        let open = |path: &PathBuf| std::fs::File::create(path);
        let [one, other] = [open(&paths[0])?, open(&paths[1])?];
        for at in 0..i64::try_from(FRAGMENTED_BYTES / bytes)? {
            for (file, length) in [(&one, i64::try_from(bytes)?), (&other, BETWEEN)] {
                posix_fallocate(file, at * length, length)?;
            }
        }
        fill(&paths[0], FRAGMENTED_BYTES)?;
        Ok(Remains(paths.to_vec()))
    }

    /// Writes a file that leaves almost no free space.
    fn filled(&self) -> Result<Remains> {
        let path = self.folder.join("filler");
        let mut df = Command::new("df");
        let free = child::text(df.args(["-B1", "--output=avail"]).arg(&self.folder), &[0])?;
        let free: u64 = free.lines().last().unwrap_or_default().trim().parse()?;
        let bytes = (free - free / 50).to_string();
        child::output(Command::new("fallocate").args(["-l", &bytes]).arg(&path), &[0])?;
        Ok(Remains(vec![path]))
    }

    /// Whether the changes of a case are possible here.
    pub(super) fn can(&self, case: &Case) -> bool {
        let setting = |one: &&Change| matches!(one, Change::Scheduler(_));
        case.changes.iter().filter(setting).all(|change| self.change(change).is_ok())
    }

    /// Stages a case, and diagnoses it with the profile and without one.
    pub(super) fn diagnosed(&self, case: &Case) -> Result<[Diagnosis; 2]> {
        let mut changed = Vec::new();
        let (before, after): (Vec<&Change>, Vec<&Change>) =
            case.changes.iter().partition(|change| change.comes_first());
        for change in before {
            changed.extend(self.change(change)?);
        }
        let start = |load: &Load| load.start(&self.binary, &self.folder);
        let running: Vec<Running> = case.loads.iter().map(start).collect::<Result<_>>()?;
        // The loads write their test files first.
        for _ in 0..30 {
            if running.iter().all(Running::is_measuring) {
                break;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        for change in after {
            // Newest first, the order in which they are reverted: the tags belong to a scheduler.
            changed.splice(0..0, self.change(change)?);
        }
        let device = &self.device;
        let limit = |on| running.iter().try_for_each(|one| one.limit(device, on));
        let comes = case.changes.iter().find_map(|change| match change {
            Change::ComeAndGoMs(held, let_go) => Some([*held, *let_go].map(Duration::from_millis)),
            _ => None,
        });
        limit(comes.is_none())?;
        std::thread::sleep(WARM_UP);
        let over = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            let comes = comes.map(|[held, let_go]| {
                let (over, limit) = (&over, &limit);
                scope.spawn(move || come_and_go(held, let_go, over, limit))
            });
            let seen = self.watch(case);
            over.store(true, Ordering::Relaxed);
            if let Some(comes) = comes {
                comes.join().map_err(|_| anyhow!("the limits' thread ended early"))??;
            }
            seen
        })?;
        drop(running);
        self.serves_as_usual();
        drop(changed);
        // What a flood or a discarded file has left; it may not exist.
        let _ = std::fs::remove_file(self.folder.join(FLOODED));
        let words = format!("diagnose {} --no-save", seen.display());
        Ok([self.ask(&words, "profiled")?, self.ask(&words, "empty")?])
    }

    /// Records the device for a while, and returns the file.
    fn watch(&self, case: &Case) -> Result<PathBuf> {
        let seen = self.kept.join(format!("{}.json", case.name.replace([' ', ','], "-")));
        let watched = case
            .watched
            .as_ref()
            .map_or_else(|| self.device.clone(), |path| self.folder.join(path));
        let words = format!(
            "record {} --for {WATCHED} --quiet --no-save --output {}",
            watched.display(),
            seen.display()
        );
        child::output(&mut self.command(&words, "empty"), &[0])?;
        Ok(seen)
    }
}

/// Files that are removed on drop.
struct Remains(Vec<PathBuf>);

impl Drop for Remains {
    fn drop(&mut self) {
        for path in &self.0 {
            // It may not exist.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A disk with random latencies and a random number of servers: from a quick flash drive to a slow one.
fn drawn(seed: u64) -> Result<(ServedDisk, DiskService)> {
    let mut draws = Rng::new(seed);
    let mut micros =
        |low: f64, high: f64| Duration::from_secs_f64(1e-6 * low * (high / low).powf(draws.unit()));
    let service = DiskService {
        read: micros(600.0, 2_500.0),
        write: micros(600.0, 2_500.0),
        flush: micros(100.0, 800.0),
        discard: micros(100.0, 800.0),
        cap: None,
    };
    // More than 4, the smallest queue size that the kernel accepts.
    let servers = 8 << (draws.unit() * 2.0) as usize;
    let disk = ServedDisk::new(DEVICE_BYTES, servers)?;
    Ok((disk, service))
}

/// Switches limits off and on alternately.
fn come_and_go(
    held: Duration,
    let_go: Duration,
    over: &AtomicBool,
    limit: &(impl Fn(bool) -> Result<()> + Sync),
) -> Result<()> {
    while !over.load(Ordering::Relaxed) {
        for (on, time) in [(false, let_go), (true, held)] {
            limit(on)?;
            let until = Instant::now() + time;
            while Instant::now() < until && !over.load(Ordering::Relaxed) {
                std::thread::sleep(STEP.min(time));
            }
        }
    }
    Ok(())
}

/// The maximum IOPS of the depth curve of reads, the IOPS at queue depth 1, and the depth of the knee.
fn rates(profile: &Profile) -> Option<Known> {
    let reads = profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read)?;
    let (most, lone) = (reads.max_iops.value, reads.points.first()?.iops.value);
    let knee = reads.points.iter().find(|point| point.iops.value >= MOST * most)?;
    Some(Known { most, lone, knee: f64::from(knee.depth) })
}
