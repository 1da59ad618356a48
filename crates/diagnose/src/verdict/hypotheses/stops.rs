//! Tests for programs that stall briefly while the device is idle: something above it stops them.

use super::OTHER_DEVICE;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::judgement::RestsOn;
use record::{Doubt, Verdict, format_iops};

pub(super) fn above_the_device(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let stops = segment.stops?;
    let claim = format!(
        "The programs stopped in {} of {} intervals: the device was idle while tasks waited for \
         I/O. At other times it serves {}. Something above the device stops them.",
        stops.intervals,
        segment.range.len(),
        format_iops(stops.usual_per_s)
    );
    let rival = (
        OTHER_DEVICE,
        "Check the waiting processes at that moment: limits of their control groups (io.max), \
         frozen groups and frozen file systems.",
    );
    let all = facts.states.all();
    Some(
        Explanation::instead(Verdict::Capped, Doubt::Stops, all, claim, rival)
            .resting_on(RestsOn::IdleWaits(stops.waited)),
    )
}
