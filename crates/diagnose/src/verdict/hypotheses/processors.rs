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
    let busy = segment.busy().filter(|busy| *busy < BURST_BUSY);
    // Without a profile the largest rate is not known; what the device rests is.
    let Some(busy) = busy.filter(|_| look.own.is_some() || saturation < MUCH_TO_SPARE) else { return };
    let much = match look.own {
        Some(_) => format!("the device is busy only {} of the time", percent(busy)),
        None => format!("the rate is only {} of the largest", percent(saturation)),
    };
    let claim = format!(
        "The processors have no time left, so that programs ask late and for much at once: requests wait for \
         each other ({}), as expected, and {much}.",
        format_nanos(latency)
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
