//! The largest rates of reads and of writes alone, where a design asks for shares of them.
//!
//! Measured by two runs before the plan is kept, so that the plan has rates in numbers: resumed or
//! repeated, it asks for the same. They are no trials of the experiment.

use super::lines::{Line, Maxima};
use super::stage::{Ready, Stage};
use crate::progress::Progress;
use record::{Arrival, PlannedTrial, Workload};
use session::Display;

/// Requests in progress that reach the largest rate of nearly any device.
const DEPTH: u32 = 32;

/// Measures both with the requests of a line, in a closed loop.
pub(super) fn maxima(
    stage: &mut Stage,
    ready: &Ready,
    seed: u64,
    progress: &mut Progress,
) -> anyhow::Result<Maxima> {
    let mut largest = |read_percent: u8| -> anyhow::Result<f64> {
        let workload = Workload {
            read_percent,
            iodepth: DEPTH,
            numjobs: 1,
            depth: DEPTH,
            arrival: Arrival::Closed,
            rate_iops: None,
            write_rate_iops: None,
            ..ready.workload.clone()
        };
        let planned = PlannedTrial { workload, seed, ..PlannedTrial::default() };
        progress.show("largest rates", f64::from(100 - read_percent) / 200.0, "");
        let (trial, _) = stage.trial(&planned, &ready.line.targets)?;
        Ok(trial.iops())
    };
    let maxima = Maxima { reads: largest(100)?, writes: largest(0)? };
    progress.clear();
    Ok(maxima)
}

/// Gives the planned trials the rates of the lines, which now are in numbers.
pub(super) fn set_rates(plan: &mut [PlannedTrial], lines: &[Line]) {
    for planned in plan {
        let line = lines.iter().find(|line| line.combination.levels == planned.levels);
        let Some(line) = line.filter(|line| line.shares) else { continue };
        let workload = &mut planned.workload;
        workload.rate_iops = line.spec.rate_iops;
        workload.write_rate_iops = line.spec.write_rate_iops;
        workload.read_percent = line.spec.read_percent;
    }
}
