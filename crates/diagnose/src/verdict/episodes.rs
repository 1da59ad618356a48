//! Writes a device's judged segments to the document: episodes, moments, shares of time.

use super::alike::IDLE_IOPS;
use super::elsewhere::Elsewhere;
use super::expected::{Answers, nearest};
use super::facts::{Judged, Segment};
use super::interval_totals::IntervalTotals;
use super::ladder::could_share;
use super::subject::Subject;
use super::{
    DiagnoseOptions, Spare, advice, by_operation, causes, excluded, hits, load, notes, odds,
    system_facts, volumes, weighing,
};
use record::{
    Activity, Baseline, Confidence, DeviceDiagnosis, Episode, MatchedBy, MatchedProfile, Measured,
    Moment, Note, Rung, Verdict, VerdictShare,
};
use stats::{Ordered, grouped};
use std::ops::Range;

/// An idle interval has fewer requests per second than [`IDLE_IOPS`] and a utilization below this.
const IDLE_BUSY: f64 = 0.01;
/// Largest number of process groups listed in an episode.
const GROUPS_MAX: usize = 8;
/// Share of the maximum rate from which an episode counts as busy.
const BUSY_SATURATION: f64 = 0.5;
/// Number of waiting requests that does not count, except between episodes without any.
const HARDLY_WAITING: f64 = 1e-6;
/// Requests that are taken as waiting on a device that completes none.
const NEVER_COMPLETES: f64 = 1.0;
/// A device is parallel if it serves at least this many requests at once.
const PARALLEL: f64 = 1.5;

impl Subject<'_> {
    /// Judges the segments again, with what the first run found elsewhere.
    pub(super) fn judged<'s>(
        &self,
        segments: Vec<Judged<'s>>,
        told: &[Elsewhere],
        spare: &[(&str, Vec<Spare>)],
    ) -> Vec<Judged<'s>> {
        let judge = |(Judged { segment, .. }, told): (Judged<'s>, &Elsewhere)| {
            let judgement = weighing::weigh(&segment, told);
            let spare = self.spare_elsewhere(&segment.time, spare);
            let causes = causes::causes(&segment, &judgement, told, &spare);
            Judged { segment, judgement, causes, claims: Vec::new(), holder: None }
        };
        segments.into_iter().zip(told).map(judge).collect()
    }

    /// Other disks of the same kind with much spare capacity throughout a time range.
    fn spare_elsewhere(&self, time: &Range<u64>, spare: &[(&str, Vec<Spare>)]) -> Vec<String> {
        let free = |parts: &[Spare]| {
            let touches = |part: &Range<u64>| part.start < time.end && time.start < part.end;
            let mut touching = parts.iter().filter(|(part, _)| touches(part)).peekable();
            touching.peek().is_some() && touching.all(|(_, spare)| *spare)
        };
        let others = spare.iter().filter(|(name, _)| {
            let mut devices = self.observation.devices.iter();
            let other = devices.find(|device| device.name == *name);
            other.is_some_and(|other| could_share(self.device, other))
        });
        others.filter(|(_, parts)| free(parts)).map(|(name, _)| (*name).to_owned()).collect()
    }

    pub(super) fn diagnosis(
        &self,
        judged: &[Judged<'_>],
        options: &DiagnoseOptions,
    ) -> DeviceDiagnosis {
        let whole = IntervalTotals::over(self.intervals.iter().copied());
        let seconds = whole.seconds.max(1e-9);
        let busiest = judged.iter().map(|one| one.segment.tally.iops()).fold(0.0, f64::max);
        let episodes: Vec<Episode> =
            judged.iter().map(|one| self.episode(one, seconds, busiest)).collect();
        let series = self.moments(judged, options.moments_most.unwrap_or(usize::MAX));
        let mut found = DeviceDiagnosis {
            device: self.device.name.clone(),
            above: volumes::named_above(self.observation, &self.device.name).map(str::to_owned),
            model: self.device.facts.as_ref().and_then(|facts| facts.model.clone()),
            facts: self.device.facts.clone(),
            profile: self.profile.clone(),
            unused_profile: None,
            duration_ns: (whole.seconds * 1e9) as u64,
            shares: shares(&episodes),
            worst: worst(&episodes),
            hit_share: hits::hit_share(judged, self.reference),
            splits_compared: splits_compared(judged, &self.profile),
            notes: self.notes(judged, &whole),
            episodes,
            advice: Vec::new(),
            series,
        };
        found.advice = advice::advice(judged, self.reference, found.shown());
        found
    }

    fn notes(&self, judged: &[Judged<'_>], whole: &IntervalTotals) -> Vec<Note> {
        let mut notes = notes::notes(self.device, self.profile.value(), judged, whole);
        notes.extend(self.reads_alone.then(|| notes::reads_alone(whole)));
        notes.extend(system_facts::notes(judged));
        notes
    }

    fn episode(&self, one: &Judged<'_>, seconds: f64, busiest: f64) -> Episode {
        let (segment, judgement) = (&one.segment, &one.judgement);
        let (time, tally, best) = (&segment.time, &segment.tally, segment.best_look());
        // Without a profile the curve is too uncertain to be printed.
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
            probability: judgement.probability,
            hypothesis: judgement.hypothesis.clone(),
            claim: judgement.claim.clone(),
            evidence: judgement.evidence.clone(),
            alternatives: judgement.open.clone(),
            excluded: excluded::excluded(segment, judgement),
            causes: one.causes.clone(),
            operations: by_operation::by_operation(segment, judgement),
            tail: segment.tail,
            numbers: seen.numbers(),
            response_ci95_rel: segment.latency_error(),
            utilization_law: seen.utilization_law(),
            calibrated,
            misleading: seen.misleading(),
            groups: segment.groups().into_iter().take(GROUPS_MAX).collect(),
            extrapolated: best.map(|(look, _)| look.extrapolated.clone()).unwrap_or_default(),
            baseline: self.baseline(segment),
            demand: segment.demand(),
            load: load::load(one, self.reference),
        }
    }

    /// What a segment is compared with, and what a better rung of the ladder would add.
    fn baseline(&self, segment: &Segment<'_>) -> Option<Baseline> {
        let (look, _) = segment.best_look()?;
        let profile = self.profile.value().filter(|profile| profile.by == MatchedBy::Model);
        let doubt = profile.and_then(|profile| profile.doubt.as_ref());
        let (rung, says, better) = match (&look.own, doubt) {
            (None, None) => (Rung::Profile, "A profile of this device.".to_owned(), None),
            (None, Some(doubt)) => {
                let better = "Run `halfpower check` on this device to get its profile.".to_owned();
                (Rung::Model, format!("A profile of the same model: {doubt}."), Some(better))
            }
            (Some(own), _) => {
                let why = segment.unserved.as_deref().unwrap_or("no profile fits");
                let better = format!(
                    "No usable profile: {}. A profile shows the device's own latency and predicts \
                     the effect of a change: run `halfpower check` on the device while it is quiet.",
                    why.trim_end_matches('.')
                );
                (own.rung, own.says(segment), Some(better))
            }
        };
        Some(Baseline { rung, says, better })
    }

    fn moments(&self, judged: &[Judged<'_>], most: usize) -> Vec<Moment> {
        if most == 0 {
            return Vec::new();
        }
        let of_one = self.series.len().div_ceil(most).max(1);
        let mut moments = Vec::with_capacity(self.series.len() / of_one);
        for (episode, one) in judged.iter().enumerate() {
            let segment = &one.segment;
            let mut answers = Answers::new();
            for begin in segment.range.clone().step_by(of_one) {
                let part = begin..(begin + of_one).min(segment.range.end);
                let intervals = &self.intervals[part.clone()];
                let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
                    continue;
                };
                let tally = &IntervalTotals::sum(&self.series[part]);
                let mut split = || {
                    let latency = tally.latency_ns()?;
                    let looks = self.reference?.remembered(&mut answers, tally, segment.known)?;
                    let look = nearest(looks, latency, segment.by_rate())?;
                    Some(segment.calibrated(look, latency, tally.iops()))
                };
                let seen = IntervalTotals::over(intervals.iter().copied());
                moments.push(Moment {
                    begin_ns: first.begin_ns,
                    duration_ns: last.begin_ns + last.duration_ns - first.begin_ns,
                    episode: u32::try_from(episode).unwrap_or(u32::MAX),
                    numbers: seen.numbers(),
                    utilization_law: seen.utilization_law(),
                    calibrated: split().map(Box::new),
                    misleading: seen.misleading(),
                });
            }
        }
        moments
    }
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

/// The episode with the largest product of the mean number of waiting requests and the square root
/// of the duration. A request waits for its latency beyond that at queue depth 1 or, without a profile,
/// beyond that of the fastest episode. With the root, an episode that is four times as bad outweighs one
/// that is less than sixteen times as long. (Rejected: the total time lost, by which a long mild episode
/// hides a short severe one, which is what users complain about.) Duration decides between equals,
/// because the loss of capped episodes is not visible.
fn worst(episodes: &[Episode]) -> Option<u32> {
    let latencies = episodes.iter().filter_map(|episode| episode.numbers.latency_ns);
    let fastest = latencies.reduce(f64::min).unwrap_or(0.0);
    let badness = |episode: &Episode| {
        let beyond = || Some(episode.numbers.latency_ns? - fastest);
        let split = episode.calibrated.map(|split| split.queue_ns);
        let waits_ns = split.or_else(beyond).unwrap_or(0.0);
        let iops = episode.numbers.iops.unwrap_or(0.0);
        // A request that does not complete has no latency.
        let never = if episode.numbers.latency_ns.is_none() { NEVER_COMPLETES } else { 0.0 };
        let waiting = iops * waits_ns / 1e9 + never;
        (waiting + HARDLY_WAITING) * (episode.duration_ns as f64 / 1e9).sqrt()
    };
    let candidates = episodes.iter().enumerate().filter(|(_, it)| it.is_likely_trouble());
    // An uncertain episode is shown only if trouble is likely in no other.
    let found = candidates.max_by(|(_, a), (_, b)| {
        let likely =
            |it: &Episode| odds::confidence(it.trouble_probability()) != Confidence::Possible;
        likely(a).cmp(&likely(b)).then(badness(a).total_cmp(&badness(b)))
    })?;
    u32::try_from(found.0).ok()
}

/// Why the two ways to split a latency agree or differ on this device.
fn splits_compared(judged: &[Judged<'_>], profile: &Measured<MatchedProfile>) -> String {
    let most = judged
        .iter()
        .filter(|one| one.judgement.verdict != Verdict::NotEnoughEvidence)
        .max_by(|a, b| a.segment.tally.all.count().total_cmp(&b.segment.tally.all.count()));
    let of_profile = most.and_then(|one| Some((one, one.segment.best_look()?.0)));
    let Some((one, look)) = of_profile.filter(|(_, look)| look.own.is_none()) else {
        let unknown = match profile.reason() {
            Some(why) => format!("No profile is usable ({why})"),
            None => "The profile makes no prediction for this load".to_owned(),
        };
        return format!(
            "Friedman's split (service S = U/X, queueing Q = R - S) is valid for a device that \
             serves one request at a time. {unknown}, so it is unknown whether this device does. \
             On a parallel device, the split counts parallel service as queueing."
        );
    };
    let Some(split) = one.segment.tally.utilization_law() else {
        return "The source does not report busy time, so the utilization law cannot give a \
                service time."
            .to_owned();
    };
    let (service, alone) =
        (record::format_nanos(split.service_ns), record::format_nanos(look.unloaded_ns));
    let side = look.side_by_side();
    if side < PARALLEL {
        return format!(
            "This device serves about one request at a time, so the splits should agree: \
             Friedman's S = U/X is {service}, and the profile's latency at QD 1 is {alone}."
        );
    }
    format!(
        "This device serves about {side:.0} requests in parallel. Friedman's S = U/X ({service}) \
         is then the mean time between completions, not the service latency ({alone} at QD 1), and \
         his Q = R - S counts parallel service as queueing. Use the split by the profile."
    )
}
