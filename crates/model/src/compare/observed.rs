//! Computes the cells of a side and their quantities. A quantity is a list of observations, which can be
//! paired by block, or a mean with its error. If one trial of a cell lacks a quantity, the cell lacks it
//! too, with that trial's reason.

use crate::cells::cpu_us_per_io;
use record::{
    Arrival, Bytes, CacheMode, Cell, CommitPoint, ComparedMetric, DirectionResult, EngineName,
    Estimate, ExperimentCell, TimeSummary, Trial, Workload, counted, format_bytes,
};
use std::collections::BTreeMap;

/// Why CPU times of different processors are not compared.
const NO_CLOCK: &str = "the processors differ, and the clock rate of at least one is unknown";
/// Why a result of fio has no latency distribution.
const NO_BINS: &str =
    "fio's file has no latency bins: use --output-format=json+ --lat_percentiles=1";

/// Why a trial has no mean latency.
const NO_LATENCY: &str = "fio's file lacks it";
/// Why a trial has no percentile of the latency from the submission.
const NO_PERCENTILE: &str =
    "fewer than 1,000 requests in a trial, or fio's file lacks it: use --lat_percentiles=1";

/// One line of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceObservation {
    /// Identifies the cell of the line.
    pub key: String,
    /// Short description of the cell.
    pub label: String,
    /// Requests per second.
    pub iops: f64,
    /// Requests completed.
    pub requests: f64,
    /// CPU time per request, in microseconds; `None` if the line does not contain it.
    pub cpu_us_per_io: Option<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct SideCell {
    pub label: String,
    /// Identity of the workload.
    pub cell: String,
    /// Levels of the axes that were not picked.
    pub levels: BTreeMap<String, String>,
    /// The requested load, without the properties that depend on the machine.
    pub asked: String,
    /// `None` for a line of a trace and for commits.
    pub workload: Option<Workload>,
    /// Requests per observation.
    pub requests: f64,
    pub numbers: BTreeMap<ComparedMetric, Numbers>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    /// Single observations, each with its block.
    Observed(Vec<(u32, f64)>),
    /// A mean over visits or blocks.
    Mean {
        estimate: Estimate,
        /// Whether measuring stopped once the mean was precise enough.
        stopped: bool,
    },
    /// The reason why the quantity is missing.
    Missing(String),
}

impl Numbers {
    /// The value; the geometric mean if there are several observations.
    pub(super) fn value(&self) -> Option<f64> {
        match self {
            Self::Observed(values) if values.len() == 1 => Some(values[0].1),
            Self::Observed(values) => {
                let logs: f64 = values.iter().map(|(_, value)| libm::log(*value)).sum();
                let value = libm::exp(logs / values.len() as f64);
                (!values.is_empty() && value.is_finite()).then_some(value)
            }
            Self::Mean { estimate, .. } => Some(estimate.value),
            Self::Missing(_) => None,
        }
    }
}

impl SideCell {
    fn of(
        workload: &Workload,
        levels: BTreeMap<String, String>,
        requests: f64,
        numbers: BTreeMap<ComparedMetric, Numbers>,
    ) -> Self {
        Self {
            label: label(workload),
            cell: workload.cell(),
            levels,
            asked: asked(workload),
            workload: Some(workload.clone()),
            requests,
            numbers,
        }
    }

    /// The observations with their blocks; `None` if only a mean is known.
    pub(super) fn observed(&self, metric: ComparedMetric) -> Option<&[(u32, f64)]> {
        match self.numbers.get(&metric)? {
            Numbers::Observed(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn value(&self, metric: ComparedMetric) -> Option<f64> {
        self.numbers.get(&metric)?.value()
    }

    pub(super) fn count(&self, metric: ComparedMetric) -> u32 {
        match self.numbers.get(&metric) {
            Some(Numbers::Observed(values)) => values.len() as u32,
            Some(Numbers::Mean { estimate, .. }) => estimate.n,
            Some(Numbers::Missing(_)) | None => 0,
        }
    }

    /// Why the quantity is missing.
    pub(super) fn reason(&self, metric: ComparedMetric) -> String {
        match self.numbers.get(&metric) {
            Some(Numbers::Missing(reason)) => reason.clone(),
            _ => "the document does not contain it".to_owned(),
        }
    }
}

pub(super) struct Placed<'a> {
    pub trial: &'a Trial,
    pub block: u32,
    pub levels: BTreeMap<String, String>,
}

/// Adds the numbers of another document's cell to a cell.
pub(super) fn join(cell: &mut SideCell, other: SideCell) {
    for (metric, numbers) in other.numbers {
        match (cell.numbers.get_mut(&metric), numbers) {
            (Some(Numbers::Observed(values)), Numbers::Observed(more)) => values.extend(more),
            // A number that one document lacks is missing for the whole side.
            (Some(numbers), Numbers::Missing(reason)) => *numbers = Numbers::Missing(reason),
            _ => {}
        }
    }
}

pub(super) fn of_cell(cell: &Cell, clock_hz: Option<f64>) -> SideCell {
    let mean = |estimate: &Estimate| Numbers::Mean { estimate: *estimate, stopped: true };
    let missing = |reason: &str| Numbers::Missing(reason.to_owned());
    let cost = cell.cpu_us_per_io.known();
    let clocks = |cost: &Estimate| {
        clock_hz.map_or_else(|| missing(NO_CLOCK), |hz| mean(&cost.scaled(hz * 1e-6)))
    };
    let numbers = BTreeMap::from([
        (ComparedMetric::RatePerS, mean(&cell.iops)),
        (ComparedMetric::LatencyMeanNs, mean(&cell.latency_ns)),
        (ComparedMetric::CpuUsPerIo, cost.map_or_else(missing, mean)),
        (ComparedMetric::CpuClocksPerIo, cost.map_or_else(missing, clocks)),
    ]);
    let requests = cell.ios as f64 / cell.trial_ids.len().max(1) as f64;
    let side = SideCell::of(&cell.workload, BTreeMap::new(), requests, numbers);
    SideCell { cell: cell.cell.clone(), ..side }
}

/// The commits of a number of committers: a row of its own, because it is no load on the device.
pub(super) fn of_commits(point: &CommitPoint) -> SideCell {
    let committers = counted(f64::from(point.committers), "committer");
    let label = format!("commits, {}, {committers}", point.log.name());
    // Without the asymmetry, which would count as variance.
    let rate = &point.commits_per_s;
    let estimate = Estimate::from_se(rate.value, rate.se, rate.n);
    let rate = Numbers::Mean { estimate, stopped: false };
    SideCell {
        cell: label.clone(),
        levels: BTreeMap::new(),
        asked: label.clone(),
        label,
        workload: None,
        requests: point.histogram.count() as f64 / point.trial_ids.len().max(1) as f64,
        numbers: BTreeMap::from([(ComparedMetric::CommitsPerS, rate)]),
    }
}

pub(super) fn of_result(
    cell: &ExperimentCell,
    workload: &Workload,
    levels: BTreeMap<String, String>,
) -> SideCell {
    let mean = |estimate: &Estimate| Numbers::Mean { estimate: *estimate, stopped: false };
    let cpu = cell.cpu_us_per_io.as_ref();
    let cpu = cpu.map_or_else(|| Numbers::Missing("it was not measured".to_owned()), mean);
    let numbers = BTreeMap::from([
        (ComparedMetric::RatePerS, mean(&cell.iops)),
        (ComparedMetric::LatencyMeanNs, mean(&cell.latency_ns)),
        (ComparedMetric::CpuUsPerIo, cpu),
        (ComparedMetric::CpuClocksPerIo, Numbers::Missing(NO_CLOCK.to_owned())),
    ]);
    let requests = cell.iops.value * workload.runtime_ns.as_secs_f64();
    SideCell::of(workload, levels, requests, numbers)
}

pub(super) fn of_lines(lines: &[&TraceObservation]) -> SideCell {
    let first = lines[0];
    let blocks = || 0..lines.len() as u32;
    let rates = blocks().zip(lines).map(|(block, line)| (block, line.iops)).collect();
    let costs: Option<Vec<(u32, f64)>> =
        blocks().zip(lines).map(|(block, line)| Some((block, line.cpu_us_per_io?))).collect();
    let missing = || Numbers::Missing("not recorded in a trace".to_owned());
    SideCell {
        label: first.label.clone(),
        cell: first.key.clone(),
        levels: BTreeMap::new(),
        asked: first.key.clone(),
        workload: None,
        requests: lines.iter().map(|line| line.requests).sum::<f64>() / lines.len() as f64,
        numbers: BTreeMap::from([
            (ComparedMetric::RatePerS, Numbers::Observed(rates)),
            (ComparedMetric::CpuUsPerIo, costs.map_or_else(missing, Numbers::Observed)),
        ]),
    }
}

pub(super) fn of_group(group: &[&Placed]) -> SideCell {
    let trial = group[0].trial;
    let observed = |value: &dyn Fn(&Trial) -> Result<f64, String>| {
        let values: Result<Vec<(u32, f64)>, String> =
            group.iter().map(|placed| Ok((placed.block, value(placed.trial)?))).collect();
        values.map_or_else(Numbers::Missing, Numbers::Observed)
    };
    let requests: u64 = group.iter().map(|placed| placed.trial.completed()).sum();
    let numbers = BTreeMap::from([
        (ComparedMetric::RatePerS, observed(&|trial| Ok(trial.iops()))),
        (ComparedMetric::LatencyMeanNs, observed(&latency_mean)),
        (ComparedMetric::LatencyP99Ns, observed(&latency_p99)),
        (ComparedMetric::CompletionMeanNs, observed(&completion_mean)),
        (ComparedMetric::CompletionP99Ns, observed(&completion_p99)),
        (ComparedMetric::FlushMeanNs, observed(&|trial| Ok(flush_times(trial)?.mean))),
        (ComparedMetric::FlushP99Ns, observed(&flush_p99)),
        (ComparedMetric::CpuUsPerIo, observed(&cpu_us_per_io)),
        (ComparedMetric::CpuClocksPerIo, observed(&clocks)),
    ]);
    let requests = requests as f64 / group.len() as f64;
    let side = SideCell::of(&trial.workload, group[0].levels.clone(), requests, numbers);
    SideCell { cell: trial.cell.clone(), ..side }
}

fn latency_mean(trial: &Trial) -> Result<f64, String> {
    trial.latency_ns().ok_or_else(|| NO_LATENCY.to_owned())
}

fn completion_mean(trial: &Trial) -> Result<f64, String> {
    let mean_ns = record::mean_ns(trial.directions(), |of| of.completion_ns.as_ref());
    mean_ns.ok_or_else(|| NO_LATENCY.to_owned())
}

/// The percentile of the only direction: those of several directions cannot be combined.
fn completion_p99(trial: &Trial) -> Result<f64, String> {
    let used: Vec<&DirectionResult> = trial.directions().filter(|it| it.ios > 0).collect();
    let [only] = used[..] else { return Err("a trial has several directions".to_owned()) };
    let p99 = only.completion_ns.as_ref().and_then(|times| times.p99);
    p99.ok_or_else(|| NO_PERCENTILE.to_owned())
}

fn latency_p99(trial: &Trial) -> Result<f64, String> {
    let histogram = trial.histogram();
    let without = match histogram.count() {
        // Only fio counts requests without recording their latencies.
        0 if trial.completed() > 0 => NO_BINS,
        _ => "fewer than 1,000 requests in a trial",
    };
    histogram.percentile(0.99).ok_or_else(|| without.to_owned())
}

fn flush_times(trial: &Trial) -> Result<&TimeSummary, String> {
    let times = trial.result.flush.as_ref().and_then(|flush| flush.latency_ns.as_ref());
    times.ok_or_else(|| "no flush in a trial".to_owned())
}

fn flush_p99(trial: &Trial) -> Result<f64, String> {
    flush_times(trial)?.p99.ok_or_else(|| "fewer than 1,000 flushes in a trial".to_owned())
}

fn clocks(trial: &Trial) -> Result<f64, String> {
    let clock = trial.cpu.value().and_then(|cost| cost.clock.as_ref()).ok_or(NO_CLOCK);
    Ok(cpu_us_per_io(trial)? * clock?.hz * 1e-6)
}

/// The requested load: the workload without engine, area and the split of the queue depth over jobs, which
/// differ between machines.
fn asked(workload: &Workload) -> String {
    let mut asked = workload.clone();
    (asked.iodepth, asked.numjobs) = (workload.depth, 1);
    asked.engine = EngineName::Sync;
    (asked.polled, asked.sqpoll) = (false, false);
    (asked.offset_bytes, asked.size_bytes) = (Bytes(0), Bytes(0));
    asked.cell()
}

/// Short description of a workload: `random read 4 KiB, depth 8, cache all`.
fn label(workload: &Workload) -> String {
    let op = match workload.only_op() {
        Some(op) => op.name().to_owned(),
        None => format!("{} % read", workload.read_percent),
    };
    let sizes: Vec<String> = workload.bs.iter().map(|share| format_bytes(share.bytes.0)).collect();
    if !workload.options_known() {
        let size = if sizes.is_empty() { "of unknown size".to_owned() } else { sizes.join("+") };
        return format!("{op} {size}, other options unknown");
    }
    let load = match workload.rate_iops {
        Some(rate) if workload.arrival != Arrival::Closed => format!("{rate}/s"),
        _ => format!("depth {}", workload.depth),
    };
    let (pattern, cache) = (workload.pattern.name(), cache_words(workload));
    format!("{pattern} {op} {}, {load}{cache}", sizes.join("+"))
}

/// `, cache all`; empty for the default mode.
pub(super) fn cache_words(workload: &Workload) -> String {
    match workload.cache {
        CacheMode::Device => String::new(),
        other => format!(", cache {}", other.name()),
    }
}
