//! Tests what `show validate` reports about the models, separately from the device.

use crate::report::common::target;
use record::{
    AsProfiled, Estimate, ModelAccuracy, ModelName, Nanos, SinceProfile, VALIDATION_SCHEMA,
    Validation, ValidationSummary,
};
use report::{self as report, Style, predicted, terminal};

fn between(value: f64, low: f64, high: f64) -> Estimate {
    Estimate::spanning(value, low, high, 12)
}

/// A validation with these median errors: of predictions that follow the device, and of those that do not.
fn validation(since: Option<SinceProfile>, follows: f64, still: Option<f64>) -> Validation {
    let accuracy = ModelAccuracy {
        model: ModelName::Calibrated,
        median_rel: Some(follows),
        loaded_median_rel: None,
        trials: 8,
    };
    let reached = |error: f64| Some(error <= 0.1);
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
            max_iops_rel: Some(0.034),
            max_iops_repeat_rel: Some(0.048),
            goal_rel: 0.1,
            max_iops_goal_rel: 0.05,
            reached: reached(follows),
            as_profiled: still.map(|error| AsProfiled {
                latency_rel: Some(error),
                max_iops_rel: Some(0.085),
                reached: reached(error),
            }),
            within_interval: None,
        },
        findings: Vec::new(),
    }
}

/// The text as one line, so that line breaks do not matter.
fn text(validation: &Validation) -> String {
    let style = Style::default();
    terminal(&report::validation(validation), &style)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn since(deep: Option<Estimate>) -> SinceProfile {
    SinceProfile {
        qd1_ratio: Some(between(1.02, 0.96, 1.1)),
        reads_ratio: deep,
        writes_ratio: None,
        mixes_ratio: None,
        open_ratio: Some(between(0.8, 0.625, 1.0)),
        least_deep_ratio: Some(0.81),
        most_deep_ratio: Some(1.05),
        trial_ids: Vec::new(),
    }
}

#[test]
fn a_device_that_moved_is_told_apart_from_models_that_are_wrong() {
    let moved = Some(since(Some(between(0.924, 0.87, 0.959))));
    let found = text(&validation(moved.clone(), 0.09, Some(0.21)));
    for part in [
        "median error 9 % below 70 % of the max IOPS, goal 10 %",
        "rates of reads at high QD x 0.924 (0.870 to 0.959), of reads at QD 1 x 1.02 (0.960 to \
         1.10); latencies of light open loads x 1.25 (1.00 to 1.60), which the predictions follow",
        "(rates at high QD from x 0.810 to x 1.05)",
        "without the correction the errors are 21 % and 8.5 %",
        "Goal reached for the device as it is; NOT for the device as it was profiled",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let wrong = text(&validation(moved.clone(), 0.15, Some(0.21)));
    assert!(wrong.contains("Goal NOT reached"), "{wrong}");
    let both = text(&validation(moved, 0.05, Some(0.05)));
    assert!(both.contains("Goal reached latency"), "{both}");
}

#[test]
fn a_simulated_device_begins_anew_and_has_no_level() {
    let anew = Validation { simulated: true, ..validation(None, 0.04, None) };
    let found = text(&anew);
    assert!(!found.contains("since the profile"), "{found}");
    assert!(found.contains("Goal reached latency"), "{found}");
    let untold = text(&validation(None, 0.04, None));
    assert!(untold.contains("since the profile unknown: the profile has too few"));
    let few = text(&validation(Some(since(None)), 0.04, Some(0.04)));
    assert!(
        few.contains("since the profile rates of reads at QD 1 x 1.02 (0.960 to 1.10); lat"),
        "{few}"
    );
}

#[test]
fn what_is_foretold_says_how_the_device_does_now() {
    let style = Style::default();
    let now = terminal(&predicted(&[], Some(&since(Some(between(0.924, 0.87, 0.959))))), &style);
    let now = now.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(now.contains("rates of reads at high QD x 0.924"), "{now}");
    assert!(!terminal(&predicted(&[], None), &style).contains("device now"));
}
