//! Simulations that check the documented coverage of the estimators.
//!
//! An interval is correct if it includes the true value as often as it states, which no single example can
//! show. Each test creates thousands of data sets with known true values from a seed, and counts. If a test
//! requires a minimum share, it also counts a method known to be wrong, which proves that the requirement
//! distinguishes the two. The bounds are those of the requirement (90 to 97 % for intervals). The standard
//! error of a share over 2,000 replications is half a percent. `cargo test` runs 300 and allows three
//! standard errors more; `HALFPOWER_PROVE=1 cargo test` runs all.
#![allow(clippy::unwrap_used, reason = "where an estimate is missing, the test has failed")]

mod drift;
mod histogram;
mod intervals;
mod known;
mod lines;
mod median;
mod quantiles;
mod random;
mod source;
mod steadiness;
mod steps;
mod tables;
mod visits;

use record::Estimate;

/// Number of data sets per scenario.
fn replications() -> u32 {
    testkit::draws(300, 2_000)
}

/// Share of replications, each with its own seed, for which `holds` is true.
fn share(holds: impl Fn(&mut source::Source) -> bool) -> f64 {
    let count = replications();
    let hits = (0..count).filter(|&seed| holds(&mut source::Source::new(u64::from(seed))));
    hits.count() as f64 / f64::from(count)
}

/// Whether an interval includes the true value.
fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.low <= truth && truth <= estimate.high
}

/// Asserts that a share is in a range, and names the scenario.
fn assert_share(name: &str, share: f64, range: std::ops::RangeInclusive<f64>) {
    println!("{name}: {:.2} %", 100.0 * share);
    let (low, high) = (*range.start(), *range.end());
    let of_chance = |bound: f64| {
        testkit::draws(3.0, 0.0) * (bound * (1.0 - bound) / f64::from(replications())).sqrt()
    };
    let allowed = low - of_chance(low)..=high + of_chance(high);
    assert!(allowed.contains(&share), "{name}: {share} is outside {allowed:?}");
}
