//! The program killed (SIGKILL) at random moments, again and again, and what it leaves behind.
//!
//! Commands that write take turns: a check, an experiment, a recording, a run over a file of the user,
//! and, as root, an experiment that changes a setting of a loop device. After each kill the database
//! has to open and to hold every document that it held, the folder has to hold what the user put there
//! and nothing else, the user's file has to have its length, and the next start of the program has to
//! put the setting back. Rejected: a kill of the machine, which is another question (what the disk
//! loses), and moments from a list, which come again at the same places of the code.

use crate::{arguments::Arguments, place};
use anyhow::{Context, Result, ensure};
use record::{Experiment, Observation, Profile, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use store::{Document, Store, StoreError};
use testkit::{Capability, LoopDevice};
use workload::Rng;

pub(crate) const VALUES: [&str; 3] = ["--kills", "--first", "--binary"];
const KILLS: u32 = 1_000;
const DATA: &str = "data";
const DATA_BYTES: u64 = 32 << 20;
const LOOP_BYTES: u64 = 64 << 20;
/// What the kernel reads ahead on the loop device, unless told otherwise.
const READ_AHEAD_KB: &str = "128";
/// A command is killed within this share of the time that it takes alone.
const LATEST: f64 = 0.9;

/// Where it happens.
struct Stage {
    binary: PathBuf,
    /// On a disk, with the user's file in it.
    folder: tempfile::TempDir,
    /// Of the database, and of what is written down about changed settings.
    state: tempfile::TempDir,
    device: Option<LoopDevice>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let kills = arguments.value("--kills")?.unwrap_or(KILLS);
    let first: u64 = arguments.value("--first")?.unwrap_or(1);
    let stage = Stage::new(place::binary(arguments.value("--binary")?, false)?)?;
    let mut commands = Vec::new();
    for (name, words) in stage.commands() {
        let begin = Instant::now();
        let status = stage.command().args(words.split_whitespace()).status()?;
        ensure!(matches!(status.code(), Some(0 | 1)), "`{words}` alone ended with {status}");
        commands.push((name, words, begin.elapsed()));
    }
    let mut rng = Rng::new(first);
    let (mut held, mut alive) = (BTreeMap::new(), BTreeMap::<&str, u32>::new());
    let mut faults = Vec::new();
    for kill in 0..kills {
        let (name, words, length) = &commands[kill as usize % commands.len()];
        let after = length.mul_f64(LATEST * rng.unit());
        if stage.killed(words, after)? {
            *alive.entry(name).or_default() += 1;
        }
        if let Err(fault) = stage.look(&mut held) {
            println!("kill {kill}: {name} after {after:?}: {fault:#}");
            faults.push(kill);
        }
    }
    for (name, killed) in &alive {
        println!("{name}: {killed} killed before it had ended");
    }
    let kept: Vec<String> = held.iter().map(|(what, count)| format!("{count} {what}")).collect();
    println!("kept: {}", kept.join(", "));
    println!("{kills} kills, {} faults", faults.len());
    Ok(faults.is_empty())
}

impl Stage {
    fn new(binary: PathBuf) -> Result<Self> {
        let folder = testkit::disk_folder()?;
        std::fs::write(folder.path().join(DATA), vec![7; DATA_BYTES as usize])?;
        let missing = [Capability::Root, Capability::Loop].map(Capability::missing);
        let device = match missing.into_iter().flatten().next() {
            Some(reason) => {
                println!("SKIP the setting of a loop device: {reason}");
                None
            }
            None => Some(LoopDevice::new(LOOP_BYTES)?),
        };
        Ok(Self { binary, folder, state: tempfile::tempdir()?, device })
    }

    fn commands(&self) -> Vec<(&'static str, String)> {
        let sweep = "--set bs=4k,64k --runtime 20ms --set until-precision=";
        let mut commands = vec![
            ("check", "check . --size 32m --budget 5s".to_owned()),
            ("sweep", format!("sweep friedman . --size 8m {sweep}")),
            ("record", "record --for 600ms --interval 100ms".to_owned()),
            ("run --overwrite", format!("run {DATA} --rw randwrite --overwrite --runtime 400ms")),
        ];
        if let Some(device) = &self.device {
            let device = device.path().display();
            let ahead = "--set prepare=read-ahead-1m --set cache=all";
            commands
                .push(("setting", format!("sweep friedman {device} --size 8m {ahead} {sweep}")));
        }
        commands
    }

    fn database(&self) -> PathBuf {
        self.state.path().join("kept.db")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(self.folder.path()).env("HALFPOWER_DB", self.database());
        command.env("XDG_STATE_HOME", self.state.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a command and kills it after a while; whether it was still alive.
    fn killed(&self, words: &str, after: Duration) -> Result<bool> {
        let mut child = self.command().args(words.split_whitespace()).spawn()?;
        std::thread::sleep(after);
        child.kill()?;
        Ok(child.wait()?.code().is_none())
    }

    /// What was left behind, against what has to be there.
    fn look(&self, held: &mut BTreeMap<&'static str, usize>) -> Result<()> {
        let names = names(self.folder.path())?;
        ensure!(names == [DATA], "the folder holds {names:?}");
        let bytes = std::fs::metadata(self.folder.path().join(DATA))?.len();
        ensure!(bytes == DATA_BYTES, "the user's file has {bytes} bytes");
        match Store::open_existing(&self.database()) {
            Ok(store) => {
                keeps::<Trial>(&store, "trials", held)?;
                keeps::<Profile>(&store, "profiles", held)?;
                keeps::<Experiment>(&store, "experiments", held)?;
                keeps::<Observation>(&store, "recordings", held)?;
            }
            Err(StoreError::Missing(_)) => {
                ensure!(held.values().all(|count| *count == 0), "no database");
            }
            Err(other) => return Err(other).context("the database"),
        }
        self.setting()
    }

    /// The next start puts back what the killed one changed.
    fn setting(&self) -> Result<()> {
        let Some(device) = &self.device else { return Ok(()) };
        let status = self.command().args(["show", "list"]).status()?;
        ensure!(status.success() || !self.database().exists(), "`show list` ended with {status}");
        let name = device.path().file_name().context("a device has a name")?;
        let setting = Path::new("/sys/block").join(name).join("queue/read_ahead_kb");
        let now = std::fs::read_to_string(setting)?;
        ensure!(now.trim() == READ_AHEAD_KB, "the read-ahead is {} KiB", now.trim());
        Ok(())
    }
}

/// Every document that was there is there, and can be read.
fn keeps<D: Document>(
    store: &Store,
    what: &'static str,
    held: &mut BTreeMap<&'static str, usize>,
) -> Result<()> {
    let rows = store.list::<D>()?;
    let before = held.insert(what, rows.len()).unwrap_or(0);
    ensure!(rows.len() >= before, "of {before} {what} there are {}", rows.len());
    // Those before were read after an earlier kill.
    for row in rows.iter().skip(before) {
        let _: D = store.document(&row.id).with_context(|| format!("one of the {what}"))?;
    }
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
