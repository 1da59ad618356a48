//! Combines trials whose jobs commit into points: rate and flush time against the number of committers.
//!
//! They are not cells of the device: the time of a flush also depends on the file system, and the writes
//! before it end in the page cache. So nothing here enters curves, fits or predictions of requests.

use crate::cells::{counts, ratio_over_visits};
use record::{
    CommitPoint, DirectionResult, Estimate, HistogramSnapshot, LogKind, Measured, NORMAL_95, Trial,
    Workload,
};
use stats::{grouped, over_visits};

/// The percentile of flush times that is reported.
const PERCENTILE: f64 = 0.99;

/// The kind of log that a committing workload writes; `None` for one that does not flush.
#[must_use]
pub fn log_kind(workload: &Workload) -> Option<LogKind> {
    workload.flush?;
    Some(if workload.from_start { LogKind::NewBlocks } else { LogKind::Overwritten })
}

/// One point per log and number of committers, from all committing trials that [`counts`] accepts.
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
    let times = flushes.iter().filter_map(|it| Some((it.latency_ns.as_ref()?.mean, it.ios as f64)));
    let (times, flushed): (Vec<f64>, Vec<f64>) = times.unzip();
    let writes =
        visits.iter().filter_map(|trial| Some((trial.latency_ns()?, trial.completed() as f64)));
    let (writes, written): (Vec<f64>, Vec<f64>) = writes.unzip();
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
        commits_per_s: over_visits(&rates, within(|flush| flush.iops_ci95_rel)).positive(),
        flush_ns: ratio_over_visits(
            &times,
            &flushed,
            within(|flush| flush.latency_ns.as_ref()?.mean_ci95_rel),
        ),
        write_ns: ratio_over_visits(&writes, &written, None),
        flush_p99_ns: p99(&histogram, &flushes),
        histogram,
    })
}

fn flushes<'a>(visits: &'a [&Trial]) -> impl Iterator<Item = &'a DirectionResult> {
    visits.iter().filter_map(|trial| trial.result.flush.as_ref())
}

/// The percentile of all flushes. Consecutive flushes are not independent. So the interval covers both the
/// ranks within a binomial error of the percentile and the percentiles of the single visits.
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
