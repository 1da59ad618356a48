//! Checks that short latencies are measured correctly, with an engine whose delays are known.
//!
//! For three distributions of delay, the mean and p50 to p99.9 are compared. The worker is judged by the
//! engine's log of the same run, which has the actual delays. Those of the distribution differ by disturbances
//! of the machine and by chance, which at a percentile between two parts of a mixture is more than a percent.
//! The median over rounds is judged, so
//! that a disturbed round has no influence. The planted fault is a clock that starts when a twentieth of the
//! request is over.

use super::delay::{DelayEngine, Law, Log};
use super::gate::{Gate, Goal, Proof};
use super::machine::Pinned;
use super::{Context, Report, loops};
use crate::pairs::Ratio;
use anyhow::{Result, ensure};
use engine::JobClock;
use record::Nanos;
use serde_json::json;

/// Maximum deviation of a statistic from the truth, in percent.
const GOAL_PERCENT: f64 = 1.0;
/// Deep enough that completions arrive in batches, shallow enough that spinning sees them at once.
const DEPTH: u32 = 16;
const ROUNDS: usize = 7;
const LENGTH: Nanos = Nanos(1_000_000_000);
const SMOKE_LENGTH: Nanos = Nanos(200_000_000);
/// How much of a request is over when the planted clock starts, in percent.
const LATE_PERCENT: u64 = 5;
/// The percentiles that are compared, in addition to the mean.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// The mean and the percentiles of one run, in nanoseconds.
type Statistics = [f64; 1 + PERCENTILES.len()];

/// One run: as reported, and as logged by the engine.
struct Round {
    reported: Statistics,
    logged: Statistics,
}

pub(super) fn run(context: &Context) -> Result<Report> {
    let clock = JobClock::calibrated();
    let _pinned = Pinned::to(context.core)?;
    let mut gates = Vec::new();
    let mut details = json!({});
    for (name, law) in Law::ALL {
        let good = rounds(context, law, 0, clock)?;
        let late = rounds(context, law, LATE_PERCENT, clock)?;
        println!("  {name}: reported over the engine's log, median of rounds");
        let names = ["mean"].into_iter().chain(PERCENTILES.map(|(name, _)| name));
        for (index, statistic) in names.enumerate() {
            let to_log = ratio(&good, |round| round.reported[index] / round.logged[index]);
            println!("    {statistic:<6} {to_log}");
            details[name][statistic] = json!({ "over_log": to_log });
        }
        gates.push(gate(format!("{name}, against the engine's log"), &good, &late));
    }
    Ok(Report { gates, details })
}

/// The gate on the largest deviation of all statistics. Its A/A result compares the engine's own log of one
/// half of the rounds with that of the other half.
fn gate(name: String, good: &[Round], late: &[Round]) -> Gate {
    let (left, right) = good.split_at(good.len() / 2);
    let halves: Vec<f64> = (0..=PERCENTILES.len())
        .map(|index| {
            let side = |rounds: &[Round]| ratio(rounds, |round| round.logged[index]).value;
            (side(right) / side(left) - 1.0).abs() * 100.0
        })
        .collect();
    let same = halves.iter().copied().fold(0.0, f64::max);
    let same = Ratio { value: same, low: same, high: same };
    let planted = worst(late);
    Gate {
        works: planted.value > GOAL_PERCENT && same.value < planted.value / 2.0,
        name,
        unit: "% at most between a statistic and the truth",
        goal: Goal::AtMost(GOAL_PERCENT),
        figure: worst(good),
        proof: Proof { same, planted, fault: "the clock starts 5 % late" },
    }
}

/// The largest deviation from the engine's log over all statistics, in percent. Each is the median of the
/// rounds; the interval is that of the statistic.
fn worst(rounds: &[Round]) -> Ratio {
    let deviation = |index: usize| {
        let ratio = ratio(rounds, |round| round.reported[index] / round.logged[index]);
        let (one, other) = ((ratio.low - 1.0) * 100.0, (ratio.high - 1.0) * 100.0);
        let low = if one * other <= 0.0 { 0.0 } else { one.abs().min(other.abs()) };
        let value = ((ratio.value - 1.0) * 100.0).abs();
        Ratio { value, low: low.min(value), high: one.abs().max(other.abs()) }
    };
    (0..=PERCENTILES.len())
        .map(deviation)
        .max_by(|a, b| a.value.total_cmp(&b.value))
        .unwrap_or(Ratio::median_of(Vec::new()))
}

fn ratio(rounds: &[Round], value: impl Fn(&Round) -> f64) -> Ratio {
    Ratio::median_of(rounds.iter().map(value).collect())
}

fn rounds(context: &Context, law: Law, ahead: u64, clock: JobClock) -> Result<Vec<Round>> {
    let length = if context.smoke { SMOKE_LENGTH } else { LENGTH };
    let round = |_| {
        let log: Log = Log::default();
        let engine = DelayEngine::new(law, clock, DEPTH, length, ahead, &log);
        let counted = loops::worker(engine, clock, DEPTH, length)?;
        let mut times = log.into_inner();
        times.sort_unstable();
        ensure!(!times.is_empty(), "nothing completed");
        let mut reported = [counted.mean_ns; 1 + PERCENTILES.len()];
        let mut logged = [times.iter().sum::<u64>() as f64 / times.len() as f64; 6];
        for (index, (_, p)) in PERCENTILES.iter().enumerate() {
            // A percentile that is not reported, for lack of requests, is NaN and agrees with nothing.
            reported[index + 1] = counted.histogram.percentile(*p).unwrap_or(f64::NAN);
            let rank = (times.len() as f64 * p).ceil() as usize;
            logged[index + 1] = times[rank.clamp(1, times.len()) - 1] as f64;
        }
        Ok(Round { reported, logged })
    };
    (0..context.pairs(ROUNDS)).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_of(factor: f64) -> Vec<Round> {
        let logged = [100.0, 90.0, 150.0, 170.0, 190.0, 200.0];
        let mut reported = logged;
        reported[3] *= factor;
        (0..7).map(|_| Round { reported, logged }).collect()
    }

    #[test]
    fn one_statistic_that_is_off_is_what_counts() {
        let deviation = worst(&rounds_of(0.95));
        assert!((deviation.value - 5.0).abs() < 1e-9, "{deviation}");
        assert!(worst(&rounds_of(1.0)).value < 1e-9);
    }

    #[test]
    fn a_worker_that_is_right_passes_and_a_late_clock_is_caught() {
        let good = gate(String::new(), &rounds_of(1.005), &rounds_of(0.95));
        assert!(good.reached());
        assert!(!gate(String::new(), &rounds_of(1.02), &rounds_of(0.95)).reached());
        assert!(!gate(String::new(), &rounds_of(1.0), &rounds_of(0.995)).works);
    }
}
