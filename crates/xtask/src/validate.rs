//! Predictions against measurements over the whole catalogue of simulated devices.
//!
//! For each device the release binary makes a profile (`check --for-diagnosis`) and validates it,
//! as a user would, with a database of its own. Virtual time: the figures of a seed are the same on
//! every machine; `--seed` draws other services, mixes and loads. The column "repeat" is the median
//! difference of two visits to the same light loads. Left out are `faulty`, of whose trials none
//! counts, and `drifting`, which never holds still; `--only` takes any device, a real one included
//! (its profile is made with `--budget`).
//!
//! `--without PART` (or `all`) also predicts the same loads without a part of the predictor, paired
//! by device: a part that nothing misses is no part. Drift factors, and the share of a latency that
//! device counters see, can only be judged on a real device.

use crate::arguments::Arguments;
use crate::{child, place};
use anyhow::{Context, Result, bail};
use model::{LOADED, Part, Predictor};
use record::{Cell, Estimate, ModelName, Offered, Profile, Trial, Validation, ValidationTrial};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::Store;

/// Every kind of the catalogue.
const DEVICES: &str = "mm1 md1 mg1 mmc mdc capped cloud jittery st15150w st34371w st15150n atlas10k \
                       fireball friedman10k sata-ssd nvme-ssd st15150w,disks=4,raid=0,chunk=64k \
                       atlas10k,disks=2,raid=1 atlas10k,disks=4,raid=5";
/// Loads per device, unless told otherwise.
const TRIALS: u32 = 24;

/// Each in place of what is done by itself: one device in place of all, loads per device, the seed
/// of profiles and loads, the budget of a profile as `check` takes it, the program in place of the
/// release build, where databases are kept (those that are there are used again), and a part of the
/// predictor to leave out, or `all` of them in turn.
pub(crate) const VALUES: [&str; 7] =
    ["--only", "--trials", "--seed", "--budget", "--binary", "--databases", "--without"];

/// A profile and the loads that it was held against.
struct Validated {
    cells: Vec<Cell>,
    validation: Validation,
    /// Mean latency of each load by the device's counters, nanoseconds.
    counted_ns: Vec<Option<f64>>,
}

/// Prints a line per device; whether all reach their goals.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let parts = flags.value::<String>("--without")?.map_or(Ok(Vec::new()), |it| parts(&it))?;
    let temporary = tempfile::tempdir()?;
    let folder: PathBuf = flags.value("--databases")?.unwrap_or(temporary.path().to_owned());
    println!(
        "{:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  goal",
        "device", "<70 %", "≥70 %", "repeat", "max", "M/M/1", "U law", "l-dep", "mix"
    );
    let mut all = Vec::new();
    let only: Option<String> = flags.value("--only")?;
    let all_devices = || DEVICES.split_whitespace().collect();
    let devices = only.as_deref().map_or_else(all_devices, |device| vec![device]);
    for (at, device) in devices.into_iter().enumerate() {
        let found = validated(device, &folder.join(format!("{at}.db")), flags)?;
        print_line(device, &found.validation);
        all.push(found);
    }
    if !parts.is_empty() {
        compare(&all, &parts);
    }
    Ok(all.iter().all(|one| one.validation.summary.reached == Some(true)))
}

/// The profile and its validation out of the database, which is made where it is not there.
fn validated(device: &str, database: &Path, flags: &Arguments) -> Result<Validated> {
    if !database.exists() {
        measure(device, database, flags)?;
    }
    let store = Store::open_existing(database)?;
    let saved = store.list::<Validation>()?;
    let row = saved.first().context("no validation was saved")?;
    let validation: Validation = store.document(&row.id)?;
    let counted = |load: &ValidationTrial| -> Result<Option<f64>> {
        let trials: Vec<Trial> =
            load.trial_ids.iter().map(|id| store.document(id)).collect::<Result<_, _>>()?;
        let open: Vec<Trial> =
            trials.into_iter().filter(|trial| trial.workload.rate_iops.is_some()).collect();
        let cells = model::aggregate(&open, 1.0);
        Ok(cells.first().and_then(|cell| Some(cell.device_share.value()? * cell.latency_ns.value)))
    };
    let counted_ns = validation.trials.iter().map(counted).collect::<Result<_>>()?;
    let cells = store.document::<Profile>(&validation.profile_id)?.all_cells();
    Ok(Validated { cells, validation, counted_ns })
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum LeftOut {
    Nothing,
    Part(Part),
    DriftFactors,
    DeviceTimeShare,
}

impl LeftOut {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Part(part) => part.name(),
            Self::DriftFactors => "drift-factors",
            Self::DeviceTimeShare => "device-time-share",
        }
    }
}

fn parts(asked: &str) -> Result<Vec<LeftOut>> {
    let parts = Part::ALL.into_iter().map(LeftOut::Part);
    let all: Vec<LeftOut> =
        parts.chain([LeftOut::DriftFactors, LeftOut::DeviceTimeShare]).collect();
    let mut chosen = all.clone();
    chosen.retain(|part| asked == "all" || asked == part.name());
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|part| part.name()).collect();
        bail!("--without {asked}: no such part; use all or one of {}", names.join(", "));
    }
    Ok(chosen)
}

/// Absolute relative errors of one device's loads: of latencies below 70 % of the largest rate, of
/// those above, and of largest rates.
type Errors = [Vec<f64>; 3];
const LIGHT: usize = 0;
const HEAVY: usize = 1;
const MAX: usize = 2;

fn errors(one: &Validated, left_out: LeftOut, by_counters: bool) -> Errors {
    let part = match left_out {
        LeftOut::Part(part) => Some(part),
        _ => None,
    };
    let predictor = Predictor::without(&one.cells, part);
    let drift = |moved: f64| if left_out == LeftOut::DriftFactors { 1.0 } else { moved };
    let mut errors = Errors::default();
    for (load, counted) in one.validation.trials.iter().zip(&one.counted_ns) {
        // How far the device had moved since its profile, by the looks right before the load.
        let model = ModelName::Calibrated;
        let then =
            load.foretold.iter().find(|one| one.model == model).and_then(|one| one.latency_ns);
        let moved = load.foretold_ns(model).zip(then).map_or(1.0, |(now, then)| now / then);
        let offered = Offered::PoissonPerS(load.rate_per_s);
        let measured = if by_counters { *counted } else { load.latency_ns() };
        if let (Ok(predicted), Some(measured)) = (predictor.predict(&load.mix, offered), measured) {
            let predicted = if by_counters && left_out != LeftOut::DeviceTimeShare {
                predictor.counted(predicted)
            } else {
                predicted
            };
            let off = (predicted.latency_ns.value * drift(moved) / measured - 1.0).abs();
            errors[if load.share_of_largest() >= LOADED { HEAVY } else { LIGHT }].push(off);
        }
        if let (Ok(max), Some(measured)) = (predictor.max_rate(&load.mix), load.largest_per_s()) {
            let moved = drift(load.foretold_per_s() / load.max_iops.value);
            errors[MAX].push((max.value * moved / measured - 1.0).abs());
        }
    }
    errors
}

/// Median and ninth decile over devices of the devices' medians, with a part and without it, and
/// what a device's median rises by without it.
fn compare(all: &[Validated], parts: &[LeftOut]) {
    println!(
        "\n{:18} {:>16} {:>16} {:>16} {:>16}  median rises without it by (devices worse, better)",
        "without", "<70 % median", "<70 % p90", "≥70 % median", "largest rate"
    );
    let real = all.iter().any(|one| one.counted_ns.iter().any(Option::is_some));
    for &part in parts {
        if matches!(part, LeftOut::DriftFactors | LeftOut::DeviceTimeShare) && !real {
            continue;
        }
        let by_counters = part == LeftOut::DeviceTimeShare;
        // The medians of each device, with the part and without it.
        let of = |left_out, kind: usize| -> Vec<f64> {
            let errors = all.iter().map(|one| errors(one, left_out, by_counters));
            errors.map(|mut errors| stats::median(std::mem::take(&mut errors[kind]))).collect()
        };
        let both = |kind: usize, over: fn(Vec<f64>) -> f64| {
            let value = |left_out| {
                let finite = of(left_out, kind).into_iter().filter(|it| it.is_finite());
                share(Some(over(finite.collect())))
            };
            format!("{} → {}", value(LeftOut::Nothing), value(part))
        };
        let (with, without) = (of(LeftOut::Nothing, LIGHT), of(part, LIGHT));
        let rises: Vec<f64> = without.iter().zip(with).map(|(one, with)| one - with).collect();
        let mean =
            stats::visits_mean(&rises).unwrap_or_else(|| Estimate::symmetric(rises[0], 0.0, 1));
        let count = |of: fn(f64) -> bool| rises.iter().filter(|rise| of(**rise)).count();
        println!(
            "{:18} {:>16} {:>16} {:>16} {:>16}  {:+.2} ± {:.2} points ({}, {})",
            part.name(),
            both(LIGHT, stats::median),
            both(LIGHT, ninth_decile),
            both(HEAVY, stats::median),
            both(MAX, stats::median),
            mean.value * 100.0,
            mean.half_width() * 100.0,
            count(|rise| rise > 0.001),
            count(|rise| rise < -0.001)
        );
    }
}

fn ninth_decile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * 0.9).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
