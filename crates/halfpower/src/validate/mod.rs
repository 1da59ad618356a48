//! `halfpower profile validate`: a profile against loads that are no part of it.
//!
//! What is predicted is printed before any of it is measured, so that nobody, the program included,
//! can fit the one to the other.
//!
//! A profile lies minutes back by then, and a shared device moves in minutes. So right before each
//! visit the level of the device is looked at (see [`crate::drift_probe`]), and what the models say of a
//! device at that level is what they are held to; what they said of the device as profiled stands
//! beside. What visits to a load differ by shows how the device moves only if time lies between
//! them: so all loads are visited, then their largest rates, then all of that again. A simulated
//! device begins anew.

mod summary;

use crate::drift_probe::{DriftProbe, Look};
use crate::failure::{self, Interruption};
use crate::output::{self, Verdict};
use crate::profiles::{area_of, open_again, saved};
use crate::progress::Progress;
use crate::store_args::{NOT_SAVED, StoreArgs, open_store};
use crate::values::nanos;
use anyhow::Context;
use clap::Args;
use model::{DriftFactors, Predictor};
use plan::{Amount, LoadSpec, ValidationCase, validation_cases};
use record::{
    Bytes, Cell, Mix, ModelName, ModelPrediction, Nanos, Offered, Profile, Severity, Trial,
    VALIDATION_SCHEMA, Validation, ValidationTrial, Workload,
};
use session::Display;
use session::{self, Session};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;
use summary::summary;

/// Measured time of a visit on a real target.
const RUNTIME: Nanos = Nanos(8_000_000_000);
/// Requests of a visit in virtual time.
const REQUESTS: f64 = 40_000.0;
/// Part of them that a closed loop needs, before it is parted.
const CLOSED_SHARE: f64 = 0.5;
/// Rounds of visits: to all loads where true, to the largest rates of all where false. These differ
/// from visit to visit by 4 to 6 % on a virtual disk: the mean of five is good to half of a goal of
/// 5 %, and the looks between them mend the profile.
const ROUNDS: [bool; 7] = [true, false, true, false, false, false, false];
/// So many of them on a simulated device, whose visits differ by the loads' own chance alone.
const SIMULATED_ROUNDS: usize = 5;
/// Part of a visit's time that one to a largest rate takes.
const CLOSED_PART: u64 = 2;
/// Part of a visit that is run before it counts.
const RAMP_SHARE: u64 = 10;
/// Seed of simulated validations: another one than that of their profiles.
const SIMULATED_SEED: u64 = 2;
/// `halfpower profile validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Its id, or the beginning of it; "last" is the newest.
    id: String,
    /// Loads that are drawn; each is measured twice.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Measured time of each visit to a load; one to its largest rate takes half
    /// [default: 8s; on a simulated target 40,000 requests].
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
    keeping: StoreArgs,
}

/// Predicts, measures and compares.
pub(crate) fn validate(
    arguments: &ValidateArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Verdict> {
    let profile = saved(&arguments.keeping, &arguments.id)?;
    let area = area_of(&profile)?;
    let write = profile.cells.iter().any(|cell| cell.workload.writes());
    let seed = match (arguments.seed, profile.simulated) {
        (None, true) => SIMULATED_SEED,
        (asked, simulated) => session::seed(asked, simulated),
    };
    let cells = profile.all_cells();
    let predictor = Predictor::of_cells(&cells);
    // The largest rate is that of the deepest queue that the profile knows.
    let deepest = profile.cells.iter().map(|cell| cell.workload.depth).max().unwrap_or(1);
    let mut validation = Run {
        arguments,
        gauge: match profile.simulated {
            true => None,
            false => {
                let seed = workload::derive_seed(seed, u64::MAX);
                DriftProbe::new(&cells, &predictor, write, seed)
            }
        },
        level: None,
        predictor: &predictor,
        now: None,
        cells,
        area,
        seed,
        deepest,
        session: None,
        store: None,
        spent: Nanos(0),
        budget: Nanos(0),
    };
    let mut progress = Progress::new();
    validation.store = open_store(&arguments.keeping, arguments.no_save)?;
    validation.session = Some(open_again(&profile, write, seed, stop, &mut progress)?);
    validation.budget = validation.gauge.as_ref().map_or(Nanos(0), |gauge| gauge.time(Look::Whole));
    let looked = validation.look(Look::Whole, &mut progress);
    progress.clear();
    looked?;
    let cases = validation_cases(seed, arguments.trials as usize, write);
    let mut trials: Vec<Case> = cases.iter().filter_map(|case| validation.foretell(case)).collect();
    validation.budget = validation.whole_time(&trials);
    let told: Vec<ValidationTrial> = trials.iter().map(|case| validation.told(case)).collect();
    let since = validation.gauge.as_ref().map(DriftProbe::since);
    let foretold = output::page(&report::predicted(&told, since.as_ref()));
    if arguments.json {
        output::say(foretold.trim_end());
    } else {
        output::print(&foretold)?;
    }
    let outcome = validation.measure(&mut trials, &mut progress);
    progress.clear();
    outcome?;
    let document =
        validation.document(&profile, trials.into_iter().map(Case::into_trial).collect());
    if let Some(store) = &mut validation.store {
        store.add_document(&document).context(NOT_SAVED)?;
    }
    output::document(arguments.json, &document, || {
        format!("\n{}", output::page(&report::validation(&document)))
    })?;
    Ok(Verdict::of(document.summary.reached != Some(false)))
}

/// A load, and what the models say of it from visit to visit.
struct Case {
    load: LoadSpec,
    trial: ValidationTrial,
    /// By visit that counts, and model.
    foretold_now: Vec<Vec<ModelPrediction>>,
    max_iops_now: Vec<f64>,
}

impl Case {
    fn into_trial(self) -> ValidationTrial {
        let mean = |values: Option<Vec<f64>>| {
            let values = values.filter(|values| !values.is_empty())?;
            Some(values.iter().sum::<f64>() / values.len() as f64)
        };
        let over_visits = |(at, one): (usize, &ModelPrediction)| ModelPrediction {
            model: one.model,
            latency_ns: mean(self.foretold_now.iter().map(|told| told[at].latency_ns).collect()),
        };
        let first = self.foretold_now.first().into_iter().flatten();
        ValidationTrial {
            foretold_now: first.enumerate().map(over_visits).collect(),
            max_iops_now: mean(Some(self.max_iops_now)),
            repeat_rel: distance(&self.trial.measured_ns),
            ..self.trial
        }
    }
}

/// A validation under way.
struct Run<'a> {
    arguments: &'a ValidateArgs,
    /// By the profile.
    predictor: &'a Predictor,
    /// By what the looks say as well.
    now: Option<Predictor>,
    cells: Vec<Cell>,
    area: Bytes,
    seed: u64,
    deepest: u32,
    gauge: Option<DriftProbe>,
    /// The level that was found last.
    level: Option<DriftFactors>,
    session: Option<Session>,
    store: Option<Store>,
    spent: Nanos,
    budget: Nanos,
}

impl Run<'_> {
    /// What the models say of a case, which is a share of what the device does now; `None` where the
    /// profile has nothing of it.
    fn foretell(&self, case: &ValidationCase) -> Option<Case> {
        let mix = case.load.mix();
        let max_iops = self.predictor.max_rate(&mix).ok()?;
        let level = self.level.unwrap_or(DriftFactors::PROFILED);
        let now = self.max_at(level, &mix)?;
        let rate_per_s = (now * case.percent as f64 / 100.0).round().max(1.0);
        let trial = ValidationTrial {
            rate_per_s,
            prediction: self.predictor.predict(&mix, Offered::PoissonPerS(rate_per_s)).ok(),
            foretold: Vec::new(),
            foretold_now: Vec::new(),
            mix,
            measured_ns: Vec::new(),
            measured_p99_ns: Vec::new(),
            repeat_rel: None,
            max_iops,
            max_iops_now: None,
            measured_max_iops: Vec::new(),
            trial_ids: Vec::new(),
            left_out: Vec::new(),
        };
        let foretold = by_all_models(self.predictor, &trial, DriftFactors::PROFILED);
        Some(Case {
            load: case.load.clone(),
            trial: ValidationTrial { foretold, ..trial },
            foretold_now: Vec::new(),
            max_iops_now: Vec::new(),
        })
    }

    fn predictor_now(&self) -> &Predictor {
        self.now.as_ref().unwrap_or(self.predictor)
    }

    /// Largest rate at a level.
    fn max_at(&self, level: DriftFactors, mix: &Mix) -> Option<f64> {
        Some(self.predictor_now().max_rate_at(level, mix).ok()?.value)
    }

    /// A case as the models see it at the level of this moment.
    fn told(&self, case: &Case) -> ValidationTrial {
        let trial = case.trial.clone();
        let Some(level) = self.level else { return trial };
        ValidationTrial {
            foretold_now: by_all_models(self.predictor_now(), &trial, level),
            max_iops_now: self.max_at(level, &trial.mix),
            ..trial
        }
    }

    /// Measures everything, one round after the other.
    fn measure(&mut self, cases: &mut [Case], progress: &mut Progress) -> anyhow::Result<()> {
        for (round, &open) in self.rounds().iter().enumerate() {
            for (at, case) in cases.iter_mut().enumerate() {
                self.look(before(open), progress)?;
                let seed = workload::derive_seed(self.seed, (round * 10_000 + at) as u64) >> 11;
                self.visit(case, open, seed, progress)?;
            }
        }
        Ok(())
    }

    /// Looks at the level of the device, where that can be told.
    fn look(&mut self, look: Look, progress: &mut Progress) -> anyhow::Result<()> {
        let Some(mut gauge) = self.gauge.take() else { return Ok(()) };
        let predictor = self.predictor;
        self.level = gauge
            .look(predictor, look, &mut |workload, seed| self.trial(workload, seed, progress))?;
        self.now = self.level.map(|_| Predictor::of_cells(&gauge.mended(&self.cells)));
        self.gauge = Some(gauge);
        Ok(())
    }

    /// One visit to a load, or to its largest rate.
    fn visit(
        &mut self,
        case: &mut Case,
        open: bool,
        seed: u64,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let trial = &mut case.trial;
        let (amount, rate, part) = if open {
            (Amount::Poisson(trial.rate_per_s as u64), trial.rate_per_s, 1)
        } else {
            (Amount::Depth(self.deepest), trial.max_iops.value / CLOSED_SHARE, CLOSED_PART)
        };
        let session = self.session.as_ref().context("no target is open")?;
        let workload =
            case.load.workload(amount, self.area, session.engine, session.alignment())?;
        let runtime_ns = Nanos(self.time(rate).0 / part);
        let ramp_ns = Nanos(runtime_ns.0 / RAMP_SHARE);
        let workload = Workload { runtime_ns, ramp_ns, ..workload };
        let measured = self.trial(&workload, seed, progress)?;
        trial.trial_ids.push(measured.id.clone());
        if !model::counts(&measured) {
            let reason = why_not(&measured);
            if !trial.left_out.contains(&reason) {
                trial.left_out.push(reason);
            }
        } else if open {
            trial.measured_ns.extend(measured.latency_ns());
            trial.measured_p99_ns.extend(measured.histogram().percentile(0.99));
            case.foretold_now
                .extend(self.level.map(|level| by_all_models(self.predictor_now(), trial, level)));
        } else {
            trial.measured_max_iops.push(measured.iops());
            let now = self.level.and_then(|level| self.max_at(level, &trial.mix));
            case.max_iops_now.extend(now);
        }
        Ok(())
    }

    fn trial(
        &mut self,
        workload: &Workload,
        seed: u64,
        progress: &mut Progress,
    ) -> anyhow::Result<Trial> {
        let session = self.session.as_mut().context("no target is open")?;
        progress.measuring("validation", &plan::describe(workload), self.spent, self.budget);
        let trial = session.trial(workload, seed, &mut |_| ()).map_err(anyhow::Error::from);
        let trial = trial.map_err(|error| match failure::is_interrupted(&error) {
            true => {
                Interruption("the validation was not finished, nothing is kept".to_owned()).into()
            }
            false => error,
        })?;
        self.spent = self.spent.plus(workload.runtime_ns).plus(workload.ramp_ns);
        if let Some(store) = &mut self.store {
            store.add_trial(&trial).context(NOT_SAVED)?;
        }
        Ok(trial)
    }

    /// What all visits to these loads take.
    fn whole_time(&self, cases: &[Case]) -> Nanos {
        let visit = |case: &Case, open: bool| match open {
            true => self.time(case.trial.rate_per_s).0,
            false => self.time(case.trial.max_iops.value / CLOSED_SHARE).0 / CLOSED_PART,
        };
        let all =
            self.rounds().iter().flat_map(|&open| cases.iter().map(move |case| visit(case, open)));
        let loads: u64 = all.sum();
        let looks = self.gauge.as_ref().map_or(0, |gauge| {
            let each: u64 = self.rounds().iter().map(|&open| gauge.time(before(open)).0).sum();
            gauge.time(Look::Whole).0 + each * cases.len() as u64
        });
        Nanos(loads + loads / RAMP_SHARE + looks)
    }

    fn is_simulated(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_simulated)
    }

    fn rounds(&self) -> &'static [bool] {
        if self.is_simulated() { &ROUNDS[..SIMULATED_ROUNDS] } else { &ROUNDS }
    }

    /// Measured time of a visit to a load of this rate.
    fn time(&self, rate_per_s: f64) -> Nanos {
        match (self.arguments.runtime, self.is_simulated()) {
            (Some(asked), _) => asked,
            (None, true) => Nanos((REQUESTS / rate_per_s * 1e9) as u64),
            (None, false) => RUNTIME,
        }
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
            since_profile: self.gauge.as_ref().map(DriftProbe::since),
            findings: Vec::new(),
        }
    }
}

/// Mean response times of a load at a level.
fn by_all_models(
    predictor: &Predictor,
    trial: &ValidationTrial,
    level: DriftFactors,
) -> Vec<ModelPrediction> {
    let offered = Offered::PoissonPerS(trial.rate_per_s);
    let by = |model| predictor.predict_at(level, model, &trial.mix, offered).ok();
    let foretold = |model| ModelPrediction {
        model,
        latency_ns: by(model).map(|prediction| prediction.latency_ns.value),
    };
    ModelName::ALL.map(foretold).into()
}

/// How much is looked at before a visit.
fn before(open: bool) -> Look {
    if open { Look::BeforeOpen } else { Look::BeforeClosed }
}

/// What the first two visits differ by, over their mean.
fn distance(visits: &[f64]) -> Option<f64> {
    let [first, second, ..] = visits else { return None };
    Some((first - second).abs() / f64::midpoint(*first, *second))
}

/// Why a trial does not count.
fn why_not(trial: &Trial) -> String {
    let invalid = trial.findings.iter().find(|finding| finding.severity >= Severity::Invalid);
    invalid.map_or_else(
        || "requests failed, fell short or never completed".to_owned(),
        |finding| finding.claim.clone(),
    )
}
