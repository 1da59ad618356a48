//! Predictions against measurements over the whole catalogue of simulated devices.
//!
//! For each device the release binary makes a profile (`check --for-diagnosis`) and validates it, as
//! a user would, with a database of its own. Virtual time: the figures of a seed are the same on
//! every machine; `--seed` draws other services, other mixes for the profile and other loads to
//! predict, so that nobody needs to trust the ones that the models were made with. The column
//! "repeat" is the median difference of the two visits to the same light loads. What fails on purpose
//! (`faulty`, of whose trials none counts) or never holds still (`drifting`, whose truth of an hour
//! ago is not that of now) has nothing to be predicted and is left out; `--only` takes any device.

use crate::place;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::process::Command;

/// Every kind of the catalogue.
const DEVICES: [&str; 19] = [
    "mm1",
    "md1",
    "mg1",
    "mmc",
    "mdc",
    "capped",
    "cloud",
    "jittery",
    "st15150w",
    "st34371w",
    "st15150n",
    "atlas10k",
    "fireball",
    "friedman10k",
    "sata-ssd",
    "nvme-ssd",
    "st15150w,disks=4,raid=0,chunk=64k",
    "atlas10k,disks=2,raid=1",
    "atlas10k,disks=4,raid=5",
];
/// Loads per device, unless told otherwise.
const TRIALS: u32 = 24;

/// What to do.
pub(crate) struct Options {
    /// One device in place of all.
    pub(crate) only: Option<String>,
    /// Loads per device.
    pub(crate) trials: Option<u32>,
    /// Seed of profiles and loads, in place of the program's own.
    pub(crate) seed: Option<u64>,
}

/// Prints a line per device; whether all reach their goals.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let binary = place::release_binary()?;
    let folder = tempfile::tempdir()?;
    let trials = options.trials.unwrap_or(TRIALS).to_string();
    let seed = options.seed.map(|seed| seed.to_string());
    let seeded: Vec<&str> = seed.iter().flat_map(|seed| ["--seed", seed.as_str()]).collect();
    println!(
        "{:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  goal",
        "device", "<70 %", "≥70 %", "repeat", "max", "M/M/1", "U law", "l-dep", "mix"
    );
    let mut reached = true;
    let one = options.only.as_deref().map(|device| vec![device]);
    for (at, device) in one.unwrap_or_else(|| DEVICES.to_vec()).into_iter().enumerate() {
        let target = format!("sim:{device}");
        let database = folder.path().join(format!("{at}.db"));
        let run = |words: &[&str]| -> Result<Value> {
            let output = Command::new(&binary)
                .args(words)
                .args(&seeded)
                .arg("--db")
                .arg(&database)
                .output()
                .with_context(|| format!("cannot run {}", binary.display()))?;
            if !matches!(output.status.code(), Some(0 | 1)) {
                bail!("{target}: {}", String::from_utf8_lossy(&output.stderr));
            }
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        run(&["check", &target, "--for-diagnosis", "--json"])?;
        let found = run(&["profile", "validate", "last", "--trials", &trials, "--json"])?;
        let summary = &found["summary"];
        let told = |value: &Value| {
            value.as_f64().map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let of = |model: &str, key: &str| {
            let accuracy = summary["accuracy"].as_array();
            let found = accuracy.and_then(|all| all.iter().find(|one| one["model"] == model));
            found.map_or_else(|| "–".to_owned(), |one| told(&one[key]))
        };
        let advised = summary["advised"].as_str().unwrap_or_default();
        println!(
            "{device:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  {}",
            of(advised, "median_rel"),
            of(advised, "loaded_median_rel"),
            told(&summary["repeat_rel"]),
            told(&summary["max_iops_rel"]),
            of("mm1", "median_rel"),
            of("utilization_law", "median_rel"),
            of("load_dependent", "median_rel"),
            of("mix_capacity", "median_rel"),
            if summary["reached"] == true { "reached" } else { "NOT reached" }
        );
        reached &= summary["reached"] == true;
    }
    Ok(reached)
}
