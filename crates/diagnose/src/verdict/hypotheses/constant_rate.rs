//! Tests a constant rate: a cap if a program waits for more, otherwise the program's own pace.

use crate::published_limits::published_limit;
use crate::verdict::constant_rate::ConstantRate;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{NEAR_MAXIMUM, PRESSURE_ALONE, Segment, Waiter, is_hosted};
use crate::verdict::judgement::RestsOn;
use crate::verdict::{by_operation, own};
use crate::words::percent;
use record::{Doubt, Verdict};

/// Odds that a device whose maximum rate is a published limit is limited by that, rather than by
/// its hardware.
const PUBLISHED: f64 = 5.0;

/// How to find a limit. Windows has neither control groups nor pressure stall information.
fn decided_by(segment: &Segment<'_>) -> &'static str {
    segment.by_system(
        "Look for a limit at that rate (provider, hypervisor), or run a trial at another rate.",
        "Look for a limit at that rate (provider, control group), check pressure stall \
             information, or run a trial at another rate.",
    )
}

/// A slow device that always has a request and runs at a constant rate.
pub(super) fn of_a_slow_device(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let pin = pin(facts).filter(|_| facts.segment.never_empties())?;
    facts.states.measure.as_ref().filter(|measure| measure.is_slow())?;
    let because =
        format!("{}, as with a cap inside the device. The device is slow or capped.", pin.same());
    let (doubt, slow) = (Doubt::ConstantRateSlow, facts.states.slow());
    Some(Explanation::beside(Verdict::Capped, doubt, slow, because, decided_by(facts.segment)))
}

/// A device that is not slow and runs at a constant rate.
pub(super) fn of_a_fine_device(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let (segment, measure) = (facts.segment, facts.states.measure.as_ref()?);
    let pin = pin(facts).filter(|_| !measure.is_slow())?;
    let not_slow = facts.states.not_slow();
    let decided_by = decided_by(segment);
    let own = segment.best_look().and_then(|(look, _)| look.own);
    if measure.saturation >= NEAR_MAXIMUM || own.is_some_and(|own| own.overloaded >= 0.5) {
        let may_be = segment.class.may_be_capped && segment.never_empties();
        let what = published_limit(pin.per_s, pin.bytes, segment.most_bytes_per_s);
        if let Some(what) = what.filter(|_| own.is_none() && may_be) {
            let claim = format!(
                "{} and equals the profile's maximum: this is the limit of {what}.",
                pin.same()
            );
            let weight = PUBLISHED * facts.states.overloaded();
            let doubt = Doubt::ConstantRateAtMaximum;
            return Some(
                Explanation::weighed(Verdict::Capped, doubt, weight, claim, decided_by)
                    .resting_on(RestsOn::Published),
            );
        }
        segment.facts.filter(|facts| own.is_none() && is_hosted(facts))?;
        let because = format!(
            "{} and equals the profile's maximum: the device's limit may be a cap.",
            pin.same()
        );
        let doubt = Doubt::ConstantRateAtMaximum;
        return Some(Explanation::beside(Verdict::Capped, doubt, not_slow, because, decided_by));
    }
    if let Some(beyond) = segment.pressure_beyond().filter(|beyond| *beyond > PRESSURE_ALONE) {
        let claim = format!(
            "{}, and tasks wait {} of the time for I/O that this device is not doing: a limit \
             above the device allows no more.",
            pin.same(),
            percent(beyond)
        );
        let rival = (
            "The tasks may be waiting for another device or a network file system while the \
             program that uses this device paces itself.",
            "Look for limits of the control groups and of the host, or run as root: the tracer \
             measures the wait before a request starts.",
        );
        let doubt = Doubt::ConstantRatePressed;
        return Some(Explanation::instead(Verdict::Capped, doubt, not_slow, claim, rival));
    }
    let (doubt, means) = match segment.waiter_above() {
        Waiter::Seen => (
            Doubt::ConstantRateBelowMaximum,
            "capped above the counters, or paced by the application",
        ),
        Waiter::Nobody => (
            Doubt::ConstantRateUnpressed,
            "paced by the application, or limited while no process waits, because the I/O is \
             asynchronous",
        ),
        Waiter::OutOfSight => (
            Doubt::ConstantRateUnseen,
            "paced by the application, though this source does not show whether a process waits \
             for more",
        ),
    };
    let because = format!("{}: {means}.", pin.same());
    Some(Explanation::beside(Verdict::Capped, doubt, not_slow, because, decided_by))
}

/// Without a profile: requests arrive in groups at a constant rate that the device sustains, and
/// the device is idle after each.
pub(super) fn of_a_device_that_rests(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let own = segment.best_look().is_some_and(|(look, _)| look.own.is_some());
    let busy = segment.busy().filter(|_| own && !segment.never_empties())?;
    let pin = pin(facts).filter(|pin| !pin.bytes)?;
    if segment.waiter_above() == Waiter::Seen {
        return None;
    }
    let claim = format!(
        "{}, and the device is idle {} of the time: the program paces itself. Its requests come \
         in groups and are served immediately.",
        pin.same(),
        percent(1.0 - busy)
    );
    let rival = (
        "The queue may still delay the program.",
        "Measure latency in the program, or its rate without pacing.",
    );
    let (fine, over) = (facts.states.name_of_fine(), facts.states.overloaded());
    Some(Explanation::instead(fine, Doubt::OwnBursts, over, claim, rival))
}

/// Without a profile: a device with a queue and a constant rate.
pub(super) fn behind_a_queue(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let pin = pin(facts).filter(|_| segment.never_empties())?;
    let cap = own::cap(segment, segment.best_look()?.0, &pin)?;
    let claim = format!(
        "{} with a mean queue depth of {:.0}: {}.",
        pin.same(),
        segment.tally.concurrency().unwrap_or(0.0),
        cap.because
    );
    let (doubt, weight) = (Doubt::ConstantRateQueued, cap.odds * facts.states.harmed());
    Some(Explanation::weighed(Verdict::Capped, doubt, weight, claim, decided_by(segment)))
}

fn pin(facts: &Facts<'_, '_>) -> Option<ConstantRate> {
    facts.segment.pin().filter(|_| !facts.elsewhere.rate_moves_too)
}

/// Reads alone or writes alone.
pub(super) fn of_one_operation(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some([reads, writes]) = by_operation::apart(facts.segment) else { return };
    let (one, other) = if reads.slow { (reads, writes) } else { (writes, reads) };
    if !one.slow || other.slow {
        return;
    }
    if one.constant.is_some() && other.constant.is_none() && facts.segment.never_empties() {
        let because =
            format!("{} A limit on this operation alone would explain the latency.", one.because());
        let decided_by = facts.segment.by_system(
            "Look for a limit on that operation (provider, hypervisor), or run a trial at \
                 another rate.",
            "Look for a limit on that operation (provider, control group), or run a trial at \
                 another rate.",
        );
        let (doubt, all) = (Doubt::OneOperationConstant, facts.states.all());
        found.push(Explanation::beside(Verdict::Capped, doubt, all, because, decided_by));
    }
    let because =
        format!("{} The mean over reads and writes hides this difference.", one.because());
    let decided_by = "Run a trial of that operation alone and compare it with the profile.";
    let (doubt, not_slow) = (Doubt::OneOperation, facts.states.not_slow());
    found.push(Explanation::beside(Verdict::Slow, doubt, not_slow, because, decided_by));
}
