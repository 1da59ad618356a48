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
//! drawn anew in each round. A slower device and failing requests are simulated only. Rejected: a
//! test that asserts this, which the machine's own noise would decide; a score over rounds says how
//! often.

use crate::{arguments::Arguments, child, place};
use anyhow::{Context, Result};
use serde_json::Value;
use std::any::Any;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
/// Right verdicts and first advice that are asked for.
const GOAL: f64 = 0.95;
/// Requests per second that nothing here reaches.
const UNREACHED: u64 = 50_000_000;

/// A load in words, and what holds it back.
type Load = (String, Option<(Throttle, u64)>);

/// A case: its name, what is staged, what it must be found to be, and any of which advice comes
/// first; nothing may be advised where this is empty.
type Case = (&'static str, Vec<Load>, &'static [&'static str], &'static [&'static str]);

const FINE: &[&str] = &["healthy", "not_the_disk"];
const TOO_MUCH: &[&str] = &["overloaded"];
const CAPPED: &[&str] = &["capped"];

/// The cases of a round. `max_reads` is the largest rate of the profile, `draw` a share from 0 to 1
/// that is another one each time.
fn cases(max_reads: f64, mut draw: impl FnMut() -> f64) -> Vec<Case> {
    let mut between = |low: f64, high: f64| (low * (high / low).powf(draw())) as u64;
    let rate = between(max_reads * 0.02, max_reads * 0.2);
    let deep = between(64.0, 256.0);
    let few = between(300.0, 3_000.0);
    let slow = between(2e6, 2e7);
    let closed =
        |rw: &str, depth: u64| -> Load { (format!("--rw {rw} --bs 4k --iodepth {depth}"), None) };
    let open = |rw: &str, rate: u64| -> Load {
        let arrivals = format!("--rate-iops {rate} --arrival poisson --iodepth 64");
        (format!("--rw {rw} --bs 4k {arrivals}"), None)
    };
    let in_order = |rw: &str| -> Load { (format!("--rw {rw} --bs 64k --iodepth 4"), None) };
    let held = |(words, _): Load, limit, per_s| -> Load { (words, Some((limit, per_s))) };
    let (reads, writes) = ("randread", "randwrite");
    let raise: &[&str] = &["raise_cap"];
    let share = &["shallower_queue", "move_neighbour", "scheduler", "direct_io"];
    vec![
        ("healthy", vec![open(reads, rate)], FINE, &[]),
        ("depth-alone", vec![closed(reads, deep)], TOO_MUCH, &["shallower_queue"]),
        ("  its opposite", vec![closed(reads, 1)], FINE, &["deeper_queue", "silence"]),
        ("limit of reads", vec![held(closed(reads, 8), Throttle::ReadIops, few)], CAPPED, raise),
        ("  its opposite", vec![held(open(reads, rate), Throttle::ReadIops, UNREACHED)], FINE, &[]),
        (
            "limit of bytes read",
            vec![held(in_order("read"), Throttle::ReadBytes, slow)],
            CAPPED,
            raise,
        ),
        ("limit of writes", vec![held(closed(writes, 8), Throttle::WriteIops, few)], CAPPED, raise),
        (
            "limit of bytes written",
            vec![held(in_order("write"), Throttle::WriteBytes, slow)],
            CAPPED,
            raise,
        ),
        (
            "reads held, writes not",
            vec![held(closed(reads, 8), Throttle::ReadIops, few), open(writes, rate / 4)],
            CAPPED,
            raise,
        ),
        ("one writer", vec![open(reads, rate / 8), closed(writes, deep)], TOO_MUCH, share),
        ("  its opposite", vec![open(reads, rate / 8), open(writes, rate / 8)], FINE, &[]),
    ]
}

/// A load under way, ended when this is dropped.
struct Running {
    child: Child,
    /// Ends the load where a signal ends this process.
    undo: Undo,
    held: Option<(ThrottledGroup, Throttle, u64)>,
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
    fn ask(&self, words: &str) -> Result<Value> {
        let mut command = Command::new(&self.binary);
        command.args(words.split_whitespace()).arg("--json").current_dir(&self.folder);
        command.arg("--db").arg(self.kept.path().join("kept.db"));
        Ok(serde_json::from_slice(&child::output(&mut command, &[0, 1])?)?)
    }

    /// A load without its limit, under which its file would take minutes to write.
    fn start(&self, (words, limit): &Load) -> Result<Running> {
        let held = match limit {
            None => None,
            Some((limit, per_s)) => Some((ThrottledGroup::new()?, *limit, *per_s)),
        };
        let mut command = match &held {
            Some((group, ..)) => group.entered(),
            None => Command::new("env"),
        };
        let all = format!("run . --size {FILE} --direct --runtime {LOADED} --no-save {words}");
        command.arg(&self.binary).args(all.split_whitespace()).current_dir(&self.folder);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        let undo = Undo::process(child.id());
        Ok(Running { child, undo, held })
    }

    /// Verdict of the longest stretch, whether it was certain, and the strategy advised first for
    /// what was found so. (A disk that others use too is slow now and then, which is advised upon
    /// as well.)
    fn diagnosed(&self, loads: &[Load]) -> Result<(String, bool, String)> {
        let running: Vec<Running> =
            loads.iter().map(|load| self.start(load)).collect::<Result<_>>()?;
        // The test files are written first.
        for _ in 0..30 {
            if running.iter().all(|one| is_measuring(one.child.id())) {
                break;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        for (group, limit, per_s) in running.iter().filter_map(|one| one.held.as_ref()) {
            group.limit(&self.device, *limit, *per_s)?;
        }
        std::thread::sleep(WARM_UP);
        let found = self
            .ask(&format!("diagnose {} --for {WATCHED} --profile last", self.device.display()))?;
        drop(running);
        let device = &found["devices"][0];
        let episodes = device["episodes"].as_array().context("no episodes")?;
        let longest = episodes
            .iter()
            .max_by_key(|episode| episode["duration_ns"].as_u64())
            .context("nothing was seen")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of =
            |advice: &Value| &device["episodes"][advice["episode"].as_u64().unwrap_or(0) as usize];
        let mut advice = device["advice"].as_array().into_iter().flatten();
        let about_it = advice.find(|advice| of(advice)["verdict"] == longest["verdict"]);
        let first = about_it.and_then(|advice| advice["strategy"].as_str()).unwrap_or("silence");
        Ok((text(&longest["verdict"]), longest["confidence"] == "certain", first.to_owned()))
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
    use Capability::{BlkioGroup, Ext4, Loop, Mount, Root};
    if let Some(why) = [Root, Loop, Mount, Ext4, BlkioGroup].into_iter().find_map(Capability::lack)
    {
        println!("SKIP diagnosis-eval --real: {why}");
        return Ok(true);
    }
    let rounds: u32 = flags.value("--draws")?.unwrap_or(ROUNDS);
    let first: u64 = flags.value("--first")?.unwrap_or(1);
    let stage = Stage::new(flags.value("--binary")?, flags.has("--on-disk"))?;
    let profile =
        stage.ask(&format!("check . --for-diagnosis --budget 90s --size {FILE} --seed 1"))?;
    let max_reads = largest_rate(&profile).context("the profile has no depth curve of reads")?;
    println!("{}: {max_reads:.0} random reads of 4 KiB per second", stage.device.display());
    let (mut right, mut all, mut wrong) = (0, 0, 0);
    for round in 0..rounds {
        let mut draws = Rng::new(first + u64::from(round));
        let drawn = cases(max_reads, || draws.unit());
        for (name, loads, verdicts, advisable) in drawn {
            let (verdict, certain, advice) = stage.diagnosed(&loads)?;
            let verdict_right = verdicts.contains(&verdict.as_str());
            let silent = advisable.is_empty() && advice == "silence";
            let all_right = verdict_right && (silent || advisable.contains(&advice.as_str()));
            all += 1;
            right += u32::from(all_right);
            wrong += u32::from(!verdict_right && certain && verdict != "not_enough_evidence");
            let mark = if all_right { "" } else { "  <-" };
            let sure = if certain { "certain" } else { "likely" };
            println!("{name:24} {verdict:20} {sure:8} {advice}{mark}");
        }
    }
    println!("right verdict and first advice: {right} of {all}; wrong without doubt: {wrong}");
    Ok(f64::from(right) >= GOAL * f64::from(all) && wrong == 0)
}

/// The largest rate of the depth curve of reads.
fn largest_rate(profile: &Value) -> Option<f64> {
    let curves = profile["depth_curves"].as_array()?;
    let reads = curves.iter().find(|curve| curve["op"] == "read")?;
    let rates =
        reads["points"].as_array()?.iter().filter_map(|point| point["iops"]["value"].as_f64());
    rates.reduce(f64::max)
}
