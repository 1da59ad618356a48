//! What `profile validate` says of the models, and of the device apart from them.

use crate::common::target;
use halfpower_report::{Style, validation_text};
use record::{
    Estimate, ModelAccuracy, ModelName, Nanos, SinceProfile, VALIDATION_SCHEMA, Validation,
    ValidationSummary,
};

fn between(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high, se: (high - low) / 2.0 / 1.96, n: 12 }
}

fn validation(since: Option<SinceProfile>, reached: bool, but_for: Option<bool>) -> Validation {
    let accuracy = ModelAccuracy {
        model: ModelName::Calibrated,
        median_rel: Some(0.21),
        loaded_median_rel: None,
        trials: 8,
    };
    Validation {
        schema: VALIDATION_SCHEMA.to_owned(),
        halfpower_version: "0.0.0".to_owned(),
        id: "validation".to_owned(),
        time: None,
        seed: 1,
        simulated: false,
        profile_id: "profile".to_owned(),
        target: target(None),
        environment: None,
        measured_ns: Nanos(0),
        trials: Vec::new(),
        since_profile: since,
        summary: ValidationSummary {
            advised: ModelName::Calibrated,
            accuracy: vec![accuracy],
            repeat_rel: Some(0.05),
            loaded_repeat_rel: None,
            max_iops_rel: Some(0.085),
            max_iops_now_rel: but_for.map(|_| 0.034),
            response_now_rel: but_for.map(|_| 0.09),
            max_iops_repeat_rel: Some(0.048),
            goal_rel: 0.1,
            max_iops_goal_rel: 0.05,
            reached: Some(reached),
            reached_but_for_level: but_for,
            within_interval: None,
        },
        findings: Vec::new(),
    }
}

/// The text as one line, so that its breaks do not matter.
fn text(validation: &Validation) -> String {
    let style = Style::default();
    validation_text(validation, &style).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn since(rates: Option<Estimate>) -> SinceProfile {
    SinceProfile {
        response_ratio: Some(between(1.02, 0.86, 1.3)),
        iops_ratio: rates,
        trial_ids: Vec::new(),
    }
}

#[test]
fn a_device_that_moved_is_told_apart_from_models_that_are_wrong() {
    let moved = Some(since(Some(between(0.924, 0.87, 0.959))));
    let found = text(&validation(moved.clone(), false, Some(true)));
    assert!(found.contains("largest rates x 0.924 (0.870 to 0.959)"), "{found}");
    assert!(found.contains("with the device as it is now the errors would be 9.0 % and 3.4 %"));
    assert!(found.contains("NOT reached: the device itself has moved"), "{found}");
    let both = text(&validation(moved, false, Some(false)));
    assert!(both.contains("NOT reached, nor would it be with the device as it is now"), "{both}");
}

#[test]
fn a_device_that_stayed_excuses_nothing() {
    let stayed = Some(since(Some(between(0.99, 0.95, 1.03))));
    let found = text(&validation(stayed, false, None));
    assert!(found.contains("no more than chance explains"), "{found}");
    assert!(found.contains("goal NOT reached Models"), "{found}");
    let few = text(&validation(Some(since(None)), true, None));
    assert!(few.contains("largest rates not told by so few"), "{few}");
    assert!(few.contains("goal reached"), "{few}");
    // A simulated device begins anew.
    assert!(!text(&validation(None, true, None)).contains("since then"));
}
