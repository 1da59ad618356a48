//! Computes what happened between two readings of a line. Pure functions.
//!
//! Four kinds of change can occur. Requests advance the counters. A counter wraps (times are 32-bit
//! everywhere, counts on 32-bit kernels). Counters reset, because another device has the name or a driver
//! restarted. Or a counter goes back by a little, because the kernel adds per-processor parts without a
//! lock. A count that went back is a wrap if the difference modulo 2^32 is possible in the time, otherwise
//! a reset. Rejected: treating every decrease as the one or the other.
//!
//! Times are whole milliseconds, so a mean latency is accurate to a millisecond divided by the number of
//! requests. Each figure carries this resolution. Discards and flushes are subtracted from the
//! time-weighted sum, because they are neither reads nor writes.

use crate::kernel::linux::diskstats::{DiskstatsLine, SECTOR_BYTES, TransferCounters, Wrapping};
use record::{Figure, Interval, MOST_BYTES_PER_S, MOST_PER_S, OpInterval};

const SECTOR: f64 = SECTOR_BYTES as f64;
/// Resolution of the kernel's times, in nanoseconds.
const MS_NS: f64 = 1e6;

/// A device at the last reading.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) line: DiskstatsLine,
    /// The times of the line, each made monotone: see [`Elapsed`].
    times: [Wrapping; 6],
    /// Whether requests completed since the previous reading.
    pub(crate) moved: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Nanoseconds since 1970 at its beginning.
    pub(crate) begin_ns: u64,
    /// Its length, more than 0.
    pub(crate) duration_ns: u64,
}

#[derive(Clone, Copy)]
struct Moved {
    ios: f64,
    sectors: f64,
    merges: Option<f64>,
    time_ms: Option<f64>,
}

impl Reading {
    pub(crate) fn first(line: DiskstatsLine) -> Self {
        let mut times = Default::default();
        elapsed(&mut times, &line);
        Self { line, times, moved: false }
    }

    /// Processes the next reading. If counters were reset, the error names the counter that shows it, and
    /// the line must be treated as the first of another device.
    pub(crate) fn advance(
        &mut self,
        line: DiskstatsLine,
        span: Span,
    ) -> Result<Interval, &'static str> {
        let seconds = span.duration_ns as f64 / 1e9;
        let before = std::mem::replace(&mut self.line, line);
        let now = &self.line;
        if before.numbers != now.numbers {
            return Err("device numbers");
        }
        let times = elapsed(&mut self.times, now);
        let read = [before.reads, now.reads];
        let read = moved(read, times.read, seconds, ["reads", "sectors read"])?;
        let write = [before.writes, now.writes];
        let write = moved(write, times.write, seconds, ["writes", "sectors written"])?;
        self.moved = read.ios + write.ios > 0.0;
        Ok(interval(span, [read, write], &times, &before, now))
    }
}

/// Increase of each time, in ms; `None` if the line does not have it.
struct Elapsed {
    read: Option<f64>,
    write: Option<f64>,
    busy: Option<f64>,
    weighted: Option<f64>,
    discards: Option<f64>,
    flushes: Option<f64>,
}

fn elapsed(times: &mut [Wrapping; 6], line: &DiskstatsLine) -> Elapsed {
    let mut times = times.iter_mut();
    let mut step = |reading: Option<u64>| Some(times.next()?.advance(reading?) as f64);
    Elapsed {
        read: step(line.reads.time_ms),
        write: step(line.writes.time_ms),
        busy: step(line.busy_ms),
        weighted: step(line.weighted_ms),
        discards: step(line.discards.and_then(|discards| discards.time_ms)),
        flushes: step(line.flushes.map(|(_, time_ms)| time_ms)),
    }
}

/// The increases between two readings, or the name of a counter that was reset.
fn moved(
    [before, now]: [TransferCounters; 2],
    time_ms: Option<f64>,
    seconds: f64,
    names: [&'static str; 2],
) -> Result<Moved, &'static str> {
    let step = |before: u64, now: u64, possible_per_s: f64| {
        grown(before, now, (seconds * possible_per_s).max(possible_per_s))
    };
    let merges = before.merges.zip(now.merges);
    Ok(Moved {
        ios: step(before.ios, now.ios, MOST_PER_S).ok_or(names[0])?,
        sectors: step(before.sectors, now.sectors, MOST_BYTES_PER_S / SECTOR).ok_or(names[1])?,
        merges: merges.and_then(|(before, now)| step(before, now, MOST_PER_S)),
        time_ms,
    })
}

/// The increase of a count that may have wrapped at 2^32; `None` if it was reset, or increased by more than
/// a device can do.
fn grown(before: u64, now: u64, possible: f64) -> Option<f64> {
    if now >= before {
        return Some((now - before) as f64).filter(|grown| *grown <= possible);
    }
    let (before, now) = (u32::try_from(before).ok()?, u32::try_from(now).ok()?);
    // Only a count in the upper half can wrap within one interval of reasonable length.
    let wrapped = f64::from(now.wrapping_sub(before));
    (before > u32::MAX / 2 && wrapped < possible.min(f64::from(u32::MAX / 2))).then_some(wrapped)
}

fn interval(
    span: Span,
    [read, write]: [Moved; 2],
    times: &Elapsed,
    before: &DiskstatsLine,
    now: &DiskstatsLine,
) -> Interval {
    let seconds = span.duration_ns as f64 / 1e9;
    let milliseconds = seconds * 1e3;
    let add = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    let all = Moved {
        ios: read.ios + write.ios,
        sectors: read.sectors + write.sectors,
        merges: add(read.merges, write.merges),
        time_ms: add(read.time_ms, write.time_ms),
    };
    let per_s = |count: u64| Figure::measured(count as f64 / seconds, 1.0 / seconds);
    let step = 1.0 / milliseconds;
    let others = times.discards.unwrap_or(0.0) + times.flushes.unwrap_or(0.0);
    let discards = before.discards.zip(now.discards);
    let discards = discards.map(|(old, new)| new.ios.saturating_sub(old.ios));
    let flushes = before.flushes.zip(now.flushes).map(|(old, new)| new.0.saturating_sub(old.0));
    let each_flush = |time_ms: f64| {
        let count = flushes.filter(|count| *count > 0)? as f64;
        Some(Figure::derived(time_ms * MS_NS / count, MS_NS / count))
    };
    let concurrency = |weighted_ms: f64| {
        let figure = if others > 0.0 { Figure::derived } else { Figure::measured };
        figure((weighted_ms - others).max(0.0) / milliseconds, step)
    };
    Interval {
        device: now.device.clone(),
        begin_ns: span.begin_ns,
        duration_ns: span.duration_ns,
        read: op(read, seconds),
        write: op(write, seconds),
        all: op(all, seconds),
        discards_per_s: discards.map(per_s),
        flushes_per_s: flushes.map(per_s),
        flush_latency_ns: times.flushes.and_then(each_flush),
        // A long request adds all of its busy time when it ends.
        busy_share: times.busy.map(|ms| Figure::measured((ms / milliseconds).min(1.0), step)),
        concurrency: times.weighted.map(concurrency),
        in_flight: now.in_flight.map(|count| Figure::measured(count as f64, 1.0)),
        ..Interval::default()
    }
}

fn op(moved: Moved, seconds: f64) -> OpInterval {
    let per_s = |total: f64, step: f64| Figure::measured(total / seconds, step / seconds);
    let per_request = |total: f64, step: f64| {
        (moved.ios > 0.0).then(|| Figure::derived(total / moved.ios, step / moved.ios))
    };
    OpInterval {
        per_s: Some(per_s(moved.ios, 1.0)),
        bytes_per_s: Some(per_s(moved.sectors * SECTOR, SECTOR)),
        request_bytes: per_request(moved.sectors * SECTOR, SECTOR),
        merged_per_s: moved.merges.map(|merges| per_s(merges, 1.0)),
        latency_ns: moved.time_ms.and_then(|time_ms| per_request(time_ms * MS_NS, MS_NS)),
    }
}
