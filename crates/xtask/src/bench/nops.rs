//! Measures the cost of full accounting on a real ring, with io_uring's NOPs, which do nothing in the kernel.
//!
//! It compares the product's worker with a loop that has a generator and slots but no clock, histogram or
//! statistics. Both use rings with the same setup and alternate in slices of a twentieth of a second in one
//! process.

use super::gate::{Gate, Goal, Proof, medians, turns};
use super::loops::{self, Bare, SlowClock};
use super::machine::Pinned;
use super::{Context, Report};
use crate::pairs::Ratio;
use anyhow::Result;
use engine::{Clock, Engine, JobClock, NopEngine, OpenEngine, Setup};
use record::Nanos;
use serde_json::json;

/// Minimum share of the bare loop's rate.
const GOAL: f64 = 0.90;
const DEPTH: u32 = 128;
const PAIRS: usize = 41;
const PROOF_PAIRS: usize = 15;
const SLICE: Nanos = Nanos(50_000_000);
/// Readings of the planted clock per requested reading: about 2 µs added to about 15 µs per batch.
const SLOW: u32 = 50;

pub(super) fn run(context: &Context) -> Result<Report> {
    let clock = JobClock::calibrated();
    let _pinned = Pinned::to(context.core)?;
    let open = || NopEngine::open(&Setup::reading(Vec::new(), DEPTH, 4_096));
    let timed = || rate_of(open()?, clock);
    let slowed = || rate_of(open()?, SlowClock { clock, times: SLOW });
    let first = timed()?;
    let count = (first * SLICE.as_secs_f64()) as u64;
    let bare = || Ok(1e9 / Bare::new(open()?, DEPTH).run(count)?);
    let pairs = turns(context.pairs(PAIRS), bare, timed)?;
    let proof_pairs = context.pairs(PROOF_PAIRS);
    let fault = "each reading of the clock made 50 times";
    let (proof, _) = Proof::of(proof_pairs, fault, timed, slowed)?;
    let same_bare = Ratio::median_of_pairs(&turns(proof_pairs, bare, bare)?);
    let (bare_rate, full_rate) = medians(&pairs);
    println!(
        "  bare {:.1} ns, full {:.1} ns per request ({:.2} M/s and {:.2} M/s); bare A/A {same_bare}",
        1e9 / bare_rate,
        1e9 / full_rate,
        bare_rate / 1e6,
        full_rate / 1e6
    );
    let name = "io_uring NOPs, full accounting over bare loop, rate";
    let gate = Gate::new(name, "", Goal::AtLeast(GOAL), Ratio::median_of_pairs(&pairs), proof);
    let details = json!({
        "pairs": pairs.len(), "slice_ns": SLICE.0,
        "bare_per_s": bare_rate, "full_per_s": full_rate, "clock": clock.name(),
        "bare_a_a": same_bare, "features": open()?.features(),
    });
    Ok(Report { gates: vec![gate], details })
}

/// Requests per second of the product's worker.
fn rate_of(engine: NopEngine, clock: impl Clock) -> Result<f64> {
    let counted = loops::worker(engine, clock, DEPTH, SLICE)?;
    Ok(counted.ios as f64 / counted.wall.as_secs_f64())
}
