//! Repairs totals that contradict the figures of reads and writes, or that include an operation which the
//! source does not report.
//!
//! By Little's law the mean queue depth is the rate times the mean latency. Some kernels add requests that
//! are shorter than a clock tick to the weighted time as 0, so iostat prints an `aqu-sz` far below that
//! product. Rates and latencies come from other counters, so the queue depth is the wrong figure.

use record::{Figure, Finding, FindingCode, Interval, Observation, OpInterval};

/// Ratio of rate times latency to the printed queue depth above which the depth is wrong.
const MOST_RATIO: f64 = 3.0;
/// Minimum number of requests for this judgement.
const JUDGED_REQUESTS: f64 = 50.0;
/// Maximum mean latency for this judgement, as a share of the observed time. Longer requests may have waited
/// before the observation, which the queue depth does not include.
const SHORT: f64 = 0.01;

/// Replaces queue depths that are far below the rate times the latency. A higher depth is possible: discards,
/// flushes and hung requests are in flight too.
pub(crate) fn without_short_queues(observation: &mut Observation) -> Vec<Finding> {
    let (mut findings, mut short) = (Vec::new(), Vec::new());
    for device in &observation.devices {
        let [mut observed_s, mut requests, mut printed, mut explained] = [0.0; 4];
        for interval in observation.intervals.iter().filter(|it| it.device == device.name) {
            let seconds = interval.duration_ns as f64 / 1e9;
            observed_s += seconds;
            let Interval { all, concurrency: Some(depth), .. } = interval else { continue };
            let Some((rate, latency)) = all.per_s.zip(all.latency_ns) else { continue };
            requests += rate.value * seconds;
            printed += (depth.value + depth.resolution) * seconds;
            let least_ns = (latency.value - latency.resolution).max(0.0);
            explained += rate.value * least_ns / 1e9 * seconds;
        }
        let is_short = explained <= SHORT * observed_s * requests;
        if requests < JUDGED_REQUESTS || explained <= MOST_RATIO * printed || !is_short {
            continue;
        }
        let [printed, explained] = [printed, explained].map(|sum| sum / observed_s);
        let claim = format!(
            "the queue depth of {} is wrong and is ignored: the source reports at most \
             {printed:.2}, but the rate times the latency is at least {explained:.2} (Little's \
             law); halfpower uses that product",
            device.name
        );
        short.push(device.name.clone());
        findings.push(
            Finding::warning(FindingCode::ImpossibleFigures, claim, "")
                .with("queue depth at most, as reported", printed, "")
                .with("queue depth at least, by rate and latency", explained, ""),
        );
    }
    let is_wrong = |it: &&mut Interval| short.contains(&it.device);
    let wrong = observation.intervals.iter_mut().filter(is_wrong);
    wrong.for_each(|it| it.concurrency = by_little(&it.all));
    findings
}

/// Uses the figures of one operation as totals if no interval reports the other: its columns were cut off.
pub(crate) fn of_one_operation(observation: &mut Observation) -> Option<Finding> {
    let every = |is_it: fn(&Interval) -> bool| observation.intervals.iter().all(is_it);
    let of_reads = every(|it| is_alone(&it.read, &it.write, &it.all));
    if !of_reads && !every(|it| is_alone(&it.write, &it.read, &it.all)) {
        return None;
    }
    let (kept, lost) = if of_reads { ("reads", "writes") } else { ("writes", "reads") };
    for interval in &mut observation.intervals {
        interval.all = if of_reads { interval.read } else { interval.write };
        interval.concurrency = by_little(&interval.all);
    }
    if observation.intervals.iter().any(|it| it.busy_share.is_some()) {
        let doubt = || format!("it includes the {lost}, which the source does not report");
        for device in &mut observation.devices {
            device.busy_doubt.get_or_insert_with(doubt);
        }
    }
    let claim = format!(
        "the source reports {kept} but no {lost}: totals are those of the {kept}; not available: \
         {lost}, and the busy share of the {kept}"
    );
    let remedy = format!("add the columns of the {lost} to the file, or record again");
    Some(Finding::warning(FindingCode::FiguresMissing, claim, remedy))
}

/// Whether an interval reports nothing but one operation.
fn is_alone(one: &OpInterval, other: &OpInterval, all: &OpInterval) -> bool {
    one.per_s.is_some() && *other == OpInterval::default() && all.per_s.is_none()
}

/// Mean requests in flight by Little's law: the rate times the mean latency.
pub(crate) fn by_little(all: &OpInterval) -> Option<Figure> {
    let rate = all.per_s?;
    if rate.value == 0.0 {
        return Some(Figure::derived(0.0, rate.resolution));
    }
    let [value, step] = all.latency_ns.map(|it| [it.value, it.resolution])?;
    Some(Figure::derived(rate.value * value / 1e9, rate.value * step / 1e9))
}
