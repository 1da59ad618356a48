//! `halfpower profile validate`: a profile against loads that are no part of it.
//!
//! What is predicted is printed before anything is measured, so that nobody, the program included,
//! can fit the one to the other.

use crate::failure::{self, Interruption, UsageError};
use crate::keeping::Keeping;
use crate::output::{self, Verdict};
use crate::profiles::saved;
use crate::progress::Progress;
use crate::session::{self, RealTargets, Session};
use crate::values::nanos;
use anyhow::Context;
use clap::Args;
use experiment::{Amount, LoadSpec, ValidationCase, validation_cases};
use model::{LOADED, Predictor};
use record::{
    Bytes, CacheMode, EngineName, Foretold, ModelAccuracy, ModelName, Nanos, Offered, Profile,
    Severity, Trial, VALIDATION_SCHEMA, Validation, ValidationSummary, ValidationTrial, Workload,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;

/// Measured time of a visit on a real target.
const RUNTIME: Nanos = Nanos(8_000_000_000);
/// Requests of a visit in virtual time.
const REQUESTS: f64 = 40_000.0;
/// Part of them that a closed loop needs.
const CLOSED_SHARE: f64 = 0.25;
/// Visits to each load.
const VISITS: usize = 2;
/// Part of a visit that is run before it counts.
const RAMP_SHARE: u64 = 10;
/// Largest request of a draw: a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(128 << 10);
/// Seed of simulated validations: another one than that of their profiles.
const SIMULATED_SEED: u64 = 2;
/// Goals: of a simulated device and of a real one, of its repeatability, and of the largest rate.
const SIMULATED_GOAL: f64 = 0.05;
const REAL_GOAL: f64 = 0.10;
const REPEAT_FACTOR: f64 = 1.25;
const MAX_RATE_GOAL: f64 = 0.05;
/// Fewest loads behind a verdict.
const MIN_LOADS: usize = 4;

/// `halfpower profile validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Its id, or the beginning of it; "last" is the newest.
    id: String,
    /// Loads that are drawn; each is measured twice.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Measured time of each visit [default: 8s; on a simulated target 40,000 requests].
    #[arg(long, value_name = "TIME", value_parser = nanos)]
    runtime: Option<Nanos>,
    /// Seed of the loads [default: from the time; 2 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Do not save the results.
    #[arg(long, help_heading = "Results")]
    no_save: bool,
    #[command(flatten)]
    keeping: Keeping,
}

/// Predicts, measures and compares.
pub(crate) fn validate(
    arguments: &ValidateArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Verdict> {
    let profile = saved(&arguments.keeping, &arguments.id)?;
    let area = profile.cells.first().map(|cell| cell.workload.size_bytes);
    let area = area.ok_or_else(|| UsageError("the profile holds no cells".to_owned()))?;
    let write = profile.cells.iter().any(|cell| cell.workload.writes());
    let seed = match (arguments.seed, profile.simulated) {
        (None, true) => SIMULATED_SEED,
        (asked, simulated) => session::seed(asked, simulated),
    };
    let predictor = Predictor::new(&profile);
    // The largest rate is that of the deepest queue that the profile knows.
    let deepest = profile.cells.iter().map(|cell| cell.workload.depth).max().unwrap_or(1);
    let mut validation = Run {
        arguments,
        predictor,
        area,
        seed,
        deepest,
        session: None,
        store: None,
        spent: Nanos(0),
    };
    let cases = validation_cases(seed, arguments.trials as usize, write);
    let mut trials: Vec<(LoadSpec, ValidationTrial)> =
        cases.iter().filter_map(|case| validation.foretell(case)).collect();
    let told: Vec<ValidationTrial> = trials.iter().map(|(_, trial)| trial.clone()).collect();
    let foretold = report::foretold_text(&told, &output::style());
    if arguments.json {
        output::say(foretold.trim_end());
    } else {
        output::print(&foretold)?;
    }
    let mut progress = Progress::new();
    validation.store = session::open_store(&arguments.keeping, arguments.no_save)?;
    validation.session = Some(open(&profile, area, write, seed, stop, &mut progress)?);
    let outcome = validation.measure(&mut trials, &mut progress);
    progress.clear();
    outcome?;
    let document =
        validation.document(&profile, trials.into_iter().map(|(_, trial)| trial).collect());
    if let Some(store) = &mut validation.store {
        store.add_document(&document).context(session::NOT_SAVED)?;
    }
    output::document(arguments.json, &document, || {
        format!("\n{}", report::validation_text(&document, &output::style()))
    })?;
    Ok(Verdict::of(document.summary.reached != Some(false)))
}

/// The profile's target, ready for loads.
fn open(
    profile: &Profile,
    area: Bytes,
    write: bool,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<Session> {
    if let Some(device) = session::simulated(&profile.target.path)? {
        return Ok(Session::simulated(&device, Some(area), seed, stop));
    }
    let path = Path::new(&profile.target.path);
    let access = host::Access::ReadOnly;
    let mut target = RealTargets::open(&[path], &access, Some(area), LARGEST_REQUEST)?;
    let disk = |target: &record::Target| target.device.as_ref().map(|device| device.name.clone());
    if disk(target.facts()) != disk(&profile.target) {
        let text = format!(
            "{} is on another disk than the one that was profiled; a profile holds for its own",
            profile.target.path
        );
        return Err(UsageError(text).into());
    }
    target.open_mode(CacheMode::Device, write)?;
    let prepared = target.prepare(seed, stop, &mut |done, total| progress.preparing(done, total));
    progress.clear();
    prepared?;
    Ok(target.into_session(EngineName::IoUring, seed, stop))
}

/// A validation under way.
struct Run<'a> {
    arguments: &'a ValidateArgs,
    predictor: Predictor,
    area: Bytes,
    seed: u64,
    deepest: u32,
    session: Option<Session>,
    store: Option<Store>,
    spent: Nanos,
}

impl Run<'_> {
    /// What the models say of a case; `None` where the profile has nothing of it.
    fn foretell(&self, case: &ValidationCase) -> Option<(LoadSpec, ValidationTrial)> {
        let mix = case.load.mix();
        let max_iops = self.predictor.max_rate(&mix).ok()?;
        let rate_per_s = (max_iops.value * case.percent as f64 / 100.0).round().max(1.0);
        let offered = Offered::PoissonPerS(rate_per_s);
        let by = |model| self.predictor.predict_by(model, &mix, offered).ok();
        let foretold = ModelName::ALL.map(|model| Foretold {
            model,
            response_ns: by(model).map(|prediction| prediction.response_ns.value),
        });
        let trial = ValidationTrial {
            rate_per_s,
            prediction: self.predictor.predict(&mix, offered).ok(),
            foretold: foretold.into(),
            mix,
            measured_ns: Vec::new(),
            measured_p99_ns: Vec::new(),
            repeat_rel: None,
            max_iops,
            measured_max_iops: None,
            trial_ids: Vec::new(),
            left_out: Vec::new(),
        };
        Some((case.load.clone(), trial))
    }

    /// Measures each load twice, all of them before any again, then the largest rates.
    fn measure(
        &mut self,
        trials: &mut [(LoadSpec, ValidationTrial)],
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        for visit in 0..=VISITS {
            for (at, (load, trial)) in trials.iter_mut().enumerate() {
                let open = visit < VISITS;
                let (amount, rate) = if open {
                    (Amount::Poisson(trial.rate_per_s as u64), trial.rate_per_s)
                } else {
                    (Amount::Depth(self.deepest), trial.max_iops.value / CLOSED_SHARE)
                };
                let seed = workload::derive_seed(self.seed, (visit * 10_000 + at) as u64) >> 11;
                let measured = self.trial(load, amount, rate, seed, progress)?;
                trial.trial_ids.push(measured.id.clone());
                if !model::counts(&measured) {
                    let reason = why_not(&measured);
                    if !trial.left_out.contains(&reason) {
                        trial.left_out.push(reason);
                    }
                } else if open {
                    trial.measured_ns.extend(mean_ns(&measured));
                    trial.measured_p99_ns.extend(p99_ns(&measured));
                } else {
                    let directions = measured.result.read.iter().chain(&measured.result.write);
                    trial.measured_max_iops = Some(directions.map(|one| one.iops).sum());
                }
            }
        }
        for (_, trial) in trials {
            if let [first, second, ..] = trial.measured_ns[..] {
                trial.repeat_rel = Some((first - second).abs() / f64::midpoint(first, second));
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        load: &LoadSpec,
        amount: Amount,
        rate_per_s: f64,
        seed: u64,
        progress: &mut Progress,
    ) -> anyhow::Result<Trial> {
        let session = self.session.as_mut().context("no target is open")?;
        let engine = session.engine;
        let built = load.workload(amount, self.area, engine, session.alignment());
        let virtual_time = Nanos((REQUESTS / rate_per_s * 1e9) as u64);
        let time = self.arguments.runtime.unwrap_or(match session.is_simulated() {
            true => virtual_time,
            false => RUNTIME,
        });
        let ramp_ns = Nanos(time.0 / RAMP_SHARE);
        let workload = Workload { runtime_ns: time, ramp_ns, ..built? };
        let what = session::describe(&workload);
        let count = self.arguments.trials as u64 * (VISITS as u64 + 1);
        let budget = Nanos(time.plus(ramp_ns).0.saturating_mul(count));
        progress.measuring("validation", &what, self.spent, budget);
        let trial = session.trial(&workload, seed, &mut |_| ());
        let trial = trial.map_err(|error| match failure::is_interrupted(&error) {
            true => {
                Interruption("the validation was not finished, nothing is kept".to_owned()).into()
            }
            false => error,
        })?;
        self.spent = self.spent.plus(time).plus(ramp_ns);
        if let Some(store) = &mut self.store {
            store.add_trial(&trial).context(session::NOT_SAVED)?;
        }
        Ok(trial)
    }

    fn document(&self, profile: &Profile, trials: Vec<ValidationTrial>) -> Validation {
        let (id, time) = self.session.as_ref().map_or_else(
            || (String::new(), None),
            |session| session.identity(&format!("validation {} {}", profile.id, trials.len())),
        );
        Validation {
            schema: VALIDATION_SCHEMA.to_owned(),
            halfpower_version: session::VERSION.to_owned(),
            id,
            time,
            seed: self.seed,
            simulated: profile.simulated,
            profile_id: profile.id.clone(),
            target: profile.target.clone(),
            environment: self.session.as_ref().and_then(|session| session.environment.clone()),
            measured_ns: self.spent,
            summary: summary(self.predictor.advised(), &trials, profile.simulated),
            trials,
            findings: Vec::new(),
        }
    }
}

/// Mean response time of all requests.
fn mean_ns(trial: &Trial) -> Option<f64> {
    let directions = trial.result.read.iter().chain(&trial.result.write);
    let pairs = directions.filter_map(|one| Some((one.ios as f64, one.response_ns.as_ref()?.mean)));
    let (count, sum) =
        pairs.fold((0.0, 0.0), |(all, sum), (ios, mean)| (all + ios, sum + ios * mean));
    (count > 0.0).then(|| sum / count)
}

fn p99_ns(trial: &Trial) -> Option<f64> {
    let directions = trial.result.read.iter().chain(&trial.result.write);
    let histograms = directions.map(|one| &one.histogram);
    let all = histograms.fold(record::HistogramSnapshot::default(), |sum, one| sum.merged(one));
    all.percentile(0.99)
}

/// Why a trial does not count.
fn why_not(trial: &Trial) -> String {
    let invalid = trial.findings.iter().find(|finding| finding.severity >= Severity::Invalid);
    invalid.map_or_else(
        || "requests failed, fell short or never completed".to_owned(),
        |finding| finding.claim.clone(),
    )
}

/// What the loads come to.
fn summary(advised: ModelName, trials: &[ValidationTrial], simulated: bool) -> ValidationSummary {
    let loaded = |trial: &ValidationTrial| {
        trial.rate_per_s / trial.measured_max_iops.unwrap_or(trial.max_iops.value) >= LOADED
    };
    let measured = |trial: &ValidationTrial| {
        let count = trial.measured_ns.len() as f64;
        (count > 0.0).then(|| trial.measured_ns.iter().sum::<f64>() / count)
    };
    let error = |trial: &ValidationTrial, model: ModelName| {
        let foretold = trial.foretold.iter().find(|one| one.model == model)?.response_ns?;
        Some((foretold / measured(trial)? - 1.0).abs())
    };
    let median = |values: Vec<f64>| (!values.is_empty()).then(|| stats::median(values));
    let of_loads = |heavy: bool| trials.iter().filter(move |trial| loaded(trial) == heavy);
    let accuracy: Vec<ModelAccuracy> = ModelName::ALL
        .into_iter()
        .map(|model| {
            let errors = |heavy| of_loads(heavy).filter_map(|trial| error(trial, model)).collect();
            let light: Vec<f64> = errors(false);
            ModelAccuracy {
                model,
                trials: u32::try_from(light.len()).unwrap_or(u32::MAX),
                median_rel: median(light),
                loaded_median_rel: median(errors(true)),
            }
        })
        .collect();
    let repeat = |heavy| median(of_loads(heavy).filter_map(|trial| trial.repeat_rel).collect());
    let repeat_rel: Option<f64> = repeat(false);
    let max_errors = trials
        .iter()
        .filter_map(|trial| Some((trial.max_iops.value / trial.measured_max_iops? - 1.0).abs()));
    let max_iops_rel = median(max_errors.collect());
    let repeatable = REPEAT_FACTOR * repeat_rel.unwrap_or(0.0);
    let goal_rel =
        if simulated { SIMULATED_GOAL.max(repeatable) } else { REAL_GOAL.max(repeatable) };
    let mine = accuracy.iter().find(|one| one.model == advised);
    let enough = mine.filter(|one| one.trials as usize >= MIN_LOADS).and_then(|one| one.median_rel);
    let within: Vec<bool> = trials
        .iter()
        .filter_map(|trial| {
            let interval = &trial.prediction.as_ref()?.response_ns;
            Some((interval.low..=interval.high).contains(&measured(trial)?))
        })
        .collect();
    ValidationSummary {
        advised,
        repeat_rel,
        loaded_repeat_rel: repeat(true),
        max_iops_rel,
        goal_rel,
        max_iops_goal_rel: MAX_RATE_GOAL,
        reached: enough
            .zip(max_iops_rel)
            .map(|(error, max)| error <= goal_rel && max <= MAX_RATE_GOAL),
        within_interval: (!within.is_empty())
            .then(|| within.iter().filter(|inside| **inside).count() as f64 / within.len() as f64),
        accuracy,
    }
}
