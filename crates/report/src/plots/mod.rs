//! Plots of single trials and of trials beside each other, for whichever document holds them.

mod course;
mod distribution;

pub(crate) use course::{Visit, latency_over_time, rate_over_time, visits};
pub(crate) use distribution::distribution;

use record::{DirectionResult, OpKind, Trial, Workload};

/// Both directions with their names, as far as they were asked for.
pub(crate) fn directions(trial: &Trial) -> impl Iterator<Item = (&'static str, &DirectionResult)> {
    let result = &trial.result;
    let both = [("read", result.read.as_ref()), ("write", result.write.as_ref())];
    both.into_iter().filter_map(|(name, direction)| direction.map(|direction| (name, direction)))
}

/// Relative half-width of the rate's interval within a trial.
pub(crate) fn rate_interval(trial: &Trial) -> Option<f64> {
    let squares: Option<f64> =
        directions(trial).map(|(_, d)| Some((d.iops * d.iops_ci95_rel?).powi(2))).sum();
    Some(squares?.sqrt() / trial.iops())
}

/// `reads` and so on, where a workload has one direction.
pub(crate) fn op_word(workload: &Workload) -> &'static str {
    match workload.only_op() {
        Some(OpKind::Read) => "reads",
        Some(OpKind::Write) => "writes",
        None => "requests",
    }
}
