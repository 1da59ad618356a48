//! Compares the members of an array. An array waits for its slowest member. A member whose requests
//! take far longer than those of its siblings, at the same or a lower rate and with the same kind
//! of requests, is the cause; no profile is needed for that. If a cap slows one member, the others
//! wait too, and are not at fault. Rejected: the array's own counters, which include the wait for
//! all members, and the first member alone.

use super::alike::same_kind;
use super::elsewhere::{Elsewhere, Sibling, Slowest};
use super::facts::{Judged, REQUESTS_MIN};
use super::hypotheses::{allowed, reached_below};
use super::interval_totals::IntervalTotals;
use super::judgement::RestsOn;
use super::subject::Subject;
use record::{Observation, ObservedDevice, Verdict, Volume, VolumeKind, format_iops, format_nanos};
use stats::Ordered;
use std::ops::Range;

/// Ratio to the siblings' latency from which a member is the slowest.
const FAR: f64 = 2.0;
/// Largest ratio of a member's rate to its sibling's, allowing for chance.
const NO_HIGHER: f64 = 1.25;

/// A device built of several observed ones.
#[derive(Debug)]
pub(super) struct Built {
    /// Name in sentences: `the btrfs raid0`, `md0 (raid1)`.
    pub(super) words: String,
    /// Indices of its members among the subjects.
    pub(super) members: Vec<usize>,
}

/// The built devices of an observation: those below the user's paths, and devices whose members are known.
pub(super) fn built(observation: &Observation, subjects: &[Subject<'_>]) -> Vec<Built> {
    let mut found: Vec<Built> = Vec::new();
    let mut add = |words: String, names: &[String]| {
        let mut members: Vec<usize> = Vec::new();
        for name in names {
            let Some(leaf) = leaf(observation, name) else { continue };
            let place = subjects.iter().position(|subject| subject.device.name == leaf);
            members.extend(place.filter(|place| !members.contains(place)));
        }
        if members.len() > 1 && found.iter().all(|known| known.members != members) {
            found.push(Built { words, members });
        }
    };
    let volumes = observation.paths.iter().flat_map(|path| &path.volumes);
    for volume in volumes.filter(|volume| volume.kind != VolumeKind::Loop) {
        let words = match (volume.kind, &volume.level) {
            (VolumeKind::Btrfs, Some(level)) => format!("the btrfs {level}"),
            (VolumeKind::Btrfs, None) => "the btrfs".to_owned(),
            (_, Some(level)) => format!("{} ({level})", volume.name),
            (_, None) => volume.name.clone(),
        };
        add(words, &volume.members);
    }
    for device in &observation.devices {
        add(device.name.clone(), &device.built_of);
    }
    found
}

/// The single disk below a device; `None` if it is built of several.
pub(super) fn leaf<'o>(observation: &'o Observation, name: &str) -> Option<&'o str> {
    let device = observation.devices.iter().find(|device| device.name == name)?;
    match (&device.partition_of, device.built_of.as_slice()) {
        (Some(whole), _) => leaf(observation, whole),
        (None, []) => Some(&device.name),
        // A device built only of itself would recurse forever.
        (None, [only]) if only != name => leaf(observation, only),
        _ => None,
    }
}

/// The devices directly below a volume or partition.
pub(super) fn members(volume: &ObservedDevice) -> Vec<&String> {
    let parts = volume.built_of.iter();
    parts.chain(volume.partition_of.as_ref().filter(|_| volume.built_of.is_empty())).collect()
}

/// Whether a disk is below a volume, directly or through others.
pub(super) fn is_below(observation: &Observation, disk: &str, volume: &ObservedDevice) -> bool {
    members(volume).into_iter().any(|member| {
        let device = || observation.devices.iter().find(|device| device.name == *member);
        member == disk
            || leaf(observation, member) == Some(disk)
            || device().is_some_and(|it| it.name != volume.name && is_below(observation, disk, it))
    })
}

/// Whether a device is below a volume of a path, directly or through others.
pub(super) fn is_under(observation: &Observation, name: &str, volume: &Volume) -> bool {
    let mut members = observation.devices.iter().filter(|one| volume.members.contains(&one.name));
    members.any(|one| one.name == name || is_below(observation, name, one))
}

/// A member, its segment, and a remark on it.
type Remarked = (usize, usize, Remark);

enum Remark {
    Sibling(Sibling),
    Sentence(String),
}

/// A loop device is the source of a disk's load if it has at least this share of the disk's bytes.
const MOST_OF_IT: f64 = 0.5;

/// Adds a remark to loop devices if the disk below their file is throttled or slow, or if they reach
/// a limit that their group has on a device below.
pub(super) fn below_files(
    observation: &Observation,
    subjects: &[Subject<'_>],
    judged: &[Vec<Judged<'_>>],
    elsewhere: &mut [Vec<Elsewhere>],
) {
    let place = |name: &str| {
        let leaf = leaf(observation, name)?;
        subjects.iter().position(|subject| subject.device.name == leaf)
    };
    let volumes = observation.paths.iter().flat_map(|path| &path.volumes);
    for volume in volumes.filter(|volume| volume.kind == VolumeKind::Loop) {
        let Some(above) = place(&volume.name) else { continue };
        for below in volume.members.iter().filter_map(|member| place(member)) {
            for (one, told) in judged[above].iter().zip(&mut elsewhere[above]) {
                let cause = judged[below].iter().find(|other| {
                    let verdict = other.judgement.verdict;
                    (verdict.is_slow() || verdict == Verdict::Capped)
                        && covers(&other.segment.time, &one.segment.time)
                });
                let Some(cause) = cause else { continue };
                let name = &subjects[below].device.name;
                let bytes = |judged: &Judged<'_>| judged.segment.tally.bytes_per_s().unwrap_or(0.0);
                let capped = cause.judgement.verdict == Verdict::Capped;
                let by = &cause.judgement.rests_on;
                let known = matches!(by, RestsOn::Limits(_) | RestsOn::VolumeLog);
                // For the slowest member of an array, "slow" with the array's name is more
                // informative than "capped".
                let slowest = matches!(told.sibling, Some(Sibling::Slowest(_)));
                if capped && known && !slowest && bytes(one) >= MOST_OF_IT * bytes(cause) {
                    let what = &cause.judgement.claim;
                    let claim = format!("This device's file is on {name}, which is capped. {what}");
                    told.capped_below = Some((claim, by.clone()));
                    continue;
                }
                if one.judgement.verdict.is_slow() || slowest {
                    let what = if capped { "capped" } else { "slow" };
                    let sentence = format!(" This device's file is on {name}, which is {what}.");
                    told.sentences.push(sentence);
                }
            }
        }
        let under = observation.devices.iter().filter(|it| is_under(observation, &it.name, volume));
        let numbers = under.filter_map(|it| Some(it.facts.as_ref()?.major_minor.as_str()));
        let numbers: Vec<&str> = numbers.collect();
        for (one, told) in judged[above].iter().zip(&mut elsewhere[above]) {
            if told.capped_below.is_some() {
                continue;
            }
            let limits = reached_below(&one.segment, &numbers);
            let Some(limit) = limits.first() else { continue };
            let claim = format!(
                "This device's file is on {}, where the control group {:?} is limited to {}, and \
                 this device runs at that rate.",
                volume.members.join(", "),
                limit.group,
                allowed(&limits)
            );
            told.capped_below = Some((claim, RestsOn::Limits(limits)));
        }
    }
}

/// Compares the members of each built device in each of their segments.
pub(super) fn compare(
    subjects: &[Subject<'_>],
    judged: &[Vec<Judged<'_>>],
    built: &[Built],
    elsewhere: &mut [Vec<Elsewhere>],
) {
    for built in built {
        let mut told = held_up(subjects, judged, built);
        told.extend(waiting(subjects, judged, built, &told));
        for (member, segment, remark) in told {
            let one = &mut elsewhere[member][segment];
            match remark {
                Remark::Sibling(sibling) => one.sibling = Some(sibling),
                Remark::Sentence(text) => one.sentences.push(text),
            }
        }
    }
}

/// The segments of all members, each with its member and its place among the member's segments.
fn segments<'j, 's>(
    judged: &'j [Vec<Judged<'s>>],
    built: &'j Built,
) -> impl Iterator<Item = (usize, usize, &'j Judged<'s>)> {
    built.members.iter().flat_map(|&member| {
        let numbered = judged[member].iter().enumerate();
        numbered.map(move |(place, one)| (member, place, one))
    })
}

/// Members that their siblings wait for, with the segment in which this happens.
fn held_up(subjects: &[Subject<'_>], judged: &[Vec<Judged<'_>>], built: &Built) -> Vec<Remarked> {
    let remark = |(member, place, one): (usize, usize, &Judged<'_>)| {
        let siblings: Vec<(usize, IntervalTotals)> = built
            .members
            .iter()
            .filter(|&&other| other != member)
            .map(|&other| (other, during(&subjects[other], &one.segment.time)))
            .filter(|(_, tally)| comparable(&one.segment.tally, tally))
            .collect();
        if 2 * siblings.len() < built.members.len() - 1 || siblings.is_empty() {
            return None;
        }
        if one.judgement.verdict != Verdict::Capped {
            let slowest = slowest(subjects, (member, one), &siblings, &built.words)?;
            return Some((member, place, Remark::Sibling(Sibling::Slowest(slowest))));
        }
        let is_capped = |(other, _): &(usize, IntervalTotals)| {
            judged[*other].iter().any(|other| {
                other.judgement.verdict == Verdict::Capped
                    && covers(&other.segment.time, &one.segment.time)
            })
        };
        let with = &subjects[siblings[0].0].device.name;
        let (name, built) = (&subjects[member].device.name, &built.words);
        let wait = format!(
            " {with} serves a similar load and has spare capacity: {built} waits for {name}."
        );
        (!siblings.iter().any(is_capped)).then_some((member, place, Remark::Sentence(wait)))
    };
    segments(judged, built).filter_map(remark).collect()
}

/// Members without a fault of their own while the array waits for another one.
fn waiting(
    subjects: &[Subject<'_>],
    judged: &[Vec<Judged<'_>>],
    built: &Built,
    held_up: &[Remarked],
) -> Vec<Remarked> {
    let remark = |(member, place, one): (usize, usize, &Judged<'_>)| {
        let open = one.segment.is_unprofiled()
            && one.judgement.verdict != Verdict::Capped
            && one.segment.tally.all.count() >= REQUESTS_MIN;
        let itself = held_up.iter().any(|known| (known.0, known.1) == (member, place));
        let (other, ..) =
            held_up.iter().filter(|_| open && !itself).find(|(other, segment, _)| {
                *other != member
                    && covers(&judged[*other][*segment].segment.time, &one.segment.time)
            })?;
        let wanted = subjects[*other].device.name.clone();
        let (own, built) = (subjects[member].device.name.clone(), built.words.clone());
        Some((member, place, Remark::Sibling(Sibling::Waits { own, built, wanted })))
    };
    segments(judged, built).filter_map(remark).collect()
}

fn during(subject: &Subject<'_>, time: &Range<u64>) -> IntervalTotals {
    IntervalTotals::during(subject.intervals.iter().copied(), time)
}

/// Whether one time range covers at least half of another.
fn covers(one: &Range<u64>, other: &Range<u64>) -> bool {
    let common = one.end.min(other.end).saturating_sub(one.start.max(other.start));
    2 * common >= other.end.saturating_sub(other.start)
}

/// Whether a sibling has the same kind of load, at the same rate or a higher one.
fn comparable(own: &IntervalTotals, sibling: &IntervalTotals) -> bool {
    let enough = |tally: &IntervalTotals| tally.all.count() >= REQUESTS_MIN;
    let rate = own.iops() <= NO_HIGHER * sibling.iops();
    enough(own) && enough(sibling) && rate && same_kind(own, sibling)
}

/// The evidence that a member is far slower than the median of its siblings.
fn slowest(
    subjects: &[Subject<'_>],
    (member, one): (usize, &Judged<'_>),
    siblings: &[(usize, IntervalTotals)],
    built: &str,
) -> Option<Slowest> {
    let own_ns = one.segment.tally.latency_ns()?;
    let mut others: Vec<(f64, usize, f64)> = siblings
        .iter()
        .filter_map(|(place, tally)| Some((tally.latency_ns()?, *place, tally.iops())))
        .collect();
    others.sort_by_cached_key(|one| Ordered(one.0));
    let &(sibling_ns, sibling, sibling_iops) = others.get(others.len() / 2)?;
    let error = one.segment.latency_error().unwrap_or(0.0).min(0.9);
    let far = own_ns * (1.0 - error) >= FAR * sibling_ns && sibling_ns > 0.0;
    let claim = format!(
        "Requests take {} at {} ({}) and {} at {} ({}): {built} waits for its slowest member.",
        format_nanos(own_ns),
        subjects[member].device.name,
        format_iops(one.segment.tally.iops()),
        format_nanos(sibling_ns),
        subjects[sibling].device.name,
        format_iops(sibling_iops)
    );
    let present = one.segment.tally.concurrency().unwrap_or(0.0);
    far.then_some(Slowest { claim, own_ns, sibling_ns, present })
}
