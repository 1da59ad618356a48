//! Uses other times of the same device: a cap would have applied at all of them, and an
//! intermittent fault occurred before.

use crate::verdict::engine::{Explanation, Facts};
use record::{Doubt, Verdict};

/// The device was slow at another time under the same load.
pub(super) fn comes_and_goes(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let verdict = facts.elsewhere.slow_at_another_time?;
    let because =
        "The device was slow under the same load at another time: the cause may be intermittent.";
    let decided_by = "Check the system log and SMART for that time, and observe for longer.";
    let not_slow = facts.states.not_slow();
    Some(Explanation::beside(verdict, Doubt::ComesAndGoes, not_slow, because, decided_by))
}

/// A constant rate inside a device that was as fast as its profile at every lower rate.
pub(super) fn capped_inside(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let pin = facts.elsewhere.fast_below?;
    let claim = format!(
        "{} at any queue depth. Below that rate, the device is as fast as its profile predicts: \
         the cap is in the device or below it.",
        pin.stays()
    );
    let rival = (
        "The device may be slower only at high queue depths.",
        "Look up the provider's limit for this volume, or run a trial at that queue depth.",
    );
    let (doubt, looks_like) = (Doubt::SlowWhenDeep, facts.states.harmed());
    let found = Explanation::instead(Verdict::Capped, doubt, looks_like, claim, rival);
    Some(found.with(&[("pinned at", pin.per_s, pin.unit())]))
}

/// Below a cap that another segment shows, requests wait no longer than that cap makes them wait.
pub(super) fn below_a_cap(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some(pin) = facts.elsewhere.below_cap else { return };
    let claim = format!(
        "Requests wait exactly as long as they would behind a cap of {}; the device itself is as \
         fast as its profile predicts.",
        pin.text()
    );
    let rival = ("The device may also be slower at this load.", "Run a trial at QD 1.");
    let slow = facts.states.slow();
    found.push(Explanation::instead(Verdict::Healthy, Doubt::SlowBelowCap, slow, claim, rival));
    let because = "A cap adds latency even before it is reached.";
    let (doubt, weight) = (Doubt::CapBelow, slow / crate::verdict::odds::of(Doubt::SlowBelowCap));
    let decided_by = "Look up the provider's limit for this volume.";
    found.push(Explanation::beside(Verdict::Capped, doubt, weight, because, decided_by));
}
