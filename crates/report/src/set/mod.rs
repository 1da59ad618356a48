//! Groups trials that belong together: those of an experiment, or several that the user named.
//!
//! The plots of a set depend on what varies in it, not on the name of its design. `arrange` chooses
//! abscissa, series and plots; `charts` draws them.

mod arrange;
mod charts;
mod story;

pub use story::experiment;
pub(crate) use story::{done, of_trials};

use crate::chart::extremes;
use crate::plots::{directions, rate_interval};
use crate::story::joined;
use record::{Estimate, Experiment, ExperimentCell, PlannedTrial, Trial, Workload, format_bytes};
use stats::grouped;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest repeats for an interval from their variance.
const REPEATS: usize = 3;

/// One combination of levels.
#[derive(Clone, Debug)]
pub(crate) struct SetCell<'a> {
    /// Level of each axis, in the order of [`Set::axes`].
    pub(crate) levels: Vec<String>,
    /// The requested load.
    pub(crate) workload: &'a Workload,
    pub(crate) results: ExperimentCell,
    pub(crate) trials: Vec<&'a Trial>,
}

/// Trials and the axes on which they differ.
#[derive(Clone, Debug)]
pub(crate) struct Set<'a> {
    pub(crate) axes: Vec<String>,
    /// The cells in the order of the design.
    pub(crate) cells: Vec<SetCell<'a>>,
    pub(crate) errors: String,
}

type Levels = BTreeMap<String, String>;

impl<'a> Set<'a> {
    /// From the trials of an experiment that were run and are available.
    pub(crate) fn of_experiment(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let by_id: BTreeMap<&str, &Trial> =
            trials.iter().map(|trial| (trial.id.as_str(), trial)).collect();
        let level = |levels: &Levels| -> Vec<String> {
            let axes = experiment.axes.iter();
            axes.map(|axis| levels.get(axis).cloned().unwrap_or_default()).collect()
        };
        let at_hand = grouped(experiment.done.iter().filter_map(|done| {
            let PlannedTrial { levels, workload, .. } =
                experiment.plan.get(done.position as usize)?;
            let trial = *by_id.get(done.trial_id.as_str())?;
            Some((level(levels), Visit { workload, trial, extras: Some(&done.extras) }))
        }));
        let cell = |cell: &ExperimentCell| {
            let levels = level(&cell.levels);
            let planned = experiment.plan.iter().find(|plan| plan.levels == cell.levels)?;
            let visits = at_hand.iter().filter(|(known, _)| *known == levels);
            let trials = visits.flat_map(|(_, visits)| visits).map(|visit| visit.trial).collect();
            Some(SetCell { workload: &planned.workload, levels, results: cell.clone(), trials })
        };
        let cells: Vec<SetCell<'a>> = match experiment.cells.as_slice() {
            [] => at_hand.iter().filter_map(|(levels, visits)| mean_cell(levels, visits)).collect(),
            computed => computed.iter().filter_map(cell).collect(),
        };
        Self { axes: experiment.axes.clone(), errors: errors(&cells), cells }
    }

    /// From single trials: the differences between their loads become the axes.
    pub(crate) fn of_trials(trials: &[&'a Trial]) -> Self {
        type Aspect = (&'static str, fn(&Trial) -> String);
        fn known(trial: &Trial, option: &impl ToString) -> String {
            if trial.workload.options_known() { option.to_string() } else { "unknown".to_owned() }
        }
        let aspects: [Aspect; 10] = [
            ("target", |t| joined(&t.targets, " ", |target| target.path.clone())),
            ("direction", |t| match t.workload.only_op() {
                Some(op) => op.name().to_owned(),
                None => format!("{} % read", t.workload.read_percent),
            }),
            ("pattern", |t| known(t, &t.workload.pattern.name())),
            ("size", |t| match t.workload.max_bs().0 {
                0 => "unknown".to_owned(),
                bytes => format_bytes(bytes),
            }),
            ("depth", |t| known(t, &t.workload.depth)),
            ("jobs", |t| known(t, &t.workload.numjobs)),
            ("cache", |t| known(t, &t.workload.cache.name())),
            ("engine", |t| known(t, &t.workload.engine.name())),
            ("rate", |t| {
                t.workload.rate_iops.map_or(known(t, &"closed"), |rate| format!("{rate} IOPS"))
            }),
            ("offset", |t| format_bytes(t.workload.offset_bytes.0)),
        ];
        let varies = |aspect: &Aspect| {
            let mut values = trials.iter().map(|trial| aspect.1(trial));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let axes: Vec<Aspect> = aspects.into_iter().filter(varies).collect();
        let visits = trials.iter().map(|&trial| {
            let levels: Vec<String> = axes.iter().map(|axis| axis.1(trial)).collect();
            (levels, Visit { workload: &trial.workload, trial, extras: None })
        });
        let cells = grouped(visits);
        let cells: Vec<SetCell<'a>> =
            cells.iter().filter_map(|(levels, visits)| mean_cell(levels, visits)).collect();
        let axes = axes.iter().map(|axis| axis.0.to_owned()).collect();
        Self { axes, errors: errors(&cells), cells }
    }

    pub(crate) fn all_axes(&self) -> Vec<usize> {
        (0..self.axes.len()).collect()
    }

    /// The levels of an axis that occur in cells.
    pub(crate) fn levels(&self, axis: usize) -> BTreeSet<&str> {
        self.cells.iter().map(|cell| cell.levels[axis].as_str()).collect()
    }
}

fn errors(cells: &[SetCell<'_>]) -> String {
    let least = cells.iter().map(|cell| cell.trials.len()).min().unwrap_or(0);
    match least >= REPEATS {
        true => "Error bars: 95 % confidence interval from the variance between blocks.",
        false => {
            "Error bars: 95 % confidence interval; with fewer than three trials it comes from the spread \
            inside a trial and excludes drift between trials. Values without a bar have none."
        }
    }
    .to_owned()
}

/// A trial of a combination.
struct Visit<'a> {
    /// The planned load.
    workload: &'a Workload,
    trial: &'a Trial,
    extras: Option<&'a BTreeMap<String, f64>>,
}

/// The means of a combination; `None` if no request completed in any of its trials.
fn mean_cell<'a>(levels: &[String], visits: &[Visit<'a>]) -> Option<SetCell<'a>> {
    let trials = visits.iter().map(|visit| visit.trial).filter(|trial| trial.iops() > 0.0);
    let trials: Vec<&Trial> = trials.collect();
    let bytes = |trial: &Trial| directions(trial).map(|(_, each)| each.bytes_per_s).sum();
    let latency = |trial: &Trial| trial.latency_ns().unwrap_or(f64::NAN);
    let cost = |trial: &&Trial| trial.cpu.value().and_then(|cpu| cpu.lower_us_per_io);
    let costs: Vec<f64> = trials.iter().filter_map(cost).collect();
    let mut extras: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in visits.iter().filter_map(|visit| visit.extras).flatten() {
        extras.entry(name.clone()).or_default().push(*value);
    }
    let extras = extras.into_iter();
    Some(SetCell {
        levels: levels.to_vec(),
        workload: visits.first()?.workload,
        results: ExperimentCell {
            levels: Levels::new(),
            trials: trials.len() as u32,
            iops: mean(&trials, Trial::iops, rate_interval)?,
            bytes_per_s: mean(&trials, bytes, rate_interval)?,
            latency_ns: mean(&trials, latency, latency_interval)?,
            cpu_us_per_io: (costs.len() == trials.len()).then(|| over_repeats(&costs)).flatten(),
            spread_rel: None,
            extras: extras.filter_map(|(name, v)| Some((name, over_repeats(&v)?))).collect(),
        },
        trials,
    })
}

/// Relative half-width of the latency's interval within a trial: the wider direction's.
fn latency_interval(trial: &Trial) -> Option<f64> {
    let intervals = directions(trial).filter_map(|(_, d)| d.latency_ns.as_ref()?.mean_ci95_rel);
    intervals.reduce(f64::max)
}

/// The mean over trials. Its interval comes from their variance if there are enough trials,
/// otherwise from within them.
fn mean(
    trials: &[&Trial],
    value: impl Fn(&Trial) -> f64,
    within: impl Fn(&Trial) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = trials.iter().map(|trial| value(trial)).collect();
    let mean = over_repeats(&values)?;
    if values.len() >= REPEATS {
        return Some(mean);
    }
    let bounds = trials.iter().zip(&values).flat_map(|(trial, value)| {
        let half = within(trial).unwrap_or(f64::INFINITY) * value;
        [value - half, value + half]
    });
    let (low, high) = extremes(bounds);
    let known = low.is_finite() && high.is_finite();
    Some(if known { Estimate::spanning(mean.value, low, high, mean.n) } else { mean })
}

/// The mean over repeats, as in an experiment; with one or two repeats it has no interval.
fn over_repeats(values: &[f64]) -> Option<Estimate> {
    if values.len() >= REPEATS {
        return stats::visits_mean(values);
    }
    let centre = stats::mean(values);
    centre.is_finite().then(|| Estimate::symmetric(centre, 0.0, values.len() as u32))
}
