//! Runs fio once, and parses its report.
//!
//! fio's best settings depend on engine, target and machine: [`best`] tries a list of batch sizes on the
//! target itself and takes the fastest. All settings use registered files and buffers where the engine has
//! them, no random map, no second clock reading for submission, and no samples of throughput.
//! `--gtod_reduce`, known as fio's fastest option, measures no latencies and is therefore not comparable.

use super::{Bout, Load, Outcome, SHORT};
use crate::child::{self, Plant};
use anyhow::{Context, Result, ensure};
use record::EngineName;
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Number of requests submitted together, and minimum number of completions taken together.
    pub(crate) submit: u32,
    pub(crate) complete_min: u32,
    /// The CPU that it is bound to.
    pub(crate) core: usize,
}

impl Settings {
    /// The same as halfpower: submits all pending requests in one call, and takes all available completions
    /// at once. By default, fio makes a system call per request, which matters on memory.
    pub(crate) fn alike(load: &Load, core: usize) -> Self {
        Self { submit: load.iodepth, complete_min: 1, core }
    }

    /// A text such as `submit 32, complete 16 to 128`, for a load of that queue depth.
    pub(crate) fn words(&self, iodepth: u32) -> String {
        let Self { submit, complete_min, .. } = self;
        format!("submit {submit}, complete {complete_min} to {iodepth}")
    }
}

/// Duration of a trial of a list of settings, and how often each is tried.
const TUNING_RUN: Duration = Duration::from_millis(500);
const TUNING_ROUNDS: usize = 3;

/// fio's settings with the highest IOPS here, among different batch sizes for submission and completion, and
/// the IOPS of each.
pub(crate) fn best(bout: &Bout<'_>, smoke: bool) -> Result<(Settings, Vec<(Settings, f64)>)> {
    let (alike, depth) = (bout.settings, bout.load.iodepth);
    let few = [(1, 1), (16, 16), (32, 1), (32, 32), (64, 64), (128, 128)];
    let few = few.into_iter().filter(|(submit, _)| *submit < depth && !smoke);
    let ways = few.chain((depth > 1).then_some((depth, depth)));
    let mut candidates = vec![alike];
    candidates.extend(ways.map(|(submit, complete_min)| Settings {
        submit,
        complete_min,
        ..alike
    }));
    let (rounds, length) = if smoke { (1, SHORT) } else { (TUNING_ROUNDS, TUNING_RUN) };
    let mut rates = vec![Vec::new(); candidates.len()];
    for _ in 0..rounds {
        for (&settings, rates) in candidates.iter().zip(&mut rates) {
            rates.push(Bout { settings, ..*bout }.fio(length)?.iops);
        }
    }
    let rates = rates.into_iter().map(stats::median);
    let tried: Vec<(Settings, f64)> = candidates.into_iter().zip(rates).collect();
    let best = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(alike, |(best, _)| *best);
    Ok((best, tried))
}

impl Bout<'_> {
    pub(crate) fn fio(&self, runtime: Duration) -> Result<Outcome> {
        let Self { target, load, .. } = self;
        let mut command = command(load, &self.settings);
        match target.ends_after {
            Some(bytes) => command.arg(format!("--io_size={bytes}")),
            None => {
                command.arg("--time_based=1").arg(format!("--runtime={}ms", runtime.as_millis()))
            }
        };
        command.arg(format!("--size={}", target.size_bytes));
        command
            .arg("--allow_file_create=0")
            .arg(format!("--filename={}", target.path.display()))
            .arg(format!("--direct={}", u8::from(self.direct())));
        let child = child::run(&mut command, Plant::Nothing)?;
        ensure!(child.status.success(), "{command:?} failed: {}", child.stderr.trim());
        let direction = if load.writes() { "write" } else { "read" };
        let (iops, latency_ns) = parse(&child.stdout, direction)
            .with_context(|| format!("{command:?} was not understood: {}", child.stderr.trim()))?;
        Ok(Outcome { iops, latency_ns, cpu: child.cpu, runtime })
    }
}

/// fio's name of the engine.
fn ioengine(engine: EngineName) -> &'static str {
    match engine {
        EngineName::Sync => "psync",
        same => same.name(),
    }
}

fn command(load: &Load, settings: &Settings) -> Command {
    let mut command = child::pinned(OsStr::new("fio"), settings.core);
    let Load { via, rw, bs, iodepth } = load;
    let Settings { submit, complete_min, .. } = settings;
    // fio stamps its buffers for each write, which makes them partly compressible. A device that compresses,
    // such as zram, takes three times as long for them as for random data.
    let mut words = format!(
        "--name=peer --output-format=json --thread=1 --randrepeat=0 --fallocate=none \
         --group_reporting=1 --scramble_buffers=0 --ioengine={} --rw={rw} --bs={bs} --iodepth={iodepth} \
         --norandommap=1 --disable_slat=1 --disable_bw_measurement=1",
        ioengine(*via)
    );
    if matches!(via, EngineName::IoUring | EngineName::Libaio) {
        words += &format!(
            " --iodepth_batch_submit={submit} --iodepth_batch_complete_min={complete_min} \
             --iodepth_batch_complete_max={iodepth}"
        );
    }
    if *via == EngineName::IoUring {
        words += " --registerfiles=1 --fixedbufs=1";
    }
    command.args(words.split(' '));
    command
}

/// The first job in fio's JSON; fails if it had an error. Warnings may precede the JSON.
pub(crate) fn job(output: &str) -> Result<Value> {
    let json = &output[output.find('{').context("no JSON")?..];
    let mut document: Value = serde_json::from_str(json)?;
    let job = document["jobs"][0].take();
    ensure!(job["error"] == 0, "fio reports error {}", job["error"]);
    Ok(job)
}

/// IOPS and mean latency in ns of the first job.
fn parse(output: &str, direction: &str) -> Result<(f64, f64)> {
    let job = job(output)?;
    let number = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
    let iops = number(&job[direction]["iops"]).context("no iops")?;
    // Submission to completion, as halfpower's latency in a closed loop.
    let latency_ns = number(&job[direction]["lat_ns"]["mean"]).context("no lat_ns")?;
    Ok((iops, latency_ns))
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
    fn only_engines_with_a_queue_get_batches_and_only_a_ring_gets_buffers() {
        let words = |via| {
            let load = Load::new(via, "randread", "4k", 8);
            let settings = Settings::alike(&load, 1);
            let command = command(&load, &settings);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let has = |via, word: &str| words(via).iter().any(|it| it == word);
        assert!(
            has(EngineName::IoUring, "--iodepth=8") && has(EngineName::IoUring, "--fixedbufs=1")
        );
        assert!(
            has(EngineName::Libaio, "--iodepth_batch_submit=8")
                && !has(EngineName::Libaio, "--fixedbufs=1")
        );
        assert!(has(EngineName::Sync, "fio") && has(EngineName::Sync, "1"));
    }
}
