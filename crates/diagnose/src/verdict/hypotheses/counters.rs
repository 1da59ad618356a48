//! Tests for counters that include more than the device's requests, or that are missing.

use crate::verdict::engine::{Explanation, Facts};
use record::{Doubt, Verdict};

/// Share of discards among the requests from which they count.
const DISCARDS: f64 = 0.05;

/// The busy counter is missing or unreliable, so bursts look like slowness.
pub(super) fn no_busy_time(facts: &Facts<'_, '_>) -> Option<Explanation> {
    if !facts.segment.by_rate() {
        return None;
    }
    let because = "The busy counter is missing or unreliable, so bursts look like slowness.";
    let decided_by = "Use a source that reports busy time, or shorter intervals.";
    let (doubt, slow) = (Doubt::NoBusyTime, facts.states.slow());
    Some(Explanation::beside(Verdict::Overloaded, doubt, slow, because, decided_by))
}

/// Request times that include those of discards.
pub(super) fn discards(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let tally = &facts.segment.tally;
    let many = tally.discards.unwrap_or(0.0) > DISCARDS * tally.all.count();
    if !(tally.times_may_hold_discards && many) {
        return None;
    }
    let because = "The source's latencies include discards.";
    let decided_by = "Use a source that reports discards separately (iostat -x, node_exporter).";
    let slow = facts.states.slow();
    Some(Explanation::beside(Verdict::Healthy, Doubt::Discards, slow, because, decided_by))
}
