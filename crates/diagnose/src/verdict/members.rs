//! The members of a built device side by side. An array waits for its slowest member: one whose
//! requests take far longer than those of its siblings, at no higher a rate and of the same kind, is
//! the cause, and no profile is needed to say so. A member that is held back by a cap makes the others
//! wait as well, which then have nothing to answer for. Rejected: the array's own counters, which hold
//! the wait for all members, and the first member alone.

use super::causes::pinned_rate;
use super::interval_totals::IntervalTotals;
use super::judge::{Judged, REQUESTS_MIN};
use super::judgement::{Number, numbers};
use super::{Subject, alike::same_kind};
use crate::words::times;
use record::{
    Cause, CauseCode, Doubt, Observation, Verdict, VolumeKind, format_iops, format_nanos,
};
use stats::Ordered;
use std::ops::Range;

/// A member is the slowest from this many times the latency of its siblings on.
const FAR: f64 = 2.0;
/// From here on no other place of the requests explains it.
const CLEAR: f64 = 4.0;
/// At the same rate or a lower one, as far as chance goes.
const NO_HIGHER: f64 = 1.25;

/// A device that is built of several observed ones.
#[derive(Debug)]
pub(super) struct Built {
    /// `the btrfs raid0`, `md0 (raid1)`.
    pub(super) words: String,
    /// Places of its members among the subjects.
    pub(super) members: Vec<usize>,
}

/// The built devices of an observation: those below what the user named, and those whose devices say
/// what they are built of.
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

/// The one disk below a device; `None` of a device that is built of several.
pub(super) fn leaf<'o>(observation: &'o Observation, name: &str) -> Option<&'o str> {
    let device = observation.devices.iter().find(|device| device.name == name)?;
    match (&device.partition_of, device.built_of.as_slice()) {
        (Some(whole), _) => leaf(observation, whole),
        (None, []) => Some(&device.name),
        // What is built on nothing but itself would go on for ever.
        (None, [only]) if only != name => leaf(observation, only),
        _ => None,
    }
}

/// What a member is to be told after all were compared.
enum Remark {
    /// It is far slower than its siblings.
    Slowest(Slowest),
    /// It is capped, and its siblings are not.
    Capped { with: String },
    /// It has done nothing wrong: another one is waited for.
    Waits { wanted: String },
}

struct Slowest {
    sibling: String,
    own_ns: f64,
    sibling_ns: f64,
    own_iops: f64,
    sibling_iops: f64,
    present: f64,
}

/// Says of slow loop devices that what their files lie on is held back or slow itself.
pub(super) fn below_files(
    observation: &Observation,
    subjects: &[Subject<'_>],
    judged: &mut [Vec<Judged<'_>>],
) {
    let place = |name: &str| {
        let leaf = leaf(observation, name)?;
        subjects.iter().position(|subject| subject.device.name == leaf)
    };
    let volumes = observation.paths.iter().flat_map(|path| &path.volumes);
    for volume in volumes.filter(|volume| volume.kind == VolumeKind::Loop) {
        let Some(above) = place(&volume.name) else { continue };
        for below in volume.members.iter().filter_map(|member| place(member)) {
            for segment in 0..judged[above].len() {
                let one = &judged[above][segment];
                let cause = judged[below].iter().find(|other| {
                    let verdict = other.judgement.verdict;
                    (verdict.is_slow() || verdict == Verdict::Capped)
                        && covers(&other.segment.time, &one.segment.time)
                });
                let Some(cause) = cause.filter(|_| one.judgement.verdict.is_slow()) else {
                    continue;
                };
                let what = if cause.judgement.verdict.is_slow() { "slow" } else { "capped" };
                let words =
                    format!(" Its file lies on {}, which is {what}.", subjects[below].device.name);
                judged[above][segment].judgement.claim.push_str(&words);
            }
        }
    }
}

/// Compares the members of each built device in each of their segments.
pub(super) fn compare(subjects: &[Subject<'_>], judged: &mut [Vec<Judged<'_>>], built: &[Built]) {
    for built in built {
        let mut remarks = held_up(subjects, judged, built);
        remarks.extend(waiting(subjects, judged, built, &remarks));
        for (member, segment, remark) in remarks {
            let name = &subjects[member].device.name;
            judged[member][segment].hear(name, &built.words, &remark);
        }
    }
}

/// Members that their siblings wait for, with the segment in which they do.
fn held_up(
    subjects: &[Subject<'_>],
    judged: &[Vec<Judged<'_>>],
    built: &Built,
) -> Vec<(usize, usize, Remark)> {
    let mut found = Vec::new();
    for &member in &built.members {
        for (place, one) in judged[member].iter().enumerate() {
            let siblings: Vec<(usize, IntervalTotals)> = built
                .members
                .iter()
                .filter(|&&other| other != member)
                .map(|&other| {
                    (
                        other,
                        IntervalTotals::during(
                            subjects[other].intervals.iter().copied(),
                            &one.segment.time,
                        ),
                    )
                })
                .filter(|(_, tally)| comparable(&one.segment.tally, tally))
                .collect();
            if 2 * siblings.len() < built.members.len() - 1 || siblings.is_empty() {
                continue;
            }
            let capped = |member: usize| {
                let over = |other: &&Judged<'_>| covers(&other.segment.time, &one.segment.time);
                let mut over = judged[member].iter().filter(over);
                over.any(|other| other.judgement.verdict == Verdict::Capped)
            };
            if one.judgement.verdict == Verdict::Capped {
                if !siblings.iter().any(|&(other, _)| capped(other)) {
                    let with = subjects[siblings[0].0].device.name.clone();
                    found.push((member, place, Remark::Capped { with }));
                }
            } else if let Some(slowest) = slowest(subjects, one, &siblings) {
                found.push((member, place, Remark::Slowest(slowest)));
            }
        }
    }
    found
}

/// Members without a verdict of their own while another one is waited for.
fn waiting(
    subjects: &[Subject<'_>],
    judged: &[Vec<Judged<'_>>],
    built: &Built,
    held_up: &[(usize, usize, Remark)],
) -> Vec<(usize, usize, Remark)> {
    let mut found = Vec::new();
    for &member in &built.members {
        for (place, one) in judged[member].iter().enumerate() {
            let open = one.judgement.verdict == Verdict::NotEnoughEvidence
                && one.segment.looks.is_err()
                && one.segment.tally.all.count() >= REQUESTS_MIN;
            let by = held_up.iter().find(|(other, segment, _)| {
                *other != member
                    && covers(&judged[*other][*segment].segment.time, &one.segment.time)
            });
            let itself = held_up.iter().any(|known| (known.0, known.1) == (member, place));
            if let Some((other, ..)) = by.filter(|_| open && !itself) {
                let wanted = subjects[*other].device.name.clone();
                found.push((member, place, Remark::Waits { wanted }));
            }
        }
    }
    found
}

/// Whether one time holds at least half of another.
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

/// What shows that a member is far slower than the middle one of its siblings.
fn slowest(
    subjects: &[Subject<'_>],
    one: &Judged<'_>,
    siblings: &[(usize, IntervalTotals)],
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
    far.then(|| Slowest {
        sibling: subjects[sibling].device.name.clone(),
        own_ns,
        sibling_ns,
        own_iops: one.segment.tally.iops(),
        sibling_iops,
        present: one.segment.tally.concurrency().unwrap_or(0.0),
    })
}

impl Judged<'_> {
    fn hear(&mut self, name: &str, built: &str, remark: &Remark) {
        match remark {
            Remark::Slowest(slowest) => self.is_slowest(name, built, slowest),
            Remark::Capped { with } => {
                let wait =
                    format!(" {with} does as much and could do more: {built} waits for {name}.");
                self.judgement.claim.push_str(&wait);
            }
            Remark::Waits { wanted } => self.waits(name, built, wanted),
        }
    }

    fn is_slowest(&mut self, name: &str, built: &str, found: &Slowest) {
        let claim = format!(
            "{name} takes {} where {} takes {}, at {} and {}: {built} waits for its slowest member.",
            format_nanos(found.own_ns),
            found.sibling,
            format_nanos(found.sibling_ns),
            format_iops(found.own_iops),
            format_iops(found.sibling_iops)
        );
        let ratio = found.own_ns / found.sibling_ns;
        let evidence: [Number; 4] = [
            ("latency", found.own_ns, "ns"),
            ("latency of its sibling", found.sibling_ns, "ns"),
            ("latency over that of its sibling", ratio, ""),
            ("requests in flight", found.present, ""),
        ];
        let judgement = &mut self.judgement;
        let by_siblings = judgement.verdict == Verdict::NotEnoughEvidence;
        if by_siblings {
            (judgement.verdict, judgement.claim) = (Verdict::Slow, claim.clone());
            judgement.evidence = numbers(&evidence);
            if ratio < CLEAR {
                judgement.against(
                    Verdict::NotTheDisk,
                    Doubt::PlaceOnMember,
                    format!(
                        "{} what its sibling takes can be due to where its requests lie.",
                        times(ratio)
                    ),
                    "The tracer's share of sequential requests (as root), or a trial on each member.",
                );
            }
            if let Some(pin) = judgement.pin {
                judgement.against(
                    Verdict::Capped,
                    Doubt::ConstantRateSlow,
                    format!(
                        "The {} of {name} is the same in every interval ({}), as behind a cap.",
                        pin.what(),
                        pin.text()
                    ),
                    "A limit of the provider or of a control group at that rate, or a trial on this \
                     member alone at another rate.",
                );
                self.causes.extend(pinned_rate(&self.judgement));
            }
        }
        if by_siblings {
            self.segment.alternatives_out_of_sight(&mut self.judgement);
        }
        let code = CauseCode::SlowestMember;
        self.causes.insert(0, Cause { code, claim, evidence: numbers(&evidence) });
    }

    fn waits(&mut self, name: &str, built: &str, other: &str) {
        let Some(latency) = self.segment.tally.latency_ns() else { return };
        let takes = format_nanos(latency);
        let judgement = &mut self.judgement;
        judgement.claim = format!("Requests take {takes} at {name}; {built} waits for {other}.");
        judgement.verdict = Verdict::NotTheDisk;
        judgement.against(
            Verdict::Slow,
            Doubt::MemberUnknown,
            format!("Without a profile it is unknown whether {takes} is what {name} should take."),
            "A profile of this member.",
        );
    }
}
