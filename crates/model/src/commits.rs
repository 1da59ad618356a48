//! From trials whose jobs commit to points: rate and flush time against the number of committers.
//!
//! They are no cells of the device: what a flush takes is the file system's matter as well, and the
//! writes before it end in the page cache. So nothing here enters curves, fits or predictions of
//! requests.

use crate::cells::{counts, over_visits};
use record::{
    CommitPoint, DirectionResult, Estimate, HistogramSnapshot, LogKind, Measured, NORMAL_95, Trial,
    Workload,
};
use stats::grouped;

/// The percentile that programs ask for.
const PERCENTILE: f64 = 0.99;

/// What a committing workload writes to; `None` for one that does not flush.
#[must_use]
pub fn log_kind(workload: &Workload) -> Option<LogKind> {
    workload.flush?;
    Some(if workload.from_start { LogKind::NewBlocks } else { LogKind::Overwritten })
}

/// The points of all trials that commit and [`counts`] accepts, by log and number of committers.
#[must_use]
pub fn commit_points(trials: &[Trial]) -> Vec<CommitPoint> {
    let committing = trials.iter().filter(|trial| counts(trial));
    let visits = committing.filter_map(|trial| {
        let workload = &trial.workload;
        Some(((log_kind(workload)?, workload.depth), trial))
    });
    let mut points: Vec<CommitPoint> =
        grouped(visits).iter().filter_map(|(key, visits)| point(*key, visits)).collect();
    points.sort_by_key(|point| (point.log, point.committers));
    points
}

fn point((log, committers): (LogKind, u32), visits: &[&Trial]) -> Option<CommitPoint> {
    let first = visits.first()?;
    let flushes: Vec<&DirectionResult> = flushes(visits).collect();
    let rates: Vec<f64> = flushes.iter().map(|flush| flush.iops).collect();
    let times: Vec<f64> =
        flushes.iter().filter_map(|it| Some(it.latency_ns.as_ref()?.mean)).collect();
    let writes: Vec<f64> = visits.iter().filter_map(|trial| trial.latency_ns()).collect();
    let merge = |sum: HistogramSnapshot, next: &&DirectionResult| sum.merged(&next.histogram);
    let histogram = flushes.iter().fold(HistogramSnapshot::default(), merge);
    if times.is_empty() || writes.is_empty() {
        return None;
    }
    let within = |of: fn(&DirectionResult) -> Option<f64>| flushes.first().and_then(|one| of(one));
    Some(CommitPoint {
        log,
        committers,
        bytes: first.workload.max_bs(),
        flush: first.workload.flush?.kind,
        trial_ids: visits.iter().map(|trial| trial.id.clone()).collect(),
        commits_per_s: positive(&over_visits(&rates, within(|flush| flush.iops_ci95_rel))),
        flush_ns: positive(&over_visits(
            &times,
            within(|flush| flush.latency_ns.as_ref()?.mean_ci95_rel),
        )),
        write_ns: positive(&over_visits(&writes, None)),
        flush_p99_ns: p99(&histogram, &flushes),
        histogram,
    })
}

/// What a block of a file system holds, so that records of a log which are smaller share one.
const BLOCK_BYTES: f64 = 4_096.0;

/// What one committer sees of a log that grows by records of so many bytes: the first record of a block has
/// the flush of a new one, those after it rewrite it.
pub(crate) fn growing(new: &CommitPoint, old: &CommitPoint, record_bytes: f64) -> CommitPoint {
    let share = (record_bytes / BLOCK_BYTES).min(1.0);
    let between = |of: fn(&CommitPoint) -> Estimate| {
        let (new, old) = (of(new), of(old));
        let mix = |end: fn(&Estimate) -> f64| share * end(&new) + (1.0 - share) * end(&old);
        Estimate::spanning(
            mix(|it| it.value),
            mix(|it| it.low),
            mix(|it| it.high),
            new.n.min(old.n),
        )
    };
    let times = |point: &CommitPoint, share: f64| {
        let each = share * WEIGHT / point.histogram.count().max(1) as f64;
        let scaled = |&(bucket, count): &(u32, u64)| (bucket, (count as f64 * each).round() as u64);
        let buckets = point.histogram.buckets.iter().map(scaled);
        HistogramSnapshot { buckets: buckets.filter(|(_, count)| *count > 0).collect() }
    };
    CommitPoint {
        flush_ns: between(|point| point.flush_ns),
        write_ns: between(|point| point.write_ns),
        histogram: times(new, share).merged(&times(old, 1.0 - share)),
        ..new.clone()
    }
}

/// Flushes that stand for two histograms in one, so that shares of them are whole numbers.
const WEIGHT: f64 = 1e9;

/// The same with the interval of its logarithm, to first order: rates and times are above zero, and three
/// visits that lie far apart would reach below.
fn positive(estimate: &Estimate) -> Estimate {
    let Estimate { value, se, n, .. } = *estimate;
    Estimate { se, n, ..Estimate::within_ratio(value, estimate.relative_half_width()) }
}

fn flushes<'a>(visits: &'a [&Trial]) -> impl Iterator<Item = &'a DirectionResult> {
    visits.iter().filter_map(|trial| trial.result.flush.as_ref())
}

/// The percentile of all flushes. Its interval is that between the ranks which lie as far from it as
/// a binomial count may, and holds the percentiles of all visits that have one: flushes that follow
/// each other are no independent draws.
fn p99(all: &HistogramSnapshot, visits: &[&DirectionResult]) -> Measured<Estimate> {
    let count = all.count() as f64;
    let Some(value) = all.percentile(PERCENTILE) else {
        return Measured::not(format!("{count:.0} flushes are too few; 1,000 are needed"));
    };
    let spread = NORMAL_95 * (PERCENTILE * (1.0 - PERCENTILE) / count).sqrt();
    let ends = [-spread, spread].map(|off| all.value_at(((PERCENTILE + off) * count) as u64));
    let own = visits.iter().map(|visit| visit.histogram.percentile(PERCENTILE));
    let all = ends.into_iter().chain(own).flatten();
    let (low, high) = all.fold((value, value), |(low, high), end| (low.min(end), high.max(end)));
    Measured::Value(Estimate::spanning(value, low, high, visits.len() as u32))
}
