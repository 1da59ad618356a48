//! The processes that mpirun starts: with MPI's barrier where the program was built with it, without, and
//! with one of them killed in the middle.

use super::namespaces::{HOSTS, Stage, hold};
use super::{Case, figures, finds, has, quietly};
use anyhow::{Context, Result, bail, ensure};
use record::{BegunBy, FindingCode, Trial};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// When a process is killed, by which time all measure; how much longer they then do.
const MIDDLE: Duration = Duration::from_secs(5);
const LONGER_S: u32 = 10;

pub(super) const CASES: [Case<Stage>; 4] = [
    ("four processes of mpirun", agreed),
    ("four processes of mpirun that meet in MPI's barrier", barrier),
    ("one process of mpirun killed in the middle", killed),
    ("likewise where they meet in MPI's barrier", barrier_killed),
];

/// The program with MPI's barrier, or why there is none. It takes the place of the other one.
pub(super) fn built(smoke: bool) -> Result<Result<PathBuf, String>> {
    match ["mpirun", "mpicc"].into_iter().find(|program| !has(program)) {
        Some(program) => Ok(Err(format!("{program} is not installed"))),
        None if smoke => Ok(Err("it is not built for a smoke run".to_owned())),
        None => crate::place::with_feature("mpi").map(Ok),
    }
}

fn agreed(stage: &Stage) -> Result<Value> {
    on_agreed(stage, |stage, binary| begun_by(&ended(stage, binary, false)?, BegunBy::AgreedTime))
}

fn barrier(stage: &Stage) -> Result<Value> {
    on_barrier(stage, |stage, binary| begun_by(&ended(stage, binary, false)?, BegunBy::MpiBarrier))
}

fn killed(stage: &Stage) -> Result<Value> {
    on_agreed(stage, without_one)
}

fn barrier_killed(stage: &Stage) -> Result<Value> {
    on_barrier(stage, without_one)
}

/// A case of a program.
type With = fn(&Stage, &Path) -> Result<Value>;

fn on_agreed(stage: &Stage, case: With) -> Result<Value> {
    match has("mpirun") {
        true => case(stage, stage.binary()),
        false => Ok(json!({ "not measured": "mpirun is not installed" })),
    }
}

fn on_barrier(stage: &Stage, case: With) -> Result<Value> {
    match &stage.with_mpi {
        Ok(binary) => case(stage, binary),
        Err(why) => Ok(json!({ "not measured": why })),
    }
}

fn begun_by(trial: &Trial, by: BegunBy) -> Result<Value> {
    hold(trial, HOSTS as usize)?;
    let begun_by = trial.clients.as_ref().and_then(|clients| clients.begun_by);
    ensure!(begun_by == Some(by), "they began by {begun_by:?}");
    figures(trial)
}

fn without_one(stage: &Stage, binary: &Path) -> Result<Value> {
    let trial = ended(stage, binary, true)?;
    hold(&trial, HOSTS as usize - 1)?;
    finds(&trial, FindingCode::ClientLost)?;
    figures(&trial)
}

/// What number 0 wrote, once all have ended; with or without the last of them killed in the middle.
fn ended(stage: &Stage, binary: &Path, kills: bool) -> Result<Trial> {
    let file = stage.file("of-mpirun.json");
    let _ = std::fs::remove_file(&file);
    let seconds = stage.seconds + if kills { LONGER_S } else { 0 };
    let said = std::fs::File::create(stage.file("err"))?;
    let words = format!("--runtime {seconds}s --iodepth 4 --quiet --no-save --output {file}");
    let mut child = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n", &HOSTS.to_string()])
        // When a process dies it asks the others to end, and kills them a second later: here they may be busy.
        // It waits twice so long, whatever has ended by then.
        .args(["--mca", "odls_base_sigkill_timeout", "5"])
        .arg(binary)
        .args(["run", "--mpi", &stage.file("big")])
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said)
        .spawn()?;
    let done = if kills { kill_last(child.id()) } else { Ok(()) };
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("mpirun hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    done?;
    let said = std::fs::read_to_string(stage.file("err"))?;
    let text = std::fs::read_to_string(&file).with_context(|| format!("no document: {said}"))?;
    Ok(serde_json::from_str(&text)?)
}

/// Kills the last of the processes that mpirun started.
fn kill_last(mpirun: u32) -> Result<()> {
    std::thread::sleep(MIDDLE);
    let output = quietly(&format!("pgrep --parent {mpirun}"))?;
    let children = String::from_utf8_lossy(&output.stdout);
    let last = children.lines().last().context("mpirun has no children")?;
    quietly(&format!("kill -9 {last}")).map(drop)
}
