//! Finds volumes that take time themselves: what the device mapper, a software array or a cache does to a
//! request besides passing it on. A volume is above the counters of the disks below it. Their verdicts do not
//! change, but the volume is the cause of the programs' waits.
//!
//! Latencies are compared layer by layer, because a volume counts each request of a program, while a disk
//! counts the merged, split or duplicated requests that result. Reads are compared, and also writes if there
//! is a single device below, because an array writes several times per write. On Windows, a partition has
//! counters above those of its disk, and is compared if nearly all requests of the disk are its own. Rejected: the sum of times in
//! flight, which merging reduces several times below the volume.
//!
//! A volume that took as large a share of the latency when its profile was made is working as intended.

use super::facts::{Judged, REQUESTS_MIN};
use super::interval_totals::{IntervalTotals, OpTally};
use super::judgement::cause;
use super::members::{is_below, is_under, members};
use super::subject::Subject;
use crate::words::capitalized;
use record::{
    Cause, CauseCode, Observation, ObservedDevice, OpKind, Profile, Volume, VolumeKind,
    format_nanos,
};
use std::ops::Range;

/// Ratio to the latency of its devices from which a volume holds requests. Striping over two
/// devices waits for the slower one, which gives a smaller ratio.
const HOLDS: f64 = 2.5;
/// The ratio must also exceed that at the time of the profile by this factor.
const MORE_THAN_THEN: f64 = 1.5;

/// Share of the disk's requests from which a partition is compared with the disk: with this, an equal latency
/// of its own requests cannot look like a delay.
const NEARLY_ALL: f64 = 0.8;

/// Adds the volumes that hold requests to the verdicts on the disks below them.
pub(super) fn above(
    observation: &Observation,
    subjects: &[Subject<'_>],
    judged: &mut [Vec<Judged<'_>>],
) {
    for volume in observation.devices.iter().filter(|device| !members(device).is_empty()) {
        for (subject, judged) in subjects.iter().zip(judged.iter_mut()) {
            if !is_below(observation, &subject.device.name, volume) {
                continue;
            }
            let then = subject.reference.and_then(|it| then(observation, it.profile(), volume));
            for one in judged {
                let holds = held(observation, volume, &one.segment.time, then);
                if let Some(cause) = holds.filter(|_| one.holder.is_none()) {
                    one.holder = Some(volume.name.clone());
                    one.causes.push(cause);
                }
            }
        }
    }
}

/// The diagnosed device that the user named, if this one serves its requests: a loop device, or disks that are
/// diagnosed together. `None` for a named device, and if the user named none.
pub(super) fn named_above<'o>(observation: &'o Observation, name: &str) -> Option<&'o str> {
    let Observation { devices, paths, .. } = observation;
    // Without names, the paths are only those of built devices.
    let on_a_path = |one: &ObservedDevice| paths.iter().any(|it| it.devices.contains(&one.name));
    if !devices.iter().all(|one| on_a_path(one) || !together(one).is_empty()) {
        return None;
    }
    if let Some(whole) = devices.iter().find(|one| together(one).iter().any(|disk| disk == name)) {
        return Some(&whole.name);
    }
    let is_on_it = |volume: &&Volume| is_under(observation, name, volume);
    let mut above = None;
    for path in paths.iter().filter(|path| path.devices.iter().any(|device| device == name)) {
        let mut loops = path.volumes.iter().filter(|volume| volume.kind == VolumeKind::Loop);
        // A path that reaches this device without a loop device names it.
        let volume = loops.find(is_on_it)?;
        above = above.or(Some(volume.name.as_str()));
    }
    above
}

/// The disks of a device that sums them up; empty for any other device.
fn together(device: &ObservedDevice) -> &[String] {
    match &device.facts {
        Some(facts) if device.built_of.is_empty() && facts.leaves.len() > 1 => &facts.leaves,
        _ => &[],
    }
}

/// Upper bound of the ratio of a volume's latency to that of its devices, from a profile of it or of a volume
/// above it: the median over its loads. `None` if the profile is of another device or does not show it.
fn then(observation: &Observation, profile: &Profile, volume: &ObservedDevice) -> Option<f64> {
    let device = profile.target.device.as_ref().filter(|device| !device.leaves.is_empty())?;
    let profiled = observation.devices.iter().find(|one| one.name == device.name)?;
    if profiled.name != volume.name && !is_below(observation, &volume.name, profiled) {
        return None;
    }
    let shares = profile.cells.iter().filter_map(|cell| cell.device_share.value().copied());
    let shares: Vec<f64> = shares.filter(|share| *share > 0.0).collect();
    (!shares.is_empty()).then(|| stats::median(shares).recip())
}

/// The evidence that a volume holds requests during `time`. `then` is the ratio at the time of the profile.
fn held(
    observation: &Observation,
    volume: &ObservedDevice,
    time: &Range<u64>,
    then: Option<f64>,
) -> Option<Cause> {
    let of = |name: &String| IntervalTotals::of_device(observation, name, time);
    let own = of(&volume.name);
    let members = members(volume);
    let below = IntervalTotals::sum(&members.iter().map(|it| of(it)).collect::<Vec<_>>());
    let ops: &[OpKind] =
        if members.len() == 1 { &[OpKind::Read, OpKind::Write] } else { &[OpKind::Read] };
    let is_part = volume.built_of.is_empty();
    let alike = |op: OpKind| !is_part || own.op(op).count() >= NEARLY_ALL * below.op(op).count();
    let latencies = ops.iter().filter(|op| alike(**op)).find_map(|&op| {
        let known = |of: &OpTally| of.latency_ns().filter(|_| of.count() >= REQUESTS_MIN);
        Some((op, known(own.op(op))?, known(below.op(op))?))
    });
    let holds = HOLDS.max(then.map_or(0.0, |then| MORE_THAN_THEN * then));
    let (op, takes_ns, below_ns) = latencies.filter(|(_, own, below)| *own >= holds * below)?;
    let on = members.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let name = &volume.name;
    let before = then.map_or_else(String::new, |then| {
        format!(
            " When the profile was made, requests took at most {then:.1} times as long at the \
             volume as below it."
        )
    });
    let claim = format!(
        "{} take {} at {name} and {} at {on} below it: {name} itself delays them.{before}",
        capitalized(op),
        format_nanos(takes_ns),
        format_nanos(below_ns),
    );
    let evidence =
        [("latency of the volume", takes_ns, "ns"), ("latency below it", below_ns, "ns")];
    Some(cause(CauseCode::VolumeHolds, claim, &evidence))
}
