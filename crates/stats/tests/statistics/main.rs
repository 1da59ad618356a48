//! Simulations that hold the estimators to what their documentation states.
//!
//! An interval is right if it holds the truth as often as it says, which no single example can
//! show. Each test here makes thousands of data sets whose truth is known, from a seed, and counts.
//! Where a share is required, a method known to be wrong is counted beside it, so that the
//! requirement is seen to tell the two apart. Bounds are those of the requirement (90 to 97 % for
//! intervals); the standard error of a share over 2,000 replications is half a percent.
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
const REPLICATIONS: u32 = 2_000;

/// Share of replications, each with a source of its own seed, for which `holds` is true.
fn share(holds: impl Fn(&mut source::Source) -> bool) -> f64 {
    let hits = (0..REPLICATIONS).filter(|&seed| holds(&mut source::Source::new(u64::from(seed))));
    hits.count() as f64 / f64::from(REPLICATIONS)
}

/// Whether an interval holds the truth.
fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.low <= truth && truth <= estimate.high
}

/// Asserts that a share lies in a range, naming the scenario.
fn assert_share(name: &str, share: f64, range: std::ops::RangeInclusive<f64>) {
    println!("{name}: {:.2} %", 100.0 * share);
    assert!(range.contains(&share), "{name}: {share} is outside {range:?}");
}
