//! Simulations that hold the estimators to what their documentation states.
//!
//! An interval is right if it holds the truth as often as it says, which no single example can
//! show. Each test here makes thousands of data sets whose truth is known, from a seed, and counts.
//! Where a share is required, a method known to be wrong is counted beside it, so that the
//! requirement is seen to tell the two apart. Bounds are those of the requirement (90 to 97 % for
//! intervals); the standard error of a share over 2,000 replications is half a percent. `cargo test`
//! makes 300 and allows their share three standard errors more; `cargo xtask prove` makes all.
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

/// Data sets per scenario.
fn replications() -> u32 {
    testkit::draws(300, 2_000)
}

/// Share of replications, each with a source of its own seed, for which `holds` is true.
fn share(holds: impl Fn(&mut source::Source) -> bool) -> f64 {
    let count = replications();
    let hits = (0..count).filter(|&seed| holds(&mut source::Source::new(u64::from(seed))));
    hits.count() as f64 / f64::from(count)
}

/// Whether an interval holds the truth.
fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.low <= truth && truth <= estimate.high
}

/// Asserts that a share lies in a range, naming the scenario.
fn assert_share(name: &str, share: f64, range: std::ops::RangeInclusive<f64>) {
    println!("{name}: {:.2} %", 100.0 * share);
    let (low, high) = (*range.start(), *range.end());
    let of_chance = |bound: f64| {
        testkit::draws(3.0, 0.0) * (bound * (1.0 - bound) / f64::from(replications())).sqrt()
    };
    let allowed = low - of_chance(low)..=high + of_chance(high);
    assert!(allowed.contains(&share), "{name}: {share} is outside {allowed:?}");
}
