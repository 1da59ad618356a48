//! Where cases are staged: a device with a folder on it, a profile of it, and an empty database.

use super::cases::{Case, Change, Known, discards, flood};
use super::load::{BUFFERED, FILE, FLOODED, LOADED, Load, Running};
use super::medium::Medium;
use crate::{child, place};
use anyhow::{Context, Result, anyhow};
use record::{Diagnosis, OpKind, Profile};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::{Capability, Folder, LoopDevice, Mounted, Zram};

/// Of which only what is written takes memory; `check` leaves a gibibyte free.
const DEVICE_BYTES: u64 = 4 << 30;
/// How long a load is there before it is watched, and is watched.
const WARM_UP: Duration = Duration::from_secs(2);
const WATCHED: &str = "12s";
/// Where memory is a file system.
const MEMORY: &str = "/dev/shm";
/// Share of the largest rate that the knee gives.
const MOST: f64 = 0.8;
/// Programs that do nothing but compute, for each processor.
const BUSY_PER_PROCESSOR: usize = 3;
/// How often it is asked whether limits still have to come and go.
const STEP: Duration = Duration::from_millis(100);

/// A folder on a device, the device, and the program.
pub(super) struct Stage {
    binary: PathBuf,
    folder: PathBuf,
    pub(super) device: PathBuf,
    /// Keeps processors awake while it is open, where a device's work is theirs.
    _awake: Option<std::fs::File>,
    /// What the stage stands on, the file system before its device.
    _held: Box<dyn Any>,
    /// Databases and recordings.
    kept: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

/// A request that no processor sleeps, which lasts as long as the file is open; `None` where the
/// kernel takes none.
fn awake() -> Option<std::fs::File> {
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

impl Stage {
    /// What is recorded stays in a folder of the medium's name below `recordings`, where that is given.
    pub(super) fn new(binary: PathBuf, medium: Medium, recordings: Option<&Path>) -> Result<Self> {
        let (kept, temporary) = match recordings {
            Some(folder) => (std::path::absolute(folder.join(medium.name()))?, None),
            None => {
                let folder = tempfile::tempdir()?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        std::fs::create_dir_all(&kept)?;
        let mounted = |device: Box<dyn Any>, path: &Path| -> Result<(PathBuf, Box<dyn Any>)> {
            let mounted = Mounted::ext4(path)?;
            Ok((mounted.path().to_owned(), Box::new((mounted, device))))
        };
        let (folder, device, held) = match medium {
            Medium::Loop => {
                let device = LoopDevice::within(Path::new(MEMORY), DEVICE_BYTES, 512)?;
                let path = device.path().to_owned();
                let (folder, held) = mounted(Box::new(device), &path)?;
                (folder, path, held)
            }
            Medium::Zram => {
                let device = Zram::new(DEVICE_BYTES)?;
                let path = device.path().to_owned();
                let (folder, held) = mounted(Box::new(device), &path)?;
                (folder, path, held)
            }
            Medium::Disk => {
                let folder = Folder::within(&place::target_folder(), "diagnosis-")?;
                let path = folder.path().to_owned();
                let disk = kernel::disk_of(&kernel::Roots::default(), &path)
                    .with_context(|| format!("{} is on no block device", path.display()))?;
                let held: Box<dyn Any> = Box::new(folder);
                (path, Path::new("/dev").join(disk.disk), held)
            }
        };
        let awake = (medium != Medium::Disk).then(awake).flatten();
        let stage = Self {
            binary,
            folder,
            device,
            _awake: awake,
            _held: held,
            kept,
            _temporary: temporary,
        };
        stage.write_file()?;
        Ok(stage)
    }

    /// The file of fio's loads, which does not compress.
    fn write_file(&self) -> Result<()> {
        let mut source = std::fs::File::open("/dev/urandom")?;
        let mut piece = vec![0; 1 << 20];
        let mut file = std::fs::File::create(self.folder.join(LOADED))?;
        for _ in 0..BUFFERED >> 20 {
            std::io::Read::read_exact(&mut source, &mut piece)?;
            file.write_all(&piece)?;
        }
        Ok(file.sync_all()?)
    }

    /// Makes the profile and says what it knows.
    pub(super) fn profiled(&self) -> Result<Known> {
        let words = format!("check . --for-diagnosis --budget 90s --size {FILE} --seed 1");
        let profile: Profile = self.ask(&words, "profiled")?;
        rates(&profile).context("the profile has no depth curve")
    }

    /// What a command prints as JSON, with one of two databases: one that holds the profile, and an empty one.
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

    /// What is changed for a case; it is put back when this is dropped.
    fn change(&self, change: Change) -> Result<Vec<Box<dyn Any>>> {
        let queue = |setting: &str| {
            let name = self.device.file_name().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("/sys/block/{name}/queue/{setting}"))
        };
        let script = |script: &str| Running::script(&self.folder, script);
        Ok(vec![match change {
            Change::ComeAndGo(..) => return Ok(Vec::new()),
            Change::Scheduler(name) => Box::new(testkit::scheduler(&self.device, name)?),
            Change::Tags(tags) => {
                Box::new(testkit::setting(&queue("nr_requests"), &tags.to_string())?)
            }
            Change::NoReadAhead => Box::new(testkit::setting(&queue("read_ahead_kb"), "0")?),
            Change::DirtyBytes(bytes) => Box::new(testkit::dirty_bytes(bytes)?),
            Change::Flood => Box::new(script(&flood())?),
            Change::Discards => Box::new(script(&discards())?),
            Change::BusyProcessors => {
                let processors = std::thread::available_parallelism()?.get();
                let busy = |_| script("while :; do :; done");
                let all = (0..processors * BUSY_PER_PROCESSOR).map(busy);
                Box::new(all.collect::<Result<Vec<_>>>()?)
            }
        }])
    }

    /// Whether the changes of a case can be made here.
    pub(super) fn can(&self, case: &Case) -> bool {
        let setting = |one: &&Change| matches!(one, Change::Scheduler(_));
        case.changes.iter().filter(setting).all(|change| self.change(*change).is_ok())
    }

    /// Stages a case; what is said of it with the profile and without one.
    pub(super) fn diagnosed(&self, case: &Case) -> Result<[Diagnosis; 2]> {
        let mut changed = Vec::new();
        let (before, after): (Vec<Change>, Vec<Change>) =
            case.changes.iter().partition(|change| change.comes_first());
        for change in before {
            changed.extend(self.change(change)?);
        }
        let start = |load: &Load| load.start(&self.binary, &self.folder);
        let running: Vec<Running> = case.loads.iter().map(start).collect::<Result<_>>()?;
        // The test files are written first.
        for _ in 0..30 {
            if running.iter().all(Running::is_measuring) {
                break;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        for change in after {
            // The latest first, as they are undone: the tags are those of a scheduler.
            changed.splice(0..0, self.change(change)?);
        }
        let device = &self.device;
        let limit = |on| running.iter().try_for_each(|one| one.limit(device, on));
        let comes = case.changes.iter().find_map(|change| match change {
            Change::ComeAndGo(held, let_go) => Some((*held, *let_go)),
            _ => None,
        });
        limit(comes.is_none())?;
        std::thread::sleep(WARM_UP);
        let over = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            let comes = comes.map(|(held, let_go)| {
                let (over, limit) = (&over, &limit);
                scope.spawn(move || come_and_go(held, let_go, over, limit))
            });
            let seen = self.watch(case.name);
            over.store(true, Ordering::Relaxed);
            if let Some(comes) = comes {
                comes.join().map_err(|_| anyhow!("the limits' thread ended early"))??;
            }
            seen
        })?;
        drop(changed);
        drop(running);
        // What a flood or a discarded file has left; there may be none.
        let _ = std::fs::remove_file(self.folder.join(FLOODED));
        let words = format!("diagnose {} --no-save", seen.display());
        Ok([self.ask(&words, "profiled")?, self.ask(&words, "empty")?])
    }

    /// Records the device for a while; the file.
    fn watch(&self, case: &str) -> Result<PathBuf> {
        let seen = self.kept.join(format!("{}.json", case.replace([' ', ','], "-")));
        let words = format!(
            "record {} --for {WATCHED} --quiet --no-save --output {}",
            self.device.display(),
            seen.display()
        );
        child::output(&mut self.command(&words, "empty"), &[0])?;
        Ok(seen)
    }
}

/// Lets limits go and hold by turns.
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

/// The largest rate of the depth curve of reads, that of lone ones, and the depth that gives most of it.
fn rates(profile: &Profile) -> Option<Known> {
    let reads = profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read)?;
    let (most, lone) = (reads.max_iops.value, reads.points.first()?.iops.value);
    let knee = reads.points.iter().find(|point| point.iops.value >= MOST * most)?;
    Some(Known { most, lone, knee: f64::from(knee.depth) })
}
