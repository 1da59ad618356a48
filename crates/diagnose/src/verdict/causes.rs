//! Finds the causes of a segment's verdict, as far as the data show them. Several causes may apply
//! at once. Causes that only a tracer sees are not reported without one.

use super::by_operation::{OPERATION_SLOW, apart};
use super::device_users::NeighbourBy;
use super::elsewhere::{Elsewhere, Sibling};
use super::expected::Expectation;
use super::facts::{IN_SCHEDULER, Segment, WAITS_FROM, WRITES_WORK};
use super::judgement::{Judgement, Number, RestsOn, cause};
use super::layout::files;
use super::other_causes::{
    FLUSHES_MATTER, MOSTLY_IN_FLUSH, compressed, elsewhere, flushes, memory_short,
};
use super::outstanding::{ExcessQueue, Outstanding};
use super::posterior::Posterior;
use super::starved;
use super::tails::sentence;
use super::upkeep::LoopKind;
use crate::words::{limit_values, of_largest, percent};
use record::{
    Cause, CauseCode, CgroupLimit, Verdict, format_bytes, format_count, format_iops, format_nanos,
};

/// If one operation is slower, the other exceeds its expectation by at most this factor.
const OPERATION_FINE: f64 = 1.15;
/// Bursts: utilization is below this share, with a queue while busy.
pub(crate) const BURST_BUSY: f64 = 0.6;
/// Reads behind writes take at least this many times their unloaded latency.
const READS_WAIT: f64 = 2.5;
/// Fewest waiting reads that count, even if they are a small share of the requests.
const READS_MIN: f64 = 50.0;
/// Share of the maximum rate from which more disks are needed.
const NEAR: f64 = 0.8;
/// Saturation below which another device can take load.
pub(crate) const SPARE: f64 = 0.5;
/// One at a time: utilization of at least this, with one request in flight.
const ALWAYS_BUSY: f64 = 0.85;
/// Upper size of a small sequential request, and the sequential share that makes a stream.
const SMALL_BYTES: f64 = 32.0 * 1024.0;
const STREAM_SHARE: f64 = 0.6;
/// Least odds of "overloaded", relative to the verdict, at which a healthy device gets a neighbour
/// as a cause.
const MAY_QUEUE: f64 = 0.3;
/// A program with this share of the requests has the device to itself.
const NEARLY_ALL: f64 = 0.9;
/// Split requests count from this share of all requests.
pub(crate) const SPLITS_SHARE: f64 = 0.05;

/// All causes of a segment. `spare` names other devices with spare capacity.
pub(crate) fn causes(
    segment: &Segment<'_>,
    judgement: &Judgement,
    elsewhere: &Elsewhere,
    spare: &[String],
) -> Vec<Cause> {
    let mut found = by_verdict(segment, judgement, spare);
    if elsewhere.sibling.is_some() && segment.is_unprofiled() {
        // Its siblings are better evidence than a class of devices.
        found.retain(|cause| cause.code != CauseCode::ServiceSlower);
    }
    if let Some(Sibling::Slowest(slowest)) = &elsewhere.sibling {
        let claim = slowest.claim.clone();
        found.insert(0, cause(CauseCode::SlowestMember, claim, &slowest.numbers()));
    }
    found
}

fn by_verdict(segment: &Segment<'_>, judgement: &Judgement, spare: &[String]) -> Vec<Cause> {
    let verdict = judgement.verdict;
    if verdict == Verdict::Capped {
        return vec![capped(segment, judgement)];
    }
    if let Some(hang) = segment.hang.filter(|_| verdict.is_slow()) {
        return vec![cause(CauseCode::StandsStill, hang.claim(), &hang.numbers())];
    }
    let evident = verdict != Verdict::NotEnoughEvidence;
    let Some((look, latency)) = segment.best_look().filter(|_| evident) else {
        return elsewhere(segment);
    };
    let by_requests = ![RestsOn::Tail, RestsOn::Flushes].contains(&judgement.rests_on);
    let slow = verdict.is_slow() && by_requests;
    let overloaded = verdict.is_overloaded();
    let harmed = verdict.is_slow() || overloaded;
    let may_be_capped = judgement.open.iter().any(|one| one.verdict == Verdict::Capped);
    // A program with nearly all of the requests harms no other program if the device is healthy.
    let alone = segment.neighbour().is_some_and(|one| one.requests_share >= NEARLY_ALL);
    let least = MAY_QUEUE * judgement.probability;
    let mut open = judgement.open.iter();
    let may_queue = open.any(|one| one.verdict.is_overloaded() && one.probability >= least);
    let beside = overloaded || (segment.waits_beside() && !alone && (harmed || may_queue));
    // Programs wait for a flush first, and requests behind it are slow because of it.
    let in_flush = segment.in_flush().is_some_and(|share| share >= MOSTLY_IN_FLUSH);
    let behind_writes = segment.reads_behind_writes(WAITS_FROM).is_some();
    // Causes in this order, each under its condition.
    let found: [(bool, Option<Cause>); 20] = [
        (harmed, starved(segment)),
        (verdict.is_slow(), slow_flushes(segment)),
        (harmed && in_flush, flushes(segment)),
        (slow, Some(slower(segment, look, latency))),
        (harmed, stands_still(segment)),
        (slow, partial_blocks(segment)),
        (slow && may_be_capped, pinned_rate(judgement)),
        // Reads that memory would have served fill the device, and a few split requests make a deep queue.
        (harmed && segment.read_again().is_some(), memory_short(segment)),
        (harmed, scattered(segment)),
        // A program's depth does not shorten a queue of write-back.
        (overloaded && !behind_writes, deep(segment)),
        (overloaded, near_maximum(segment, look)),
        (overloaded, bursts(segment, look)),
        (overloaded, writes_in_front(segment, look)),
        (beside, neighbour(segment)),
        (harmed && !in_flush, flushes(segment)),
        (harmed, compressed(segment)),
        (overloaded, hot(spare)),
        (!harmed, one_at_a_time(segment, look)),
        (harmed, small_sequential(segment)),
        (harmed, split(segment)),
    ];
    let other = if harmed { Vec::new() } else { elsewhere(segment) };
    let found = found.into_iter().filter(|(asked, _)| *asked).filter_map(|(_, cause)| cause);
    other.into_iter().chain(found).collect()
}

fn capped(segment: &Segment<'_>, judgement: &Judgement) -> Cause {
    let named = match &judgement.rests_on {
        RestsOn::Limits(limits) => limits.first().map(|CgroupLimit { group, .. }| {
            let noun = if limits.len() > 1 { "limits" } else { "limit" };
            let what = limit_values(limits);
            let claim = format!("The control group {group:?} has the {noun} {what}.");
            let number = |limit: &CgroupLimit| {
                let unit = if limit.limited.is_bytes() { "bytes/s" } else { "IOPS" };
                ("limit", limit.limit_per_s as f64, unit)
            };
            let numbers: Vec<Number> = limits.iter().map(number).collect();
            cause(CauseCode::CgroupLimit, claim, &numbers)
        }),
        RestsOn::VolumeLog => segment.around.over_limit.map(|over| {
            let (what, share) = over.largest();
            let claim = format!("The provider limits the {what}.");
            cause(CauseCode::ProviderLimit, claim, &[("time above the limit", share, "share")])
        }),
        RestsOn::Scheduler => in_scheduler(segment),
        RestsOn::WriteBack(limit) => {
            let claim = format!(
                "The kernel pauses programs that write when {} of data is dirty (vm.dirty_bytes, \
                 vm.dirty_ratio).",
                format_bytes(*limit)
            );
            Some(cause(CauseCode::WriteBackLimit, claim, &[("limit", *limit as f64, "B")]))
        }
        RestsOn::Tags(tags) => {
            let claim =
                format!("The device gets at most {tags} requests at once (nr_requests={tags}).");
            Some(cause(CauseCode::TagsInUse, claim, &[("tags", *tags as f64, "")]))
        }
        RestsOn::IdleWaits(beyond) => {
            let claim = format!(
                "For {} of the time, programs wait for I/O that no counter of the device includes.",
                percent(*beyond)
            );
            let numbers = [("waited beyond the busy time", *beyond, "share of the time")];
            Some(cause(CauseCode::WaitsAbove, claim, &numbers))
        }
        _ => None,
    };
    named.or_else(|| pinned_rate(judgement)).unwrap_or_else(|| {
        let waited = segment.around.traced.as_ref().map_or(0.0, |traced| traced.held.1);
        let claim =
            format!("Requests wait {} before the device's counters start.", format_nanos(waited));
        cause(CauseCode::WaitsAbove, claim, &[("wait", waited, "ns")])
    })
}

/// Requests that a scheduler delays while others pass them.
fn starved(segment: &Segment<'_>) -> Option<Cause> {
    let (starved, scheduler) = segment.starved()?;
    let claim = starved::sentence(&starved, scheduler);
    Some(cause(CauseCode::SchedulerHolds, claim, &[(IN_SCHEDULER, starved.wait_ns, "ns")]))
}

/// The scheduler that holds requests.
fn in_scheduler(segment: &Segment<'_>) -> Option<Cause> {
    if let Some(starved) = starved(segment) {
        return Some(starved);
    }
    let traced = segment.around.traced.as_ref()?;
    // It delays requests before or after it takes them.
    let before = if segment.waits_before() { traced.held.1 } else { 0.0 };
    let (waited, scheduler) = (traced.queue_ns.max(before), segment.facts?.scheduler.as_deref()?);
    let claim =
        format!("The I/O scheduler {scheduler} holds requests for {}.", format_nanos(waited));
    Some(cause(CauseCode::SchedulerHolds, claim, &[(IN_SCHEDULER, waited, "ns")]))
}

fn pinned_rate(judgement: &Judgement) -> Option<Cause> {
    let pin = judgement.pin?;
    let claim = format!("{}.", pin.stays());
    Some(cause(CauseCode::PinnedRate, claim, &[("pinned at", pin.per_s, pin.unit())]))
}

fn slower(segment: &Segment<'_>, look: &Expectation, latency: f64) -> Cause {
    let [reads, writes] = apart(segment).map_or([None; 2], |both| both.map(|one| Some(one.over)));
    let over = latency / look.expected_ns(segment.by_rate()).max(1.0);
    let alone = |slow: Option<f64>, fine: Option<f64>| {
        slow.is_some_and(|ratio| ratio >= OPERATION_SLOW)
            && fine.is_some_and(|ratio| ratio <= OPERATION_FINE)
    };
    let (code, what) = if alone(writes, reads) {
        (CauseCode::WritesSlower, "Writes take longer than expected; reads do not.".to_owned())
    } else if alone(reads, writes) {
        (CauseCode::ReadsSlower, "Reads take longer than expected; writes do not.".to_owned())
    } else {
        let than = look.own.as_ref().map(Posterior::than_usual);
        let than = than.as_deref().unwrap_or("than the profile predicts");
        (CauseCode::ServiceSlower, format!("Requests take longer {than}."))
    };
    let mut numbers = vec![("latency relative to expected", over, "")];
    numbers.extend(reads.map(|ratio| ("reads, relative to expected", ratio, "")));
    numbers.extend(writes.map(|ratio| ("writes, relative to expected", ratio, "")));
    cause(code, what, &numbers)
}

/// Flushes that take longer than they should.
fn slow_flushes(segment: &Segment<'_>) -> Option<Cause> {
    let flushes = segment.likely_slow_flushes()?;
    let claim = format!("{}.", flushes.sentence());
    Some(cause(CauseCode::WritesSlower, claim, &flushes.numbers()))
}

/// A few requests that take far longer than the profile's slowest.
fn stands_still(segment: &Segment<'_>) -> Option<Cause> {
    let tail = segment.long_tail()?;
    let numbers = [
        ("slowest requests relative to expected", tail.latency_ns / tail.expected_ns, ""),
        ("intervals with such requests", f64::from(tail.intervals), ""),
    ];
    Some(cause(CauseCode::StandsStill, sentence(tail), &numbers))
}

/// Ratio of program latency to device latency that deserves a sentence.
const MOSTLY_BEFORE: f64 = 1.25;

/// More outstanding requests than useful, unless they arrive independently.
fn deep(segment: &Segment<'_>) -> Option<Cause> {
    // Another program's burst makes the queue, and no program keeps it up.
    let other = segment.neighbour().is_some_and(|neighbour| !neighbour.is_by_requests());
    let deep =
        segment.deep.filter(ExcessQueue::may_be_kept).filter(|deep| deep.is_kept() || !other)?;
    let enough = deep.enough;
    let all_the_time = if deep.is_kept() { " all the time" } else { "" };
    let is = match deep.upkeep {
        LoopKind::BeyondTags(_) => ", more than the device accepts",
        _ => "",
    };
    let mut claim = format!(
        "The queue depth is {}{all_the_time}{is}; {}. {}",
        format_count(deep.present.value()),
        enough.words(deep.present.value()),
        deep.upkeep.because()
    );
    let mut numbers =
        vec![("requests in flight", deep.present.value(), ""), ("enough", enough.depth, "")];
    let shares = [
        ("rate at that queue depth relative to the present rate", enough.rate_share),
        ("rate at that queue depth relative to the mix's maximum", enough.max_share),
    ];
    numbers.extend(shares.into_iter().filter_map(|(name, share)| Some((name, share?, "share"))));
    if let Outstanding::InPrograms(_) = deep.present {
        let waits_ns = segment.latency_of_load_ns()?;
        let at_device = segment.tally.latency_ns().unwrap_or(waits_ns);
        numbers.push(("latency in the programs", waits_ns, "ns"));
        if waits_ns >= MOSTLY_BEFORE * at_device {
            claim.push_str(&format!(
                " Programs wait {} per request, of which the device's counters show {}.",
                format_nanos(waits_ns),
                format_nanos(at_device)
            ));
        }
    }
    Some(cause(CauseCode::DepthBeyondKnee, claim, &numbers))
}

fn near_maximum(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    // Without a profile, the maximum is a guess.
    if look.own.is_some() {
        return None;
    }
    let saturation = segment.tally.iops() / look.max_iops;
    let (share, max) = (of_largest(saturation), format_iops(look.max_iops));
    let claim = format!("The rate is {share} for this mix ({max}).");
    let numbers = [("rate relative to the mix's predicted maximum", saturation, "share")];
    (saturation >= NEAR).then(|| cause(CauseCode::RateNearMaximum, claim, &numbers))
}

fn bursts(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let busy = segment.busy()?;
    let present = segment.tally.concurrency().unwrap_or(0.0) / busy.max(1e-9);
    let claim = format!(
        "Requests come in bursts: the device is busy {} of the time, with a queue depth of \
         {present:.0} while busy.",
        percent(busy)
    );
    let numbers = [("busy", busy, "share"), ("in flight while busy", present, "")];
    let in_bursts = busy < BURST_BUSY && look.wait_ratio() >= 2.0;
    in_bursts.then(|| cause(CauseCode::Bursts, claim, &numbers))
}

fn writes_in_front(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let (reads, writes) = (&segment.tally.read, &segment.tally.write);
    let (read_ns, write_ns) = (reads.latency_ns()?, writes.latency_ns()?);
    let work = writes.time_ns? / segment.tally.all.time_ns?.max(1.0);
    let waits = read_ns / look.unloaded_ns.max(1.0);
    let claim = format!(
        "Writes make up {} of the queue, and reads wait behind them ({} per read).",
        percent(work),
        format_nanos(read_ns)
    );
    let numbers = [
        ("writes' share of the time in flight", work, "share"),
        ("latency of reads", read_ns, "ns"),
        ("latency of writes", write_ns, "ns"),
    ];
    let behind = work >= WRITES_WORK && reads.count() >= READS_MIN && waits >= READS_WAIT;
    behind.then(|| cause(CauseCode::WritesInFront, claim, &numbers))
}

fn neighbour(segment: &Segment<'_>) -> Option<Cause> {
    // A server whose one process flushes for the others is no neighbour of itself.
    let neighbour = segment.neighbour().filter(|it| it.beside_programs)?;
    let claim = format!("{}.", segment.neighbour_told(&neighbour));
    let what = match neighbour.by {
        NeighbourBy::Flushes => "its share of the flushes",
        NeighbourBy::Work => "its share of the time in flight",
        NeighbourBy::Bytes => "its share of the bytes",
    };
    Some(cause(CauseCode::Neighbour, claim, &[(what, neighbour.share, "share")]))
}

/// Files with extents about as small as the requests.
fn scattered(segment: &Segment<'_>) -> Option<Cause> {
    let (layout, piece, bytes) = segment.scattered()?;
    let claim = format!(
        "The average extent of {} is {}, and the average request is {}: sequential requests in \
         the file are not sequential on the device.",
        files(layout),
        format_bytes(piece as u64),
        format_bytes(bytes as u64)
    );
    let numbers = [("mean extent", piece, "B"), ("request size", bytes, "B")];
    Some(cause(CauseCode::ScatteredFiles, claim, &numbers))
}

fn hot(spare: &[String]) -> Option<Cause> {
    let first = spare.first()?;
    let others =
        if spare.len() > 1 { format!(" and {} more", spare.len() - 1) } else { String::new() };
    let claim = format!("{first}{others} had spare capacity at the same time.");
    let numbers = [("devices with spare capacity", spare.len() as f64, "")];
    Some(cause(CauseCode::HotDevice, claim, &numbers))
}

fn one_at_a_time(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let busy = segment.busy()?;
    let present = segment.tally.concurrency()?;
    let alone = format!(
        "The device is busy {} of the time, with {present:.1} in flight on average",
        percent(busy)
    );
    let claim = match &look.own {
        None => {
            let side = look.side_by_side();
            format!("{alone}, but the device can serve {side:.0} requests in parallel.")
        }
        // The parallelism is then that of a class.
        Some(_) => format!(
            "{alone}. Most devices serve several requests in parallel; without a profile it is \
             unknown how many this one serves."
        ),
    };
    let numbers = [("requests in flight", present, ""), ("busy", busy, "share")];
    let alone = busy >= ALWAYS_BUSY && present <= 1.25 && look.side_by_side() >= 2.0;
    // A program that forces each write to the disk cannot keep more requests in flight.
    let forced = segment.in_flush().is_some_and(|share| share >= FLUSHES_MATTER);
    (alone && !forced).then(|| cause(CauseCode::OneAtATime, claim, &numbers))
}

fn small_sequential(segment: &Segment<'_>) -> Option<Cause> {
    let share = segment.known.sequential?;
    let bytes = segment.tally.all.request_bytes()?;
    let claim = format!(
        "{} of the requests are sequential but small ({}).",
        percent(share),
        format_bytes(bytes as u64)
    );
    let numbers = [("sequential", share, "share"), ("request size", bytes, "B")];
    // A program that syncs each small file has nothing to add to a request.
    let syncs = segment.many_flushes().is_some();
    let small = share >= STREAM_SHARE && bytes <= SMALL_BYTES && !syncs;
    small.then(|| cause(CauseCode::SmallSequential, claim, &numbers))
}

fn split(segment: &Segment<'_>) -> Option<Cause> {
    let share = segment.tally.split_share()?;
    let claim = format!(
        "{} of the requests were split, which is typical of fragmented files.",
        percent(share)
    );
    let numbers = [("splits per request", share, "share")];
    (share >= SPLITS_SHARE).then(|| cause(CauseCode::SplitRequests, claim, &numbers))
}

/// Writes smaller than a block of the device: it reads before it writes. A mean above one block
/// says nothing about single writes, whose sizes differ.
fn partial_blocks(segment: &Segment<'_>) -> Option<Cause> {
    let block = segment.facts?.physical_block_bytes.filter(|&block| block > 512)? as f64;
    let bytes = segment.tally.write.request_bytes()?;
    let claim = format!(
        "Writes average {}, less than the device's block of {}.",
        format_bytes(bytes as u64),
        format_bytes(block as u64)
    );
    let numbers = [("write size", bytes, "B"), ("block", block, "B")];
    let partial =
        bytes < 0.99 * block && segment.tally.write.count() > 0.2 * segment.tally.all.count();
    partial.then(|| cause(CauseCode::PartialBlocks, claim, &numbers))
}
