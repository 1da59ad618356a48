//! Compares the device's flushes with the commits of its profile.
//!
//! The kernel counts flushes and their time apart from reads and writes, so a device whose flushes became
//! slower looks as fast as before in every other counter. A commit of the profile writes a few bytes, flushes
//! the device and may write a journal, so it takes at least as long as a flush of the idle device. Two things
//! delay a flush of a healthy device further, and are allowed for: data in the device's cache that it must
//! write out first, and requests in its queue.

use super::interval_totals::{IntervalTotals, ratio_error};
use super::judgement::Number;
use super::odds::{self, SLOW_FROM};
use crate::words::times;
use record::{Estimate, FlushKind, NORMAL_95, OpKind, Profile, format_nanos};

/// Fewest flushes for a comparison, and the least share of the time in them that matters.
const FLUSHES_MIN: f64 = 10.0;
const MATTERS: f64 = 0.05;

/// Flushes of a segment that take longer than the profile's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowFlushes {
    each_ns: f64,
    commit_ns: f64,
    /// Time of a flush with as much to write out, behind as many requests.
    expected_ns: f64,
    /// Odds that they are slow.
    pub(crate) odds: f64,
}

impl SlowFlushes {
    /// The flushes of a series, in which a request would take `alone_ns` at queue depth 1. `None` if they are
    /// as fast as expected, if there are few, or if the profile has no commits.
    pub(crate) fn of(series: &[IntervalTotals], alone_ns: f64, profile: &Profile) -> Option<Self> {
        let tally = IntervalTotals::sum(series);
        let (each_ns, count) = (tally.flush_latency_ns()?, tally.flushes?);
        if count < FLUSHES_MIN || each_ns * count < MATTERS * tally.seconds * 1e9 {
            return None;
        }
        let commit = quickest_commit(profile)?;
        let written = tally.write.bytes.unwrap_or(0.0) / count;
        let write_out_ns = written / most_written_per_s(profile)? * 1e9;
        let latency = tally.latency_ns().unwrap_or(0.0);
        let queue_ns = (latency - alone_ns).max(0.0);
        let expected_ns = commit.value + write_out_ns + queue_ns;
        let error = of_mean(series, count).hypot(commit.relative_half_width());
        let odds = odds::slow(each_ns / expected_ns, error);
        (odds >= 1.0).then_some(Self { each_ns, commit_ns: commit.value, expected_ns, odds })
    }

    pub(crate) fn sentence(&self) -> String {
        let more = match self.expected_ns >= SLOW_FROM * self.commit_ns {
            true => format!(
                " ({} with the data and requests of this load)",
                format_nanos(self.expected_ns)
            ),
            false => String::new(),
        };
        format!(
            "Flushes of the device take {}, {} the {} of a whole commit in the profile{more}",
            format_nanos(self.each_ns),
            times(self.each_ns / self.commit_ns),
            format_nanos(self.commit_ns)
        )
    }

    pub(crate) fn numbers(&self) -> [Number; 3] {
        [
            ("latency of a flush", self.each_ns, "ns"),
            ("latency of a commit in the profile", self.commit_ns, "ns"),
            ("expected with this load", self.expected_ns, "ns"),
        ]
    }
}

/// The shortest mean time of a sync that flushes the device.
fn quickest_commit(profile: &Profile) -> Option<Estimate> {
    let points = &profile.commits.value()?.points;
    let flushed = points.iter().filter(|point| point.flush != FlushKind::SyncFileRange);
    flushed.map(|point| point.flush_ns).min_by(|a, b| a.value.total_cmp(&b.value))
}

/// The largest throughput of writes in the profile.
fn most_written_per_s(profile: &Profile) -> Option<f64> {
    let cells = profile.cells.iter().filter(|cell| {
        cell.workload.only_op() == Some(OpKind::Write) && cell.workload.cache.direct()
    });
    cells.map(|cell| cell.bytes_per_s.value).reduce(f64::max)
}

/// Half-width of the 95 % interval of the mean time of a flush, as a share of it. With too few intervals, the
/// standard deviation is taken as the mean.
fn of_mean(series: &[IntervalTotals], count: f64) -> f64 {
    let parts = series.iter().filter_map(|one| Some((one.flush_ns?, one.flushes?)));
    ratio_error(&parts.collect::<Vec<_>>()).unwrap_or(NORMAL_95 / count.sqrt())
}
