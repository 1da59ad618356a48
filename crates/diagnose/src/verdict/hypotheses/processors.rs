//! Programs and interrupts that wait for a processor, or for the host to let the machine run.

use crate::verdict::causes::BURST_BUSY;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{MUCH_TO_SPARE, STEAL_MATTERS};
use crate::words::percent;
use record::{Doubt, Verdict, format_nanos};

pub(super) fn steal(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    if facts.segment.around.steal.is_none_or(|share| share <= STEAL_MATTERS) {
        return;
    }
    let because = "The host took CPU time from this machine, and requests end only when it runs.";
    let decided_by = "The same on a machine without steal.";
    let slow = facts.states.slow();
    found.push(Explanation::beside(Verdict::NotTheDisk, Doubt::Steal, slow, because, decided_by));
}

pub(super) fn full(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    if !facts.segment.around.processors_full() {
        return;
    }
    let because =
        "The processors were busy all the time, and requests end only when one attends to them.";
    let decided_by = "The same while the processors have time left.";
    let (doubt, slow) = (Doubt::ProcessorsFull, facts.states.slow());
    found.push(Explanation::beside(Verdict::NotTheDisk, doubt, slow, because, decided_by));
}

/// Bursts of programs that wait for a processor and then ask for all that they are late with.
pub(super) fn late(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some((look, latency)) = segment.best_look().filter(|_| segment.around.processors_full())
    else {
        return;
    };
    let saturation = segment.tally.iops() / look.max_iops;
    let in_bursts = segment.busy().is_some_and(|busy| busy < BURST_BUSY);
    if saturation >= MUCH_TO_SPARE || !in_bursts {
        return;
    }
    let claim = format!(
        "The processors have no time left, so that programs ask late and for much at once: requests wait for \
         each other ({}), as expected, and the rate is only {} of the largest.",
        format_nanos(latency),
        percent(saturation)
    );
    let rival = (
        "The programs may ask in bursts by themselves.",
        "The same while the processors have time left.",
    );
    let left = segment.around.idle.unwrap_or(0.0);
    let (doubt, over) = (Doubt::OwnBursts, facts.states.overloaded());
    found.push(Explanation::instead(Verdict::NotTheDisk, doubt, over, claim, rival).with(&[(
        "processors' time left",
        left,
        "share",
    )]));
}
