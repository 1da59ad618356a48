//! The diagnosis on real devices whose truth is known: a loop device over a file in memory, with a
//! file system on it, or the disk of the build folder; loads that this starts, and limits of control
//! groups.
//!
//! A loop device over memory is whoever has a processor left, and says little of a disk where others
//! want them too; a disk may be used by others. Which is the better stage depends on the machine. A
//! processor that sleeps between requests takes longer to begin one than the request takes: on a
//! virtual machine lone reads took 52 µs, and 11 µs while another program kept the processors awake.
//! That would be another device in each case, so they are kept awake (the kernel's request for no
//! latency of processors), as far as the machine lets them.
//!
//! The program is run as a user runs it: `check` makes the profile while nothing else is there,
//! `run` is the load, `diagnose` watches the counters meanwhile. What a case must be found to be
//! follows from what was started, and the limits are drawn anew in each round. Each case has its
//! opposite. Cases that no real device here can be made to show, a slower device and failing requests,
//! are simulated only. Rejected: a test that asserts this. The machine's own noise would decide it; a
//! score over rounds says how often.

use crate::{arguments::Arguments, place};
use anyhow::{Context, Result, bail};
use serde_json::Value;
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

/// A load and what holds it back.
struct Load {
    words: String,
    limit: Option<(Throttle, u64)>,
}

/// What is staged, and what it must be found to be.
struct Case {
    name: &'static str,
    loads: Vec<Load>,
    verdicts: &'static [&'static str],
    /// Any of these comes first; nothing may be advised where this is empty.
    first: &'static [&'static str],
}

const FINE: &[&str] = &["healthy", "not_the_disk"];
const TOO_MUCH: &[&str] = &["overloaded"];
const CAPPED: &[&str] = &["capped"];

fn load(words: String) -> Load {
    Load { words, limit: None }
}

fn limited(words: &str, limit: Throttle, per_s: u64) -> Load {
    Load { words: words.to_owned(), limit: Some((limit, per_s)) }
}

/// The cases of a round. `max_reads` is the largest rate of the profile, `draw` a share from 0 to 1
/// that is another one each time.
fn cases(max_reads: f64, mut draw: impl FnMut() -> f64) -> Vec<Case> {
    let mut between = |low: f64, high: f64| (low * (high / low).powf(draw())) as u64;
    let reads = "--rw randread --bs 4k";
    let writes = "--rw randwrite --bs 4k";
    let rate = between(max_reads * 0.02, max_reads * 0.2);
    let deep = between(64.0, 256.0);
    let few = between(300.0, 3_000.0);
    let slow = between(2e6, 2e7);
    vec![
        Case {
            name: "healthy",
            loads: vec![load(format!("{reads} --rate-iops {rate} --arrival poisson --iodepth 64"))],
            verdicts: FINE,
            first: &[],
        },
        Case {
            name: "depth-alone",
            loads: vec![load(format!("{reads} --iodepth {deep}"))],
            verdicts: TOO_MUCH,
            first: &["shallower_queue"],
        },
        Case {
            name: "  its opposite",
            loads: vec![load(format!("{reads} --iodepth 1"))],
            verdicts: FINE,
            first: &["deeper_queue", "silence"],
        },
        Case {
            name: "limit of reads",
            loads: vec![limited(&format!("{reads} --iodepth 8"), Throttle::ReadIops, few)],
            verdicts: CAPPED,
            first: &["raise_cap"],
        },
        Case {
            name: "  its opposite",
            loads: vec![limited(
                &format!("{reads} --rate-iops {rate} --arrival poisson --iodepth 64"),
                Throttle::ReadIops,
                UNREACHED,
            )],
            verdicts: FINE,
            first: &[],
        },
        Case {
            name: "limit of bytes read",
            loads: vec![limited("--rw read --bs 64k --iodepth 4", Throttle::ReadBytes, slow)],
            verdicts: CAPPED,
            first: &["raise_cap"],
        },
        Case {
            name: "limit of writes",
            loads: vec![limited(&format!("{writes} --iodepth 8"), Throttle::WriteIops, few)],
            verdicts: CAPPED,
            first: &["raise_cap"],
        },
        Case {
            name: "limit of bytes written",
            loads: vec![limited("--rw write --bs 64k --iodepth 4", Throttle::WriteBytes, slow)],
            verdicts: CAPPED,
            first: &["raise_cap"],
        },
        Case {
            name: "reads held, writes not",
            loads: vec![
                limited(&format!("{reads} --iodepth 8"), Throttle::ReadIops, few),
                load(format!("{writes} --rate-iops {} --arrival poisson --iodepth 64", rate / 4)),
            ],
            verdicts: CAPPED,
            first: &["raise_cap"],
        },
        Case {
            name: "one writer",
            loads: vec![
                load(format!("{reads} --rate-iops {} --arrival poisson --iodepth 64", rate / 8)),
                load(format!("{writes} --iodepth {deep}")),
            ],
            verdicts: TOO_MUCH,
            first: &["shallower_queue", "move_neighbour", "scheduler", "direct_io"],
        },
        Case {
            name: "  its opposite",
            loads: vec![
                load(format!("{reads} --rate-iops {} --arrival poisson --iodepth 64", rate / 8)),
                load(format!("{writes} --rate-iops {} --arrival poisson --iodepth 64", rate / 8)),
            ],
            verdicts: FINE,
            first: &[],
        },
    ]
}

/// A load under way, ended when this is dropped.
struct Running {
    child: Child,
    /// Ends the load where a signal ends this process.
    undo: Option<Undo>,
    held: Option<(ThrottledGroup, Throttle, u64)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(undo) = self.undo.take() {
            undo.forget();
        }
    }
}

/// A folder on a device, the device, and the program.
struct Stage {
    binary: PathBuf,
    folder: PathBuf,
    device: PathBuf,
    /// Keeps processors awake while it is open, where a device's work is theirs.
    _awake: Option<std::fs::File>,
    /// What goes with the stage: the file system before its device.
    _held: Held,
    kept: tempfile::TempDir,
}

/// What a stage stands on.
#[allow(dead_code, reason = "kept until the stage goes, in this order")]
enum Held {
    Loop(Mounted, LoopDevice),
    Folder(Folder),
}

/// A request that no processor sleeps, which lasts as long as the file is open; `None` where the
/// kernel takes none.
fn awake() -> Option<std::fs::File> {
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// The whole disk that a folder's file system is on.
fn disk_of(folder: &Path) -> Result<PathBuf> {
    let number = nix::sys::stat::stat(folder)?.st_dev;
    let part = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let (major, minor) = (nix::sys::stat::major(number), nix::sys::stat::minor(number));
    let facts = kernel::device::device_of(&kernel::Roots::default(), part(major), part(minor))
        .with_context(|| format!("{} is on no block device", folder.display()))?;
    Ok(Path::new("/dev").join(facts.disk))
}

impl Stage {
    /// With the release binary, or another one that was named; on the disk of the build folder, or on
    /// a loop device.
    fn new(binary: Option<PathBuf>, on_disk: bool) -> Result<Self> {
        let binary = binary.map_or_else(place::release_binary, Ok)?;
        let kept = tempfile::tempdir()?;
        if on_disk {
            let folder = Folder::within(&place::target_folder(), "diagnosis-")?;
            let (path, device) = (folder.path().to_owned(), disk_of(folder.path())?);
            let _held = Held::Folder(folder);
            return Ok(Self { binary, folder: path, device, _awake: None, _held, kept });
        }
        let device = LoopDevice::within(Path::new(MEMORY), DEVICE_BYTES, 512)?;
        let mounted = Mounted::ext4(device.path())?;
        let (folder, path) = (mounted.path().to_owned(), device.path().to_owned());
        let (_awake, _held) = (awake(), Held::Loop(mounted, device));
        Ok(Self { binary, folder, device: path, _awake, _held, kept })
    }

    /// What a command prints as JSON.
    fn ask(&self, words: &str) -> Result<Value> {
        let mut command = Command::new(&self.binary);
        command.args(words.split_whitespace()).arg("--json").current_dir(&self.folder);
        command.arg("--db").arg(self.kept.path().join("kept.db"));
        let output = command.output().context("cannot run the release binary")?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("{words}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A load without its limit, under which its file would take minutes to write.
    fn start(&self, load: &Load) -> Result<Running> {
        let held = match load.limit {
            None => None,
            Some((limit, per_s)) => Some((ThrottledGroup::new()?, limit, per_s)),
        };
        let mut command = match &held {
            Some((group, ..)) => {
                let mut command = group.entered();
                command.arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        let words =
            format!("run . --size {FILE} --direct --runtime {LOADED} --no-save {}", load.words);
        command.args(words.split_whitespace()).current_dir(&self.folder);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        let undo = Some(Undo::process(child.id()));
        Ok(Running { child, undo, held })
    }

    /// Verdict of the longest stretch, whether it was certain, and the strategy advised first for what
    /// was found so. (A disk that others use too is slow now and then, which is advised upon as well.)
    fn diagnosed(&self, case: &Case) -> Result<(String, bool, String)> {
        let running: Vec<Running> =
            case.loads.iter().map(|load| self.start(load)).collect::<Result<_>>()?;
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
    for needed in [Capability::Root, Capability::Loop, Capability::Mount, Capability::Ext4] {
        if let Some(why) = needed.missing() {
            println!("SKIP diagnosis-eval --real: needs {needed:?}: {why}");
            return Ok(true);
        }
    }
    if let Err(why) = ThrottledGroup::new() {
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
        for case in drawn {
            let (verdict, certain, advice) = stage.diagnosed(&case)?;
            let verdict_right = case.verdicts.contains(&verdict.as_str());
            let silent = case.first.is_empty() && advice == "silence";
            let advice_right = silent || case.first.contains(&advice.as_str());
            all += 1;
            right += u32::from(verdict_right && advice_right);
            wrong += u32::from(!verdict_right && certain && verdict != "not_enough_evidence");
            let mark = if verdict_right && advice_right { "" } else { "  <-" };
            let sure = if certain { "certain" } else { "likely" };
            println!("{:24} {verdict:20} {sure:8} {advice}{mark}", case.name);
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
