//! The diagnosis on real devices whose truth is known: a loop device over a file in memory, with a
//! file system on it, or the disk of the build folder; loads that this starts, and limits of
//! control groups.
//!
//! A loop device over memory depends on processors that others may want, a disk may be used by
//! others: which is the better stage depends on the machine. A processor that sleeps between
//! requests takes longer to begin one than the request takes (lone reads of a virtual machine took
//! 52 µs, and 11 µs with processors kept awake), so they are kept awake as far as the machine lets
//! them.
//!
//! The program is run as a user runs it: `check` makes the profile, `run` is the load, `diagnose`
//! watches meanwhile. What a case must be found to be follows from what was started; limits are
//! drawn anew in each round. A slower device and failing requests are simulated only, or staged in the lab.
//! Rejected: a test that asserts this, which the machine's own noise would decide; a score over rounds
//! says how often.

use crate::judge::{Answer, Expect, SILENCE, Tally, judge};
use crate::{arguments::Arguments, child, place};
use anyhow::{Context, Result, anyhow};
use record::{Diagnosis, OpKind, Profile};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{Capability, Folder, LoopDevice, Mounted, Throttle, ThrottledGroup, Undo};
use workload::Rng;

/// Rounds over all cases, unless told otherwise.
const ROUNDS: u32 = 3;
/// Of which only what is written takes memory; `check` leaves a gibibyte free.
const DEVICE_BYTES: u64 = 4 << 30;
const FILE: &str = "256m";
/// How long a load is there before it is watched, is watched, and is there at most.
const WARM_UP: Duration = Duration::from_secs(2);
const WATCHED: &str = "20s";
const LOADED: &str = "60s";
/// Where memory is a file system.
const MEMORY: &str = "/dev/shm";
/// Requests per second that nothing here reaches.
const UNREACHED: u64 = 50_000_000;
/// Of a limit that comes and goes: how long it holds, and how long it does not.
const HELD: Duration = Duration::from_millis(400);
const LET_GO: Duration = Duration::from_millis(1_600);
/// A queue that is too deep, in times of the depth that gives this share of the largest rate.
const DEEP: (f64, f64) = (3.0, 6.0);
const MOST: f64 = 0.8;
/// Programs that do nothing but compute, for each processor.
const BUSY_PER_PROCESSOR: usize = 3;

/// A load in words, and how it is started.
struct Load {
    words: String,
    held: Option<(Throttle, u64)>,
    /// In the I/O class that is served when nobody else asks.
    idle_class: bool,
}

/// What is changed on the machine after the profile was made, and put back after the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Nothing,
    /// Another I/O scheduler.
    Scheduler(&'static str),
    /// Programs that compute, on all processors.
    BusyProcessors,
    /// The limits of loads come and go.
    Bursts,
}

/// A case.
struct Case {
    name: &'static str,
    around: Around,
    loads: Vec<Load>,
    expect: Expect,
}

const FINE: &[&str] = &["healthy", "not_the_disk"];
const TOO_MUCH: &[&str] = &["overloaded", "slow_and_overloaded"];
const CAPPED: &[&str] = &["capped"];
const SILENT: &[&str] = &[SILENCE];

/// The cases of a round. `max_reads` is the largest rate of the profile and `knee` the depth that gives
/// most of it, `draw` a share from 0 to 1 that is another one each time.
fn cases(max_reads: f64, knee: f64, mut draw: impl FnMut() -> f64) -> Vec<Case> {
    let mut between = |low: f64, high: f64| (low * (high / low).powf(draw())) as u64;
    // More has two processors to spare for neither the sender, the loop device's worker nor the watch,
    // and then what is staged is another case.
    let rate = between(max_reads * 0.01, max_reads * 0.08);
    // So much deeper than the device can use that a shallower queue is the cure, on whichever machine.
    let deep = between(DEEP.0 * knee, DEEP.1 * knee);
    let few = between(300.0, 3_000.0);
    let slow = between(2e6, 2e7);
    let load = |words: String| Load { words, held: None, idle_class: false };
    let closed = |rw: &str, depth: u64| load(format!("--rw {rw} --bs 4k --iodepth {depth}"));
    let open = |rw: &str, rate: u64| {
        let arrivals = format!("--rate-iops {rate} --arrival poisson --iodepth 64");
        load(format!("--rw {rw} --bs 4k {arrivals}"))
    };
    let in_order = |rw: &str| load(format!("--rw {rw} --bs 64k --iodepth 4"));
    let through = |jobs: u64| {
        load(format!("--rw randwrite --bs 4k --iodepth 1 --numjobs {jobs} --cache none"))
    };
    let held = |load: Load, limit, per_s| Load { held: Some((limit, per_s)), ..load };
    let idle = |load: Load| Load { idle_class: true, ..load };
    let (reads, writes) = ("randread", "randwrite");
    let raise: &[&str] = &["raise_cap"];
    let share: &[&str] = &["shallower_queue", "move_neighbour", "scheduler", "direct_io"];
    let plain = Around::Nothing;
    let bfq = Around::Scheduler("bfq");
    let case = |name, around, loads, verdicts, advice| {
        let expect = Expect { verdicts, undecided: &[], causes: &[], advice };
        Case { name, around, loads, expect }
    };
    let caused = |case: Case, causes| Case { expect: Expect { causes, ..case.expect }, ..case };
    let undecided =
        |case: Case, undecided| Case { expect: Expect { undecided, ..case.expect }, ..case };
    vec![
        case("healthy", plain, vec![open(reads, rate)], FINE, SILENT),
        case("depth-alone", plain, vec![closed(reads, deep)], TOO_MUCH, &["shallower_queue"]),
        case("one at a time", plain, vec![closed(reads, 1)], FINE, &["deeper_queue", SILENCE]),
        case(
            "limit of reads",
            plain,
            vec![held(closed(reads, 8), Throttle::ReadIops, few)],
            CAPPED,
            raise,
        ),
        case(
            "limit that is not reached",
            plain,
            vec![held(open(reads, rate), Throttle::ReadIops, UNREACHED)],
            FINE,
            SILENT,
        ),
        case(
            "limit of bytes read",
            plain,
            vec![held(in_order("read"), Throttle::ReadBytes, slow)],
            CAPPED,
            raise,
        ),
        case(
            "limit of writes",
            plain,
            vec![held(closed(writes, 8), Throttle::WriteIops, few)],
            CAPPED,
            raise,
        ),
        case(
            "limit of bytes written",
            plain,
            vec![held(in_order("write"), Throttle::WriteBytes, slow)],
            CAPPED,
            raise,
        ),
        case(
            "reads held, writes not",
            plain,
            vec![held(closed(reads, 8), Throttle::ReadIops, few), open(writes, rate / 4)],
            CAPPED,
            raise,
        ),
        case(
            "limit that comes and goes",
            Around::Bursts,
            vec![held(closed(reads, 2), Throttle::ReadIops, few)],
            &["capped", "slow"],
            &[],
        ),
        case(
            "one writer",
            plain,
            vec![open(reads, rate / 8), closed(writes, deep)],
            TOO_MUCH,
            share,
        ),
        case(
            "a writer among readers",
            plain,
            vec![open(reads, rate / 8), open(writes, rate / 8)],
            FINE,
            SILENT,
        ),
        case(
            "eight that write through",
            plain,
            vec![open(reads, rate / 8), through(8)],
            &["overloaded", "slow_and_overloaded", "slow", "healthy"],
            &[],
        ),
        caused(
            case(
                "bfq holds the idle class",
                bfq,
                vec![closed(reads, 8), idle(closed(reads, 1))],
                &["capped", "overloaded", "slow_and_overloaded"],
                &[],
            ),
            &["scheduler_holds"],
        ),
        case("bfq with one program", bfq, vec![open(reads, rate / 8)], FINE, SILENT),
        // The work of a loop device in memory is that of the processors, so that it is slow as well.
        undecided(
            case("busy processors", Around::BusyProcessors, vec![open(reads, rate / 8)], FINE, &[]),
            &["slow", "overloaded", "slow_and_overloaded"],
        ),
    ]
}

/// A load under way, ended when this is dropped.
struct Running {
    child: Child,
    /// Ends the load where a signal ends this process.
    undo: Undo,
    held: Option<(ThrottledGroup, Throttle, u64)>,
}

impl Running {
    fn new(mut command: Command, held: Option<(ThrottledGroup, Throttle, u64)>) -> Result<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let undo = Undo::process(child.id());
        Ok(Self { child, undo, held })
    }

    /// Sets its limit, or lets it go.
    fn limit(&self, device: &Path, on: bool) -> Result<()> {
        if let Some((group, limit, per_s)) = &self.held {
            group.limit(device, *limit, if on { *per_s } else { 0 })?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.undo.forget();
    }
}

/// A folder on a device, the device, and the program.
struct Stage {
    binary: PathBuf,
    folder: PathBuf,
    device: PathBuf,
    /// Keeps processors awake while it is open, where a device's work is theirs.
    _awake: Option<std::fs::File>,
    /// What the stage stands on, the file system before its device.
    _held: Box<dyn Any>,
    kept: tempfile::TempDir,
}

/// A request that no processor sleeps, which lasts as long as the file is open; `None` where the
/// kernel takes none.
fn awake() -> Option<std::fs::File> {
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

impl Stage {
    /// With the release binary, or another one that was named; on the disk of the build folder, or
    /// on a loop device.
    fn new(binary: Option<PathBuf>, on_disk: bool) -> Result<Self> {
        let binary = place::binary(binary, false)?;
        let kept = tempfile::tempdir()?;
        if on_disk {
            let folder = Folder::within(&place::target_folder(), "diagnosis-")?;
            let path = folder.path().to_owned();
            let disk = kernel::disk_of(&kernel::Roots::default(), &path)
                .with_context(|| format!("{} is on no block device", path.display()))?;
            let (device, _held) = (Path::new("/dev").join(disk.disk), Box::new(folder));
            return Ok(Self { binary, folder: path, device, _awake: None, _held, kept });
        }
        let device = LoopDevice::within(Path::new(MEMORY), DEVICE_BYTES, 512)?;
        let mounted = Mounted::ext4(device.path())?;
        let (folder, path) = (mounted.path().to_owned(), device.path().to_owned());
        let (_awake, _held) = (awake(), Box::new((mounted, device)));
        Ok(Self { binary, folder, device: path, _awake, _held, kept })
    }

    /// What a command prints as JSON.
    fn ask<D: DeserializeOwned>(&self, words: &str) -> Result<D> {
        let mut command = Command::new(&self.binary);
        command.args(words.split_whitespace()).arg("--json").current_dir(&self.folder);
        command.arg("--db").arg(self.kept.path().join("kept.db"));
        Ok(serde_json::from_slice(&child::output(&mut command, &[0, 1])?)?)
    }

    /// A load without its limit, under which its file would take minutes to write.
    fn start(&self, load: &Load) -> Result<Running> {
        let held = match load.held {
            None => None,
            Some((limit, per_s)) => Some((ThrottledGroup::new()?, limit, per_s)),
        };
        let mut command = match &held {
            Some((group, ..)) => group.entered(),
            None => Command::new("env"),
        };
        if load.idle_class {
            command.args(["ionice", "-c", "3"]);
        }
        // A cache mode of its own stands for direct I/O.
        let direct = if load.words.contains("--cache") { "" } else { "--direct" };
        let words = &load.words;
        let all = format!("run . --size {FILE} {direct} --runtime {LOADED} --no-save {words}");
        command.arg(&self.binary).args(all.split_whitespace()).current_dir(&self.folder);
        Running::new(command, held)
    }

    /// What is changed for a case; it is put back when this is dropped.
    fn change(&self, around: Around) -> Result<Vec<Box<dyn Any>>> {
        let mut changed: Vec<Box<dyn Any>> = Vec::new();
        match around {
            Around::Nothing | Around::Bursts => {}
            Around::Scheduler(name) => {
                changed.push(Box::new(testkit::scheduler(&self.device, name)?));
            }
            Around::BusyProcessors => {
                let processors = std::thread::available_parallelism()?.get();
                for _ in 0..processors * BUSY_PER_PROCESSOR {
                    let mut command = Command::new("sh");
                    command.args(["-c", "while :; do :; done"]);
                    changed.push(Box::new(Running::new(command, None)?));
                }
            }
        }
        Ok(changed)
    }

    /// Stages a case and diagnoses it.
    fn diagnosed(&self, case: &Case) -> Result<Answer> {
        let running: Vec<Running> =
            case.loads.iter().map(|load| self.start(load)).collect::<Result<_>>()?;
        // The test files are written first.
        for _ in 0..30 {
            if running.iter().all(|one| is_measuring(one.child.id())) {
                break;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        let _changed = self.change(case.around)?;
        let device: &Path = &self.device;
        let limit = |on| running.iter().try_for_each(|one| one.limit(device, on));
        limit(true)?;
        std::thread::sleep(WARM_UP);
        let over = AtomicBool::new(false);
        let found: Diagnosis = std::thread::scope(|scope| {
            let bursts = (case.around == Around::Bursts).then(|| {
                scope.spawn(|| -> Result<()> {
                    while !over.load(Ordering::Relaxed) {
                        limit(false)?;
                        std::thread::sleep(LET_GO);
                        limit(true)?;
                        std::thread::sleep(HELD);
                    }
                    Ok(())
                })
            });
            let words = format!("diagnose {} --for {WATCHED} --profile last", device.display());
            let found = self.ask(&words);
            over.store(true, Ordering::Relaxed);
            if let Some(bursts) = bursts {
                bursts.join().map_err(|_| anyhow!("the limits' thread ended early"))??;
            }
            found
        })?;
        let name = device.file_name().unwrap_or_default().to_string_lossy();
        judge(&found, &name, &case.expect).map_err(|why| anyhow!("{}: {why}", case.name))
    }
}

/// Whether a `run` has written its file: it reads and writes past the page cache from then on, and
/// io_uring's rings are open.
fn is_measuring(process: u32) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return true };
    open.flatten().any(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().contains("io_uring"))
    })
}

/// Stages all cases in rounds; whether the goal is reached.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let rounds = flags.value("--draws")?.unwrap_or(ROUNDS);
    let first = flags.value("--first")?.unwrap_or(1);
    let on_disk = flags.has("--on-disk");
    let kind: Option<String> = flags.value("--kind")?;
    match tally(flags.value("--binary")?, on_disk, rounds, first, kind.as_deref())? {
        Ok(tally) => {
            println!("{}\n{}", Tally::heads(), tally.line("real"));
            Ok(tally.reached())
        }
        Err(lacks) => {
            println!("SKIP diagnosis-eval --real: {lacks}");
            Ok(true)
        }
    }
}

/// Stages all cases, or those of one name, in rounds; the reason where the machine lacks what that
/// takes.
pub(crate) fn tally(
    binary: Option<PathBuf>,
    on_disk: bool,
    rounds: u32,
    first: u64,
    only: Option<&str>,
) -> Result<Result<Tally, String>> {
    use Capability::{BlkioGroup, Ext4, Loop, Mount, Root};
    if let Some(lacks) =
        [Root, Loop, Mount, Ext4, BlkioGroup].into_iter().find_map(Capability::lack)
    {
        return Ok(Err(lacks));
    }
    let stage = Stage::new(binary, on_disk)?;
    let profile: Profile =
        stage.ask(&format!("check . --for-diagnosis --budget 90s --size {FILE} --seed 1"))?;
    let (max_reads, knee) = rate_and_knee(&profile).context("the profile has no depth curve")?;
    println!(
        "{}: {max_reads:.0} random reads of 4 KiB per second, most of them at a depth of {knee}",
        stage.device.display()
    );
    let mut tally = Tally::default();
    for round in 0..rounds {
        let mut draws = Rng::new(first + u64::from(round));
        let drawn = cases(max_reads, knee, || draws.unit());
        for case in drawn.iter().filter(|case| only.is_none_or(|name| case.name == name)) {
            // The scheduler of the machine's own disk is left alone.
            let other = matches!(case.around, Around::Scheduler(_));
            if other && (on_disk || stage.change(case.around).is_err()) {
                testkit::skip(case.name, "no other scheduler can be set here");
                continue;
            }
            let answer = stage.diagnosed(case)?;
            tally.add(&answer);
            println!("{}", answer.line(case.name, ""));
        }
    }
    Ok(Ok(tally))
}

/// The largest rate of the depth curve of reads, and the depth that gives most of it.
fn rate_and_knee(profile: &Profile) -> Option<(f64, f64)> {
    let reads = profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read)?;
    let largest = reads.max_iops.value;
    let knee = reads.points.iter().find(|point| point.iops.value >= MOST * largest)?;
    Some((largest, f64::from(knee.depth)))
}
