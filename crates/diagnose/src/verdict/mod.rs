//! What the counters of an observation mean: per device and segment of time a verdict, its
//! alternatives, its causes, and what to do.
//!
//! Per device: the series is cut where its use changes ([`segment`]); each segment is summed up
//! ([`interval_totals`]) and put beside what was known of the system ([`system_context`]) and what is
//! expected of the device: by its profile ([`expected`]), else by what the observation itself shows and by what
//! a device of its class does ([`own`]). These are the facts ([`facts`]). The engine weighs the hypotheses
//! ([`hypotheses`]) on them, once for each segment by itself and once more with what the first run found at other
//! hours and at sibling devices ([`elsewhere`]). Causes follow ([`causes`]), then advice ([`advice`]), and a map
//! shows in which layer of the path they lie ([`path_map`]). What looks like trouble and is none is named beside
//! ([`notes`]). Rejected: one verdict per observation (an average over a night), a score over many weak signs,
//! thresholds in milliseconds.

mod advice;
mod alike;
mod arrays;
mod busy_time_test;
mod by_operation;
mod causes;
mod classes;
mod constant_rate;
mod device_states;
mod elsewhere;
mod engine;
mod excluded;
mod expected;
mod facts;
mod fitted_profile;
mod hits;
mod hypotheses;
mod idle_waits;
mod interval_totals;
mod judgement;
mod ladder;
mod layout;
mod load;
mod matching;
mod members;
mod neighbours;
mod notes;
mod odds;
mod outstanding;
mod own;
mod path_map;
mod profile_set;
mod remedies;
mod segment;
mod starved;
mod system_context;
mod tails;
mod volumes;
mod wakeup_latency;
mod whole;

pub(crate) use classes::published as published_limit;
pub use fitted_profile::FittedProfile;
pub use matching::{Fit, fit};
pub use profile_set::ProfileSet;

use alike::{IDLE_IOPS, alike, same_load};
use classes::Class;
use elsewhere::Elsewhere;
use expected::{Answers, Expectation, SegmentFacts, nearest};
use facts::{Judged, SLOW_FROM, Segment};
use interval_totals::{IntervalTotals, OpTally};
use ladder::Known;
use outstanding::{ExcessQueue, Outstanding};
use record::{
    Activity, Baseline, DIAGNOSIS_SCHEMA, DeviceDiagnosis, Diagnosis, Doubt, Episode, Finding,
    Interval, MatchedBy, MatchedProfile, Measured, Moment, Note, Observation, ObservedDevice, Rung,
    Verdict, VerdictShare, hex_digest,
};
use stats::{Ordered, grouped};
use std::ops::Range;
use std::sync::Arc;
use system_context::SystemContext;

/// A time and whether a device had much to spare in it.
type Spare = (Range<u64>, bool);

/// Segments below this length come and go, where they do so this often.
const RETURNING_MAX: usize = 7;
const RETURNS_MIN: usize = 3;
/// The fewest intervals of a segment whose first one can be left out, and whose last one.
const BODY_MIN: (usize, usize) = (3, 4);
/// Rest: fewer requests per second than [`IDLE_IOPS`], and busy for less than this share of the time.
const IDLE_BUSY: f64 = 0.01;
/// Groups of processes that an episode names.
const GROUPS_MAX: usize = 8;
/// From this share of the largest rate on an episode is called busy.
const BUSY_SATURATION: f64 = 0.5;
/// Up to these shares of the requests and of their time, writes that the profile does not know are left out
/// of what is held against it. (The log of an array that rebuilds was 1.5 % of a disk's requests, each with
/// a flush, and a fifth of their time.)
const FEW_WRITES: (f64, f64) = (0.1, 0.3);
/// Devices of one model differ by up to this factor, 95 of 100.
const OF_A_MODEL: f64 = 1.25;
/// Parallel devices: from this many requests side by side on.
const PARALLEL: f64 = 1.5;

/// What a diagnosis is to know beside its material.
#[derive(Clone, Debug, Default)]
pub struct DiagnoseOptions {
    /// Version of the program.
    pub halfpower_version: String,
    /// The user named the profile: it is used where nothing contradicts it.
    pub chosen: bool,
    /// Leaves the intervals out of the document, for a live screen.
    pub without_series: bool,
    /// What was recorded of the same devices before, the latest first.
    pub past: Arc<[Observation]>,
}

/// Diagnoses every device of an observation that is not a part of another one or built of others.
pub fn diagnose<'p>(
    observation: &Observation,
    profile_of: &dyn Fn(&ObservedDevice) -> Option<&'p FittedProfile>,
    options: &DiagnoseOptions,
) -> Diagnosis {
    let with_wholes = whole::with_wholes(observation, profile_of, options);
    let observation = with_wholes.as_ref().unwrap_or(observation);
    let (mut subjects, mut left_out) = (Vec::new(), Vec::new());
    for device in &observation.devices {
        if let Some(whole) = &device.partition_of {
            left_out.push(format!("{}: a part of {whole}", device.name));
        } else if !device.built_of.is_empty() {
            let parts = device.built_of.join(", ");
            left_out.push(format!("{}: built of {parts}, whose requests it repeats", device.name));
        } else {
            subjects.push(Subject::new(observation, device, profile_of(device), options));
        }
    }
    let segmented: Vec<Vec<Segment<'_>>> = subjects.iter().map(Subject::segments).collect();
    let spare = segmented.iter().map(|segments| segments.iter().map(much_to_spare).collect());
    let names = subjects.iter().map(|subject| subject.device.name.as_str());
    let spare: Vec<(&str, Vec<Spare>)> = names.zip(spare).collect();
    let first: Vec<Vec<Judged<'_>>> = segmented.into_iter().map(judged_alone).collect();
    let mut told: Vec<Vec<Elsewhere>> =
        first.iter().map(|segments| elsewhere::at_other_times(segments)).collect();
    members::compare(&subjects, &first, &members::built(observation, &subjects), &mut told);
    members::below_files(observation, &subjects, &first, &mut told);
    let mut judged: Vec<Vec<Judged<'_>>> = subjects
        .iter()
        .zip(first)
        .zip(&told)
        .map(|((subject, segments), told)| subject.judged(segments, told, &spare))
        .collect();
    volumes::above(observation, &subjects, &mut judged);
    arrays::of_their_own(observation, &subjects, &mut judged);
    let devices: Vec<DeviceDiagnosis> = subjects
        .iter()
        .zip(&judged)
        .map(|(subject, judged)| subject.diagnosis(judged, options))
        .collect();
    let profiles: Vec<&str> = devices
        .iter()
        .filter_map(|device| device.profile.value().map(|profile| profile.profile_id.as_str()))
        .collect();
    Diagnosis {
        schema: DIAGNOSIS_SCHEMA.to_owned(),
        halfpower_version: options.halfpower_version.clone(),
        id: hex_digest(&format!("diagnosis {} {}", observation.id, profiles.join(" "))),
        time: observation.time.clone(),
        observation_id: observation.id.clone(),
        source: observation.source.clone(),
        host: observation.host.clone(),
        paths: path_map::maps(observation, &subjects, &devices),
        devices,
        left_out,
        findings: observation.findings.clone(),
    }
}

struct Subject<'a> {
    device: &'a ObservedDevice,
    intervals: Vec<&'a Interval>,
    /// Of them, what is held against the profile.
    series: Vec<IntervalTotals>,
    /// Whether that is the reads alone, because the profile knows no writes and these are few.
    reads_alone: bool,
    observation: &'a Observation,
    profile: Measured<MatchedProfile>,
    doubts: Vec<(Doubt, String)>,
    reference: Option<&'a FittedProfile>,
    class: Class,
    /// What is known of it without a profile, the best first.
    known: Vec<Known>,
    begins: Vec<usize>,
}

impl<'a> Subject<'a> {
    fn new(
        observation: &'a Observation,
        device: &'a ObservedDevice,
        prepared: Option<&'a FittedProfile>,
        options: &DiagnoseOptions,
    ) -> Self {
        let intervals: Vec<&Interval> = observation
            .intervals
            .iter()
            .filter(|interval| interval.device == device.name && interval.duration_ns > 0)
            .collect();
        let mut series: Vec<IntervalTotals> =
            intervals.iter().map(|interval| IntervalTotals::of(interval)).collect();
        let matched = match prepared.map(FittedProfile::profile) {
            None => Measured::not("no profile fits this device; `halfpower check` makes one"),
            Some(profile) => match fit(device, profile, options.chosen) {
                Fit::Not(why) => Measured::not(format!("the profile does not fit: {why}")),
                Fit::Of(by, doubt) => Measured::Value(MatchedProfile {
                    profile_id: profile.id.clone(),
                    target: profile.target.path.clone(),
                    time: profile.time.clone(),
                    by,
                    doubt,
                    invalid: Finding::first_invalid(&profile.findings)
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
            series.iter_mut().for_each(|one| *one = one.of_reads());
        }
        let class = Class::of(&device.name, device.facts.as_ref());
        let mut subject = Self {
            device,
            class,
            known: ladder::known(observation, device, class, &options.past),
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

    /// What of a range is looked at. A use begins and ends within an interval, and what was asked
    /// for before the beginning is completed after it, so that the intervals at inner edges tell of
    /// two uses at once.
    fn body(&self, range: &Range<usize>) -> Range<usize> {
        let (mut from, mut to) = (range.start, range.end);
        if from > 0 && to - from >= BODY_MIN.0 {
            from += 1;
        }
        if to < self.series.len() && to - from >= BODY_MIN.1 {
            to -= 1;
        }
        from..to
    }

    fn segment(&self, range: Range<usize>) -> Segment<'_> {
        let body = self.body(&range);
        let intervals = &self.intervals[body.clone()];
        let series = &self.series[body];
        let around = SystemContext::of(intervals, &self.observation.contexts);
        let mut known = SegmentFacts {
            sequential: around.traced.as_ref().and_then(|traced| traced.sequential),
            busy: self.device.busy_doubt.is_none() || outstanding::never_idle(series),
            constant: outstanding::constant_depth(series),
        };
        let by_observation = |known: SegmentFacts| {
            let loop_kind = (known.busy, known.constant);
            let prior = ladder::best(&self.known, self.class, &IntervalTotals::sum(series));
            own::expectation(series, &self.series, prior, self.device.lone_reads, loop_kind)
                .map(|one| vec![one])
        };
        let look = |known: SegmentFacts| match self.reference {
            Some(reference) => {
                reference.looks(series, known).map(|looks| self.of_this_device(looks))
            }
            None => Err(self.profile.reason().unwrap_or("no profile fits").to_owned()),
        };
        let (first, last) = (self.intervals[range.start], self.intervals[range.end - 1]);
        let mut segment = Segment {
            series,
            facts: self.device.facts.as_ref(),
            class: self.class,
            unknown: self.device.facts.is_none()
                && self.profile.value().is_some_and(|profile| profile.by != MatchedBy::Simulated),
            range,
            time: first.begin_ns..last.begin_ns.saturating_add(last.duration_ns),
            tally: IntervalTotals::sum(series).bounded(),
            looks: look(known),
            around,
            known,
            deep: None,
            tail: None,
            waking_ns: 0.0,
            layout: self
                .observation
                .paths
                .iter()
                .filter(|path| path.devices.contains(&self.device.name))
                .find_map(|path| path.layout.as_ref()),
            reuse: &self.device.reuse,
            changed: self.profile.value().map_or(&[], |profile| &profile.differences),
            constant: constant_rate::pinned(series),
            caps: self.reference.map_or(&[], |it| &it.profile().caps),
            profile_doubts: &self.doubts,
            simulated: self.observation.source == "simulated",
            reads_alone: self.reads_alone,
            unserved: None,
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
        // What the profile's lone reads show is expected, and no allowance on top of that.
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

    /// What a profile of another device of the same model says of this one.
    fn of_this_device(&self, looks: Vec<Expectation>) -> Vec<Expectation> {
        match self.profile.value() {
            Some(profile) if profile.by == MatchedBy::Model => {
                looks.into_iter().map(|look| look.widened(OF_A_MODEL)).collect()
            }
            _ => looks,
        }
    }

    /// The queue of a segment, where it is deeper than the device can use.
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

    /// Joins short segments under the same load as their neighbour that differ from it in nothing
    /// but the latency, where there are several: what comes again and again is one thing that
    /// goes on.
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

    fn segments(&self) -> Vec<Segment<'_>> {
        let with_tail = |range: Range<usize>| {
            let mut segment = self.segment(range);
            let intervals = &self.intervals[self.body(&segment.range)];
            segment.tail = self.reference.and_then(|it| tails::tail(intervals, &segment, it));
            segment
        };
        self.ranges().into_iter().map(with_tail).collect()
    }

    /// Once more, with what the first run found elsewhere.
    fn judged<'s>(
        &self,
        segments: Vec<Judged<'s>>,
        told: &[Elsewhere],
        spare: &[(&str, Vec<Spare>)],
    ) -> Vec<Judged<'s>> {
        let judge = |(Judged { segment, .. }, told): (Judged<'s>, &Elsewhere)| {
            let judgement = engine::weigh(&segment, told);
            let spare = self.spare_elsewhere(&segment.time, spare);
            let causes = causes::causes(&segment, &judgement, told, &spare);
            Judged { segment, judgement, causes }
        };
        segments.into_iter().zip(told).map(judge).collect()
    }

    /// Other devices that had much to spare during all of a time.
    fn spare_elsewhere(&self, time: &Range<u64>, spare: &[(&str, Vec<Spare>)]) -> Vec<String> {
        let free = |parts: &[Spare]| {
            let touches = |part: &Range<u64>| part.start < time.end && time.start < part.end;
            let mut touching = parts.iter().filter(|(part, _)| touches(part)).peekable();
            touching.peek().is_some() && touching.all(|(_, spare)| *spare)
        };
        let others = spare.iter().filter(|(name, _)| *name != self.device.name);
        others.filter(|(_, parts)| free(parts)).map(|(name, _)| (*name).to_owned()).collect()
    }

    fn diagnosis(&self, judged: &[Judged<'_>], options: &DiagnoseOptions) -> DeviceDiagnosis {
        let whole = IntervalTotals::over(self.intervals.iter().copied());
        let seconds = whole.seconds.max(1e-9);
        let busiest = judged.iter().map(|one| one.segment.tally.iops()).fold(0.0, f64::max);
        let episodes: Vec<Episode> =
            judged.iter().map(|one| self.episode(one, seconds, busiest)).collect();
        let series = if options.without_series { Vec::new() } else { self.moments(judged) };
        DeviceDiagnosis {
            device: self.device.name.clone(),
            model: self.device.facts.as_ref().and_then(|facts| facts.model.clone()),
            facts: self.device.facts.clone(),
            profile: self.profile.clone(),
            duration_ns: (whole.seconds * 1e9) as u64,
            shares: shares(&episodes),
            worst: worst(&episodes),
            hit_share: hits::hit_share(judged, self.reference),
            splits_compared: splits_compared(judged, &self.profile),
            notes: self.notes(judged, &whole),
            episodes,
            advice: advice::advice(judged, self.reference),
            series,
        }
    }

    fn notes(&self, judged: &[Judged<'_>], whole: &IntervalTotals) -> Vec<Note> {
        let mut notes = notes::notes(self.device, self.profile.value(), judged, whole);
        notes.extend(self.reads_alone.then(|| notes::reads_alone(whole)));
        notes
    }

    fn episode(&self, one: &Judged<'_>, seconds: f64, busiest: f64) -> Episode {
        let (segment, judgement) = (&one.segment, &one.judgement);
        let (time, tally, best) = (&segment.time, &segment.tally, segment.best_look());
        // Without a profile the curve is known too little to be printed as one.
        let calibrated = best
            .filter(|(look, _)| look.own.is_none())
            .map(|(look, latency)| segment.calibrated(look, latency, tally.iops()));
        let seen = IntervalTotals::over(self.intervals[self.body(&segment.range)].iter().copied());
        let duration_ns = time.end.saturating_sub(time.start);
        let share = match &calibrated {
            Some(split) => split.saturation,
            None => tally.iops() / busiest.max(1e-9),
        };
        let idle = tally.iops() < IDLE_IOPS && tally.utilization().is_none_or(|u| u < IDLE_BUSY);
        Episode {
            begin_ns: time.start,
            duration_ns,
            intervals: u32::try_from(segment.range.len()).unwrap_or(u32::MAX),
            share_of_time: duration_ns as f64 / 1e9 / seconds,
            activity: match (idle, share >= BUSY_SATURATION) {
                (true, _) => Activity::Idle,
                (false, true) => Activity::Busy,
                (false, false) => Activity::Quiet,
            },
            verdict: judgement.verdict,
            confidence: judgement.confidence(),
            probability: judgement.probability(),
            hypothesis: judgement.hypothesis.clone(),
            claim: judgement.claim.clone(),
            evidence: judgement.evidence.clone(),
            alternatives: judgement.alternatives(),
            excluded: excluded::excluded(segment, judgement),
            causes: one.causes.clone(),
            operations: by_operation::by_operation(segment, judgement),
            tail: segment.tail,
            numbers: seen.numbers(),
            response_ci95_rel: segment.latency_error(),
            utilization_law: seen.utilization_law(),
            calibrated,
            misleading: seen.misleading(),
            groups: segment
                .around
                .users
                .iter()
                .flat_map(|it| &it.groups)
                .take(GROUPS_MAX)
                .cloned()
                .collect(),
            extrapolated: best.map(|(look, _)| look.extrapolated.clone()).unwrap_or_default(),
            baseline: self.baseline(segment),
            demand: segment.demand(),
            load: load::load(one, self.reference),
        }
    }

    /// What a segment is measured against, and what a better rung of the ladder would add.
    fn baseline(&self, segment: &Segment<'_>) -> Option<Baseline> {
        let (look, _) = segment.best_look()?;
        let Some(own) = look.own else {
            let profile = self.profile.value().filter(|profile| profile.by == MatchedBy::Model);
            let doubt = profile.and_then(|profile| profile.doubt.as_ref());
            return Some(match doubt {
                None => Baseline {
                    rung: Rung::Profile,
                    says: "A profile of this device.".to_owned(),
                    better: None,
                },
                Some(doubt) => Baseline {
                    rung: Rung::Model,
                    says: format!("A profile of the same model: {doubt}."),
                    better: Some("A profile of this device: `halfpower check` on it.".to_owned()),
                },
            });
        };
        let rung = own.rung;
        let why = segment.unserved.as_deref().unwrap_or("no profile fits");
        let better = format!(
            "No profile serves: {}. It would say what this device itself takes, and what a change gives: `halfpower check` on it \
             while it is quiet.",
            why.trim_end_matches('.')
        );
        Some(Baseline { rung, says: own.says(segment), better: Some(better) })
    }

    fn moments(&self, judged: &[Judged<'_>]) -> Vec<Moment> {
        let mut moments = Vec::with_capacity(self.series.len());
        for (episode, one) in judged.iter().enumerate() {
            let segment = &one.segment;
            let mut answers = Answers::new();
            for index in segment.range.clone() {
                let (interval, tally) = (self.intervals[index], &self.series[index]);
                let mut split = || {
                    let latency = tally.latency_ns()?;
                    let looks = self.reference?.remembered(&mut answers, tally, segment.known)?;
                    let look = nearest(looks, latency, segment.by_rate())?;
                    Some(segment.calibrated(look, latency, tally.iops()))
                };
                let seen = IntervalTotals::of(interval);
                moments.push(Moment {
                    begin_ns: interval.begin_ns,
                    duration_ns: interval.duration_ns,
                    episode: u32::try_from(episode).unwrap_or(u32::MAX),
                    numbers: seen.numbers(),
                    utilization_law: seen.utilization_law(),
                    calibrated: split(),
                    misleading: seen.misleading(),
                });
            }
        }
        moments
    }
}

/// Each segment by itself.
fn judged_alone<'s>(segments: Vec<Segment<'s>>) -> Vec<Judged<'s>> {
    let judge = |segment: Segment<'s>| {
        let judgement = engine::weigh(&segment, &Elsewhere::default());
        Judged { judgement, segment, causes: Vec::new() }
    };
    segments.into_iter().map(judge).collect()
}

/// What leaves open whether a profile is one of the device.
fn doubts_of(profile: &Measured<MatchedProfile>) -> Vec<(Doubt, String)> {
    let profile = profile.value();
    let of_another = profile.and_then(|profile| profile.doubt.as_ref()).map(|doubt| {
        (Doubt::ProfileMatch, format!("The profile may be of another device: {doubt}."))
    });
    let invalid = profile
        .and_then(|profile| profile.invalid.as_ref())
        .map(|invalid| (Doubt::ProfileInvalid, format!("The profile is not valid: {invalid}")));
    of_another.into_iter().chain(invalid).collect()
}

/// Whether there are writes, and so few that reads can be judged alone.
fn few_writes(whole: &IntervalTotals) -> bool {
    let share = |of: fn(&OpTally) -> Option<f64>| Some(of(&whole.write)? / of(&whole.all)?);
    let requests = share(|tally| tally.requests);
    requests.is_some_and(|share| share > 0.0 && share <= FEW_WRITES.0)
        && share(|tally| tally.time_ns).is_some_and(|share| share <= FEW_WRITES.1)
}

/// Whether a device had much to spare in a segment, and was not slow: it would do no good there.
fn much_to_spare(segment: &Segment<'_>) -> Spare {
    let idle = segment.tally.utilization().is_some_and(|busy| busy < 0.2);
    let look = segment.best_look();
    let quiet = look.is_some_and(|(look, _)| {
        segment.tally.iops() / look.max_iops < causes::SPARE && look.wait_ratio() < 2.0
    });
    let slow = look.is_some_and(|(look, latency_ns)| {
        latency_ns >= SLOW_FROM * look.expected_ns(segment.by_rate())
    });
    (segment.time.clone(), (idle || quiet) && !slow)
}

fn shares(episodes: &[Episode]) -> Vec<VerdictShare> {
    let of = |(verdict, episodes): (Verdict, Vec<&Episode>)| VerdictShare {
        verdict,
        share_of_time: episodes.iter().map(|episode| episode.share_of_time).sum(),
    };
    let mut shares: Vec<VerdictShare> =
        grouped(episodes.iter().map(|episode| (episode.verdict, episode)))
            .into_iter()
            .map(of)
            .collect();
    shares.sort_by_cached_key(|one| Ordered(-one.share_of_time));
    shares
}

/// The episode in which requests lost the most time: latency beyond that of a lone request,
/// times requests. Of capped ones the longest counts as well, because what they lose is not seen.
fn worst(episodes: &[Episode]) -> Option<u32> {
    let bad = |episode: &Episode| {
        matches!(
            episode.verdict,
            Verdict::Capped | Verdict::Slow | Verdict::SlowAndOverloaded | Verdict::Overloaded
        )
    };
    let lost = |episode: &Episode| {
        let waited = episode.calibrated.map_or(0.0, |split| split.queue_ns);
        episode.numbers.requests * waited + 1e-6 * episode.duration_ns as f64
    };
    let candidates = episodes.iter().enumerate().filter(|(_, episode)| bad(episode));
    let found = candidates.max_by(|a, b| lost(a.1).total_cmp(&lost(b.1)))?;
    u32::try_from(found.0).ok()
}

/// Why the two ways to split a latency agree or differ on this device.
fn splits_compared(judged: &[Judged<'_>], profile: &Measured<MatchedProfile>) -> String {
    let most = judged
        .iter()
        .filter(|one| one.judgement.verdict != Verdict::NotEnoughEvidence)
        .max_by(|a, b| a.segment.tally.all.count().total_cmp(&b.segment.tally.all.count()));
    let Some((one, (look, _))) = most.and_then(|one| Some((one, one.segment.best_look()?))) else {
        let unknown = match profile.reason() {
            Some(why) => format!("No profile says ({why})"),
            None => "The profile expects nothing of this load".to_owned(),
        };
        return format!(
            "Friedman's split (S = U/X, Q = R - S) holds for a device that does one thing at a time. \
             {unknown}, so that it is unknown whether this is one: on a parallel device the split calls \
             queueing what is served side by side."
        );
    };
    let Some(split) = one.segment.tally.utilization_law() else {
        return "The source tells no busy time, so that there is no Friedman split.".to_owned();
    };
    let (service, alone) =
        (record::format_nanos(split.service_ns), record::format_nanos(look.unloaded_ns));
    let side = look.side_by_side();
    if side < PARALLEL {
        return format!(
            "This device serves about one request at a time, so the splits agree in principle: \
             Friedman's S = U/X is {service}, a lone request takes {alone} by the profile."
        );
    }
    format!(
        "This device serves about {side:.0} requests side by side. Friedman's S = U/X ({service}) is \
         then the mean spacing of completions, not what a request takes ({alone} alone), and his Q = \
         R - S counts as queueing what is served in parallel: it is R (1 - U/L). Believe the \
         calibrated split here."
    )
}
