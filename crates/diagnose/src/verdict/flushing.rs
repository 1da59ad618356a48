//! Compares the device's flushes with what they should take.
//!
//! The best known of these is the measure: a commit of the profile, the flushes at another time of the recording,
//! or what is usual for the class of device. A commit writes a few bytes, flushes the device and may write a
//! journal, so it takes at least as long as a flush of the idle device. Two things delay a flush of a healthy
//! device further, and are allowed for: data in the device's cache that it must write out first, and requests
//! in its queue.

use super::classes::Class;
use super::flush_times::{FLUSHES_MIN, MATTERS, SlowFlushes, Than};
use super::grid::slow_share;
use super::interval_totals::{IntervalTotals, ratio_error};
use super::odds;
use super::own::SLOW_AT_MOST;
use record::{Estimate, FlushKind, NORMAL_95, OpKind, Profile};

/// How far the time of a flush depends on where its writes are, on a disk that seeks: the standard deviation of
/// a logarithm. A flush has to seek anyway, so this is less than for reads ([`Class::place_sd`]).
const PLACE_SD: f64 = 0.7;
/// Odds from which slow flushes are an alternative: clearly above the prior of the classes.
const POSSIBLE: f64 = 0.35;

/// The flushes of a series, in which a request would take `alone_ns` at queue depth 1. `others` holds the
/// intervals of each other use of the device. `None` if they are as fast as expected or few.
pub(crate) fn slow_flushes<'o>(
    series: &[IntervalTotals],
    alone_ns: f64,
    profile: Option<&Profile>,
    others: impl Iterator<Item = &'o [IntervalTotals]>,
    class: &Class,
) -> Option<SlowFlushes> {
    let now = Flushing::of(series, alone_ns)?;
    if now.each_ns * now.count < MATTERS * now.tally.seconds * 1e9 {
        return None;
    }
    let measured = profile.and_then(|profile| now.than_commit(profile));
    let then = || now.than_then(others, class).filter(SlowFlushes::is_likely);
    let found = measured.or_else(then).or_else(|| now.than_usual(class))?;
    let least = if matches!(found.than, Than::Commit(_)) { 1.0 } else { POSSIBLE };
    (found.odds >= least).then_some(found)
}

/// The flushes of a series.
struct Flushing<'a> {
    series: &'a [IntervalTotals],
    tally: IntervalTotals,
    each_ns: f64,
    count: f64,
    queue_ns: f64,
}

impl<'a> Flushing<'a> {
    fn of(series: &'a [IntervalTotals], alone_ns: f64) -> Option<Self> {
        let tally = IntervalTotals::sum(series);
        let (each_ns, count) = (tally.flush_latency_ns()?, tally.flushes?);
        let queue_ns = (tally.latency_ns().unwrap_or(0.0) - alone_ns).max(0.0);
        (count >= FLUSHES_MIN).then_some(Self { series, tally, each_ns, count, queue_ns })
    }

    /// Writes before each flush.
    fn writes(&self) -> f64 {
        self.tally.write.count() / self.count
    }

    fn write_bytes(&self) -> f64 {
        self.tally.write.request_bytes().unwrap_or(4096.0)
    }

    /// Half-width of the 95 % interval of the mean time of a flush, as a share of it. With too few intervals,
    /// the standard deviation is taken as the mean.
    fn error(&self) -> f64 {
        let parts = self.series.iter().filter_map(|one| Some((one.flush_ns?, one.flushes?)));
        let by_count = NORMAL_95 / self.count.sqrt();
        ratio_error(&parts.collect::<Vec<_>>()).unwrap_or(by_count)
    }

    fn than_commit(&self, profile: &Profile) -> Option<SlowFlushes> {
        let commit = quickest_commit(profile)?;
        let written = self.tally.write.bytes.unwrap_or(0.0) / self.count;
        let write_out_ns = written / most_written_per_s(profile)? * 1e9;
        let expected_ns = commit.value + write_out_ns + self.queue_ns;
        let error = self.error().hypot(commit.relative_half_width());
        Some(self.slow(Than::Commit(commit.value), expected_ns, error))
    }

    /// Compared with the fastest flushes of other times. More writes before each flush than then may take as long
    /// as such a device usually takes for them, one after another.
    fn than_then<'o>(
        &self,
        others: impl Iterator<Item = &'o [IntervalTotals]>,
        class: &Class,
    ) -> Option<SlowFlushes> {
        let [_, longest_ns] = class.usual_ns(self.write_bytes());
        let expected_ns = |then: &Flushing<'_>| {
            let more = (self.writes() - then.writes()).max(0.0);
            then.each_ns + more * longest_ns + self.queue_ns
        };
        let others = others.filter_map(|other| Flushing::of(other, 0.0));
        let quickest = others.min_by(|a, b| expected_ns(a).total_cmp(&expected_ns(b)))?;
        let of_place = if class.place_sd() > 0.0 { NORMAL_95 * PLACE_SD } else { 0.0 };
        let error = self.error().hypot(quickest.error()).hypot(of_place);
        Some(self.slow(Than::OtherTime(quickest.each_ns), expected_ns(&quickest), error))
    }

    fn than_usual(&self, class: &Class) -> Option<SlowFlushes> {
        let bytes = self.write_bytes();
        let usual = class.for_flushes(self.writes(), bytes);
        let share = slow_share(&usual, (self.each_ns - self.queue_ns).max(1.0), bytes);
        let share = share.min(SLOW_AT_MOST);
        let [_, expected_ns] = usual.usual_ns(bytes);
        let than = Than::Class(usual);
        let found =
            SlowFlushes { each_ns: self.each_ns, expected_ns, than, odds: share / (1.0 - share) };
        // Flushes as fast as usual are no sign of a slow device, whatever the prior.
        (self.each_ns > usual.lone_ns(bytes)).then_some(found)
    }

    fn slow(&self, than: Than, expected_ns: f64, error: f64) -> SlowFlushes {
        let odds = odds::slow(self.each_ns / expected_ns, error);
        SlowFlushes { each_ns: self.each_ns, expected_ns, than, odds }
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
