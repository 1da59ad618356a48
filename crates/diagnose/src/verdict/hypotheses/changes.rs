//! Tests whether the profile describes the present device: it may be of another device, from other
//! settings, invalid, or without writes.

use crate::verdict::engine::{Explanation, Facts};
use crate::words::changed;
use record::{Doubt, Verdict};

const NEE: Verdict = Verdict::NotEnoughEvidence;

/// Conditions that changed since the profile was made: it then describes another state.
pub(super) fn settings(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    // A scheduler that is present now has its own row; a removed one is a change.
    let by_itself = |what: &str| what == model::SCHEDULER && segment.scheduler().is_some();
    let told = changed(segment.machines.0.changed.iter().filter(|one| !by_itself(&one.what)));
    if told.is_empty() || segment.is_unprofiled() {
        return None;
    }
    let because = format!("The profile was made under other conditions: {told}.");
    let decided_by = "Make a new profile with the current settings, or run a trial with the old \
                      ones.";
    let slow = facts.states.slow();
    Some(Explanation::beside(NEE, Doubt::ConditionsChanged, slow, because, decided_by))
}

/// Whether the profile is of this device and valid.
pub(super) fn another_profile(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    if facts.segment.is_unprofiled() {
        return;
    }
    for (doubt, because) in facts.segment.profile_doubts {
        let all = facts.states.all();
        let decided_by = "Make a new profile of this device.";
        found.push(Explanation::beside(NEE, *doubt, all, because.clone(), decided_by));
    }
}

/// Reads alongside writes, if the profile measured no writes.
pub(super) fn writes_unknown(facts: &Facts<'_, '_>) -> Option<Explanation> {
    if !facts.segment.reads_alone || facts.segment.is_unprofiled() {
        return None;
    }
    let because =
        "The profile does not show read latency during writes, because no mix was measured.";
    let decided_by = "Make a profile with writes: `check DIRECTORY` on this device.";
    let (doubt, harmed) = (Doubt::WritesUnknown, facts.states.harmed());
    Some(Explanation::beside(NEE, doubt, harmed, because, decided_by))
}
