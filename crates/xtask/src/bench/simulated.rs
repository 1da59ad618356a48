//! How fast the simulator steps: it bounds how long the tests and the published tables take.
//!
//! There is no goal; with `--against` another binary, the one of an earlier commit, is run in
//! turn with this one.

use super::gate::{Gate, Goal, Proof, median_of, numbers, ratio_of, turns};
use super::{Context, Report};
use crate::child::{self, FIFTH, Plant};
use anyhow::{Context as _, Result, ensure};
use record::Trial;
use serde_json::json;
use std::path::Path;
use std::process::Command;

const PAIRS: usize = 15;

pub(super) fn run(context: &Context) -> Result<Report> {
    let rate = |binary: &Path, plant| measure(binary, context.smoke, plant);
    let binary = context.binary()?;
    let this = || rate(binary, Plant::Nothing);
    this()?;
    let pairs = context.pairs(PAIRS);
    let value = |rate: &f64| *rate;
    let same = turns(pairs, this, this)?;
    let proof = Proof {
        same: ratio_of(&same, value),
        planted: ratio_of(&turns(pairs, this, || rate(binary, Plant::Stopped(FIFTH)))?, value),
        fault: "a fifth of the time stopped",
    };
    let rates: Vec<f64> = same.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let figure = median_of(&rates);
    let mut details = json!({ "requests_per_s_of_real_time": numbers(&figure) });
    if let Some(other) = &context.against {
        let pairs = turns(pairs, || rate(other, Plant::Nothing), this)?;
        let ratio = ratio_of(&pairs, value);
        println!("  this over {}: {ratio}", other.display());
        details["this_over_other"] = numbers(&ratio);
    }
    let name = "simulated requests";
    let gate = Gate::new(name, "per second of real time", Goal::Shown, figure, proof);
    Ok(Report { gates: vec![gate], details })
}

/// Requests of a simulated run per second of real time.
fn measure(binary: &Path, smoke: bool, plant: Plant) -> Result<f64> {
    let mut command = Command::new(binary);
    command.args(["run", "sim:mm1,service=5ms", "--iodepth", "4"]).args([
        "--runtime",
        if smoke { "100s" } else { "5000s" },
        "--no-save",
        "--json",
    ]);
    let child = child::run(&mut command, plant)?;
    let trial: Trial = serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })?;
    let ios = trial.result.read.as_ref().map_or(0, |read| read.ios);
    ensure!(ios > 0, "{command:?} completed no reads");
    Ok(ios as f64 / child.wall.as_secs_f64())
}
