//! The summary of a validation's loads.

use model::validation_summary as summary;
use record::{Estimate, Mix, ModelName, ModelPrediction, ValidationTrial};

/// A load for which the profile predicted 10 ms and 1,000 requests per second. The prediction right before
/// was `now` times the first and `max_now` times the second, and the measurement was `measured` times
/// these.
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
    // The device now takes 1.5 times as long and has 0.8 times the maximum rate, and the probe found that.
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
    // The goal of a simulated device is stricter.
    let simulated = summary(ModelName::Calibrated, &trials, true);
    assert_eq!(simulated.reached, Some(false));
    // Loads near the maximum rate are separate, and few loads give no verdict.
    let heavy: Vec<ValidationTrial> =
        (0..6).map(|at| load(None, (3.0, 1.0), if at < 3 { 0.4 } else { 0.9 })).collect();
    let few = summary(ModelName::Calibrated, &heavy, false);
    assert_eq!(few.reached, None);
    let mine = few.accuracy.iter().find(|one| one.model == ModelName::Calibrated).unwrap();
    assert_eq!(mine.trials, 3);
    close(mine.loaded_median_rel, 2.0 / 3.0);
}
