//! Tests for programs and interrupts that wait for a CPU, or for the hypervisor to run the machine.

use crate::verdict::causes::BURST_BUSY;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{LONGER, MUCH_TO_SPARE, NEVER_IDLE, STEAL_MATTERS, Segment};
use crate::verdict::other_causes::MOSTLY_IN_FLUSH;
use crate::words::percent;
use record::{Doubt, Verdict, format_nanos};

const IDLE_CPUS: &str = "Observe again while the CPUs are idle.";

pub(super) fn steal(facts: &Facts<'_, '_>) -> Option<Explanation> {
    facts.segment.around.steal.filter(|share| *share > STEAL_MATTERS)?;
    let because = "The hypervisor took CPU time from this machine, which sees a completion only \
                   while it runs.";
    let decided_by = "Observe again on a machine without steal.";
    let slow = facts.states.slow();
    Some(Explanation::beside(Verdict::NotTheDisk, Doubt::Steal, slow, because, decided_by))
}

pub(super) fn full(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    if !segment.around.processors_full() || held_longer(segment) == Some(true) {
        return None;
    }
    let because = "The CPUs were saturated, and a request completes only when a CPU handles its \
                   interrupt.";
    let (doubt, slow) = (Doubt::ProcessorsFull, facts.states.slow());
    Some(Explanation::beside(Verdict::NotTheDisk, doubt, slow, because, IDLE_CPUS))
}

/// Whether requests take longer than waits for CPUs can explain: all tasks of the machine together
/// waited less, or flushes fill the time.
fn held_longer(segment: &Segment<'_>) -> Option<bool> {
    if segment.in_flush().is_some_and(|share| share >= MOSTLY_IN_FLUSH) {
        return Some(true);
    }
    let (look, latency) = segment.best_look()?;
    let beyond_ns = latency - look.expected_ns(segment.by_rate());
    // Concurrent requests wait at the same time.
    let together = segment.tally.concurrency()?.max(1.0);
    let waited_ns = segment.around.cpu_some? * 1e9 * together / segment.tally.iops().max(1e-9);
    Some(beyond_ns > waited_ns)
}

/// Programs wait longer than the device takes, because they get no CPU to process completions.
pub(super) fn answers_late(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let waited = facts.segment.waited_beyond().filter(|waited| waited.times >= LONGER)?;
    if !facts.segment.around.processors_full() {
        return None;
    }
    let because = format!(
        "Programs wait {} for a request that the device completes in {}. The CPUs are saturated, \
         so programs process completions late.",
        format_nanos(waited.program_ns),
        format_nanos(waited.device_ns)
    );
    let (doubt, fine) = (Doubt::ProcessorsFull, facts.states.fine());
    Some(Explanation::beside(Verdict::NotTheDisk, doubt, fine, because, IDLE_CPUS))
}

/// Bursts of programs that wait for a CPU and then submit their delayed requests at once.
pub(super) fn late(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let (look, latency) = segment.best_look().filter(|_| segment.around.processors_full())?;
    let saturation = segment.tally.iops() / look.max_iops;
    // Without a profile the maximum rate is unknown, but long idle times of the device are visible.
    // A queue that a program keeps up is not a burst.
    let kept = segment.deep.is_some_and(|deep| deep.is_kept());
    let (spare, most) = match look.own {
        Some(_) => (!kept, BURST_BUSY),
        None => (saturation < MUCH_TO_SPARE, if kept { BURST_BUSY } else { NEVER_IDLE }),
    };
    let busy = segment.busy().filter(|busy| spare && *busy < most)?;
    let much = match look.own {
        Some(_) => format!("the device is busy only {} of the time", percent(busy)),
        None => format!("the rate is only {} of the maximum", percent(saturation)),
    };
    let claim = format!(
        "The CPUs are saturated, and programs that are scheduled late submit requests in bursts. \
         Such bursts explain a latency of {}, because {much}. Counters do not show single \
         requests, so the bursts are inferred.",
        format_nanos(latency)
    );
    let rival = ("The programs may submit bursts for reasons of their own.", IDLE_CPUS);
    let left = segment.around.idle.unwrap_or(0.0);
    let (doubt, over) = (Doubt::OwnBursts, facts.states.overloaded());
    let found = Explanation::instead(Verdict::NotTheDisk, doubt, over, claim, rival);
    Some(found.with(&[("idle CPU time", left, "share")]))
}
