//! What the loads of a validation come to, and what was to be reached.

use super::distance;
use model::LOADED;
use record::{AsProfiled, ModelAccuracy, ModelName, ValidationSummary, ValidationTrial};

/// Goals: of a simulated device and of a real one, of its repeatability, and of the largest rate.
const SIMULATED_GOAL: f64 = 0.05;
const REAL_GOAL: f64 = 0.10;
const REPEAT_FACTOR: f64 = 1.25;
const MAX_RATE_GOAL: f64 = 0.05;
/// Fewest loads behind a verdict.
const MIN_LOADS: usize = 4;

/// What these loads come to.
pub(super) fn summary(
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
            trials.iter().filter_map(|trial| distance(&trial.measured_max_iops)),
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

/// Errors of a model.
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

/// Errors of what was told of the mean response times of loads.
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

/// Whether the measured mean lies within the interval of the prediction, which moves with it.
fn lies_within(trial: &ValidationTrial, advised: ModelName) -> Option<bool> {
    let interval = &trial.prediction.as_ref()?.latency_ns;
    let moved = trial.foretold_ns(advised)? / interval.value;
    Some((interval.low * moved..=interval.high * moved).contains(&trial.latency_ns()?))
}

/// Absolute relative error; `None` where there is none.
fn off(told: f64, measured: f64) -> Option<f64> {
    Some((told / measured - 1.0).abs()).filter(|error| error.is_finite())
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| stats::median(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Estimate, Mix, ModelPrediction};

    /// A load of which 10 ms and 1,000 requests per second were foretold of the device as profiled,
    /// `now` times the first and `max_now` times the second right before, and that was measured at
    /// `measured` times these.
    fn load(now: Option<(f64, f64)>, measured: (f64, f64), share: f64) -> ValidationTrial {
        let told = |factor: f64| {
            vec![ModelPrediction { model: ModelName::Calibrated, latency_ns: Some(1e7 * factor) }]
        };
        ValidationTrial {
            mix: Mix::default(),
            rate_per_s: share * 1e3 * measured.1,
            prediction: None,
            foretold: told(1.0),
            foretold_now: now.map_or_else(Vec::new, |(latency, _)| told(latency)),
            measured_ns: vec![1e7 * measured.0 * 0.99, 1e7 * measured.0 * 1.01],
            measured_p99_ns: Vec::new(),
            repeat_rel: Some(0.02),
            max_iops: Estimate::symmetric(1e3, 10.0, 3),
            max_iops_now: now.map(|(_, max)| 1e3 * max),
            measured_max_iops: vec![1e3 * measured.1; 3],
            trial_ids: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn predictions_that_follow_the_device_are_held_to_and_those_that_do_not_stand_beside() {
        // It takes 1.5 times as long as then, and does 0.8 times as much; that was seen.
        let trials: Vec<ValidationTrial> =
            (0..6).map(|_| load(Some((1.4, 0.82)), (1.5, 0.8), 0.4)).collect();
        let summary = summary(ModelName::Calibrated, &trials, false);
        let mine = &summary.accuracy.iter().find(|one| one.model == ModelName::Calibrated).unwrap();
        close(mine.median_rel, 1.0 - 1.4 / 1.5);
        assert_eq!(mine.trials, 6);
        close(summary.max_iops_rel, 0.025);
        close(summary.max_iops_repeat_rel, 0.0);
        assert_eq!(summary.reached, Some(true));
        let then = summary.as_profiled.unwrap();
        close(then.latency_rel, 1.0 - 1.0 / 1.5);
        close(then.max_iops_rel, 0.25);
        assert_eq!(then.reached, Some(false));
    }

    #[test]
    fn where_no_level_was_seen_the_device_as_profiled_is_what_counts() {
        let trials: Vec<ValidationTrial> = (0..6).map(|_| load(None, (1.08, 1.02), 0.4)).collect();
        let real = summary(ModelName::Calibrated, &trials, false);
        assert_eq!((real.reached, real.as_profiled), (Some(true), None));
        // Of a simulated device more is asked.
        let simulated = summary(ModelName::Calibrated, &trials, true);
        assert_eq!(simulated.reached, Some(false));
        // Loads near the largest rate are told apart, and few loads are no verdict.
        let heavy: Vec<ValidationTrial> =
            (0..6).map(|at| load(None, (3.0, 1.0), if at < 3 { 0.4 } else { 0.9 })).collect();
        let few = summary(ModelName::Calibrated, &heavy, false);
        assert_eq!(few.reached, None);
        let mine = few.accuracy.iter().find(|one| one.model == ModelName::Calibrated).unwrap();
        assert_eq!(mine.trials, 3);
        close(mine.loaded_median_rel, 2.0 / 3.0);
    }
}
