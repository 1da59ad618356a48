//! Compares predictions with measurements for the whole catalogue of simulated devices.
//!
//! For each device, the release binary makes a profile (`check --for-diagnosis`) and validates it as a user
//! would, with a separate database. Time is virtual, so the figures of a seed are the same on every machine;
//! `--seed` draws other services, mixes and loads. The column "repeat" is the median difference between two
//! visits to the same light loads. Two devices are omitted: `faulty`, whose trials do not count, and
//! `drifting`, which is never steady. `--only` accepts any device, including a real one (its profile is made
//! with `--budget`).

use crate::arguments::Arguments;
use crate::{child, place};
use anyhow::{Context, Result};
use record::{ModelName, Validation};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::Store;

/// Every kind of device in the catalogue.
const DEVICES: &str = "mm1 md1 mg1 mmc mdc capped cloud jittery st15150w st34371w st15150n atlas10k \
                       fireball friedman10k sata-ssd nvme-ssd st15150w,disks=4,raid=0,chunk=64k \
                       atlas10k,disks=2,raid=1 atlas10k,disks=4,raid=5";
/// Default number of loads per device.
const TRIALS: u32 = 24;

/// Flags that replace defaults: one device instead of all, loads per device, the seed of profiles and loads,
/// the budget of a profile as in `check`, the binary instead of the release build, and the folder of
/// databases (existing ones are reused).
pub(crate) const VALUES: [&str; 6] =
    ["--only", "--trials", "--seed", "--budget", "--binary", "--databases"];

/// Prints a line per device; returns whether all reach their goals.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let temporary = tempfile::tempdir()?;
    let folder: PathBuf = flags.value("--databases")?.unwrap_or(temporary.path().to_owned());
    println!(
        "{:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  goal",
        "device", "<70 %", "≥70 %", "repeat", "max", "M/M/1", "U law", "l-dep", "mix"
    );
    let mut all_reached = true;
    let only: Option<String> = flags.value("--only")?;
    let all_devices = || DEVICES.split_whitespace().collect();
    let devices = only.as_deref().map_or_else(all_devices, |device| vec![device]);
    for (at, device) in devices.into_iter().enumerate() {
        let found = validated(device, &folder.join(format!("{at}.db")), flags)?;
        print_line(device, &found);
        all_reached &= found.summary.reached == Some(true);
    }
    Ok(all_reached)
}

/// The validation from the database, which is created if it is missing.
fn validated(device: &str, database: &Path, flags: &Arguments) -> Result<Validation> {
    if !database.exists() {
        measure(device, database, flags)?;
    }
    let store = Store::open_existing(database)?;
    let saved = store.list::<Validation>()?;
    let row = saved.first().context("no validation was saved")?;
    Ok(store.document(&row.id)?)
}

/// Makes a profile and validates it.
fn measure(device: &str, database: &Path, flags: &Arguments) -> Result<()> {
    let binary = place::binary(flags.value("--binary")?, false)?;
    let target = if device.starts_with('/') { device.to_owned() } else { format!("sim:{device}") };
    let run = |words: &[&str]| {
        child::output(Command::new(&binary).args(words).arg("--db").arg(database), &[0, 1])
    };
    let (seed, budget) = (flags.value::<u64>("--seed")?, flags.value::<String>("--budget")?);
    let seed = seed.map(|seed| seed.to_string());
    let seeded: Vec<&str> = seed.iter().flat_map(|seed| ["--seed", seed]).collect();
    let budget: Vec<&str> = budget.iter().flat_map(|time| ["--budget", time]).collect();
    let trials = flags.value("--trials")?.unwrap_or(TRIALS).to_string();
    run(&[&["check", &target, "--for-diagnosis"][..], &budget, &seeded].concat())?;
    run(&[&["show", "validate", "last", "--trials", &trials][..], &seeded].concat()).map(drop)
}

fn share(value: Option<f64>) -> String {
    value
        .filter(|share| share.is_finite())
        .map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn print_line(device: &str, found: &Validation) {
    let summary = &found.summary;
    let of = |model: ModelName| summary.accuracy.iter().find(|one| one.model == model);
    let light = |model| share(of(model).and_then(|one| one.median_rel));
    println!(
        "{device:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  {}",
        light(summary.advised),
        share(of(summary.advised).and_then(|one| one.loaded_median_rel)),
        share(summary.repeat_rel),
        share(summary.max_iops_rel),
        light(ModelName::Mm1),
        light(ModelName::UtilizationLaw),
        light(ModelName::LoadDependent),
        light(ModelName::MixCapacity),
        if summary.reached == Some(true) { "reached" } else { "NOT reached" }
    );
}
