//! Measures the error of each model on open-loop trials that it was not fitted to. The calibrated model is
//! fitted ten times, each time without every tenth trial. The order of trials is the profile's, in which
//! classes and loads alternate.
//!
//! Another model is ranked before the calibrated one only if it is nearer to more trials than expected by
//! chance (sign test). The calibrated one combines the others and the residuals of trials. A median over
//! short trials, which miss most stalls, favours models without stalls. Over 23 validations of profiles of
//! a shared disk, the model with the smallest median reached the goal 13 times, the calibrated model 15
//! times.

use super::Predictor;
use super::open::{OpenLoad, OpenTable};
use record::{ModelAccuracy, ModelName, NORMAL_95, Offered};
use stats::Ordered;

/// Single-server models are displayed, never used for advice: on a device that works in parallel they are
/// wrong by construction, and on others the load-dependent one is the same.
pub(super) const OF_ONE_SERVER: [ModelName; 3] =
    [ModelName::UtilizationLaw, ModelName::Mm1, ModelName::Mg1];
/// Parts into which the trials are split.
const PARTS: usize = 10;
/// Above this share of saturation, the error of a prediction depends on the error of the maximum rate.
pub const LOADED: f64 = 0.7;
/// Minimum number of trials for an interval or a choice.
const MIN_TRIALS: usize = 4;
/// Standard deviations by which the count of nearer trials must exceed half of all, for another model to
/// rank before the calibrated one: 5 % by chance.
const NEARER: f64 = 1.64;
/// No percentile is predicted if its median error exceeds this.
const P99_ERROR_MAX: f64 = 0.25;

/// An open-loop trial, with the predictions of models fitted without it.
#[derive(Clone, Debug)]
pub(super) struct OpenTrial {
    /// Rate divided by the predicted maximum rate.
    pub(super) saturation: f64,
    /// Measured mean latency.
    pub(super) latency_ns: f64,
    /// The same, with the device's stalls spread evenly over the profile.
    pub(super) smoothed_ns: f64,
    /// Predicted mean latencies.
    pub(super) predicted: Vec<(ModelName, f64)>,
    /// Predicted over measured 99th percentile, if both are known.
    pub(super) p99_ratio: Option<f64>,
}

/// Errors of the models, best first, and the trials.
pub(super) fn held_out(
    predictor: &Predictor,
    open: &[OpenLoad<'_>],
) -> (Vec<ModelAccuracy>, Vec<OpenTrial>) {
    if predictor.open.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut trials = Vec::new();
    for part in 0..PARTS.min(open.len()) {
        let others: Vec<OpenLoad<'_>> = open
            .iter()
            .enumerate()
            .filter(|(at, _)| at % PARTS != part)
            .map(|(_, one)| one.clone())
            .collect();
        let like = Some(&predictor.open);
        let others = OpenTable::new(&predictor.capacity, &others, like);
        let without = Predictor { open: others, ..predictor.clone() };
        trials.extend(open.iter().skip(part).step_by(PARTS).filter_map(|one| trial(&without, one)));
    }
    let mut scored: Vec<(f64, ModelAccuracy)> =
        ModelName::ALL.into_iter().filter_map(|model| scored(model, &trials)).collect();
    // A stable sort: of equal models, the simpler one comes first.
    scored.sort_by_cached_key(|one| Ordered(one.0));
    let mut errors: Vec<ModelAccuracy> = scored.into_iter().map(|(_, error)| error).collect();
    let calibrated = errors.iter().position(|error| error.model == ModelName::Calibrated);
    if let (Some(at), Some(first)) = (calibrated, best(errors.iter().map(|error| error.model)))
        && !is_nearer(&trials, first, ModelName::Calibrated)
    {
        errors[..=at].rotate_right(1);
    }
    (errors, trials)
}

/// Whether a model is nearer than another to more trials than expected by chance.
fn is_nearer(trials: &[OpenTrial], model: ModelName, other: ModelName) -> bool {
    let (mut nearer, mut told) = (0.0, 0.0);
    for trial in trials.iter().filter(|trial| trial.saturation < 1.0) {
        let off = |model| Some((trial.predicted_ns(model)? - trial.smoothed_ns).abs());
        let Some((model, other)) = off(model).zip(off(other)) else { continue };
        if model.to_bits() != other.to_bits() {
            told += 1.0;
            nearer += f64::from(u8::from(model < other));
        }
    }
    // If the models are equally good, the simpler one.
    nearer - told / 2.0 >= NEARER * libm::sqrt(told) / 2.0
}

fn trial(predictor: &Predictor, one: &OpenLoad<'_>) -> Option<OpenTrial> {
    let max = predictor.max_rate(&one.mix).ok()?.value;
    let saturation = one.rate_per_s / max;
    let offered = Offered::PoissonPerS(one.rate_per_s);
    let predicted: Vec<(ModelName, f64)> = ModelName::ALL
        .into_iter()
        .filter_map(|model| Some((model, predictor.means(model, &one.mix, offered).ok()?.latency)))
        .collect();
    let p99 = predictor
        .open_latencies(&one.mix, saturation)
        .and_then(|it| it.percentile(0.99))
        .zip(one.cell.histogram.percentile(0.99));
    Some(OpenTrial {
        saturation,
        latency_ns: one.cell.latency_ns.value,
        smoothed_ns: one.latency_ns,
        predicted,
        p99_ratio: p99.map(|(predicted, measured)| predicted / measured),
    })
}

impl OpenTrial {
    fn predicted_ns(&self, model: ModelName) -> Option<f64> {
        Some(self.predicted.iter().find(|(name, _)| *name == model)?.1)
    }
}

/// The score by which models are ranked, and the errors of a model. The score is the median over all trials
/// of the error times the distance to saturation, because an error of the capacity affects the queue by
/// that factor. It uses trials with the device's stalls spread evenly, because stalls do not indicate the
/// quality of a model.
fn scored(model: ModelName, trials: &[OpenTrial]) -> Option<(f64, ModelAccuracy)> {
    let off = |trial: &OpenTrial, measured_ns: f64| {
        Some((trial.predicted_ns(model)? / measured_ns - 1.0).abs())
    };
    let of = |loaded: bool| -> Vec<f64> {
        let of_load = trials.iter().filter(|trial| (trial.saturation >= LOADED) == loaded);
        of_load.filter_map(|trial| off(trial, trial.latency_ns)).collect()
    };
    let light = of(false);
    // At saturation a queue is not informative, and some models give no prediction.
    let below = trials.iter().filter(|trial| trial.saturation < 1.0);
    let scored =
        below.filter_map(|trial| Some(off(trial, trial.smoothed_ns)? * (1.0 - trial.saturation)));
    let median = |values: Vec<f64>| Some(stats::median(values)).filter(|error| error.is_finite());
    let accuracy = ModelAccuracy {
        model,
        trials: light.len() as u32,
        median_rel: median(light),
        loaded_median_rel: median(of(true)),
    };
    (accuracy.trials >= MIN_TRIALS as u32).then(|| (stats::median(scored.collect()), accuracy))
}

/// The best of the models, which are sorted by rank.
pub(super) fn best(mut ranked: impl Iterator<Item = ModelName>) -> Option<ModelName> {
    ranked.find(|model| !OF_ONE_SERVER.contains(model))
}

/// Root mean square of the logarithms of predicted over measured latency, for loads similar to this one.
pub(super) fn rms_near(trials: &[OpenTrial], model: ModelName, saturation: f64) -> Option<f64> {
    let loaded = saturation >= LOADED;
    let like = trials.iter().filter(|trial| (trial.saturation >= LOADED) == loaded);
    rms(like.filter_map(|trial| Some(trial.predicted_ns(model)? / trial.latency_ns)))
}

/// The same for 99th percentiles; `None` if their error is too large.
pub(super) fn rms_p99(trials: &[OpenTrial]) -> Option<f64> {
    let ratios: Vec<f64> = trials.iter().filter_map(|trial| trial.p99_ratio).collect();
    let off = stats::median(ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect());
    (off <= P99_ERROR_MAX).then(|| rms(ratios.into_iter())).flatten().map(|rms| NORMAL_95 * rms)
}

fn rms(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let squares: Vec<f64> = ratios.map(|ratio| libm::log(ratio.max(1e-6)).powi(2)).collect();
    let enough = squares.len() >= MIN_TRIALS;
    enough.then(|| libm::sqrt(squares.iter().sum::<f64>() / squares.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty trials of 100 ns. The simple model is nearer in `nearer` of them.
    fn trials(nearer: usize) -> Vec<OpenTrial> {
        let trial = |at: usize| {
            let simple = if at < nearer { 101.0 } else { 60.0 };
            OpenTrial {
                saturation: 0.5,
                latency_ns: 100.0,
                smoothed_ns: 100.0,
                predicted: vec![(ModelName::LoadDependent, simple), (ModelName::Calibrated, 120.0)],
                p99_ratio: None,
            }
        };
        (0..40).map(trial).collect()
    }

    #[test]
    fn a_simpler_model_is_preferred_only_where_that_is_no_chance() {
        let nearer =
            |count| is_nearer(&trials(count), ModelName::LoadDependent, ModelName::Calibrated);
        // 20 of 40 with a standard deviation of 3.16.
        assert!(!nearer(25) && nearer(26) && nearer(40));
        assert!(is_nearer(&trials(25), ModelName::Calibrated, ModelName::Calibrated));
        // Trials at saturation do not count.
        let full = trials(40).into_iter().map(|one| OpenTrial { saturation: 1.0, ..one });
        let two = trials(25).into_iter().chain(full).collect::<Vec<_>>();
        assert!(!is_nearer(&two, ModelName::LoadDependent, ModelName::Calibrated));
    }
}
