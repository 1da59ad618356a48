//! Tests for delays above all counters of the device.

use super::OTHER_DEVICE;
use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::{PRESSURE_ALONE, PRESSURE_AT_ALL};
use crate::verdict::idle_waits::IdleWaits;
use crate::verdict::judgement::RestsOn;
use crate::verdict::odds;
use crate::words::percent;
use record::{Doubt, Verdict, format_nanos};

/// Waits before the counters start that full tags do not explain.
pub(super) fn before_the_counters(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some(traced) = segment.around.traced.as_ref().filter(|_| segment.waits_before()) else {
        return;
    };
    if segment.full_tags().is_some() {
        return;
    }
    let by_share = segment.scheduler_by_share();
    let holder = by_share.map_or("something above the device delays them".to_owned(), |name| {
        format!(
            "the I/O scheduler {name}, which gives each program only a part of the device's tags"
        )
    });
    let claim = format!(
        "Requests wait {} on average before the disk's counters start: {holder}.",
        format_nanos(traced.held.1)
    );
    let weight = 10.0 * PROOF;
    let decided_by = "Compare the tags in use with nr_requests and queue/nr_hw_queues.";
    let rests_on = if by_share.is_some() { RestsOn::Scheduler } else { RestsOn::Means };
    found.push(
        Explanation::weighed(Verdict::Capped, Doubt::FullTags, weight, claim, decided_by)
            .resting_on(rests_on)
            .with(&[
                ("wait before the start", traced.held.1, "ns"),
                ("requests that waited", traced.held.0, ""),
            ]),
    );
    let because = "The device's queue may have been full more often than the counters show.";
    let doubt = Doubt::FullTags;
    found.push(Explanation::beside(Verdict::Overloaded, doubt, weight, because, decided_by));
}

/// Tasks wait for I/O just when a healthy device has less to do.
pub(super) fn while_idle(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let waits = IdleWaits::of(segment.series, &segment.around.io_some_each);
    // Waits for flushes are waits for the device, but neither its latency nor its busy time includes them.
    let reliable = segment.known.busy && segment.many_flushes().is_none();
    let IdleWaits { quiet, busy, beyond } = waits.filter(|_| reliable)?;
    let claim = format!(
        "The device is as fast as it should be, but something above it delays requests at times. \
         While the device was busy {}, tasks waited for I/O {} of the time. While it was busy \
         only {}, under the same kind of load, they waited {} of the time.",
        percent(busy.0),
        percent(busy.1),
        percent(quiet.0),
        percent(quiet.1)
    );
    let rival = (
        OTHER_DEVICE,
        "Watch all devices together (`watch` without a name), and check the control-group limits \
         of the processes that wait.",
    );
    let fine = facts.states.fine();
    Some(
        Explanation::instead(Verdict::Capped, Doubt::IdleWaits, fine, claim, rival)
            .resting_on(RestsOn::IdleWaits(beyond)),
    )
}

/// Tasks wait for I/O longer than the device is busy.
pub(super) fn pressure(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let beyond = segment.pressure_beyond().filter(|beyond| *beyond > PRESSURE_AT_ALL)?;
    // A device with a high load explains most of the tasks' waits itself.
    let busy = facts.states.measure.as_ref().is_some_and(|measure| measure.saturation >= 0.5);
    let odds =
        odds::of(Doubt::IoPressure) * (beyond / PRESSURE_ALONE).min(if busy { 0.4 } else { 1.0 });
    let because = format!(
        "Tasks waited for I/O {} of the time, and this device was busy {}: a throttle above it, \
         another device or a network file system delays them.",
        percent(segment.around.io_some.unwrap_or(0.0)),
        percent(segment.tally.utilization().unwrap_or(0.0))
    );
    let weight = odds * facts.states.not_slow();
    let decided_by = "Check the control-group limits of the processes that wait.";
    Some(Explanation::weighed(Verdict::Capped, Doubt::IoPressure, weight, because, decided_by))
}
