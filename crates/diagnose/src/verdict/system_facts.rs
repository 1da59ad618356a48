//! Turns facts of the system into causes: links, health, settings and kernel statistics, matched
//! with the effects that the numbers show.
//!
//! The table of [`crate::causes`] lists the unusual facts of a machine, and which effects that
//! would explain. This module determines which of those effects a segment shows. A claim whose
//! effect is present becomes a cause. A claim without an effect becomes a note, or is dropped if
//! healthy machines share the fact. A row of hypotheses ([`super::hypotheses`]) queries the same
//! table for what programs wait for above the device.

use super::by_operation::apart;
use super::engine::{Explanation, Facts};
use super::facts::{Judged, LONGER, PRESSURE_BEYOND, SLOW_FROM, Segment};
use super::interval_totals::IntervalTotals;
use super::judgement::{Judgement, RestsOn};
use super::other_causes::MOSTLY_IN_FLUSH;
use super::tails::sentence;
use crate::causes::{self, Basis, Claim, Effect, Effects, Load, RateStep, Seen, TABLE};
use crate::words::{percent, times};
use record::{
    Cause, CauseCode, Doubt, Note, NoteCode, Verdict, format_bytes, format_count, format_nanos,
    format_rate,
};

/// Minimum ratio of the time of a flush to that of a write if the drive's cache delays flushes.
const FLUSH_LONGER: f64 = 3.0;
/// An operation below this share of the requests does not count as slow.
const OPERATION_SHARE: f64 = 0.1;
/// Most system causes reported for one segment.
const NAMED_MAX: usize = 3;
/// Weight from which a claim comes before the general causes of the diagnosis.
const TELLING: f64 = 2.0;
/// A step is a rate that fell to this share or less, with requests of similar size and mix, with as
/// many in flight, on a device that always has a request.
const FELL: f64 = 0.7;
const ALIKE_SIZE: f64 = 1.5;
const ALIKE_MIX: f64 = 0.2;
const AS_DEEP: f64 = 0.8;
const ALWAYS_BUSY: f64 = 0.9;
const SEVERAL: f64 = 1.5;

/// Requests in flight from which a split request waits for its other pieces.
const PIECES_MIN: f64 = 2.0;

/// Causes that state that something is slow or waits but not why, and causes of the machine that do
/// not exclude others.
const GENERAL: [CauseCode; 11] = [
    CauseCode::ServiceSlower,
    CauseCode::ReadsSlower,
    CauseCode::WritesSlower,
    CauseCode::PinnedRate,
    CauseCode::WaitsAbove,
    CauseCode::ManyFlushes,
    CauseCode::VolumeHolds,
    CauseCode::StandsStill,
    CauseCode::SlowestMember,
    CauseCode::ProcessorsBusy,
    CauseCode::OneAtATime,
];

/// Adds the causes that the system's facts show to the judgements of all segments.
pub(super) fn causes(judged: &mut [Vec<Judged<'_>>]) {
    for judged in judged {
        let steps = steps(judged);
        for (one, step) in judged.iter_mut().zip(steps) {
            let effects = of_judged(one, step);
            let (now, then) = one.segment.machines;
            let found = causes::judged(now, then, &effects);
            name(one, &found);
            one.claims = found;
        }
    }
}

/// Adds the claims that have an effect to the causes of a segment.
fn name(one: &mut Judged<'_>, found: &[causes::Judged]) {
    let specific = one.causes.iter().any(|cause| !GENERAL.contains(&cause.code));
    let ruled = |claim: &causes::Judged| {
        let same =
            TABLE.iter().filter(|row| row.causes.iter().any(|it| claim.check.causes.contains(it)));
        same.into_iter().any(|row| match row.basis {
            Basis::Rule(codes) => one.causes.iter().any(|cause| codes.contains(&cause.code)),
            Basis::Facts { .. } => false,
        })
    };
    let named = found
        .iter()
        .filter(|claim| claim.seen.is_some() && !ruled(claim))
        .filter(|claim| claim.weight >= TELLING || !specific)
        .take(NAMED_MAX);
    let causes: Vec<(Cause, bool)> =
        named.map(|claim| (cause(claim), claim.weight >= TELLING)).collect();
    // Proven causes stay in front.
    let proven = one.causes.iter().take_while(|cause| !GENERAL.contains(&cause.code)).count();
    let first = match one.judgement.rests_on {
        // A bridge or a drive that takes one request at a time has few tags.
        RestsOn::Means | RestsOn::State | RestsOn::Tail | RestsOn::Flushes | RestsOn::Tags(_) => 0,
        // A scheduler that does not serve by share holds the requests that the device does not accept.
        RestsOn::Scheduler if one.segment.scheduler_by_share().is_none() => 0,
        _ => proven,
    };
    for (at, (cause, telling)) in causes.into_iter().enumerate() {
        let place = if telling { first } else { proven };
        one.causes.insert((place + at).min(one.causes.len()), cause);
    }
}

fn cause(judged: &causes::Judged) -> Cause {
    let Claim { evidence, since, .. } = judged.claim.clone();
    Cause {
        code: CauseCode::SystemFact,
        check: Some(judged.check.name.to_owned()),
        claim: judged.text(),
        evidence,
        since,
    }
}

/// Unusual facts that explain nothing here, each once.
pub(super) fn notes(judged: &[Judged<'_>]) -> Vec<Note> {
    let is_cause = |name: &str| {
        judged.iter().flat_map(|one| &one.causes).any(|cause| cause.check.as_deref() == Some(name))
    };
    let mut found: Vec<Note> = Vec::new();
    for claim in judged.iter().flat_map(|one| &one.claims) {
        let Claim { says, notable, evidence, .. } = &claim.claim;
        if !notable || is_cause(claim.check.name) {
            continue;
        }
        let text = format!("{says} This has no visible effect here. ({})", claim.check.name);
        if found.iter().all(|known| known.claim != text) {
            let evidence = evidence.clone();
            found.push(Note { code: NoteCode::HarmlessFact, claim: text, evidence });
        }
    }
    found
}

/// What programs wait for above the device, if a fact of the system explains it.
pub(super) fn explains_waits(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let waits = waits_above(segment)?;
    let (now, then) = segment.machines;
    let effects = Effects { load: load(segment, None), seen: vec![waits], holder: None };
    let claims = causes::judged(now, then, &effects);
    let claim = claims.iter().find(|claim| claim.seen.is_some() && claim.weight >= TELLING)?;
    let decided_by = "Correct this setting or state and observe again, or run as root: the tracer \
                      measures the waits.";
    let (doubt, all) = (Doubt::SystemFact, facts.states.all());
    Some(Explanation::beside(Verdict::NotTheDisk, doubt, all, claim.text(), decided_by))
}

/// The effects that a segment shows, given its verdict.
fn of_judged(one: &Judged<'_>, step: Option<RateStep>) -> Effects {
    let (segment, judgement) = (&one.segment, &one.judgement);
    let mut seen: Vec<Seen> = slow(segment, judgement);
    seen.extend(slow_flushes(segment));
    seen.extend(capped_rate(judgement));
    seen.extend(waits_above(segment));
    seen.extend(waits_before(segment, judgement));
    seen.extend(overloaded(segment, judgement));
    seen.extend(step.map(stepped_down));
    let holds = one.causes.iter().find(|cause| cause.code == CauseCode::VolumeHolds);
    seen.extend(holds.map(|cause| absolute(Effect::VolumeHolds, cause.claim.clone())));
    let tail = segment.long_tail().map(sentence);
    seen.extend(tail.map(|says| by(segment, Effect::StandsStill, says)));
    let hang = segment.hang.map(|hang| format!("{}.", hang.sentence()));
    seen.extend(hang.map(|says| absolute(Effect::StandsStill, says)));
    seen.extend(cut_requests(segment));
    Effects { load: load(segment, step), seen, holder: one.holder.clone() }
}

/// An effect relative to the device's expectation.
fn by(segment: &Segment<'_>, effect: Effect, says: String) -> Seen {
    Seen { effect, says, by_profile: !segment.is_unprofiled() }
}

/// An effect that needs no expectation.
fn absolute(effect: Effect, says: String) -> Seen {
    Seen { effect, says, by_profile: false }
}

/// The operations that take longer than expected, and requests at queue depth 1.
fn slow(segment: &Segment<'_>, judgement: &Judgement) -> Vec<Seen> {
    let Some((look, latency)) = segment.best_look() else { return Vec::new() };
    let by_requests = ![RestsOn::Tail, RestsOn::Flushes].contains(&judgement.rests_on);
    if !judgement.verdict.is_slow() || !by_requests {
        return Vec::new();
    }
    let over = latency / look.expected_ns(segment.by_rate()).max(1.0);
    let share = segment.tally.read_share();
    let of_share = [share.unwrap_or(1.0), 1.0 - share.unwrap_or(0.0)];
    let each = apart(segment).map(|both| both.map(|one| one.over));
    let effects = [(Effect::SlowReads, "Reads"), (Effect::SlowWrites, "Writes")];
    let mut seen = Vec::new();
    for (at, (effect, what)) in effects.into_iter().enumerate() {
        let over = each.map_or(over, |each| each[at]);
        // Without a profile the expectation comes from the observation itself, and only the verdict
        // states that the device is slow.
        let says = match &look.own {
            Some(own) => format!("{what} take longer {}.", own.than_usual()),
            None if over >= SLOW_FROM => {
                format!("{what} take {} the predicted latency.", times(over))
            }
            None => continue,
        };
        if of_share[at] >= OPERATION_SHARE {
            seen.push(by(segment, effect, says));
        }
    }
    if segment.hardly_in_use() {
        let than = match &look.own {
            Some(own) => format!("longer {}", own.than_usual()),
            None => format!("{} the predicted latency", times(over)),
        };
        let says = format!("Requests come at QD 1 and take {}, {than}.", format_nanos(latency));
        seen.push(by(segment, Effect::SlowLone, says));
    }
    seen
}

fn slow_flushes(segment: &Segment<'_>) -> Option<Seen> {
    if let Some(flushes) = segment.likely_slow_flushes() {
        return Some(by(segment, Effect::SlowFlushes, format!("{}.", flushes.sentence())));
    }
    segment.many_flushes()?;
    let load = load(segment, None);
    let (each_ns, write_ns) = (load.flush_ns?, load.write_ns?);
    // An occasional sync of a log does no harm.
    let mostly = segment.in_flush()? >= MOSTLY_IN_FLUSH;
    (each_ns >= FLUSH_LONGER * write_ns && mostly).then(|| {
        let says = format!(
            "The device gets many flushes. A flush takes {}, a write {}.",
            format_nanos(each_ns),
            format_nanos(write_ns)
        );
        absolute(Effect::SlowFlushes, says)
    })
}

fn capped_rate(judgement: &Judgement) -> Option<Seen> {
    if judgement.verdict != Verdict::Capped {
        return None;
    }
    let says = match (&judgement.rests_on, judgement.pin) {
        (RestsOn::Tags(tags), _) => format!("The device gets at most {tags} requests at once."),
        (_, Some(pin)) => format!("{}.", pin.stays()),
        _ => return None,
    };
    Some(absolute(Effect::CappedRate, says))
}

fn waits_above(segment: &Segment<'_>) -> Option<Seen> {
    let beyond = segment.pressure_beyond().filter(|beyond| *beyond > PRESSURE_BEYOND);
    let waited = segment.waited_beyond().filter(|waited| waited.times >= LONGER);
    let by_pressure = beyond.map(|beyond| {
        format!(
            "For {} of the time, programs wait for I/O while the device is not busy.",
            percent(beyond)
        )
    });
    let by_programs = waited.map(|waited| {
        format!(
            "Programs wait {} for a request that takes the device {}.",
            format_nanos(waited.program_ns),
            format_nanos(waited.device_ns)
        )
    });
    Some(absolute(Effect::WaitsAbove, by_pressure.or(by_programs)?))
}

fn waits_before(segment: &Segment<'_>, judgement: &Judgement) -> Option<Seen> {
    let traced = segment.around.traced.as_ref()?;
    let waits_ns = match judgement.rests_on {
        _ if segment.waits_before() => traced.held.1,
        RestsOn::Scheduler => traced.queue_ns,
        _ => return None,
    };
    let says = format!("Requests wait {} before they start.", format_nanos(waits_ns));
    Some(absolute(Effect::WaitsBefore, says))
}

fn overloaded(segment: &Segment<'_>, judgement: &Judgement) -> Option<Seen> {
    let present = segment.present().filter(|_| judgement.verdict.is_overloaded())?;
    let says = format!("Requests wait in a queue: the queue depth is {}.", format_count(present));
    Some(by(segment, Effect::Overloaded, says))
}

/// The kernel splits a program's requests, and the pieces make the queue too deep.
fn cut_requests(segment: &Segment<'_>) -> Option<Seen> {
    let several = segment.present().filter(|present| *present >= PIECES_MIN)?;
    // No program waits for page-cache write-back.
    let largest = segment.cut_to().filter(|_| !segment.written_back())?;
    let says = format!(
        "The kernel splits requests into pieces of {}, and {} of them are in flight at once.",
        format_bytes(largest),
        format_count(several)
    );
    Some(absolute(Effect::CutRequests, says))
}

fn stepped_down(step: RateStep) -> Seen {
    let says = format!(
        "The rate fell from {} to {} under the same load, after {} was written.",
        format_rate(step.before),
        format_rate(step.after),
        format_bytes(step.written as u64)
    );
    absolute(Effect::SteppedDown, says)
}

fn load(segment: &Segment<'_>, step: Option<RateStep>) -> Load {
    let tally = &segment.tally;
    let seconds = tally.seconds.max(1e-9);
    Load {
        seconds,
        reads_per_s: tally.read.count() / seconds,
        writes_per_s: tally.write.count() / seconds,
        bytes_per_s: tally.bytes_per_s(),
        write_ns: tally.write.latency_ns(),
        flush_ns: tally.flush_latency_ns(),
        discards_per_s: tally.discards.map(|count| count / seconds),
        depth: segment.present(),
        busy: tally.utilization(),
        dirty: segment.around.unwritten.map(|(waits, limit)| waits / limit.max(1.0)),
        step,
    }
}

/// For each segment, the drop of its rate from the previous segment under the same load.
fn steps(judged: &[Judged<'_>]) -> Vec<Option<RateStep>> {
    let mut found = vec![None; judged.len()];
    let mut written = 0.0;
    for (at, pair) in judged.windows(2).enumerate() {
        let (before, after) = (&pair[0].segment, &pair[1].segment);
        written += before.tally.write.bytes.unwrap_or(0.0);
        found[at + 1] = step(before, after).map(|step| RateStep { written, ..step });
        // A drop that lasts for several segments is one step.
        if found[at + 1].is_none() && found[at].is_some() && same_rate(before, after) {
            found[at + 1] = found[at];
        }
    }
    found
}

fn same_rate(before: &Segment<'_>, after: &Segment<'_>) -> bool {
    let rates = before.tally.bytes_per_s().zip(after.tally.bytes_per_s());
    rates.is_some_and(|(before, after)| after <= before / FELL.sqrt())
}

fn step(before: &Segment<'_>, after: &Segment<'_>) -> Option<RateStep> {
    let alike = |of: fn(&IntervalTotals) -> Option<f64>, within: f64| {
        let (one, other) = (of(&before.tally)?, of(&after.tally)?);
        (one.max(other) <= within * one.min(other)).then_some(())
    };
    alike(|tally| tally.all.request_bytes(), ALIKE_SIZE)?;
    let (was, is) = (before.tally.read_share()?, after.tally.read_share()?);
    let (rate, rate_now) = (before.tally.bytes_per_s()?, after.tally.bytes_per_s()?);
    // Many kernels have no reliable busy counter: a device with several requests in flight on
    // average counts as never idle.
    let busy = |segment: &Segment<'_>| match segment.busy() {
        Some(busy) => busy >= ALWAYS_BUSY,
        None => segment.tally.concurrency().is_some_and(|present| present >= SEVERAL),
    };
    let as_deep = after.present()? >= AS_DEEP * before.present()?;
    let fell = rate_now <= FELL * rate && libm::fabs(was - is) <= ALIKE_MIX;
    (fell && as_deep && busy(before) && busy(after)).then_some(RateStep {
        before: rate,
        after: rate_now,
        written: 0.0,
        writes: 1.0 - is,
    })
}
