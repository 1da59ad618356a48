//! Trials that belong together: those of an experiment, or several that were named.
//!
//! Which plots a set gets follows from what varies in it, not from the name of its design. An axis
//! whose levels are request sizes, depths, rates, places or numbers of disks can be an abscissa; the
//! others tell series apart, and where these become too many, plots. So a design of a user's own is
//! drawn like a preset. Rejected: a list of plots per preset, which would know nothing of other
//! designs and would have to change with each.
//!
//! `arrange` decides abscissa, series and plots; `charts` draws them; `distribution` and `course`
//! are the plots of single trials, side by side.

mod arrange;
mod charts;
mod story;

pub use story::experiment;
pub(crate) use story::{done, of_trials};

use crate::plots::{directions, rate_interval};
use record::{Estimate, Experiment, Trial, Workload, format_bytes};
use std::collections::BTreeMap;

/// Probability below the upper end of a two-sided 95 % interval.
const UPPER_95: f64 = 0.975;
/// Repeats from which on their scatter says how well a value is known.
const REPEATS: usize = 3;

/// One combination of levels.
#[derive(Clone, Debug)]
pub(crate) struct SetCell<'a> {
    /// Level of each axis, in the order of [`Set::axes`].
    pub(crate) levels: Vec<String>,
    /// What was asked.
    pub(crate) workload: &'a Workload,
    /// Requests per second.
    pub(crate) iops: Estimate,
    /// Bytes per second.
    pub(crate) bytes_per_s: Estimate,
    /// Mean latency.
    pub(crate) latency_ns: Estimate,
    /// Processor time per request.
    pub(crate) cpu_us_per_io: Option<Estimate>,
    /// Quantities of the preset.
    pub(crate) extras: BTreeMap<String, Estimate>,
    /// How far blocks differ, as a share of the mean.
    pub(crate) spread_rel: Option<f64>,
    /// Its trials.
    pub(crate) trials: Vec<&'a Trial>,
}

/// Trials with what varies among them.
#[derive(Clone, Debug)]
pub(crate) struct Set<'a> {
    /// Names of the axes.
    pub(crate) axes: Vec<String>,
    /// The combinations, in the order of the design.
    pub(crate) cells: Vec<SetCell<'a>>,
    /// What the error bars are.
    pub(crate) errors: String,
}

impl<'a> Set<'a> {
    /// The trials of an experiment that were run and are at hand.
    pub(crate) fn of_experiment(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let by_id: BTreeMap<&str, &Trial> =
            trials.iter().map(|trial| (trial.id.as_str(), trial)).collect();
        let level = |levels: &BTreeMap<String, String>| -> Vec<String> {
            experiment
                .axes
                .iter()
                .map(|axis| levels.get(axis).cloned().unwrap_or_default())
                .collect()
        };
        // Of each combination its trials, in the order of the plan.
        let mut order: Vec<Vec<String>> = Vec::new();
        let mut runs: BTreeMap<Vec<String>, Runs<'a>> = BTreeMap::new();
        for done in &experiment.done {
            let Some(planned) = experiment.plan.get(done.position as usize) else { continue };
            let levels = level(&planned.levels);
            let cell = runs.entry(levels.clone()).or_insert_with(|| {
                order.push(levels);
                Runs { workload: &planned.workload, trials: Vec::new(), extras: Vec::new() }
            });
            if let Some(trial) = by_id.get(done.trial_id.as_str()) {
                cell.trials.push(trial);
                cell.extras.push(&done.extras);
            }
        }
        let cells: Vec<SetCell<'a>> = if experiment.cells.is_empty() {
            order.into_iter().filter_map(|levels| runs.get(&levels)?.cell(levels)).collect()
        } else {
            let cells = experiment.cells.iter().filter_map(|cell| {
                let levels = level(&cell.levels);
                let planned = experiment.plan.iter().find(|plan| plan.levels == cell.levels);
                let of_runs = runs.get(&levels);
                Some(SetCell {
                    workload: of_runs.map(|runs| runs.workload).or(planned.map(|p| &p.workload))?,
                    levels,
                    iops: cell.iops,
                    bytes_per_s: cell.bytes_per_s,
                    latency_ns: cell.latency_ns,
                    cpu_us_per_io: cell.cpu_us_per_io,
                    extras: cell.extras.clone(),
                    spread_rel: cell.spread_rel,
                    trials: of_runs.map(|runs| runs.trials.clone()).unwrap_or_default(),
                })
            });
            cells.collect()
        };
        Self { axes: experiment.axes.clone(), errors: errors(&cells), cells }
    }

    /// Trials by themselves: what differs in what was asked of them becomes the axes.
    pub(crate) fn of_trials(trials: &[&'a Trial]) -> Self {
        type Aspect = (&'static str, fn(&Trial) -> String);
        let aspects: [Aspect; 10] = [
            ("target", |t| t.targets.iter().map(|t| t.path.as_str()).collect::<Vec<_>>().join(" ")),
            ("direction", |t| match t.workload.only_op() {
                Some(op) => op.name().to_owned(),
                None => format!("{} % read", t.workload.read_percent),
            }),
            ("pattern", |t| t.workload.pattern.name().to_owned()),
            ("size", |t| format_bytes(t.workload.max_bs().0)),
            ("depth", |t| t.workload.depth.to_string()),
            ("jobs", |t| t.workload.numjobs.to_string()),
            ("cache", |t| t.workload.cache.name().to_owned()),
            ("engine", |t| t.workload.engine.name().to_owned()),
            ("rate", |t| {
                t.workload.rate_iops.map_or("closed".to_owned(), |rate| format!("{rate} IOPS"))
            }),
            ("offset", |t| format_bytes(t.workload.offset_bytes.0)),
        ];
        let varies = |aspect: &Aspect| {
            let mut values = trials.iter().map(|trial| aspect.1(trial));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let axes: Vec<Aspect> = aspects.into_iter().filter(varies).collect();
        let mut order: Vec<Vec<String>> = Vec::new();
        let mut runs: BTreeMap<Vec<String>, Runs<'a>> = BTreeMap::new();
        for trial in trials {
            let levels: Vec<String> = axes.iter().map(|axis| axis.1(trial)).collect();
            let cell = runs.entry(levels.clone()).or_insert_with(|| {
                order.push(levels);
                Runs { workload: &trial.workload, trials: Vec::new(), extras: Vec::new() }
            });
            cell.trials.push(trial);
        }
        let cells: Vec<SetCell<'a>> =
            order.into_iter().filter_map(|levels| runs.get(&levels)?.cell(levels)).collect();
        let axes = axes.iter().map(|axis| axis.0.to_owned()).collect();
        Self { axes, errors: errors(&cells), cells }
    }
}

/// What the error bars of these cells are.
fn errors(cells: &[SetCell<'_>]) -> String {
    let least = cells.iter().map(|cell| cell.trials.len()).min().unwrap_or(0);
    if least >= REPEATS {
        "Error bars: 95 % confidence interval from the variance between blocks.".to_owned()
    } else {
        "Error bars: 95 % confidence interval; of cells with less than three trials from within \
         them, which leaves out what moves between trials. Values without a bar have none."
            .to_owned()
    }
}

/// Trials of one combination.
struct Runs<'a> {
    workload: &'a Workload,
    trials: Vec<&'a Trial>,
    extras: Vec<&'a BTreeMap<String, f64>>,
}

impl<'a> Runs<'a> {
    /// Their means; `None` without a trial in which something completed.
    fn cell(&self, levels: Vec<String>) -> Option<SetCell<'a>> {
        let trials: Vec<&Trial> =
            self.trials.iter().copied().filter(|trial| trial.iops() > 0.0).collect();
        let bytes = |trial: &Trial| directions(trial).map(|(_, each)| each.bytes_per_s).sum();
        let cost = |trial: &Trial| trial.cpu.value().and_then(|cpu| cpu.lower_us_per_io);
        let costs: Vec<f64> = trials.iter().filter_map(|trial| cost(trial)).collect();
        let mut extras: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, value) in self.extras.iter().copied().flatten() {
            extras.entry(name.clone()).or_default().push(*value);
        }
        let extras = extras.into_iter();
        Some(SetCell {
            levels,
            workload: self.workload,
            iops: mean(&trials, Trial::iops, rate_interval)?,
            bytes_per_s: mean(&trials, bytes, rate_interval)?,
            latency_ns: mean(
                &trials,
                |trial| trial.latency_ns().unwrap_or(f64::NAN),
                latency_interval,
            )?,
            cpu_us_per_io: (costs.len() == trials.len()).then(|| over_repeats(&costs)).flatten(),
            spread_rel: None,
            extras: extras.filter_map(|(name, v)| Some((name, over_repeats(&v)?))).collect(),
            trials,
        })
    }
}

/// Relative half-width of the latency's interval within a trial: the wider direction's.
fn latency_interval(trial: &Trial) -> Option<f64> {
    let intervals = directions(trial).filter_map(|(_, d)| d.latency_ns.as_ref()?.mean_ci95_rel);
    intervals.reduce(f64::max)
}

/// The mean over trials: its interval from their scatter where there are enough, else from within.
fn mean(
    trials: &[&Trial],
    value: impl Fn(&Trial) -> f64,
    within: impl Fn(&Trial) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = trials.iter().map(|trial| value(trial)).collect();
    if values.len() >= REPEATS {
        return over_repeats(&values);
    }
    let centre = values.iter().sum::<f64>() / values.len() as f64;
    let bounds = trials.iter().zip(&values).map(|(trial, value)| {
        let half = within(trial).unwrap_or(f64::NAN) * value;
        (value - half, value + half)
    });
    let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), bound| {
        (low.min(bound.0), high.max(bound.1))
    });
    (centre.is_finite()).then(|| {
        let known = low.is_finite() && high.is_finite();
        let (low, high) = if known { (low, high) } else { (centre, centre) };
        Estimate::spanning(centre, low, high, values.len() as u32)
    })
}

/// Mean over repeats by Student's t; of one or two without an interval.
fn over_repeats(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    let centre = values.iter().sum::<f64>() / count;
    if !centre.is_finite() {
        return None;
    }
    if values.len() < REPEATS {
        return Some(Estimate::symmetric(centre, 0.0, values.len() as u32));
    }
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let se = (squares / (count - 1.0) / count).sqrt();
    let half = stats::student_t_quantile(UPPER_95, count - 1.0) * se;
    Some(Estimate::symmetric(centre, half, values.len() as u32))
}
