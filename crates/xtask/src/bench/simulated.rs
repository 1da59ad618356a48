//! Measures the speed of the simulator, which limits how long the tests and the published tables take.
//!
//! Complete runs of the program are timed, from command line to document. In addition to the goals, two
//! possible causes of slowness are shown: the length of the simulated time, and the number of devices.

use super::gate::{Gate, Goal, Proof, turns};
use super::{Context, Report};
use crate::child::{self, Plant};
use crate::contest::halfpower::trial;
use crate::pairs::Ratio;
use anyhow::{Result, ensure};
use serde_json::json;
use std::path::Path;
use std::process::Command;

const PAIRS: usize = 15;
const FAULT: &str = "a fifth of the time stopped";

const QUEUE: &str = "sim:mm1,service=5ms --iodepth 4";
/// The loads, their virtual seconds, and the goals in requests per second of real time.
const LOADS: [(&str, &str, u32, f64); 10] = [
    ("queue device", QUEUE, 10_000, 2e6),
    ("queue device, 64 jobs", "sim:mmc,servers=64,service=5ms --numjobs 64", 100, 2e6),
    drive("drive model, random, depth 8", "randread --bs 8k --iodepth 8", 5_000),
    drive("drive model, random, depth 1", "randread --bs 8k --iodepth 1", 10_000),
    drive("drive model, random, depth 32", "randread --bs 8k --iodepth 32", 3_000),
    drive("drive model, sequential, depth 1", "read --bs 8k --iodepth 1", 500),
    drive("drive model, sequential, depth 8", "read --bs 8k --iodepth 8", 500),
    drive("drive model, sequential, depth 32", "read --bs 8k --iodepth 32", 500),
    (
        "flash model, steady random overwriting",
        "sim:nvme-ssd,size=4g,preconditioned=random --rw randwrite --iodepth 64",
        10,
        5e5,
    ),
    ("flash model", "sim:nvme-ssd --rw randread --iodepth 64", 10, 5e5),
];
/// Enough buses for the drives and a host without cost, so that the drives dominate the simulation.
const THOUSAND: &str = "sim:friedman10k,disks=1000,raid=0,buses=250,pci=16,adapter=none,host=ideal \
                        --rate-iops 100000 --arrival poisson --iodepth 32768";
/// Length of the long run of [`QUEUE`], as a multiple of the short one.
const LONGER: u32 = 10;

const fn drive(
    name: &'static str,
    rw: &'static str,
    seconds: u32,
) -> (&'static str, &'static str, u32, f64) {
    (name, rw, seconds, 5e5)
}

pub(super) fn run(context: &Context) -> Result<Report> {
    let binary = context.binary.as_path();
    let mut gates = Vec::new();
    for (name, words, seconds, goal) in LOADS {
        let name = format!("simulated requests, {name}");
        let words = match words.starts_with("sim:") {
            true => words.to_owned(),
            false => format!("sim:st34371w --rw {words}"),
        };
        let rate = |ios: u64, _: f64| ios as f64;
        let unit = "per second of real time";
        gates.push(gate(context, name, unit, Goal::AtLeast(goal), (&words, seconds), rate)?);
    }
    let name = "array of 1,000 drives at 100,000 requests/s".to_owned();
    let unit = "virtual seconds per second of real time";
    let seconds = |_: u64, seconds: f64| seconds;
    let load = (THOUSAND, 10);
    gates.push(gate(context, name, unit, Goal::AtLeast(1.0), load, seconds)?);

    let pairs = context.pairs(PAIRS);
    let shorter = if context.smoke { 100 } else { 2_000 };
    let run = |seconds, plant| measure(binary, QUEUE, seconds, plant, |ios, _| ios as f64);
    let short = || run(shorter, Plant::Nothing);
    let (proof, _) = Proof::of(pairs, FAULT, short, || run(shorter, Plant::Stopped))?;
    let longer = turns(pairs, short, || run(shorter * LONGER, Plant::Nothing))?;
    let name = "rate of a run ten times as long over that of the run";
    let figure = Ratio::median_of_pairs(&longer);
    gates.push(Gate::new(name, "", Goal::AtLeast(0.9), figure, proof));
    Ok(Report { gates, details: json!({}) })
}

/// The gate of one load.
fn gate(
    context: &Context,
    name: String,
    unit: &'static str,
    goal: Goal,
    (words, seconds): (&str, u32),
    count: impl Fn(u64, f64) -> f64,
) -> Result<Gate> {
    let seconds = if context.smoke { seconds.div_ceil(50) } else { seconds };
    let rate = |plant| measure(&context.binary, words, seconds, plant, &count);
    let this = || rate(Plant::Nothing);
    this()?;
    let pairs = context.pairs(PAIRS);
    let (proof, figure) = Proof::of(pairs, FAULT, this, || rate(Plant::Stopped))?;
    Ok(Gate::new(name, unit, goal, figure, proof))
}

/// The rate of a run per second of real time. `count` computes it from requests and virtual seconds.
fn measure(
    binary: &Path,
    words: &str,
    seconds: u32,
    plant: Plant,
    count: impl Fn(u64, f64) -> f64,
) -> Result<f64> {
    let mut command = Command::new(binary);
    command.arg("run").args(words.split_whitespace());
    command.args(["--runtime", &format!("{seconds}s"), "--no-save", "--json"]);
    let child = child::run(&mut command, plant)?;
    let result = trial(&command, &child)?.result;
    let directions = [&result.read, &result.write];
    let ios: u64 = directions.into_iter().flatten().map(|direction| direction.ios).sum();
    ensure!(ios > 0, "{command:?} completed no requests");
    Ok(count(ios, f64::from(seconds)) / child.wall.as_secs_f64())
}
