//! Treats a built device as one: sums what its members did, for a profile of all of them together.
//!
//! This applies only if each request goes to one member, so that the sum of the members' counters is the
//! programs' load. Rejected: mirrors and parity, whose members do more than the programs requested.

use super::matching::{Fit, fit};
use super::members::leaf;
use super::{DiagnoseOptions, FittedProfile};
use record::{
    DeviceFacts, Figure, Interval, LVM_ONCE, MatchedBy, Observation, ObservedDevice, OpInterval,
    VolumeKind,
};

/// RAID levels that store each block once.
const ONCE: [&str; 4] = ["raid0", "single", "linear", LVM_ONCE];

/// The observation with an additional device for each built device that has a profile; `None` if
/// there is none.
pub(super) fn with_wholes<'p>(
    observation: &Observation,
    profile_of: &dyn Fn(&ObservedDevice) -> Option<&'p FittedProfile>,
    options: &DiagnoseOptions,
) -> Option<Observation> {
    let mut wholes: Vec<ObservedDevice> = Vec::new();
    let mut intervals: Vec<Interval> = Vec::new();
    let volumes = observation.paths.iter().flat_map(|path| &path.volumes);
    for volume in volumes.filter(|volume| volume.kind != VolumeKind::Loop) {
        let once = volume.level.as_deref().is_some_and(|level| ONCE.contains(&level));
        let leaves: Option<Vec<&str>> =
            volume.members.iter().map(|member| leaf(observation, member)).collect();
        let Some(leaves) = leaves.filter(|leaves| once && leaves.len() > 1) else { continue };
        let whole = device(observation, &leaves);
        // A profile that the user chose for the members does not describe the whole.
        let fits = profile_of(&whole).is_some_and(|profile| {
            let fit = fit(&whole, profile.profile(), options.chosen);
            matches!(fit, Fit::Of(by, _) if by != MatchedBy::Choice)
        });
        if fits && wholes.iter().all(|known| known.name != whole.name) {
            intervals.extend(sums(observation, &whole.name, &leaves));
            wholes.push(whole);
        }
    }
    (!wholes.is_empty()).then(|| {
        let mut with = observation.clone();
        with.devices.extend(wholes);
        with.intervals.extend(intervals);
        with
    })
}

fn device(observation: &Observation, leaves: &[&str]) -> ObservedDevice {
    let names: Vec<String> = leaves.iter().map(|leaf| (*leaf).to_owned()).collect();
    let first = observation.devices.iter().find(|device| device.name == leaves[0]);
    let facts = DeviceFacts {
        name: leaves.join(" and "),
        leaves: names,
        // A limit on a member is not a limit on the whole.
        major_minor: String::new(),
        ..first.and_then(|first| first.facts.clone()).unwrap_or_default()
    };
    ObservedDevice {
        name: facts.name.clone(),
        facts: Some(facts),
        busy_doubt: Some("members are busy at different times".to_owned()),
        ..ObservedDevice::default()
    }
}

/// What the leaves did together, for each interval that all of them have.
fn sums(observation: &Observation, name: &str, leaves: &[&str]) -> Vec<Interval> {
    let of = |leaf: &str, first: &Interval| {
        let same = |other: &&Interval| {
            other.device == leaf
                && (other.begin_ns, other.duration_ns) == (first.begin_ns, first.duration_ns)
        };
        observation.intervals.iter().find(same)
    };
    let firsts = observation.intervals.iter().filter(|interval| interval.device == leaves[0]);
    let together = |first: &Interval| {
        let all: Vec<&Interval> =
            leaves.iter().map(|leaf| of(leaf, first)).collect::<Option<_>>()?;
        let figure = |of: fn(&Interval) -> Option<Figure>| sum(all.iter().map(|one| of(one)));
        let op = |of: fn(&Interval) -> &OpInterval| {
            op_sum(&all.iter().map(|it| of(it)).collect::<Vec<_>>())
        };
        Some(Interval {
            device: name.to_owned(),
            begin_ns: first.begin_ns,
            duration_ns: first.duration_ns,
            read: op(|interval| &interval.read),
            write: op(|interval| &interval.write),
            all: op(|interval| &interval.all),
            discards_per_s: figure(|interval| interval.discards_per_s),
            flushes_per_s: figure(|interval| interval.flushes_per_s),
            concurrency: figure(|interval| interval.concurrency),
            in_flight: figure(|interval| interval.in_flight),
            ..Interval::default()
        })
    };
    firsts.filter_map(together).collect()
}

/// `None` if one of them is unknown.
fn sum(figures: impl Iterator<Item = Option<Figure>>) -> Option<Figure> {
    let known: Vec<Figure> = figures.collect::<Option<_>>()?;
    let value = known.iter().map(|figure| figure.value).sum();
    Some(Figure::derived(value, known.iter().map(|figure| figure.resolution).sum()))
}

fn op_sum(ops: &[&OpInterval]) -> OpInterval {
    let per_s = sum(ops.iter().map(|op| op.per_s));
    let bytes_per_s = sum(ops.iter().map(|op| op.bytes_per_s));
    let each = |total: f64, resolution: f64| {
        let count = per_s?.value;
        (count > 0.0).then(|| Figure::derived(total / count, resolution))
    };
    let times = ops.iter().filter_map(|op| Some((op.per_s?.value, op.latency_ns?)));
    let times: Vec<(f64, Figure)> = times.collect();
    let coarsest = times.iter().map(|(_, time)| time.resolution).fold(0.0, f64::max);
    let total: f64 = times.iter().map(|(count, time)| count * time.value).sum();
    OpInterval {
        per_s,
        bytes_per_s,
        request_bytes: bytes_per_s.and_then(|bytes| each(bytes.value, 0.0)),
        merged_per_s: sum(ops.iter().map(|op| op.merged_per_s)),
        latency_ns: if times.is_empty() { None } else { each(total, coarsest) },
    }
}
