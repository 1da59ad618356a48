//! Plots of single trials and of several trials together, for any document that has them.

mod course;
mod distribution;

pub(crate) use course::{latency_over_time, rate_over_time, thinned, visit, visits};
pub(crate) use distribution::distribution;

use record::{DirectionResult, OpKind, Trial, Workload};

/// The directions that were requested; trims are shown as writes.
pub(crate) fn directions(trial: &Trial) -> impl Iterator<Item = (OpKind, &DirectionResult)> {
    let result = &trial.result;
    let results = [result.read.as_ref(), result.write.as_ref().or(result.trim.as_ref())];
    OpKind::ALL.into_iter().zip(results).filter_map(|(op, result)| Some((op, result?)))
}

/// Relative half-width of the rate's interval within a trial.
pub(crate) fn rate_interval(trial: &Trial) -> Option<f64> {
    let squares: Option<f64> =
        trial.directions().map(|d| Some((d.iops * d.iops_ci95_rel?).powi(2))).sum();
    Some(squares?.sqrt() / trial.iops())
}

/// `reads` or `writes` for a workload with one direction, otherwise `requests`.
pub(crate) fn op_word(workload: &Workload) -> &'static str {
    workload.only_op().map_or("requests", OpKind::plural)
}
