//! The requests of job files, as fio and as halfpower make them, seen by strace on both.
//!
//! Each file is made small in the same way for both ([`rewrite`]): files of a megabyte, an end by bytes, engines whose calls
//! strace shows. Then bytes, number and sizes of requests, mix, order, depth and flushes have to agree ([`calls`]), stated
//! before the runs as the bounds below. Where requests are drawn, shares may differ by chance: four standard deviations.
//! Rejected: fio's own `write_iolog` alone, which knows neither flushes nor what is in flight.

mod calls;
mod rewrite;

use crate::arguments::{Arguments, PATHS};
use crate::place;
use anyhow::{Context, Result, ensure};
use calls::Calls;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) const SWITCHES: [&str; 2] = ["--list", PATHS];
pub(crate) const VALUES: [&str; 2] = ["--least", "--binary"];

/// Longest time of one run under strace.
const RUN_TIME: Duration = Duration::from_secs(60);
/// Most by which numbers that are not drawn may differ, as a share.
const SAME: f64 = 0.02;
/// Most by which the time of a paced load may differ.
const SAME_TIME: f64 = 0.25;

/// What came of a comparison.
enum Outcome {
    Agree(Calls),
    Differ(Vec<String>),
    /// One of them does not run it.
    NotRun(String),
}

/// Compares all job files; whether at least so many agree, and none differs where no number is named.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let least: Option<usize> = flags.value("--least")?;
    let binary = place::binary(flags.value("--binary")?, true)?;
    ensure!(!flags.rest().is_empty(), "name a folder or a file");
    for tool in ["fio", "strace"] {
        if Command::new(tool).arg("--version").output().is_err() {
            testkit::skip("fio-requests", &format!("needs {tool}"));
            return Ok(true);
        }
    }
    let (mut agree, mut differ, mut not_run) = (0, 0, 0);
    for path in job_files(flags.rest())? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match compare(&path, &binary).with_context(|| path.display().to_string())? {
            Outcome::Agree(calls) => {
                agree += 1;
                println!("agrees  {name}: {calls}");
            }
            Outcome::Differ(how) => {
                differ += 1;
                println!("DIFFERS {name}");
                how.iter().for_each(|line| println!("        {line}"));
            }
            Outcome::NotRun(why) => {
                not_run += 1;
                if flags.has("--list") {
                    println!("not run {name}: {why}");
                }
            }
        }
    }
    println!("{agree} agree, {differ} differ, {not_run} are not run by both");
    Ok(least.map_or(differ == 0, |least| agree >= least))
}

fn job_files(paths: &[String]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths.iter().map(PathBuf::from) {
        if path.is_dir() {
            found.extend(std::fs::read_dir(&path)?.filter_map(|entry| Some(entry.ok()?.path())));
        } else {
            found.push(path);
        }
    }
    let is_job =
        |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| fio::looks_like_job_file(&bytes));
    found.retain(is_job);
    found.sort();
    Ok(found)
}

fn compare(path: &Path, binary: &Path) -> Result<Outcome> {
    let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
    let small = match rewrite::small(&text) {
        Ok(small) => small,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    let mut of_fio = Command::new("fio");
    of_fio.args(["small.fio", "--minimal"]);
    let mut of_ours = Command::new(binary);
    of_ours.args(["run", "small.fio", "--quiet", "--no-save"]);
    if small.writes {
        of_ours.arg("--overwrite");
    }
    let (fio, ours) = (seen(&small, &of_fio)?, seen(&small, &of_ours)?);
    Ok(match (fio, ours) {
        (Err(why), _) => Outcome::NotRun(format!("fio: {why}")),
        (_, Err(why)) => Outcome::NotRun(format!("halfpower: {why}")),
        (Ok(fio), _) if fio.is_empty() => {
            Outcome::NotRun("strace shows no request of fio".to_owned())
        }
        (Ok(fio), Ok(ours)) => {
            let differences = fio.differences(&ours, small.paced);
            if differences.is_empty() { Outcome::Agree(ours) } else { Outcome::Differ(differences) }
        }
    })
}

/// What a program asks of the files, in a folder of its own.
fn seen(small: &rewrite::Small, command: &Command) -> Result<Result<Calls, String>> {
    let folder = tempfile::tempdir_in(".")?;
    let folder_path = std::fs::canonicalize(folder.path())?;
    std::fs::write(folder_path.join("small.fio"), &small.text)?;
    for (name, bytes) in &small.files {
        // Data, because holes are no place to read from.
        std::fs::write(folder_path.join(name), vec![0xa5; *bytes as usize])?;
    }
    let output = Command::new("timeout")
        .arg(format!("{}s", RUN_TIME.as_secs()))
        .args(["strace", "-f", "-ttt", "-y", "-o", "trace", "-e"])
        .arg(format!("trace={}", calls::SEEN))
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(&folder_path)
        .output()
        .context("cannot run strace")?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().rfind(|line| !line.is_empty()).unwrap_or("it failed");
        return Ok(Err(line.to_owned()));
    }
    let trace = std::fs::read(folder_path.join("trace"))?;
    Ok(Ok(Calls::read(&String::from_utf8_lossy(&trace), &folder_path)))
}
