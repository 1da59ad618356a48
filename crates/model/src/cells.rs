//! Combines all visits of a workload into one cell with an interval.
//!
//! The interval comes from the variance between visits, because a shared disk drifts slowly compared with
//! one trial. A cell with a single visit takes the interval of that visit, or ±100 % if it has none. A
//! trial counts if no finding calls it invalid and no request failed or was short. Rejected: the good
//! requests of a bad trial, since a device that fails some requests serves the others at another speed.
//!
//! Rates and latencies combine reads and writes, without the warm-up common to the visits
//! ([`crate::visit`]). A time per request (R and S) is the total time of all visits divided by their total
//! requests, so that X R is the queue depth and X S is U for a cell too. Its interval is that of the
//! linearised ratio (Cochran 1977, Sampling Techniques, section 6.4). The busy counter has a resolution of
//! milliseconds. If its value is impossible, S and U are unknown.

use crate::visit::{Visit, settled};
use record::{
    Arrival, Cell, DirectionResult, Estimate, HistogramSnapshot, MedianVisit, Trial,
    mean_latency_ns,
};
use stats::{grouped, over_visits, weighted_mean};

/// Share of a cell's visits that must report a number for the cell to have it.
const MOST: f64 = 0.75;
/// If the device's requests or bytes differ from ours by more than this share, its counters are not taken
/// as those of our requests.
const FOREIGN: f64 = 0.05;
/// Minimum number of visits for which the median visit is reported.
const MEDIAN_VISITS: usize = 5;

/// Whether a trial's numbers enter a profile: valid, at least one completed request, and none failed or
/// short.
#[must_use]
pub fn counts(trial: &Trial) -> bool {
    trial.first_clean()
        && trial.failed() == 0
        && trial.completed() > 0
        && trial.result.duration_ns.0 > 0
}

/// One cell per workload, in order of first appearance, from the trials that [`counts`] accepts. Trials
/// that commit are excluded ([`crate::commit_points`]).
///
/// `target_rel` is the requested precision: the half-width of the rate's 95 % interval, as a share of the
/// rate. A cell is `precise` only with at least [`stats::MIN_VISITS`] visits, because fewer cannot show the
/// variance of the device.
#[must_use]
pub fn aggregate(trials: &[Trial], target_rel: f64) -> Vec<Cell> {
    aggregate_beside(&|_| 1.0, trials, target_rel)
}

/// [`aggregate`] with each trial's rate divided by the factor of its area.
pub(crate) fn aggregate_beside(
    area: &dyn Fn(&Trial) -> f64,
    trials: &[Trial],
    target_rel: f64,
) -> Vec<Cell> {
    let requests = trials.iter().filter(|trial| counts(trial) && trial.workload.flush.is_none());
    let visits = grouped(requests.map(|trial| (&trial.cell, trial)));
    visits.iter().filter_map(|(_, visits)| cell(area, visits, target_rel)).collect()
}

fn cell(area: &dyn Fn(&Trial) -> f64, visits: &[&Trial], target_rel: f64) -> Option<Cell> {
    let last = visits.last()?;
    let within_rel = rate_interval(visits[0]);
    let mut settled = settled(visits);
    for (visit, trial) in settled.iter_mut().zip(visits) {
        let factor = area(trial);
        visit.iops /= factor;
        visit.bytes_per_s /= factor;
        visit.latency_ns *= factor;
    }
    let per_visit = |value: fn(&Visit) -> f64| settled.iter().map(value).collect::<Vec<f64>>();
    let (latencies, requests) =
        (per_visit(|visit| visit.latency_ns), per_visit(|visit| visit.requests));
    let latency_ns = ratio_over_visits(&latencies, &requests, latency_interval(visits[0]));
    let busy = busy(visits, within_rel);
    let floor = counting_error(visits);
    let rate = |value| over_visits(&per_visit(value), within_rel).positive().at_least(floor);
    let iops = rate(|visit| visit.iops);
    let mixed = last.workload.only_op().is_none();
    let reads = visits.iter().filter_map(|trial| trial.result.read.as_ref());
    let writes = visits.iter().filter_map(|trial| trial.result.write.as_ref());
    let precise = visits.len() >= stats::MIN_VISITS && iops.relative_half_width() <= target_rel;
    Some(Cell {
        cell: last.cell.clone(),
        workload: last.workload.clone(),
        trial_ids: visits.iter().map(|trial| trial.id.clone()).collect(),
        ios: visits.iter().map(|trial| trial.completed()).sum(),
        rerun_iops: iops,
        iops,
        bytes_per_s: rate(|visit| visit.bytes_per_s),
        latency_ns,
        read_latency_ns: mean_latency_ns(reads).filter(|_| mixed),
        write_latency_ns: mean_latency_ns(writes).filter(|_| mixed),
        median_visit: median_visit(visits),
        histogram: visits
            .iter()
            .fold(HistogramSnapshot::default(), |sum, next| sum.merged(&next.histogram())),
        utilization: busy.clone().map(|(share, _)| share).into(),
        service_ns: busy.map(|(_, service)| service).into(),
        device_share: device_share(visits).into(),
        cpu_us_per_io: most_visits(visits, cpu_us_per_io)
            .map(|told| over_visits(&told.iter().map(|(_, cost)| *cost).collect::<Vec<_>>(), None))
            .into(),
        precise,
    })
}

/// Medians over the visits of an open loop, each visit with its whole window.
fn median_visit(visits: &[&Trial]) -> Option<MedianVisit> {
    let first = visits.first()?;
    if first.workload.arrival == Arrival::Closed || visits.len() < MEDIAN_VISITS {
        return None;
    }
    let middle = |of: &dyn Fn(&Trial) -> Option<f64>| -> Option<f64> {
        let means: Vec<f64> = visits.iter().filter_map(|trial| of(trial)).collect();
        (!means.is_empty()).then(|| stats::median(means))
    };
    let mixed = first.workload.only_op().is_none();
    Some(MedianVisit {
        latency_ns: middle(&|trial| trial.latency_ns())?,
        read_latency_ns: middle(&|trial| mean_latency_ns(trial.result.read.iter()))
            .filter(|_| mixed),
        write_latency_ns: middle(&|trial| mean_latency_ns(trial.result.write.iter()))
            .filter(|_| mixed),
    })
}

/// Mean of one number over all requests: each visit is weighted by its requests. The linearised values have
/// the ratio as their mean, and their variance is its variance to first order. `within_rel` as in
/// [`over_visits`].
pub(crate) fn ratio_over_visits(
    values: &[f64],
    requests: &[f64],
    within_rel: Option<f64>,
) -> Estimate {
    let all: f64 = requests.iter().sum();
    let sum: f64 = values.iter().zip(requests).map(|(value, weight)| value * weight).sum();
    let ratio = sum / all;
    let mean_requests = all / values.len() as f64;
    let linearised: Vec<f64> = values
        .iter()
        .zip(requests)
        .map(|(value, weight)| ratio + weight / mean_requests * (value - ratio))
        .collect();
    over_visits(&linearised, within_rel).positive()
}

/// A window cuts off part of a request, so each visit's count has an error of one request. This matters if
/// the visits agree better than that (a device without variance). As a share of the rate.
fn counting_error(visits: &[&Trial]) -> f64 {
    let requests: u64 = visits.iter().map(|trial| trial.completed()).sum();
    visits.len() as f64 / requests.max(1) as f64
}

/// U and S = U/X over the whole window of all visits (utilization law, Denning and Buzen 1978), or why the
/// busy counter is unusable. A single visit takes the relative interval of its rate.
fn busy(visits: &[&Trial], within_rel: Option<f64>) -> Result<(f64, Estimate), String> {
    let told = most_visits(visits, busy_share)?;
    let utilization = told.iter().map(|(_, share)| share).sum::<f64>() / told.len() as f64;
    if utilization <= 0.0 {
        return Err("the busy counter, which counts milliseconds, never changed".to_owned());
    }
    let services: Vec<f64> = told.iter().map(|(trial, share)| share * 1e9 / trial.iops()).collect();
    let requests: Vec<f64> = told.iter().map(|(trial, _)| trial.completed() as f64).collect();
    let service = ratio_over_visits(&services, &requests, within_rel);
    let alone = visits.iter().all(|trial| trial.workload.depth == 1);
    // Compared with R of the same visits and the same window.
    let latency = mean_latency_ns(told.iter().flat_map(|(trial, _)| trial.directions()));
    if alone && latency.is_some_and(|mean| service.low > mean) {
        return Err(
            "the busy counter, which counts milliseconds, gives an S larger than R at QD 1"
                .to_owned(),
        );
    }
    Ok((utilization, service))
}

/// Share of the latency that the device's counters explain, over all requests of all visits. Known only if
/// each of our requests was one request of the device: merged, split and foreign requests take other times.
/// The counters are in milliseconds, and the two windows are slightly offset, so the share is capped at 1.
fn device_share(visits: &[&Trial]) -> Result<f64, String> {
    let told = most_visits(visits, device_time_ns)?;
    let ours = mean_latency_ns(told.iter().flat_map(|(trial, _)| trial.directions()));
    let ours = ours.filter(|mean| *mean > 0.0).ok_or("no latency was measured")?;
    let requests = |trial: &Trial| trial.completed() as f64;
    let all: f64 = told.iter().map(|(trial, _)| requests(trial)).sum();
    let theirs = told.iter().map(|(trial, time)| time * requests(trial)).sum::<f64>() / all;
    if theirs <= 0.0 {
        return Err(
            "the in-flight time counter, which counts milliseconds, never changed".to_owned()
        );
    }
    Ok((theirs / ours).min(1.0))
}

/// Mean time of a request by the device's counters.
fn device_time_ns(trial: &Trial) -> Result<f64, String> {
    let counters = trial.device_counters.known()?;
    let alike = |ratio: Option<f64>| ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= FOREIGN);
    let others = counters.other_bytes.unwrap_or(0) as f64 / (counters.bytes as f64).max(1.0);
    if !alike(counters.ratio_ios) || !alike(counters.ratio_bytes) || others > FOREIGN {
        return Err(
            "requests at the device did not match the submitted requests one to one".to_owned()
        );
    }
    let window_ns = trial.result.duration_ns.0 as f64;
    Ok(counters.concurrency * window_ns / counters.ios as f64)
}

/// CPU time of a request, in microseconds, or why it is not known.
pub(crate) fn cpu_us_per_io(trial: &Trial) -> Result<f64, String> {
    let cost = trial.cpu.known()?.lower_us_per_io;
    cost.ok_or_else(|| "the kernel did not report the CPU time per request".to_owned())
}

/// A number from the visits that have it, if they are at least [`MOST`] of all visits; otherwise the first
/// reason why it is missing. A reading that a busy processor delayed says nothing about the other visits.
/// But a mean over few visits would be shown next to rates over all of them.
fn most_visits<'a>(
    visits: &[&'a Trial],
    value: impl Fn(&Trial) -> Result<f64, String>,
) -> Result<Vec<(&'a Trial, f64)>, String> {
    let told: Vec<Result<(&Trial, f64), String>> =
        visits.iter().map(|&trial| Ok((trial, value(trial)?))).collect();
    let known = told.iter().filter(|one| one.is_ok()).count() as f64;
    if known < MOST * visits.len() as f64 {
        return told.into_iter().collect();
    }
    Ok(told.into_iter().filter_map(Result::ok).collect())
}

/// Share of the window in which the device had a request in flight. The counter has a resolution of
/// milliseconds and can exceed the window by one, so the share is capped at 1.
fn busy_share(trial: &Trial) -> Result<f64, String> {
    let counters = trial.device_counters.known()?;
    Ok((counters.busy_ms * 1e6 / trial.result.duration_ns.0 as f64).clamp(0.0, 1.0))
}

/// The trial's own interval of its rate, as a share. The half-widths of both directions are added: right if
/// the directions vary together, otherwise too wide.
fn rate_interval(trial: &Trial) -> Option<f64> {
    weighted_interval(trial, |direction| Some((direction.iops, direction.iops_ci95_rel?)))
}

fn latency_interval(trial: &Trial) -> Option<f64> {
    weighted_interval(trial, |direction| {
        let summary = direction.latency_ns.as_ref()?;
        Some((direction.ios as f64 * summary.mean, summary.mean_ci95_rel?))
    })
}

/// Weighted mean of the directions' relative half-widths; `None` if one is missing.
fn weighted_interval(
    trial: &Trial,
    weight_and_width: impl Fn(&DirectionResult) -> Option<(f64, f64)>,
) -> Option<f64> {
    let active = trial.directions().filter(|direction| direction.ios > 0);
    let pairs: Vec<(f64, f64)> = active.map(weight_and_width).collect::<Option<_>>()?;
    weighted_mean(pairs.into_iter().map(|(weight, width)| (width, weight)))
}
