//! The profile may not be of what is there: of another device, under other settings, invalid, without writes.

use crate::verdict::engine::{Explanation, Facts};
use crate::words::changed;
use record::{Doubt, Verdict};

const NEE: Verdict = Verdict::NotEnoughEvidence;

/// What is not as it was when the profile was made: then it is no profile of what is there.
pub(super) fn settings(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    // A scheduler that is there now has its own row; one that is gone is a change.
    let by_itself = |what: &str| what == model::SCHEDULER && segment.scheduler().is_some();
    let told = changed(segment.changed.iter().filter(|one| !by_itself(&one.what)));
    if told.is_empty() || segment.is_unprofiled() {
        return;
    }
    let because = format!("The profile was made under other conditions: {told}.");
    let decided_by = "Make a new profile with the current settings, or run a trial with the old \
                      ones.";
    let slow = facts.states.slow();
    found.push(Explanation::beside(NEE, Doubt::ConditionsChanged, slow, because, decided_by));
}

/// Whether it is of this device, and whether what it measured counts.
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

/// Reads beside writes of which it measured none.
pub(super) fn writes_unknown(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    if !facts.segment.reads_alone || facts.segment.is_unprofiled() {
        return;
    }
    let because =
        "The profile does not show read latency during writes, because no mix was measured.";
    let decided_by = "Make a profile with writes: `check DIRECTORY` on this device.";
    let (doubt, harmed) = (Doubt::WritesUnknown, facts.states.harmed());
    found.push(Explanation::beside(NEE, doubt, harmed, because, decided_by));
}
