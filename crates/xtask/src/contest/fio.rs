//! One run of fio, and what it reports.
//!
//! fio's best settings are its own question, because they differ by engine, target and machine:
//! [`best`] tries a list of batch sizes on the target itself and takes the fastest. Everywhere:
//! registered files and buffers where the engine has them, no random map, no second clock reading
//! for submission, no samples of throughput. What its users know as its fastest (`--gtod_reduce`) measures no response
//! times, so it is no measurement of the same thing.

use super::{Load, Outcome, Via, target::Target};
use crate::child::{self, Plant};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;
use std::time::Duration;

/// What fio registers with an io_uring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) files: bool,
    pub(crate) buffers: bool,
}

impl Registered {
    pub(crate) const ALL: Self = Self { files: true, buffers: true };

    /// The same as halfpower's engine got from the kernel, by its own words.
    pub(crate) fn like(features: &[String]) -> Self {
        let got = |what: &str| features.iter().any(|feature| feature.starts_with(what));
        Self { files: got("registered file"), buffers: got("registered buffers") }
    }
}

/// How fio is asked to do a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Requests handed over together, and completions taken together: at least, at most.
    pub(crate) submit: u32,
    pub(crate) complete_min: u32,
    pub(crate) complete_max: u32,
    pub(crate) registered: Registered,
    /// The processor it is bound to; `None` for any.
    pub(crate) core: Option<usize>,
}

impl Settings {
    /// As halfpower does it: all that can be handed over in one call, and all that is done out
    /// of one look. fio by itself makes a system call per request, which memory shows.
    pub(crate) fn alike(load: &Load, registered: Registered, core: Option<usize>) -> Self {
        let depth = load.iodepth;
        Self { submit: depth, complete_min: 1, complete_max: depth, registered, core }
    }

    /// `submit 32, complete 16 to 128`.
    pub(crate) fn words(&self) -> String {
        let Self { submit, complete_min, complete_max, .. } = self;
        format!("submit {submit}, complete {complete_min} to {complete_max}")
    }
}

/// Lengths of a trial of one list of settings, and how often each is tried.
const TUNING_RUN: Duration = Duration::from_millis(500);
const TUNING_ROUNDS: usize = 3;

/// The settings with which fio does most requests per second here, of those that differ in how
/// much is handed over and taken at a time; and what each reached.
pub(crate) fn best(
    target: &Target,
    load: &Load,
    core: Option<usize>,
    smoke: bool,
) -> Result<(Settings, Vec<(Settings, f64)>)> {
    let alike = Settings::alike(load, Registered::ALL, core);
    let depth = load.iodepth;
    let mut candidates = vec![alike];
    for (submit, complete_min) in [(1, 1), (16, 16), (32, 1), (32, 32), (64, 64), (128, 128)] {
        if submit < depth && !smoke {
            candidates.push(Settings { submit, complete_min, ..alike });
        }
    }
    if depth > 1 {
        candidates.push(Settings { submit: depth, complete_min: depth, ..alike });
    }
    let (rounds, length) =
        if smoke { (1, Duration::from_millis(50)) } else { (TUNING_ROUNDS, TUNING_RUN) };
    let mut rates = vec![Vec::new(); candidates.len()];
    for _ in 0..rounds {
        for (settings, rates) in candidates.iter().zip(&mut rates) {
            rates.push(run(target, load, settings, length)?.iops);
        }
    }
    let mut tried: Vec<(Settings, f64)> = Vec::new();
    for (settings, mut rates) in candidates.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        tried.push((settings, rates[rates.len() / 2]));
    }
    let best = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(alike, |(best, _)| *best);
    Ok((best, tried))
}

/// Runs one load.
pub(crate) fn run(
    target: &Target,
    load: &Load,
    settings: &Settings,
    runtime: Duration,
) -> Result<Outcome> {
    let mut command = command(load, settings, runtime);
    command
        .arg("--allow_file_create=0")
        .arg(format!("--filename={}", target.path.display()))
        .arg(format!("--size={}", target.size_bytes))
        // A mapping lives in the page cache.
        .arg(format!("--direct={}", u8::from(target.direct && load.via != Via::Mmap)));
    finish(command, load, runtime)
}

/// Runs the null engine over an area of so many bytes; `by_default` leaves out all that makes it
/// faster.
pub(crate) fn run_null(
    load: &Load,
    settings: &Settings,
    size_bytes: u64,
    by_default: bool,
    runtime: Duration,
) -> Result<Outcome> {
    let mut command = if by_default {
        plain(load, settings.core, runtime)
    } else {
        command(load, settings, runtime)
    };
    command.arg(format!("--size={size_bytes}"));
    finish(command, load, runtime)
}

/// What every run needs.
fn plain(load: &Load, core: Option<usize>, runtime: Duration) -> Command {
    let mut command = child::pinned(OsStr::new("fio"), core);
    command
        .args(["--name=peer", "--output-format=json", "--thread", "--time_based"])
        // fio stamps its buffers again for each write, so that they compress in parts: a device that
        // compresses, as zram does, spends three times as long on them as on random data.
        .args(["--randrepeat=0", "--fallocate=none", "--group_reporting", "--scramble_buffers=0"])
        .arg(format!("--ioengine={}", load.via.of_fio()))
        .arg(format!("--rw={}", load.rw))
        .arg(format!("--bs={}", load.bs))
        .arg(format!("--runtime={}ms", runtime.as_millis()));
    if load.via == Via::Threads {
        command.arg(format!("--numjobs={}", load.iodepth));
    } else {
        command.arg(format!("--iodepth={}", load.iodepth));
    }
    command
}

fn command(load: &Load, settings: &Settings, runtime: Duration) -> Command {
    let mut command = plain(load, settings.core, runtime);
    command.args(["--norandommap", "--disable_slat=1", "--disable_bw_measurement=1"]);
    if matches!(load.via, Via::IoUring | Via::Libaio | Via::Null) {
        command
            .arg(format!("--iodepth_batch_submit={}", settings.submit))
            .arg(format!("--iodepth_batch_complete_min={}", settings.complete_min))
            .arg(format!("--iodepth_batch_complete_max={}", settings.complete_max));
    }
    if load.via == Via::IoUring {
        command
            .arg(format!("--registerfiles={}", u8::from(settings.registered.files)))
            .arg(format!("--fixedbufs={}", u8::from(settings.registered.buffers)));
    }
    command
}

fn finish(mut command: Command, load: &Load, runtime: Duration) -> Result<Outcome> {
    let child = child::run(&mut command, Plant::Nothing)?;
    ensure!(child.status.success(), "{command:?} failed: {}", child.stderr.trim());
    let direction = if load.writes() { "write" } else { "read" };
    let (iops, latency_ns) = parse(&child.stdout, direction)
        .with_context(|| format!("{command:?} was not understood: {}", child.stderr.trim()))?;
    Ok(Outcome { iops, latency_ns, cpu: child.cpu, busy: child.busy, runtime })
}

/// IOPS and mean response time in ns from fio's JSON. Warnings may stand before it.
fn parse(output: &str, direction: &str) -> Result<(f64, f64)> {
    let json = &output[output.find('{').context("no JSON")?..];
    let document: Value = serde_json::from_str(json)?;
    let job = &document["jobs"][0];
    ensure!(job["error"] == 0, "fio reports error {}", job["error"]);
    let number = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
    let iops = number(&job[direction]["iops"]).context("no iops")?;
    // Submission to completion, as halfpower's response time in a closed loop.
    let latency_ns = number(&job[direction]["lat_ns"]["mean"]).context("no lat_ns")?;
    Ok((iops, latency_ns))
}

/// What `fio --version` says.
pub(crate) fn version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fios_json_is_read_behind_a_warning_and_an_error_in_it_is_an_error() {
        let text = |error| {
            format!(
                "fio: a warning\n{{\"jobs\": [{{\"error\": {error}, \"read\": {{\"iops\": 50.5, \
                 \"lat_ns\": {{\"mean\": 20000.0}}}}}}]}}"
            )
        };
        assert_eq!(parse(&text(0), "read").unwrap(), (50.5, 20_000.0));
        assert!(parse(&text(5), "read").is_err());
        assert!(parse(&text(0), "write").is_err());
        assert!(parse("fio: no such engine", "read").is_err());
    }

    #[test]
    fn a_pool_of_threads_is_compared_with_as_many_jobs() {
        let words = |via| {
            let load = Load { via, rw: "randread", bs: "4k", iodepth: 8 };
            let settings = Settings::alike(&load, Registered::ALL, Some(1));
            let command = command(&load, &settings, Duration::from_secs(1));
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let has = |via, word: &str| words(via).iter().any(|it| it == word);
        assert!(has(Via::Threads, "--ioengine=psync") && has(Via::Threads, "--numjobs=8"));
        assert!(has(Via::IoUring, "--iodepth=8") && has(Via::IoUring, "--fixedbufs=1"));
        assert!(has(Via::Libaio, "--iodepth_batch_submit=8") && !has(Via::Libaio, "--fixedbufs=1"));
        assert!(has(Via::Sync, "fio") && has(Via::Sync, "1"));
    }
}
