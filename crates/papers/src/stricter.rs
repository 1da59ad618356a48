//! The simulated series counted by stricter rules, beside the count that decides.
//!
//! Four things in the count are choices: that a series of a figure may count although a parameter
//! was fitted on another series of it; that curves which cross by less than [`crate::tolerance::TIE`]
//! keep their order; that hardware of which no specification is known is not tried; and that a
//! series which its own paper contradicts is nobody's to reproduce. Whoever
//! would choose otherwise finds the result here and need not recompute it. Rejected: to leave it to
//! the documentation, where such a number is wrong a day later.

use crate::row::{Class, Reading, Row, Verdict};
use std::collections::BTreeSet;

/// How the reasons of series begin that were not tried because nobody says what they were
/// measured on.
const NO_SPECIFICATION: &str = "hardware without a specification";

/// And those that what the paper says elsewhere rules out.
const CONTRADICTED: &str = "contradicted";

/// The counts; `crossing` has the ids of series that change places with another one at all.
pub(crate) fn readings(rows: &[Row], crossing: &BTreeSet<String>) -> Vec<Reading> {
    let series = || rows.iter().filter(|row| row.chart.is_some());
    let fitted: BTreeSet<(&str, &str)> =
        series().filter(|row| row.class == Class::Fitted).map(figure).collect();
    // What counts beside simulated series, whether figures with a fitted one do, and whether a
    // crossing is allowed.
    let rules: [(&str, &[&str], bool, bool); 5] = [
        ("only figures of which no series is fitted", &[], false, true),
        ("no crossing of curves allowed, however small", &[], true, false),
        ("hardware without a specification counted as deviating", &[NO_SPECIFICATION], true, true),
        ("series that their paper contradicts counted as deviating", &[CONTRADICTED], true, true),
        ("all four", &[NO_SPECIFICATION, CONTRADICTED], false, false),
    ];
    let reading = |(rule, untried, with_fitted, with_crossing): (&str, &[&str], bool, bool)| {
        let counts = |row: &&Row| match row.class {
            Class::Simulated => true,
            Class::NotReproducible => untried.iter().any(|why| row.reason.starts_with(why)),
            Class::Derived | Class::Fitted => false,
        };
        let of: Vec<&Row> = series()
            .filter(counts)
            .filter(|row| with_fitted || !fitted.contains(&figure(row)))
            .collect();
        let orderly = |row: &Row| with_crossing || !crossing.contains(&row.id);
        let good = |row: &&&Row| row.verdict == Verdict::Reproduced && orderly(row);
        Reading {
            rule: rule.to_owned(),
            series: of.len(),
            reproduced: of.iter().filter(good).count(),
        }
    };
    rules.into_iter().map(reading).collect()
}

fn figure(row: &Row) -> (&str, &str) {
    (row.paper.name(), &row.figure)
}
