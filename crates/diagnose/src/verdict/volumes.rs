//! Volumes that take time themselves: what the device mapper, a software array or a cache does to a request
//! beside handing it on. It lies above the counters of the disks below, whose verdicts it leaves as they
//! are, and is the cause of what programs wait for.
//!
//! Latencies are compared, layer by layer, because a volume counts each request of a program and a disk
//! what became of it: merged, split or twice. Of reads, and of writes where there is one device below: an
//! array writes several times for one write. Rejected: the sum of times in progress, which merging makes
//! several times as small below.

use super::Subject;
use super::interval_totals::{IntervalTotals, OpTally};
use super::judge::{Judged, REQUESTS_MIN};
use super::judgement::numbers;
use super::members::leaf;
use record::{Cause, CauseCode, Observation, ObservedDevice, OpKind, format_nanos};
use std::ops::Range;

/// A volume holds requests from this many times the latency of its devices on. Striping over two devices
/// waits for the slower one, which is less.
const HOLDS: f64 = 2.5;

/// Names the volumes that hold requests in the verdicts on the disks below them.
pub(super) fn above(
    observation: &Observation,
    subjects: &[Subject<'_>],
    judged: &mut [Vec<Judged<'_>>],
) {
    for volume in observation.devices.iter().filter(|device| !device.built_of.is_empty()) {
        for (subject, judged) in subjects.iter().zip(judged.iter_mut()) {
            if !is_below(observation, &subject.device.name, volume) {
                continue;
            }
            for one in judged {
                let holds = held(observation, volume, &one.segment.time);
                one.causes.extend(holds.filter(|_| !one.causes.iter().any(is_by_volume)));
            }
        }
    }
}

fn is_by_volume(cause: &Cause) -> bool {
    cause.code == CauseCode::VolumeHolds
}

/// Whether a disk is below a volume, through others or not.
fn is_below(observation: &Observation, disk: &str, volume: &ObservedDevice) -> bool {
    volume.built_of.iter().any(|member| {
        let device = || observation.devices.iter().find(|device| device.name == *member);
        leaf(observation, member) == Some(disk)
            || device().is_some_and(|it| it.name != volume.name && is_below(observation, disk, it))
    })
}

/// What shows that a volume holds requests in a time.
fn held(observation: &Observation, volume: &ObservedDevice, time: &Range<u64>) -> Option<Cause> {
    let of = |name: &String| {
        let own = observation.intervals.iter().filter(|interval| interval.device == *name);
        IntervalTotals::during(own, time)
    };
    let own = of(&volume.name);
    let below = IntervalTotals::sum(&volume.built_of.iter().map(of).collect::<Vec<_>>());
    let ops: &[OpKind] =
        if volume.built_of.len() == 1 { &[OpKind::Read, OpKind::Write] } else { &[OpKind::Read] };
    let latencies = ops.iter().find_map(|&op| {
        let known = |of: &OpTally| of.latency_ns().filter(|_| of.count() >= REQUESTS_MIN);
        Some((op, known(own.op(op))?, known(below.op(op))?))
    });
    let (op, takes_ns, below_ns) = latencies.filter(|(_, own, below)| *own >= HOLDS * below)?;
    let (name, on) = (&volume.name, volume.built_of.join(", "));
    let claim = format!(
        "{} take {} at {name} and {} at {on} below it: {name} itself holds them.",
        match op {
            OpKind::Read => "Reads",
            OpKind::Write => "Writes",
        },
        format_nanos(takes_ns),
        format_nanos(below_ns),
    );
    let evidence =
        [("latency of the volume", takes_ns, "ns"), ("latency below it", below_ns, "ns")];
    Some(Cause { code: CauseCode::VolumeHolds, claim, evidence: numbers(&evidence) })
}
