//! Tests whether a light load alone explains the latency. A request after idle time takes longer
//! than one in a closed loop, on which profiles are based: CPUs sleep, a hypervisor deschedules the
//! virtual machine, a drive saves power. None of that is a fault of the device, and a program that
//! pauses between its requests does not wait.

use super::KEEP_AWAKE;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{MUCH_TO_SPARE, SLOW_FROM, WAKING_TIMES, Waiter};
use crate::words::{percent, times};
use record::{Doubt, Verdict, format_nanos};

/// Mean extra latency from wake-ups on the way to a device; twice as much is rare. (Measured on one
/// virtual machine: 80 µs at 2,800 and 150 µs at 300 requests per second, one at a time.) A profile
/// with lone reads already includes it; the same amount is then allowed for chance.
const REST_NS: f64 = 120e3;
/// Submission and completion time of one request: each request of a burst waits for those before it.
/// (Measured: 64 page-cache writes at once took 650 µs each on a device that does 400,000 IOPS.)
const HAND_OVER_NS: f64 = 10e3;
/// The same while other programs use the CPUs: the time slice of the CPU scheduler.
const SLICE_NS: f64 = 3e6;
/// Idle times are short of this if the device has a request this share of the time.
const RESTS_BELOW: f64 = 0.8;
/// Prior odds that a light load is late because of its idle times rather than because of the device.
const MORE_OFTEN: f64 = 6.0;

/// If programs hardly wait for the disk, these are the odds that it is not the cause, even if its
/// requests are late.
const NOT_FELT: f64 = 4.0;

/// Late requests that programs hardly wait for.
pub(super) fn not_felt(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let present = segment.tally.concurrency().filter(|_| segment.programs_hardly_wait())?;
    let claim = format!(
        "Requests are in flight only {} of the time, and tasks wait for I/O about as rarely: \
         faster requests could save no more than that time.",
        percent(present)
    );
    let decided_by = "Observe again while the program that is slow runs.";
    let weight = NOT_FELT * facts.states.slow();
    let fine = facts.states.name_of_fine();
    Some(Explanation::weighed(fine, Doubt::AfterRest, weight, claim, decided_by))
}

/// Requests late by their wake-up time.
pub(super) fn after_a_rest(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let (segment, measure) = (facts.segment, facts.states.measure.as_ref()?);
    let (look, latency) = segment.best_look().filter(|(look, _)| look.own.is_none())?;
    let busy = segment.busy().filter(|busy| *busy < RESTS_BELOW && !segment.simulated)?;
    if segment.waiter_above() == Waiter::Seen || measure.held.is_some() {
        return None;
    }
    let excess_ns = (latency - look.expected_ns(segment.by_rate()) - segment.waking_ns).max(0.0);
    let full = segment.around.processors_full();
    let others = (segment.present().unwrap_or(1.0) - 1.0).max(0.0);
    // Lone reads give only a median, for a single program.
    let late_ns = match look.rest_ns {
        Some(rest_ns) => rest_ns + (2.0 + others) * HAND_OVER_NS,
        None => REST_NS + others * HAND_OVER_NS,
    };
    let rest_ns = if full { SLICE_NS } else { late_ns };
    let odds = MORE_OFTEN * libm::exp(-excess_ns / rest_ns);
    let fine = facts.states.name_of_fine();
    let why = match full {
        true => "the CPUs are saturated and serve other programs first",
        false => "waking up takes longer",
    };
    let claim = format!(
        "Requests take {}, {} the {} of back-to-back requests, because they follow an idle period \
         and {why}. The device is busy {} of the time, and no program was seen waiting for more.",
        format_nanos(latency),
        times(measure.asleep),
        format_nanos(look.expected_ns(segment.by_rate())),
        percent(busy)
    );
    let decided_by = "Observe again while a program keeps the device awake, or run a check that \
                      measures requests after idle periods.";
    let weight = odds * facts.states.slow();
    (measure.is_slow() && odds >= 0.02)
        .then(|| Explanation::weighed(fine, Doubt::AfterRest, weight, claim, decided_by))
}

/// CPU wake-up time is measured with a timer. An interrupt takes longer on some machines.
pub(super) fn slow_to_wake(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let (segment, measure) = (facts.segment, facts.states.measure.as_ref()?);
    let (look, latency) = segment.best_look()?;
    let excess = (latency - look.expected_ns(segment.by_rate())) / segment.waking_ns.max(1.0);
    if !measure.is_slow() || excess > WAKING_TIMES || measure.asleep < SLOW_FROM {
        return None;
    }
    let because = format!(
        "The CPUs sleep between requests, and waking up takes {} (measured with a timer): a few \
         wake-ups explain the additional time.",
        format_nanos(segment.waking_ns)
    );
    let fine = facts.states.name_of_fine();
    let slow = facts.states.slow();
    Some(Explanation::beside(fine, Doubt::SlowToWake, slow, because, KEEP_AWAKE))
}

/// The reverse case: an apparent wake-up delay may be the device.
pub(super) fn wake_ups(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let measure = facts.states.measure.as_ref().filter(|it| it.is_late_by_waking())?;
    if measure.is_slow() {
        return None;
    }
    let because = measure.late_by_waking(facts.segment);
    let slow = match measure.saturation >= MUCH_TO_SPARE && facts.states.overloaded() > 0.5 {
        true => Verdict::SlowAndOverloaded,
        false => Verdict::Slow,
    };
    let not_slow = facts.states.not_slow();
    Some(Explanation::beside(slow, Doubt::WakeUps, not_slow, because, KEEP_AWAKE))
}
