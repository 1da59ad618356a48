//! Tests for page-cache write-back: its writes wait for each other, but no program waits for them,
//! until the kernel throttles writers at the dirty limit.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{NEVER_IDLE, Segment, WAITS_FROM};
use crate::verdict::judgement::RestsOn;
use crate::verdict::notes;
use record::{Doubt, Verdict, format_bytes, format_nanos};

/// Mean dirty bytes as a share of the limit from which programs are throttled. The mean is below
/// the limit, because each write-out makes room for a moment.
const AT_LIMIT: f64 = 0.7;
/// A limit counts as reached if the device writes it out in at most this many seconds and tasks
/// wait for at least this share of the time.
const WRITTEN_OUT_S: f64 = 0.05;
const STOPPED: f64 = 0.2;
/// Odds that a queue of writes alone belongs to the page cache, rather than to a program that waits for them.
const MORE_OFTEN: f64 = 1.2;
const HARDLY_READ: f64 = 0.05;
/// Least share of writes among the requests.
const WRITES_SHARE: f64 = 0.5;

pub(super) fn no_program_waits(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    if !notes::is_write_back(segment) || at_limit(segment).is_some() {
        return None;
    }
    let claim = format!(
        "The page cache is writing back: its requests queue behind each other, which explains a \
         latency of {}.",
        format_nanos(segment.tally.latency_ns().unwrap_or(0.0))
    );
    let rival = (
        "A program may wait for these writes (fsync, or readers in the same queue).",
        "Measure latency in the program, or check the tracer's list of processes.",
    );
    let (fine, over) = (facts.states.name_of_fine(), facts.states.overloaded());
    Some(Explanation::instead(fine, Doubt::WriteBack, over, claim, rival))
}

/// Without a profile: a queue of writes alone, if the source does not show whether it comes from
/// the page cache.
pub(super) fn perhaps_no_program_waits(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let writes = segment.tally.read_share().is_some_and(|reads| reads <= HARDLY_READ);
    let told = segment.around.writeback_bytes.is_some();
    // A program waits for its reads, however few they are among the writes.
    let reads_wait = segment.reads_behind_writes(WAITS_FROM).is_some();
    if !writes || !segment.is_unprofiled() || told || reads_wait {
        return None;
    }
    let claim = "Only writes are in flight. They may be write-back from the page cache, for which \
                 no program waits; this source does not show whether they are.";
    let decided_by = segment.by_system(
        "Record the counter Cache\\Lazy Write Pages/sec too, or measure latency in the program.",
        "Check the pages under write-back (Writeback in /proc/meminfo), or measure latency in \
             the program.",
    );
    let (fine, over) = (facts.states.name_of_fine(), facts.states.overloaded());
    Some(Explanation::weighed(fine, Doubt::WriteBack, MORE_OFTEN * over, claim, decided_by))
}

/// Programs are throttled although the device has spare time: the limit is too low for it.
pub(super) fn limit(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let (waits, limit) = at_limit(segment)?;
    segment.busy().filter(|busy| *busy < NEVER_IDLE)?;
    let stops = format!(
        "The kernel pauses programs that write when {} of data is dirty (halfway between \
         vm.dirty_background_bytes and vm.dirty_bytes, or the corresponding ratios)",
        format_bytes(limit as u64)
    );
    let reached = if waits >= AT_LIMIT * limit {
        format!("{} is dirty", format_bytes(waits as u64))
    } else {
        let seconds = limit / segment.tally.bytes_per_s().unwrap_or(1.0);
        format!("the device writes that much in {}", format_nanos(1e9 * seconds))
    };
    let claim = format!("{stops}; {reached}. The device has idle time.");
    let rival = (
        "The programs may not need to write more.",
        "Raise the limit (sysctl vm.dirty_bytes) and see whether the programs write more.",
    );
    let all = facts.states.all();
    Some(
        Explanation::instead(Verdict::Capped, Doubt::WriteBackLimit, all, claim, rival)
            .resting_on(RestsOn::WriteBack(limit as u64))
            .with(&[("bytes that wait to be written", waits, "B"), ("limit", limit, "B")]),
    )
}

/// Dirty bytes and the limit that throttles programs, if the limit is reached. A sample rarely falls on the moment
/// when dirty bytes are at the limit. So a limit that the device could write within [`WRITTEN_OUT_S`] counts as
/// reached.
fn at_limit(segment: &Segment<'_>) -> Option<(f64, f64)> {
    let writes = segment.tally.read_share().is_some_and(|reads| 1.0 - reads >= WRITES_SHARE);
    let written_per_s = segment.tally.bytes_per_s().unwrap_or(0.0);
    let stopped = segment.around.io_some.is_some_and(|waited| waited >= STOPPED);
    let soon =
        |limit: f64| stopped && segment.written_back() && limit <= WRITTEN_OUT_S * written_per_s;
    segment
        .around
        .unwritten
        .filter(|(waits, limit)| writes && (*waits >= AT_LIMIT * limit || soon(*limit)))
}
