//! Compares predictions with measurements for the whole catalogue of simulated devices.
//!
//! For each device, the release binary makes a profile (`check --for-diagnosis`) and validates it as a user
//! would, with a separate database. Time is virtual, so a seed gives the same figures on every machine.
//! Another `--seed` draws other service times, mixes and loads. The column "repeat" is the median difference between two
//! visits to the same light loads. Two devices are omitted: `faulty`, whose trials do not count, and
//! `drifting`, which is never steady. `--only` accepts any simulated device.

use crate::{child, place};
use anyhow::{Context, Result};
use record::{ModelName, Validation};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every kind of device in the catalogue.
const DEVICES: &str = "mm1 md1 mg1 mmc mdc capped cloud jittery st15150w st34371w st15150n atlas10k \
                       fireball friedman10k sata-ssd nvme-ssd st15150w,disks=4,raid=0,chunk=64k \
                       atlas10k,disks=2,raid=1 atlas10k,disks=4,raid=5";
/// Number of loads per device.
const TRIALS: &str = "24";

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// One device instead of all.
    #[arg(long)]
    only: Option<String>,
    /// The seed of profiles and loads.
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Prints a line per device; returns whether all reach their goals.
pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let binary = place::binary(flags.binary.as_deref(), false)?;
    let heads = ["<70 %", "≥70 %", "repeat", "max", "M/M/1", "U law", "l-dep", "mix"];
    println!("{}", line("device", heads, "goal"));
    let mut all_reached = true;
    for (at, device) in flags.only.as_deref().unwrap_or(DEVICES).split_whitespace().enumerate() {
        let found =
            validated(&binary, device, &folder.path().join(format!("{at}.db")), flags.seed)?;
        print_line(device, &found);
        all_reached &= found.summary.reached == Some(true);
    }
    Ok(all_reached)
}

/// Makes a profile and validates it, with a database of its own.
fn validated(
    binary: &Path,
    device: &str,
    database: &Path,
    seed: Option<u64>,
) -> Result<Validation> {
    let run = |words: &[&str]| {
        let mut command = Command::new(binary);
        command.args(words).arg("--db").arg(database);
        if let Some(seed) = seed {
            command.args(["--seed", &seed.to_string()]);
        }
        child::output(&mut command, &[0, 1])
    };
    run(&["check", &format!("sim:{device}"), "--for-diagnosis"])?;
    let validation = run(&["show", "validate", "last", "--trials", TRIALS, "--json"])?;
    serde_json::from_slice(&validation).context("no validation was printed")
}

fn share(value: Option<f64>) -> String {
    value
        .filter(|share| share.is_finite())
        .map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn line<T: Display>(device: &str, cells: [T; 8], goal: &str) -> String {
    let cells = cells.map(|cell| format!(" {cell:>7}")).concat();
    format!("{device:34}{cells}  {goal}")
}

fn print_line(device: &str, found: &Validation) {
    let summary = &found.summary;
    let of = |model: ModelName| summary.accuracy.iter().find(|one| one.model == model);
    let light = |model| share(of(model).and_then(|one| one.median_rel));
    let cells = [
        light(summary.advised),
        share(of(summary.advised).and_then(|one| one.loaded_median_rel)),
        share(summary.repeat_rel),
        share(summary.max_iops_rel),
        light(ModelName::Mm1),
        light(ModelName::UtilizationLaw),
        light(ModelName::LoadDependent),
        light(ModelName::MixCapacity),
    ];
    let reached = summary.reached == Some(true);
    println!("{}", line(device, cells, if reached { "reached" } else { "NOT reached" }));
}
