//! Why a segment is as it was judged, as far as that shows.
//!
//! A cause is found or it is not: advice rests on causes, and a strategy whose cause was not found is
//! not spoken of. Several may hold at once. What only a tracer sees (adjacent requests, processes)
//! is silent without one.

use super::expected::Expectation;
use super::judge::{Judgement, Segment, evidence};
use super::outstanding::ExcessQueue;
use crate::words::percent;
use record::{
    Cause, CauseCode, Confidence, Evidence, OpKind, Verdict, format_bytes, format_count,
    format_nanos,
};

/// Slower by operation: one is this much over what is expected, the other not by that much.
const OP_SLOWER: f64 = 1.3;
const OP_FINE: f64 = 1.15;
/// Bursts: busy less than this share of the time, with this much waiting while busy.
pub(crate) const BURST_BUSY: f64 = 0.6;
/// Reads behind writes: writes are this share of the work, reads wait this many times their own.
const WRITES_WORK: f64 = 0.6;
const READS_WAIT: f64 = 2.5;
/// Fewest reads that count as waiting, however few they are among the requests.
const READS_MIN: f64 = 50.0;
/// A process with more than this share of the requests, and others with at least that much.
const NEIGHBOUR_SHARE: f64 = 0.55;
const OTHERS_SHARE: f64 = 0.02;
/// Rate over the largest one from which on more disks are the matter.
const NEAR: f64 = 0.8;
/// Saturation below which another device can take load.
pub(crate) const SPARE: f64 = 0.5;
/// One at a time: busy nearly always, with one in progress.
const ALWAYS_BUSY: f64 = 0.85;
/// Requests that are small for sequential ones, and the share that makes a stream.
const SMALL_BYTES: f64 = 32.0 * 1024.0;
const STREAM_SHARE: f64 = 0.6;
/// Splits that count, as a share of requests.
pub(crate) const SPLITS_SHARE: f64 = 0.05;

fn cause(code: CauseCode, claim: String, evidence: Vec<Evidence>) -> Cause {
    Cause { code, claim, evidence }
}

/// All causes of a segment. `spare` names other devices that have much to spare.
pub(crate) fn causes(segment: &Segment<'_>, judgement: &Judgement, spare: &[String]) -> Vec<Cause> {
    let mut found = Vec::new();
    match judgement.verdict {
        Verdict::Capped => found.extend(capped(segment, judgement)),
        Verdict::NotEnoughEvidence => {}
        _ => {
            let Some((look, latency)) = segment.best_look() else { return found };
            let slow = matches!(judgement.verdict, Verdict::Slow | Verdict::SlowAndOverloaded);
            let overloaded =
                matches!(judgement.verdict, Verdict::Overloaded | Verdict::SlowAndOverloaded);
            if slow {
                found.push(slower(segment, look, latency));
                found.extend(partial_blocks(segment));
                let capped =
                    |alternative: &record::Alternative| alternative.verdict == Verdict::Capped;
                if judgement.alternatives.iter().any(capped) {
                    found.extend(pinned_rate(judgement));
                }
            }
            if overloaded {
                found.extend(deep(segment));
                found.extend(near_maximum(segment, look));
                found.extend(bursts(segment, look));
                found.extend(writes_in_front(segment, look));
                found.extend(neighbour(segment));
                found.extend(hot(spare));
            }
            if !slow && !overloaded {
                found.extend(one_at_a_time(segment, look));
            }
            found.extend(small_sequential(segment, slow || overloaded));
            if slow || overloaded {
                found.extend(split(segment));
            }
        }
    }
    found
}

fn capped(segment: &Segment<'_>, judgement: &Judgement) -> Vec<Cause> {
    if let Some(limit) = &judgement.limit {
        let claim = format!(
            "The limit {}={} of the control group {:?}.",
            limit.limited.key(),
            limit.limit_per_s,
            limit.group
        );
        let unit = if limit.limited.is_bytes() { "bytes/s" } else { "IOPS" };
        let numbers = vec![evidence("limit", limit.limit_per_s as f64, unit)];
        return vec![cause(CauseCode::CgroupLimit, claim, numbers)];
    }
    if let Some(pinned) = pinned_rate(judgement) {
        return vec![pinned];
    }
    let waited = segment.around.traced.as_ref().map_or(0.0, |traced| traced.waited.1);
    let claim = format!("Requests wait {} before the counters start.", format_nanos(waited));
    vec![cause(CauseCode::WaitsAbove, claim, vec![evidence("wait", waited, "ns")])]
}

fn pinned_rate(judgement: &Judgement) -> Option<Cause> {
    let pin = judgement.pin?;
    let claim = format!("The {} stays at {}.", pin.what(), pin.text());
    Some(cause(CauseCode::PinnedRate, claim, vec![evidence("pinned at", pin.per_s, pin.unit())]))
}

/// Which operations are slower.
fn slower(segment: &Segment<'_>, look: &Expectation, latency: f64) -> Cause {
    let tally = &segment.tally;
    let ratio = |measured: Option<f64>, expected: Option<f64>| Some(measured? / expected?);
    let reads = ratio(tally.read.latency_ns(), look.by_op[OpKind::Read as usize]);
    let writes = ratio(tally.write.latency_ns(), look.by_op[OpKind::Write as usize]);
    let over = latency / look.expected_ns(segment.by_rate()).max(1.0);
    let (code, what) = match (reads, writes) {
        (Some(reads), Some(writes)) if writes >= OP_SLOWER && reads <= OP_FINE => {
            (CauseCode::WritesSlower, "Writes take longer than expected, reads do not.")
        }
        (Some(reads), Some(writes)) if reads >= OP_SLOWER && writes <= OP_FINE => {
            (CauseCode::ReadsSlower, "Reads take longer than expected, writes do not.")
        }
        _ => (CauseCode::ServiceSlower, "Requests take longer than the profile says."),
    };
    let mut numbers = vec![evidence("response time over the expected", over, "")];
    numbers.extend(reads.map(|ratio| evidence("reads, over the expected", ratio, "")));
    numbers.extend(writes.map(|ratio| evidence("writes, over the expected", ratio, "")));
    cause(code, what.to_owned(), numbers)
}

/// More outstanding than helps, unless they come by themselves.
fn deep(segment: &Segment<'_>) -> Option<Cause> {
    let deep = segment.deep.filter(ExcessQueue::may_be_kept)?;
    let enough = deep.enough;
    let all_the_time = if deep.is_kept() { " all the time" } else { "" };
    let claim = format!(
        "{} requests are in progress{all_the_time}; {:.0} would give {} of the rate. {}",
        format_count(deep.present),
        enough.depth,
        percent(enough.rate_share),
        sentence(&deep.because())
    );
    let numbers = vec![
        evidence("requests in progress", deep.present, ""),
        evidence("enough", enough.depth, ""),
        evidence("rate with these over that of now", enough.rate_share, "share"),
    ];
    Some(cause(CauseCode::DepthBeyondKnee, claim, numbers))
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

fn near_maximum(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let saturation = segment.tally.iops() / look.max_iops;
    (saturation >= NEAR).then(|| {
        cause(
            CauseCode::RateNearMaximum,
            format!("The rate is {} of the largest of this mix.", percent(saturation)),
            vec![evidence("rate over the largest", saturation, "share")],
        )
    })
}

fn bursts(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let busy = segment.tally.utilization().filter(|_| segment.known.busy)?;
    (busy < BURST_BUSY && look.wait_ratio() >= 2.0).then(|| {
        let present = segment.tally.concurrency().unwrap_or(0.0) / busy.max(1e-9);
        cause(
            CauseCode::Bursts,
            format!(
                "Requests come in bursts: the device is busy {} of the time, with {present:.0} in \
                 progress then.",
                percent(busy)
            ),
            vec![evidence("busy", busy, "share"), evidence("in progress while busy", present, "")],
        )
    })
}

/// Reads that wait behind writes.
fn writes_in_front(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let (reads, writes) = (&segment.tally.read, &segment.tally.write);
    let (read_ns, write_ns) = (reads.latency_ns()?, writes.latency_ns()?);
    let work = writes.time_ns? / segment.tally.all.time_ns?.max(1.0);
    let waits = read_ns / look.unloaded_ns.max(1.0);
    (work >= WRITES_WORK && reads.count() >= READS_MIN && waits >= READS_WAIT).then(|| {
        cause(
            CauseCode::WritesInFront,
            format!(
                "Writes are {} of the work in progress, and reads wait behind them ({} each).",
                percent(work),
                format_nanos(read_ns)
            ),
            vec![
                evidence("writes among the time in progress", work, "share"),
                evidence("response time of reads", read_ns, "ns"),
                evidence("response time of writes", write_ns, "ns"),
            ],
        )
    })
}

fn neighbour(segment: &Segment<'_>) -> Option<Cause> {
    let processes = &segment.around.traced.as_ref()?.processes;
    let total: f64 = processes.iter().map(|(_, _, count)| count).sum();
    let (id, name, count) = processes.first()?;
    let share = count / total.max(1.0);
    (share >= NEIGHBOUR_SHARE && 1.0 - share >= OTHERS_SHARE).then(|| {
        cause(
            CauseCode::Neighbour,
            format!("Process {id} ({name}) issues {} of the requests.", percent(share)),
            vec![evidence("its share of the requests", share, "share")],
        )
    })
}

fn hot(spare: &[String]) -> Option<Cause> {
    let first = spare.first()?;
    let others =
        if spare.len() > 1 { format!(" and {} more", spare.len() - 1) } else { String::new() };
    Some(cause(
        CauseCode::HotDevice,
        format!("{first}{others} had much to spare at the same time."),
        vec![evidence("devices with much to spare", spare.len() as f64, "")],
    ))
}

fn one_at_a_time(segment: &Segment<'_>, look: &Expectation) -> Option<Cause> {
    let busy = segment.tally.utilization().filter(|_| segment.known.busy)?;
    let present = segment.tally.concurrency()?;
    let more = look.side_by_side() >= 2.0;
    (busy >= ALWAYS_BUSY && present <= 1.25 && more).then(|| {
        cause(
            CauseCode::OneAtATime,
            format!(
                "One request is outstanding at a time, {} of the time; the device serves {:.0} side \
                 by side.",
                percent(busy),
                look.side_by_side()
            ),
            vec![evidence("requests in progress", present, ""), evidence("busy", busy, "share")],
        )
    })
}

fn small_sequential(segment: &Segment<'_>, matters: bool) -> Option<Cause> {
    let share = segment.around.sequential()?;
    let bytes = segment.tally.all.request_bytes()?;
    (matters && share >= STREAM_SHARE && bytes <= SMALL_BYTES).then(|| {
        cause(
            CauseCode::SmallSequential,
            format!(
                "{} of the requests are adjacent to one before, and they are small ({}).",
                percent(share),
                format_bytes(bytes as u64)
            ),
            vec![evidence("sequential", share, "share"), evidence("request size", bytes, "B")],
        )
    })
}

fn split(segment: &Segment<'_>) -> Option<Cause> {
    let share = segment.tally.splits? / segment.tally.all.count().max(1.0);
    (share >= SPLITS_SHARE).then(|| {
        cause(
            CauseCode::SplitRequests,
            format!(
                "{} of the requests were split, as those to scattered files are.",
                percent(share)
            ),
            vec![evidence("splits per request", share, "share")],
        )
    })
}

/// Writes whose size is no multiple of the device's block: it reads before it writes.
fn partial_blocks(segment: &Segment<'_>) -> Option<Cause> {
    let block = segment.facts?.physical_block_bytes.filter(|&block| block > 512)? as f64;
    let bytes = segment.tally.write.request_bytes()?;
    let parts = bytes / block;
    let whole = libm::fabs(parts - libm::round(parts)) < 0.01 && parts >= 0.99;
    (!whole && segment.tally.write.count() > 0.2 * segment.tally.all.count()).then(|| {
        cause(
            CauseCode::PartialBlocks,
            format!(
                "Writes of {} on average are no whole blocks of {}.",
                format_bytes(bytes as u64),
                format_bytes(block as u64)
            ),
            vec![evidence("write size", bytes, "B"), evidence("block", block, "B")],
        )
    })
}

/// Whether a judgement is sure enough for advice that changes hardware.
pub(crate) fn sure(judgement: &Judgement) -> bool {
    judgement.confidence != Confidence::Possible
}
