//! Divides a device's series into segments of uniform use, and collects the facts of each.

use super::alike::{IDLE_IOPS, alike_in_time, same_load};
use super::classes::Class;
use super::elsewhere::Elsewhere;
use super::expected::{Expectation, SegmentFacts};
use super::facts::{REQUESTS_MIN, Segment};
use super::fitted_profile::FittedProfile;
use super::flushing::slow_flushes;
use super::hang::Hang;
use super::interval_totals::{IntervalTotals, OpTally};
use super::ladder::{Ladder, Prior, at_another_time, best, is_full};
use super::matching::{Fit, fit};
use super::outstanding::{ExcessQueue, Outstanding};
use super::stops::Stops;
use super::system_context::{self, SystemContext};
use super::{
    constant_rate, device_states, hypotheses, outstanding, own, queue_depth, segment, tails,
    wakeup_latency, weighing,
};
use crate::caps::most_bytes_per_s;
use crate::causes::Machine;
use record::{
    Doubt, Finding, FindingCode, Interval, MatchedBy, MatchedProfile, Measured, Observation,
    ObservedDevice, OpKind, Verdict, is_of_windows,
};
use std::cell::OnceCell;
use std::ops::Range;

/// Segments shorter than `RETURNING_MAX` intervals are joined if at least `RETURNS_MIN` of them recur.
const RETURNING_MAX: usize = 7;
const RETURNS_MIN: usize = 3;
/// Fewest intervals of a segment from which its first one may be left out, and its last one.
const BODY_MIN: (usize, usize) = (3, 4);
/// Number of intervals on each side of a range that determine the usual rate.
const AROUND: usize = 6;
/// Largest shares of the requests and of their time at which writes unknown to the profile are ignored. (The
/// log of a rebuilding array was 1.5 % of a disk's requests, each with a flush, and a fifth of their time.)
const FEW_WRITES: (f64, f64) = (0.1, 0.3);
/// 95 of 100 devices of one model differ by at most this factor.
const OF_A_MODEL: f64 = 1.25;

/// A device under diagnosis.
pub(super) struct Subject<'a> {
    pub(super) device: &'a ObservedDevice,
    pub(super) intervals: Vec<&'a Interval>,
    /// Totals of the intervals, as they are compared with the profile.
    pub(super) series: Vec<IntervalTotals>,
    /// Whether `series` covers only reads, because the profile has no writes and these are few.
    pub(super) reads_alone: bool,
    pub(super) observation: &'a Observation,
    pub(super) profile: Measured<MatchedProfile>,
    doubts: Vec<(Doubt, String)>,
    pub(super) reference: Option<&'a FittedProfile>,
    class: Class,
    ladder: &'a Ladder<'a>,
    /// Expectations without a profile, the best first; estimated when a segment needs them.
    priors: OnceCell<Vec<Prior>>,
    begins: Vec<usize>,
}

impl<'a> Subject<'a> {
    /// `chosen` is whether the user named the profile.
    pub(super) fn new(
        (observation, ladder): (&'a Observation, &'a Ladder<'a>),
        device: &'a ObservedDevice,
        (prepared, chosen): (Option<&'a FittedProfile>, bool),
    ) -> Self {
        let intervals: Vec<&Interval> = observation
            .intervals
            .iter()
            .filter(|interval| interval.device == device.name && interval.duration_ns > 0)
            .collect();
        let mut series: Vec<IntervalTotals> =
            intervals.iter().map(|interval| IntervalTotals::of(interval)).collect();
        let matched = match prepared.map(FittedProfile::profile) {
            None => Measured::not("no profile fits this device; run `halfpower check` to make one"),
            Some(profile) => match fit(device, profile, chosen) {
                Fit::Not(why) => Measured::not(format!("the profile does not match: {why}")),
                Fit::Of(by, doubt) => Measured::Value(MatchedProfile {
                    profile_id: profile.id.clone(),
                    target: profile.target.path.clone(),
                    time: profile.time.clone(),
                    by,
                    doubt,
                    invalid: Finding::first_invalid(&profile.findings)
                        .or(profile.partial())
                        .map(|finding| finding.claim.clone()),
                    differences: device.facts.as_ref().map_or_else(Vec::new, |now| {
                        model::changed_since(profile, now, observation.kernel.as_deref())
                    }),
                }),
            },
        };
        let reference = prepared.filter(|_| matched.value().is_some());
        let reads_alone = reference.is_some_and(|it| !it.profile().has_writes())
            && few_writes(&IntervalTotals::sum(&series));
        if reads_alone {
            series.iter_mut().for_each(|one| *one = one.of_one(OpKind::Read));
        }
        let mut subject = Self {
            device,
            class: Class::of(device),
            ladder,
            priors: OnceCell::new(),
            begins: segment::segments(&series),
            intervals,
            series,
            reads_alone,
            observation,
            reference,
            doubts: doubts_of(&matched),
            profile: matched,
        };
        subject.join_alike();
        subject.join_returning();
        subject
    }

    /// The part of a range that is analysed. A use begins and ends within an interval, and requests submitted
    /// before it complete after its start. The intervals at inner boundaries therefore mix two uses.
    pub(super) fn body(&self, range: &Range<usize>) -> Range<usize> {
        let (mut from, mut to) = (range.start, range.end);
        if from > 0 && to - from >= BODY_MIN.0 {
            from += 1;
        }
        if to < self.series.len() && to - from >= BODY_MIN.1 {
            to -= 1;
        }
        from..to
    }

    fn most_bytes_per_s(&self) -> f64 {
        let measured = self.reference.map(|it| most_bytes_per_s(it.profile()));
        let seen = self.series.iter().filter_map(IntervalTotals::bytes_per_s);
        seen.chain(measured).fold(0.0, f64::max)
    }

    /// The machine as its checks read it now, and when the profile was made.
    fn machines(&self) -> (Machine<'_>, Option<Machine<'_>>) {
        let profile = self.reference.map(FittedProfile::profile);
        let on =
            self.observation.paths.iter().find(|path| path.devices.contains(&self.device.name));
        let now = Machine {
            facts: &self.observation.facts,
            disk: self.device.facts.as_ref(),
            filesystem: on.and_then(|path| path.filesystem.as_ref()),
            changed: self.profile.value().map_or(&[], |profile| &profile.differences),
            recorded_s: self.series.iter().map(|one| one.seconds).sum(),
            sustained: profile.map_or(&[], |profile| &profile.sustained),
        };
        let then = profile.map(|profile| Machine {
            facts: &profile.facts,
            disk: profile.target.device.as_ref(),
            filesystem: profile.target.filesystem.as_ref(),
            ..Machine::default()
        });
        (now, then)
    }

    fn segment(&self, range: Range<usize>) -> Segment<'_> {
        let body = self.body(&range);
        let intervals = &self.intervals[body.clone()];
        let series = &self.series[body];
        let around = SystemContext::of(intervals, &self.observation.contexts);
        let mut known = SegmentFacts {
            sequential: around.traced.as_ref().and_then(|traced| traced.sequential),
            busy: self.device.busy_doubt.is_none() || queue_depth::never_idle(series),
            constant: queue_depth::constant_depth(series),
        };
        let from = range.start;
        let by_observation = |known: SegmentFacts| {
            let loop_kind = (known.busy, known.constant);
            let all = || IntervalTotals::sum(&self.series);
            let priors = self.priors.get_or_init(|| self.ladder.priors(self.device, &all()));
            let now = IntervalTotals::sum(series);
            let others = self.others(from);
            // If the device was faster at another time, the rest of the series does not describe
            // its present state.
            let place_known = known.sequential.is_some();
            let limited = constant_rate::pinned(series).is_some() && is_full(series);
            let then = at_another_time(self.class, &now, others, loop_kind, limited, place_known);
            let (prior, whole) = match then {
                Some(prior) => (prior.read(), series),
                None => (best(priors, self.class, &now), &self.series[..]),
            };
            own::expectation(series, whole, prior, self.device.lone_reads, loop_kind)
                .map(|one| vec![one])
        };
        let look = |known: SegmentFacts| match self.reference {
            Some(reference) => {
                reference.looks(series, known).map(|looks| self.of_this_device(looks))
            }
            None => Err(self.profile.reason().unwrap_or("no profile fits").to_owned()),
        };
        let (first, last) = (self.intervals[range.start], self.intervals[range.end - 1]);
        let hang = Hang::of(&self.series, &range);
        let mut segment = Segment {
            series,
            facts: self.device.facts.as_ref(),
            class: self.class,
            unknown: self.device.facts.is_none()
                && self.profile.value().is_some_and(|profile| profile.by != MatchedBy::Simulated),
            since_boot: self
                .observation
                .findings
                .iter()
                .any(|finding| finding.code == FindingCode::SinceBoot),
            range,
            time: first.begin_ns..last.begin_ns.saturating_add(last.duration_ns),
            tally: IntervalTotals::sum(series).bounded(),
            looks: look(known),
            around,
            known,
            deep: None,
            tail: None,
            stops: None,
            hang,
            whole: &self.series,
            slow_flushes: None,
            waking_ns: 0.0,
            layout: self
                .observation
                .paths
                .iter()
                .filter(|path| path.devices.contains(&self.device.name))
                .find_map(|path| path.layout.as_ref()),
            reuse: &self.device.reuse,
            constant: constant_rate::pinned(series),
            most_bytes_per_s: self.most_bytes_per_s(),
            caps: self.reference.map_or(&[], |it| &it.profile().caps),
            profile_doubts: &self.doubts,
            simulated: self.observation.source == "simulated",
            of_windows: is_of_windows(&self.observation.source, &self.device.name),
            reads_alone: self.reads_alone,
            unserved: None,
            machines: self.machines(),
        };
        let too_quick = segment.best_look().filter(|_| device_states::profile_is_slower(&segment));
        let too_quick = too_quick.filter(|(look, ns)| !device_states::served_by_a_cache(look, *ns));
        let why = match (&segment.looks, too_quick) {
            (Err(why), _) => Some(why.clone()),
            (_, Some((look, latency))) => {
                let saturation = segment.tally.iops() / look.max_iops;
                Some(hypotheses::too_quick_for(look, latency, saturation))
            }
            _ => None,
        };
        if let Some(why) = why {
            segment.looks = by_observation(known);
            segment.unserved = Some(why);
        }
        let woken = wakeup_latency::woken(segment.facts);
        let each_ns = wakeup_latency::added_ns(&self.observation.wake_ups, &segment.tally);
        // Wake-up time that the profile's lone reads include is expected already and is not subtracted again.
        let expected_ns = segment.best_look().and_then(|(look, _)| look.rest_ns);
        segment.waking_ns = (woken * each_ns - expected_ns.unwrap_or(0.0)).max(0.0);
        segment.deep = self.deep(&segment);
        if segment.deep.is_some_and(|deep| deep.is_kept()) && !known.constant {
            known.constant = true;
            segment.known = known;
            segment.looks =
                if segment.unserved.is_some() { by_observation(known) } else { look(known) };
        }
        segment
    }

    /// Adapts the expectations to this device if the profile is of another device of the same model.
    fn of_this_device(&self, looks: Vec<Expectation>) -> Vec<Expectation> {
        match self.profile.value() {
            Some(profile) if profile.by == MatchedBy::Model => {
                looks.into_iter().map(|look| look.widened(OF_A_MODEL)).collect()
            }
            _ => looks,
        }
    }

    /// The queue of a segment, if deeper than the device can use.
    fn deep(&self, segment: &Segment<'_>) -> Option<ExcessQueue> {
        let (look, _) = segment.best_look()?;
        let seen_per_s = segment.tally.iops();
        let enough = |present: Outstanding| match look.own {
            Some(own) => own.enough(present.value()),
            None => self.reference?.deep_enough(look, seen_per_s, present),
        };
        let around = &segment.around;
        let (waited_for, late) = (&around.waited_for, around.processors_full());
        let deep = outstanding::deep(segment.series, waited_for, late, enough);
        let beyond_tags = || {
            let waiting = around.traced.as_ref()?.waiting;
            outstanding::beyond_tags(segment.full_tags()?, waiting, enough)
        };
        deep.or_else(beyond_tags).filter(|_| segment.known.busy)
    }

    fn ranges(&self) -> Vec<Range<usize>> {
        let ends = self.begins.iter().skip(1).copied().chain([self.series.len()]);
        self.begins.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect()
    }

    /// The intervals of each other use of the device than the one that begins at `from`.
    fn others(&self, from: usize) -> impl Iterator<Item = &[IntervalTotals]> {
        let others = self.ranges().into_iter().filter(move |other| other.start != from);
        others.map(|other| &self.series[self.body(&other)])
    }

    fn join_alike(&mut self) {
        let mut at = 1;
        while at < self.begins.len() {
            let ranges = self.ranges();
            let (left, right) = (&ranges[at - 1], &ranges[at]);
            let (one, other) = (self.segment(left.clone()), self.segment(right.clone()));
            if alike(&one, &other) {
                self.begins.remove(at);
                at = at.saturating_sub(1).max(1);
            } else {
                at += 1;
            }
        }
    }

    /// Joins short segments that have the same load as their neighbour and differ from it only in
    /// latency, if there are several: a condition that recurs often is one ongoing condition.
    fn join_returning(&mut self) {
        let ranges = self.ranges();
        let same = |one: &Range<usize>, other: &Range<usize>| {
            let short = one.len().min(other.len()) < RETURNING_MAX;
            short && same_load(&self.segment(one.clone()).tally, &self.segment(other.clone()).tally)
        };
        let joined: Vec<bool> = ranges.windows(2).map(|pair| same(&pair[0], &pair[1])).collect();
        if joined.iter().filter(|same| **same).count() < RETURNS_MIN {
            return;
        }
        let mut kept = joined.into_iter();
        let mut first = true;
        self.begins.retain(|_| std::mem::take(&mut first) || !kept.next().unwrap_or(false));
    }

    /// Stalls of the programs in a range, compared with the intervals around it.
    fn stops(&self, range: &Range<usize>) -> Option<Stops> {
        let from = range.start.saturating_sub(AROUND);
        let near = from..(range.end + AROUND).min(self.series.len());
        let here = range.start - from..range.end - from;
        let intervals = &self.intervals[near.clone()];
        let contexts = &self.observation.contexts;
        Stops::of(&self.series[near], &here, || system_context::waits(intervals, contexts))
    }

    pub(super) fn segments(&self) -> Vec<Segment<'_>> {
        let with_tail = |range: Range<usize>| {
            let mut segment = self.segment(range);
            let intervals = &self.intervals[self.body(&segment.range)];
            segment.tail = self.reference.and_then(|it| tails::tail(intervals, &segment, it));
            segment.stops = self.stops(&segment.range);
            let alone_ns = segment.best_look().map_or(0.0, |(look, _)| look.unloaded_ns);
            let profile = self.reference.map(FittedProfile::profile);
            let others = self.others(segment.range.start);
            segment.slow_flushes =
                slow_flushes(segment.series, alone_ns, profile, others, &self.class);
            segment
        };
        self.ranges().into_iter().map(with_tail).collect()
    }
}

/// Reasons to doubt that a profile describes the device.
fn doubts_of(profile: &Measured<MatchedProfile>) -> Vec<(Doubt, String)> {
    let profile = profile.value();
    let of_another = profile.and_then(|profile| profile.doubt.as_ref()).map(|doubt| {
        (Doubt::ProfileMatch, format!("The profile may describe another device: {doubt}."))
    });
    let invalid = profile
        .and_then(|profile| profile.invalid.as_ref())
        .map(|invalid| (Doubt::ProfileInvalid, format!("The profile is not valid: {invalid}")));
    of_another.into_iter().chain(invalid).collect()
}

/// Whether the writes are few enough to judge the reads alone.
fn few_writes(whole: &IntervalTotals) -> bool {
    let share = |of: fn(&OpTally) -> Option<f64>| Some(of(&whole.write)? / of(&whole.all)?);
    let requests = share(|tally| tally.requests);
    requests.is_some_and(|share| share > 0.0 && share <= FEW_WRITES.0)
        && share(|tally| tally.time_ns).is_some_and(|share| share <= FEW_WRITES.1)
}

fn verdict(segment: &Segment<'_>) -> Verdict {
    weighing::weigh(segment, &Elsewhere::default()).verdict
}

/// Whether two segments have the same load, similar latency and the same verdict.
fn alike(one: &Segment<'_>, other: &Segment<'_>) -> bool {
    let idle = |segment: &Segment<'_>| segment.tally.iops() < IDLE_IOPS;
    if one.hang.is_some() != other.hang.is_some() {
        return false;
    }
    if idle(one) && idle(other) {
        return true;
    }
    let (a, b) = (&one.tally, &other.tally);
    let few = a.all.count().min(b.all.count()) < REQUESTS_MIN;
    alike_in_time(one, other) && (few || verdict(one) == verdict(other))
}
