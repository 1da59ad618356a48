//! Summarises the loads of a validation and judges them by the goals.

use crate::predict::LOADED;
use record::{AsProfiled, ModelAccuracy, ModelName, ValidationSummary, ValidationTrial};

/// Goals: median error on a simulated device and on a real one, factor of the repeatability, error of the
/// maximum rate.
const SIMULATED_GOAL: f64 = 0.05;
const REAL_GOAL: f64 = 0.10;
const REPEAT_FACTOR: f64 = 1.25;
const MAX_RATE_GOAL: f64 = 0.05;
/// Minimum number of loads for a verdict.
const MIN_LOADS: usize = 4;

/// Difference of the first two visits divided by their mean; `None` with fewer than two.
#[must_use]
pub fn visits_repeat_rel(visits: &[f64]) -> Option<f64> {
    let [first, second, ..] = visits else { return None };
    Some((first - second).abs() / f64::midpoint(*first, *second))
}

/// Summary of these loads.
#[must_use]
pub fn validation_summary(
    advised: ModelName,
    trials: &[ValidationTrial],
    simulated: bool,
) -> ValidationSummary {
    let accuracy: Vec<ModelAccuracy> =
        ModelName::ALL.into_iter().map(|model| accuracy(model, trials)).collect();
    let repeat = |loaded| median(of_loads(trials, loaded).filter_map(|trial| trial.repeat_rel));
    let repeat_rel = repeat(false);
    let max_rel = |told: &dyn Fn(&ValidationTrial) -> f64| {
        median(trials.iter().filter_map(|trial| off(told(trial), trial.largest_per_s()?)))
    };
    let max_iops_rel = max_rel(&ValidationTrial::foretold_per_s);
    let repeatable = REPEAT_FACTOR * repeat_rel.unwrap_or(0.0);
    let goal_rel =
        if simulated { SIMULATED_GOAL.max(repeatable) } else { REAL_GOAL.max(repeatable) };
    let mine = accuracy.iter().find(|one| one.model == advised);
    let enough = mine.is_some_and(|one| one.trials as usize >= MIN_LOADS);
    let reached = |latency: Option<f64>, max: Option<f64>| {
        let both = latency.filter(|_| enough).zip(max);
        both.map(|(latency, max)| latency <= goal_rel && max <= MAX_RATE_GOAL)
    };
    let follows = trials.iter().any(|trial| !trial.foretold_now.is_empty());
    let as_profiled = follows.then(|| {
        let then = |trial: &ValidationTrial| {
            trial.foretold.iter().find(|one| one.model == advised)?.latency_ns
        };
        let latency_rel = median(errors(trials, false, then));
        let max_iops_rel = max_rel(&|trial| trial.max_iops.value);
        AsProfiled { latency_rel, max_iops_rel, reached: reached(latency_rel, max_iops_rel) }
    });
    let within: Vec<bool> = trials.iter().filter_map(|trial| lies_within(trial, advised)).collect();
    ValidationSummary {
        advised,
        repeat_rel,
        loaded_repeat_rel: repeat(true),
        max_iops_rel,
        max_iops_repeat_rel: median(
            trials.iter().filter_map(|trial| visits_repeat_rel(&trial.measured_max_iops)),
        ),
        goal_rel,
        max_iops_goal_rel: MAX_RATE_GOAL,
        reached: reached(mine.and_then(|one| one.median_rel), max_iops_rel),
        as_profiled,
        within_interval: (!within.is_empty())
            .then(|| within.iter().filter(|inside| **inside).count() as f64 / within.len() as f64),
        accuracy,
    }
}

fn accuracy(model: ModelName, trials: &[ValidationTrial]) -> ModelAccuracy {
    let errors = |loaded| errors(trials, loaded, |trial| trial.foretold_ns(model));
    let light: Vec<f64> = errors(false).collect();
    ModelAccuracy {
        model,
        trials: u32::try_from(light.len()).unwrap_or(u32::MAX),
        median_rel: median(light.into_iter()),
        loaded_median_rel: median(errors(true)),
    }
}

/// Errors of the predicted mean latencies of loads.
fn errors(
    trials: &[ValidationTrial],
    loaded: bool,
    told: impl Fn(&ValidationTrial) -> Option<f64>,
) -> impl Iterator<Item = f64> {
    of_loads(trials, loaded).filter_map(move |trial| off(told(trial)?, trial.latency_ns()?))
}

/// The loads below [`LOADED`] of the largest rate, or the others.
fn of_loads(trials: &[ValidationTrial], loaded: bool) -> impl Iterator<Item = &ValidationTrial> {
    trials.iter().filter(move |trial| (trial.share_of_largest() >= LOADED) == loaded)
}

/// Whether the measured mean is in the interval of the prediction, shifted to the updated prediction.
fn lies_within(trial: &ValidationTrial, advised: ModelName) -> Option<bool> {
    let interval = &trial.prediction.as_ref()?.latency_ns;
    let moved = trial.foretold_ns(advised)? / interval.value;
    Some(interval.scaled(moved).includes(trial.latency_ns()?))
}

/// Absolute relative error; `None` if it is not finite.
fn off(told: f64, measured: f64) -> Option<f64> {
    Some((told / measured - 1.0).abs()).filter(|error| error.is_finite())
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| stats::median(values))
}
