//! `halfpower profile validate`: a profile against loads that are no part of it.
//!
//! What is predicted is printed before anything is measured, so that nobody, the program included,
//! can fit the one to the other.
//!
//! A profile lies minutes back by then, and a shared device moves in minutes. What visits to a load
//! differ by shows that only if as much time lies between them: so all loads are visited, then their
//! largest rates, then all of that again. And a few of the profile's own loads are measured again,
//! which parts what the device did from what the models get wrong. A simulated device begins anew.

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
    Arrival, Bytes, CacheMode, Cell, EngineName, Estimate, Foretold, ModelAccuracy, ModelName,
    Nanos, Offered, Profile, Severity, SinceProfile, Trial, VALIDATION_SCHEMA, Validation,
    ValidationSummary, ValidationTrial, Workload,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;

/// Measured time of a visit on a real target.
const RUNTIME: Nanos = Nanos(8_000_000_000);
/// Requests of a visit in virtual time.
const REQUESTS: f64 = 40_000.0;
/// Part of them that a closed loop needs, before it is parted.
const CLOSED_SHARE: f64 = 0.5;
/// Visits to each load.
const VISITS: usize = 2;
/// Part of a visit's time that one to a largest rate takes.
const CLOSED_PART: u64 = 2;
/// Most loads of the profile that are measured again, of open and of closed loops each.
const AGAIN: usize = 12;
/// Visits to each of them in each round.
const AGAIN_VISITS: usize = 2;
/// Shallowest queue of closed loops that are.
const AGAIN_DEPTH: u32 = 64;
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
        again: if profile.simulated { Vec::new() } else { again(&profile, &predictor) },
        predictor,
        area,
        seed,
        deepest,
        session: None,
        store: None,
        spent: Nanos(0),
        budget: Nanos(0),
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
    again: Vec<Again>,
    session: Option<Session>,
    store: Option<Store>,
    spent: Nanos,
    budget: Nanos,
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
            measured_max_iops: Vec::new(),
            trial_ids: Vec::new(),
            left_out: Vec::new(),
        };
        Some((case.load.clone(), trial))
    }

    /// Measures everything twice, all of it before any again.
    fn measure(
        &mut self,
        trials: &mut [(LoadSpec, ValidationTrial)],
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        self.budget = self.whole_time(trials);
        for visit in 0..VISITS {
            for open in [true, false] {
                for (at, (load, trial)) in trials.iter_mut().enumerate() {
                    let round = visit * 2 + usize::from(!open);
                    let seed = workload::derive_seed(self.seed, (round * 10_000 + at) as u64) >> 11;
                    self.visit(load, trial, open, seed, progress)?;
                }
            }
            self.visit_again(visit, progress)?;
        }
        for (_, trial) in trials {
            trial.repeat_rel = distance(&trial.measured_ns);
        }
        Ok(())
    }

    /// One visit to a load, or to its largest rate.
    fn visit(
        &mut self,
        load: &LoadSpec,
        trial: &mut ValidationTrial,
        open: bool,
        seed: u64,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (amount, rate, part) = if open {
            (Amount::Poisson(trial.rate_per_s as u64), trial.rate_per_s, 1)
        } else {
            (Amount::Depth(self.deepest), trial.max_iops.value / CLOSED_SHARE, CLOSED_PART)
        };
        let session = self.session.as_ref().context("no target is open")?;
        let workload = load.workload(amount, self.area, session.engine, session.alignment())?;
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
            trial.measured_ns.extend(measured.response_ns());
            trial.measured_p99_ns.extend(measured.histogram().percentile(0.99));
        } else {
            trial.measured_max_iops.push(measured.iops());
        }
        Ok(())
    }

    /// Some visits to each of the profile's own loads, each as it was made for the profile.
    fn visit_again(&mut self, round: usize, progress: &mut Progress) -> anyhow::Result<()> {
        for visit in 0..AGAIN_VISITS {
            for at in 0..self.again.len() {
                let stream = 2 * VISITS + round * AGAIN_VISITS + visit;
                let seed = workload::derive_seed(self.seed, (stream * 10_000 + at) as u64) >> 11;
                let workload = self.again[at].workload.clone();
                let measured = self.trial(&workload, seed, progress)?;
                let again = &mut self.again[at];
                again.trial_ids.push(measured.id.clone());
                if model::counts(&measured) {
                    again.now.extend(match workload.arrival {
                        Arrival::Closed => Some(measured.iops()),
                        _ => measured.response_ns(),
                    });
                }
            }
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
        progress.measuring("validation", &session::describe(workload), self.spent, self.budget);
        let trial = session.trial(workload, seed, &mut |_| ());
        let trial = trial.map_err(|error| match failure::is_interrupted(&error) {
            true => {
                Interruption("the validation was not finished, nothing is kept".to_owned()).into()
            }
            false => error,
        })?;
        self.spent = self.spent.plus(workload.runtime_ns).plus(workload.ramp_ns);
        if let Some(store) = &mut self.store {
            store.add_trial(&trial).context(session::NOT_SAVED)?;
        }
        Ok(trial)
    }

    /// What all visits to these loads take.
    fn whole_time(&self, trials: &[(LoadSpec, ValidationTrial)]) -> Nanos {
        let open = |(_, trial): &(LoadSpec, ValidationTrial)| self.time(trial.rate_per_s);
        let closed = |(_, trial): &(LoadSpec, ValidationTrial)| {
            Nanos(self.time(trial.max_iops.value / CLOSED_SHARE).0 / CLOSED_PART)
        };
        let loads: u64 = trials.iter().map(|one| open(one).0 + closed(one).0).sum();
        let again = self
            .again
            .iter()
            .map(|one| one.workload.runtime_ns.plus(one.workload.ramp_ns).0 * AGAIN_VISITS as u64);
        Nanos((loads + loads / RAMP_SHARE + again.sum::<u64>()) * VISITS as u64)
    }

    /// Measured time of a visit to a load of this rate.
    fn time(&self, rate_per_s: f64) -> Nanos {
        let simulated = self.session.as_ref().is_some_and(Session::is_simulated);
        match (self.arguments.runtime, simulated) {
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
        let since_profile = (!profile.simulated).then(|| since(&self.again));
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
            summary: summary(
                self.predictor.advised(),
                &trials,
                since_profile.as_ref(),
                profile.simulated,
            ),
            trials,
            since_profile,
            findings: Vec::new(),
        }
    }
}

/// A load of the profile that is measured again.
struct Again {
    /// As it was visited last for the profile, warm-up and length included: a buffer takes more at
    /// first than later.
    workload: Workload,
    /// Median visit of an open loop (which no stall moves), mean rate of a closed one.
    then: f64,
    /// Mean response time or rate by visit.
    now: Vec<f64>,
    trial_ids: Vec<String>,
}

impl Again {
    fn new(cell: &Cell) -> Self {
        let then = match (cell.workload.arrival, &cell.median_visit) {
            (Arrival::Closed, _) => cell.iops.value,
            (_, Some(middle)) => middle.response_ns,
            (_, None) => cell.response_ns.value,
        };
        Self { workload: cell.workload.clone(), then, now: Vec::new(), trial_ids: Vec::new() }
    }

    /// Now over then.
    fn ratio(&self) -> Option<f64> {
        let now = match self.workload.arrival {
            Arrival::Closed => self.now.iter().sum::<f64>() / self.now.len() as f64,
            _ => stats::median(self.now.clone()),
        };
        Some(now / self.then).filter(|ratio| ratio.is_finite())
    }
}

/// Those of a profile: light open loads and deep closed loops, evenly spread over what it has; the
/// loops that write come last, one after the other, as they did for the profile.
fn again(profile: &Profile, predictor: &Predictor) -> Vec<Again> {
    let all = || profile.cells.iter().chain(&profile.mixes);
    let light = |cell: &&Cell| {
        let mix = model::mix_of(&cell.workload);
        let max = mix.and_then(|mix| predictor.max_rate(&mix).ok());
        let rate = cell.workload.rate_iops.filter(|_| cell.workload.arrival == Arrival::Poisson);
        max.zip(rate).is_some_and(|(max, rate)| (rate as f64) < LOADED * max.value)
    };
    let deep = |cell: &&Cell| {
        cell.workload.arrival == Arrival::Closed && cell.workload.depth >= AGAIN_DEPTH
    };
    let mut chosen = spread(all().filter(light));
    let mut closed = spread(all().filter(deep));
    closed.sort_by_key(|cell| cell.workload.writes());
    chosen.extend(closed);
    chosen.into_iter().map(Again::new).collect()
}

/// At most [`AGAIN`] of these, evenly spread.
fn spread<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<&'a Cell> {
    let cells: Vec<&Cell> = cells.collect();
    let count = cells.len().min(AGAIN);
    (0..count).map(|at| cells[at * cells.len() / count]).collect()
}

/// What they come to.
fn since(again: &[Again]) -> SinceProfile {
    let ratio = |closed: bool| {
        let of_loop =
            again.iter().filter(|one| (one.workload.arrival == Arrival::Closed) == closed);
        stats::median_interval(of_loop.filter_map(Again::ratio).collect())
    };
    SinceProfile {
        response_ratio: ratio(false),
        iops_ratio: ratio(true),
        trial_ids: again.iter().flat_map(|one| one.trial_ids.clone()).collect(),
    }
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

/// What the loads come to.
fn summary(
    advised: ModelName,
    trials: &[ValidationTrial],
    since: Option<&SinceProfile>,
    simulated: bool,
) -> ValidationSummary {
    let loaded = |trial: &ValidationTrial| trial.share_of_largest() >= LOADED;
    // `level` is what the device has moved by.
    let error = |trial: &ValidationTrial, model: ModelName, level: f64| {
        let foretold = trial.foretold.iter().find(|one| one.model == model)?.response_ns?;
        Some((level * foretold / trial.response_ns()? - 1.0).abs())
    };
    let median = |values: Vec<f64>| (!values.is_empty()).then(|| stats::median(values));
    let of_loads = |heavy: bool| trials.iter().filter(move |trial| loaded(trial) == heavy);
    let accuracy: Vec<ModelAccuracy> = ModelName::ALL
        .into_iter()
        .map(|model| {
            let errors =
                |heavy| of_loads(heavy).filter_map(|trial| error(trial, model, 1.0)).collect();
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
    let max_rel = |level: f64| {
        let error = |trial: &ValidationTrial| {
            Some((level * trial.max_iops.value / trial.largest_per_s()? - 1.0).abs())
        };
        median(trials.iter().filter_map(error).collect())
    };
    let max_iops_rel = max_rel(1.0);
    let response_rel = |level: f64| {
        median(of_loads(false).filter_map(|trial| error(trial, advised, level)).collect())
    };
    let of_rates = since.and_then(|since| since.iops_ratio);
    let of_responses = since.and_then(|since| since.response_ratio);
    // Beyond what chance explains.
    let moved = |ratio: Option<Estimate>| {
        ratio.filter(|ratio| !(ratio.low..=ratio.high).contains(&1.0)).map(|ratio| ratio.value)
    };
    let level = match (moved(of_responses), moved(of_rates)) {
        (None, None) => None,
        (responses, rates) => Some((responses.unwrap_or(1.0), rates.unwrap_or(1.0))),
    };
    let response_now_rel = level.and_then(|(responses, _)| response_rel(responses));
    let max_iops_now_rel = level.and_then(|(_, rates)| max_rel(rates));
    let repeatable = REPEAT_FACTOR * repeat_rel.unwrap_or(0.0);
    let goal_rel =
        if simulated { SIMULATED_GOAL.max(repeatable) } else { REAL_GOAL.max(repeatable) };
    let mine = accuracy.iter().find(|one| one.model == advised);
    let enough = mine.is_some_and(|one| one.trials as usize >= MIN_LOADS);
    let reached = |response: Option<f64>, max: Option<f64>| {
        let both = response.filter(|_| enough).zip(max);
        both.map(|(response, max)| response <= goal_rel && max <= MAX_RATE_GOAL)
    };
    let within: Vec<bool> = trials
        .iter()
        .filter_map(|trial| {
            let interval = &trial.prediction.as_ref()?.response_ns;
            Some((interval.low..=interval.high).contains(&trial.response_ns()?))
        })
        .collect();
    ValidationSummary {
        advised,
        repeat_rel,
        loaded_repeat_rel: repeat(true),
        max_iops_rel,
        max_iops_repeat_rel: median(
            trials.iter().filter_map(|trial| distance(&trial.measured_max_iops)).collect(),
        ),
        goal_rel,
        max_iops_goal_rel: MAX_RATE_GOAL,
        max_iops_now_rel,
        response_now_rel,
        reached: reached(response_rel(1.0), max_iops_rel),
        reached_but_for_level: level.and_then(|_| reached(response_now_rel, max_iops_now_rel)),
        within_interval: (!within.is_empty())
            .then(|| within.iter().filter(|inside| **inside).count() as f64 / within.len() as f64),
        accuracy,
    }
}
