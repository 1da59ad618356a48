//! Tests for a device with short stalls that its mean hides.

use super::TOLERATES;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::judgement::RestsOn;
use crate::verdict::tails::{MEANS_HIDE, sentence, shown_by};
use record::{Doubt, Verdict};

/// Share of the time in slow requests from which programs notice them.
const TAIL_FELT: f64 = 0.05;

/// No single requests were timed, or too few.
pub(super) fn unseen(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    if facts.segment.tail_is_told() {
        return;
    }
    let decided_by = shown_by(facts.segment);
    for hidden in [Verdict::Slow, Verdict::Capped] {
        let (doubt, fine) = (Doubt::TailUnseen, facts.states.fine());
        found.push(Explanation::beside(hidden, doubt, fine, MEANS_HIDE, decided_by));
    }
}

/// Some requests take far longer than the profile's slowest.
pub(super) fn long(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    const DECIDED_BY: &str = "Check the device's own log, or run a trial at this load: stalls show \
                              as slow requests that are close in time.";
    let Some(tail) = facts.segment.perhaps_long_tail() else { return };
    let because = sentence(tail);
    let fine = facts.states.fine();
    let not_slow = facts.states.not_slow();
    if !tail.is_alike() {
        let because = format!("{because} The profile has too few requests to show the usual tail.");
        let decided_by =
            "Make a profile with longer trials (`check --budget`), or check the device's own log.";
        // Device tails are longer than exponential ones. Slow requests that add up to little time
        // harm no program.
        let time_ns = tail.longer as f64 * tail.latency_ns;
        let share = time_ns / 1e9 / facts.segment.tally.seconds.max(1e-9);
        let (doubt, felt) = (Doubt::TailUnknown, not_slow * (share / TAIL_FELT).min(1.0));
        found.push(Explanation::beside(Verdict::Slow, doubt, felt, because, decided_by));
    } else if facts.segment.known.constant {
        let claim = format!(
            "{because} The mean is as predicted, and the program keeps its queue depth constant: \
             the device stalls at times."
        );
        let rival = (
            "The mean latency is as predicted, which is enough for programs that do not depend on \
             the tail.",
            TOLERATES,
        );
        found.push(
            Explanation::instead(Verdict::Slow, Doubt::MeanAsExpected, fine, claim, rival)
                .resting_on(RestsOn::Tail),
        );
    } else {
        let because = format!(
            "{because} The device may stall at times; bursts from the program would look the \
             same."
        );
        let doubt = Doubt::Tail;
        found.push(Explanation::beside(Verdict::Slow, doubt, not_slow, because, DECIDED_BY));
    }
    let of_credit = "A limit with burst credit also causes a tail like this: it delays requests \
                     when the credit is used up.";
    let decided_by = "Look for a limit (provider, control group), or compare the tail at half the \
                      rate.";
    // If the tail is the verdict, its weight relative to a healthy device also applies here.
    let looks_like = if tail.is_alike() && facts.segment.known.constant {
        fine / crate::verdict::odds::of(Doubt::MeanAsExpected)
    } else {
        not_slow
    };
    let doubt = Doubt::TailByCredit;
    found.push(Explanation::beside(Verdict::Capped, doubt, looks_like, of_credit, decided_by));
}
