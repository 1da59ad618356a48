//! Tests the I/O scheduler. The disk counters include the time in it, so only the tracer
//! distinguishes it from a slow device.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{
    HARDLY_WAITS, HELD_TIMES, IN_SCHEDULER, NEAR_MAXIMUM, REQUESTS_MIN, SLOW_FROM,
};
use crate::verdict::judgement::RestsOn;
use crate::verdict::{odds, starved};
use crate::words::of_largest;
use record::{Doubt, Verdict, format_nanos};

/// Weight of traced single requests, which outweigh the states, because those include scheduler waits.
const SEEN: f64 = 50.0;

/// Schedulers that pass on a request whenever the device accepts one. A wait in them is a wait for
/// the device, for its few tags, or for a lost command.
const PASSES_ON: [&str; 3] = ["mq-deadline", "deadline", "noop"];

/// Most of a request's latency passes before the device gets it, and the device is not saturated:
/// the scheduler keeps it idle for another program, or serves others first.
pub(super) fn holds(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let (Some(scheduler), Some(traced), Some((look, latency))) =
        (segment.scheduler(), segment.around.traced.as_ref(), segment.best_look())
    else {
        return;
    };
    if PASSES_ON.contains(&scheduler) {
        return;
    }
    let saturation = segment.tally.iops() / look.max_iops;
    let device_fine = traced.device_ns < HARDLY_WAITS * look.unloaded_ns;
    let held = traced.queue_ns >= HELD_TIMES * latency && saturation < NEAR_MAXIMUM;
    // Dispatching takes time as well, and more on a busy machine. If dispatch and device together
    // take no longer than such a device does, no request is held.
    let usual = match look.own {
        Some(own) => own.class.lone_ns(segment.tally.all.request_bytes().unwrap_or(0.0)),
        None => look.unloaded_ns,
    };
    let harmed = segment.over(latency, usual) >= SLOW_FROM;
    if traced.requests < REQUESTS_MIN || !held || !device_fine || !harmed {
        return;
    }
    let claim = format!(
        "Requests wait {} in the I/O scheduler ({scheduler}) and take {} at the device, where the \
         latency at QD 1 is {}; the rate is {}. The scheduler delays them, not the device.",
        format_nanos(traced.queue_ns),
        format_nanos(traced.device_ns),
        format_nanos(look.unloaded_ns),
        of_largest(saturation)
    );
    let decided_by = "Observe again with the scheduler none, or with shorter intervals.";
    let doubt = Doubt::BurstsInScheduler;
    // Without a profile, a full device and a late dispatch look the same. So does a program that
    // waits for a CPU, or one that uses the device alone, where the scheduler has no reason to hold
    // requests. The exception is a scheduler that idles the device on purpose.
    let idles = segment.scheduler_by_share().is_some();
    let around = &segment.around;
    let late = look.own.is_some() || around.processors_full() || segment.hardly_in_use();
    let weight = if idles || !late { SEEN } else { odds::of(doubt) * facts.states.all() };
    found.push(
        Explanation::weighed(Verdict::Capped, doubt, weight, claim, decided_by)
            .resting_on(RestsOn::Scheduler)
            .with(&[
                (IN_SCHEDULER, traced.queue_ns, "ns"),
                ("time at the device", traced.device_ns, "ns"),
                ("rate relative to the mix's maximum", saturation, "share"),
            ]),
    );
    let because = "Requests may come in bursts, which any scheduler has to queue.";
    found.push(Explanation::beside(Verdict::Overloaded, doubt, weight, because, decided_by));
}

/// Requests that it delays for long while others pass.
pub(super) fn starves(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some((starved, scheduler)) = facts.segment.starved() else { return };
    let claim = starved::sentence(&starved, scheduler);
    let rival = (
        "All other requests are served as the profile predicts.",
        "Check the class and weight of the program that waits (ionice, io.bfq.weight).",
    );
    let fine = facts.states.fine();
    found.push(
        Explanation::instead(Verdict::Capped, Doubt::Starved, fine, claim.clone(), rival)
            .resting_on(RestsOn::Scheduler),
    );
    let harmed = facts.states.harmed();
    found.push(
        Explanation::beside(Verdict::Capped, Doubt::Starved, harmed, claim, rival.1)
            .resting_on(RestsOn::Scheduler),
    );
}

/// A scheduler that serves by weight or class, or that was absent when the profile was made: waits
/// in it look like a slow or saturated device.
pub(super) fn may_hold(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let scheduler = segment.scheduler()?;
    let mut changed = segment.machines.0.changed.iter();
    let was = changed.find(|one| one.what == model::SCHEDULER).map(|one| &one.a);
    let harmed = facts.states.harmed();
    if !segment.may_wait(|traced| traced.queue_ns) {
        let because = format!(
            "The I/O scheduler is {scheduler} and was {} when the profile was made: it dispatches \
             requests from a separate thread, and these counters include that delay.",
            was?
        );
        let decided_by = "Observe again with the profile's scheduler.";
        let (fine, doubt) = (facts.states.name_of_fine(), Doubt::SchedulerChanged);
        return Some(Explanation::beside(fine, doubt, harmed, because, decided_by));
    }
    let (doubt, because) = match was {
        Some(was) => (
            Doubt::SchedulerChanged,
            format!(
                "The I/O scheduler is {scheduler} and was {was} when the profile was made: \
                 requests may wait in it for other requests, and these counters include that wait."
            ),
        ),
        None if segment.scheduler_by_share().is_some() => (
            Doubt::SchedulerByShare,
            format!(
                "The I/O scheduler {scheduler} serves by weight and class: one program's requests \
                 may wait in it for another's, and these counters include that wait."
            ),
        ),
        None => return None,
    };
    let decided_by = if segment.around.traced.is_some() {
        "Observe again with the profile's scheduler."
    } else {
        "Run as root: the tracer measures the wait before requests reach the device. Or observe \
         again with the profile's scheduler."
    };
    Some(Explanation::beside(Verdict::Capped, doubt, harmed, because, decided_by))
}
