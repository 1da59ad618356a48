//! Tests whether the device became faster or slower during the measurement.
//!
//! All cells are tested together first ([`stats::drift_across`]). If they show no common drift,
//! cells with enough visits are tested one by one (Bonferroni), because writes that fill a cache
//! slow down while reads do not. Time is the running time of the trials, since simulated trials
//! have no clock. A drift counts if it is significant at 1 % and exceeds 5 % over the whole
//! measurement, as in the steadiness test of a single trial.

use record::Trial;
use stats::grouped;

const P_VALUE: f64 = 0.01;
const LEAST_CHANGE_REL: f64 = 0.05;
/// Fewest visits to test a cell alone: with five, even a perfect trend has a p-value of 1.7 %.
const LONE_CELL_VISITS: usize = 6;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drift {
    /// Change of the rate over the whole measurement, as a share of its mean.
    pub change_rel: f64,
    /// Probability of such a trend on a device without drift.
    pub p_value: f64,
    pub visits: usize,
    /// The cell that drifted alone; `None` if all cells drifted together.
    pub cell: Option<String>,
}

/// The visits of one cell: the midpoints of their windows in seconds of running time, and their rates.
struct Visits<'a> {
    cell: &'a str,
    times_s: Vec<f64>,
    iops: Vec<f64>,
}

/// The common drift of all cells, or else of the cell that drifted most; `None` without a
/// significant one. `trials` are in the order in which they ran.
pub(crate) fn drift(trials: &[Trial]) -> Option<Drift> {
    let groups = visits_by_cell(trials);
    pooled(&groups).or_else(|| lone_cell(&groups))
}

fn visits_by_cell(trials: &[Trial]) -> Vec<Visits<'_>> {
    let mut elapsed_s = 0.0;
    let timed = trials.iter().map(|trial| {
        elapsed_s += trial.workload.ramp_ns.as_secs_f64();
        let window_s = trial.result.duration_ns.as_secs_f64();
        let middle_s = elapsed_s + window_s / 2.0;
        elapsed_s += window_s;
        (trial, middle_s)
    });
    grouped(timed.filter(|(trial, _)| model::counts(trial)).map(|timed| (&timed.0.cell, timed)))
        .into_iter()
        .map(|(cell, visits)| {
            let of = |(trial, middle_s): (&Trial, f64)| (middle_s, trial.iops());
            let (times_s, iops) = visits.into_iter().map(of).unzip();
            Visits { cell, times_s, iops }
        })
        .collect()
}

fn pooled(groups: &[Visits]) -> Option<Drift> {
    let cells: Vec<(&[f64], &[f64])> =
        groups.iter().map(|group| (group.times_s.as_slice(), group.iops.as_slice())).collect();
    let (change_rel, p_value) = stats::drift_across(&cells)?;
    let visits = groups.iter().map(|group| group.iops.len()).sum();
    let drift = Drift { change_rel, p_value, visits, cell: None };
    counts(change_rel, p_value, P_VALUE).then_some(drift)
}

fn lone_cell(groups: &[Visits]) -> Option<Drift> {
    let tested: Vec<&Visits> =
        groups.iter().filter(|group| group.iops.len() >= LONE_CELL_VISITS).collect();
    let level = P_VALUE / tested.len().max(1) as f64;
    tested
        .iter()
        .filter_map(|group| {
            let (change_rel, p_value) = stats::drift(&group.times_s, &group.iops)?;
            let cell = Some(group.cell.to_owned());
            let drift = Drift { change_rel, p_value, visits: group.iops.len(), cell };
            counts(change_rel, p_value, level).then_some(drift)
        })
        .max_by(|a, b| a.change_rel.abs().total_cmp(&b.change_rel.abs()))
}

fn counts(change_rel: f64, p_value: f64, level: f64) -> bool {
    p_value < level && change_rel.abs() > LEAST_CHANGE_REL
}
