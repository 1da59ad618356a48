//! A cap that the profile met, reached again by somebody who waits for more.

use crate::verdict::Segment;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::interval_totals::IntervalTotals;
use crate::verdict::judgement::RestsOn;
use record::{Cap, Doubt, Verdict};

/// A rate within these shares of a cap has reached it.
const AT_CAP: (f64, f64) = (0.95, 1.05);
/// Requests wait at it where this many times as many are in progress as a lone one's time explains.
const WAITS_FROM: f64 = 1.5;
/// How much better that explains a queue than a device at its own limit: the check saw what the cap is,
/// and the same rate is seen again.
const OVER_STATES: f64 = 50.0;

pub(super) fn reached(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some((look, latency)) = segment.best_look().filter(|_| segment.never_empties()) else {
        return;
    };
    let share = |cap: &Cap| Some((rate(&segment.tally, cap)? / cap.per_s.value, cap.clone()));
    let reached = segment.caps.iter().filter_map(share);
    let Some((share, cap)) = reached
        .filter(|(share, _)| (AT_CAP.0..=AT_CAP.1).contains(share))
        .min_by(|a, b| (a.0 - 1.0).abs().total_cmp(&(b.0 - 1.0).abs()))
    else {
        return;
    };
    if latency < WAITS_FROM * look.unloaded_ns {
        return;
    }
    let published =
        cap.published.as_ref().map_or(String::new(), |what| format!(", the limit of {what}"));
    let claim = format!(
        "The rate is at the cap that the check met ({}{published}), and requests wait for it.",
        cap.text()
    );
    let weight = OVER_STATES * facts.states.harmed();
    let doubt = Doubt::ConstantRateAtMaximum;
    let decided_by =
        "The volume's limits where they are set, or the same load after they were raised.";
    found.push(
        Explanation::weighed(Verdict::Capped, doubt, weight, claim, decided_by)
            .resting_on(RestsOn::Published)
            .with(&[("rate over the cap", share, "share")]),
    );
}

/// Whether the load has reached a cap of the profile: what the disk does above it was not measured.
pub(crate) fn is_reached(segment: &Segment<'_>) -> bool {
    let share = |cap: &Cap| Some(rate(&segment.tally, cap)? / cap.per_s.value);
    segment.caps.iter().filter_map(share).any(|share| share >= AT_CAP.0)
}

/// What a cap counts, per second.
fn rate(tally: &IntervalTotals, cap: &Cap) -> Option<f64> {
    let Some(op) = cap.op else {
        return if cap.bytes { tally.bytes_per_s() } else { Some(tally.iops()) };
    };
    let of = tally.op(op);
    let sum = if cap.bytes { of.bytes } else { of.requests };
    sum.map(|sum| sum / tally.seconds.max(1e-9))
}
