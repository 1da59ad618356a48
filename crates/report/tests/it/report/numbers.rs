//! Tests which numbers a page prints, and what it prints for unknown ones.

use record::{
    Comparison, FLEET_SCHEMA, Finding, FindingCode, FleetDiagnosis, SavedDocument, Severity,
};
use report::Style;
use serde_json::json;

/// A fleet of 16 disks, one of which could not be compared, and others built of these.
fn fleet(compared: u32) -> FleetDiagnosis {
    let left_out = |reason: &str| json!({"reason": reason, "devices": 1, "examples": ["db sda"]});
    serde_json::from_value(json!({
        "schema": FLEET_SCHEMA, "halfpower_version": "0.1.0", "source": "prometheus",
        "simulated": false, "begin_s": 0, "end_s": 240, "window_s": 60, "devices": 16,
        "false_share": 0.01, "common": [], "slow": [], "findings": [],
        "kinds": [{"labels": {"model": "M"}, "devices": 16, "compared": compared,
            "level_deviation": 0.02, "noise_deviation": 0.01}],
        "left_out": [left_out("few"), left_out("of memory")],
    }))
    .unwrap()
}

#[test]
fn a_fleet_says_how_many_disks_it_cannot_tell_of_and_no_spread_of_none() {
    let page = |compared| {
        let document = serde_json::to_string(&fleet(compared)).unwrap();
        let saved = SavedDocument::from_json(&document).unwrap();
        report::terminal(&report::stories(&[saved]).remove(0), &Style::default())
    };
    let some = page(15);
    assert!(
        some.contains("None of 15 compared devices is slow; 1 could not be compared."),
        "{some}"
    );
    assert!(some.contains("±2 %") && some.matches("Not judged").count() == 1, "{some}");
    assert!(page(16).contains("None of 16 compared devices is slow."), "{}", page(16));
    let none = page(0);
    assert!(none.contains("No device could be compared") && none.contains("unknown"), "{none}");
    assert!(!none.contains('±'), "{none}");
}

/// A finding as printed on a page.
fn support(claim: &str, numbers: &[(f64, &str)]) -> String {
    let finding = Finding::new(FindingCode::Drift, Severity::Info, claim, "");
    let finding =
        numbers.iter().fold(finding, |finding, (value, unit)| finding.with("n", *value, unit));
    let text = report::findings_text(&[finding], &Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_prefix("note ").unwrap().strip_suffix(" [drift]").unwrap().to_owned()
}

#[test]
fn a_number_that_the_claim_states_is_not_repeated_and_at_most_two_are_printed() {
    let claim = "It became 7.9 % faster, 64 of 67 cells, 2 GiB, ±14 %.";
    let stated = [(-0.0794, "share"), (64.0, ""), (67.0, ""), (0.138, "share")];
    assert_eq!(support(claim, &stated), claim);
    assert_eq!(support(claim, &[((2u64 << 30) as f64, "bytes")]), claim);
    assert_eq!(support(claim, &[(6.0, "")]), format!("{claim} (n: 6)"), "not a part of 64");
    assert_eq!(support(claim, &[(0.123, "share")]), format!("{claim} (n: 12 %)"));
    assert_eq!(support("So.", &[(1.0, ""), (2.0, ""), (3.0, "")]), "So. (n: 1, n: 2)");
}

#[test]
fn an_interval_of_a_comparison_is_written_out_where_its_ends_say_something() {
    let interval = |low: f64, high: f64| {
        let row = json!({
            "metric": "rate_per_s", "a": 1.0, "b": 1.0, "n_a": 3, "n_b": 3, "paired": false,
            "ratio": 1.0, "ratio_low": low, "ratio_high": high, "p_adjusted": null,
            "verdict": "same", "reason": null, "fails": false,
        });
        let side = json!({
            "given": "x", "kind": "trial", "ids": ["x"], "arm": {}, "time": null,
            "simulated": false, "target": "/data", "unit": "run", "trials_left_out": 0,
            "level_se_rel": null,
        });
        let comparison: Comparison = serde_json::from_value(json!({
            "schema": "", "halfpower_version": "0", "id": "", "a": side, "b": side,
            "conditions": [], "cells": [], "overall": row, "groups": [],
            "false_alarm_rate": 0.05, "tests": 1, "fail_on_worse_rel": null, "notes": [],
        }))
        .unwrap();
        report::comparison(&comparison).facts[0].value.clone()
    };
    assert!(interval(0.86, 0.94).contains("(-14 to -6 %)"), "{}", interval(0.86, 0.94));
    assert!(interval(0.5, 4.2).contains("(0.500 to 4.20)"));
    assert!(interval(1e-8, 8.6e13).contains("(not bounded)"));
}
