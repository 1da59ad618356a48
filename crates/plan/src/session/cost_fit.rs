//! Runs `--cost-fit`: measures fixed and marginal CPU cost.
//!
//! The trials are ordinary runs, but are not saved: the document of the fit has their results. Virtual time
//! has no CPU cost.

use crate::session::{Driver, End, Result, SessionError, VERSION};
use crate::{CostFitPlan, cost_findings, cost_lines};
use record::{COST_FIT_SCHEMA, CostFit, Workload};

/// Measures and fits.
///
/// # Errors
/// If the workload has no single operation, the area is too small, the target fails, or the user
/// interrupts it.
pub fn cost_fit(driver: &mut Driver<'_>, workload: &Workload, seed: u64) -> Result<CostFit> {
    let op = workload.only_op().ok_or_else(|| {
        let text = "--cost-fit measures one operation; use --rw read, write, randread or randwrite";
        SessionError::usage(text)
    })?;
    let session = driver.targets.main()?;
    let (id, time) = session.identity("cost fit");
    let mut plan = CostFitPlan::new(workload, session.alignment(), seed).ok_or_else(|| {
        SessionError::usage("--cost-fit needs an area of at least 1 MiB; use a larger --size")
    })?;
    let finished = driver.run(&mut plan)?;
    if finished.end == End::Interrupted {
        return Err(SessionError::ended("the fit did not finish, so nothing is saved"));
    }
    let (modes, break_even_bytes) = cost_lines(&finished.trials);
    let session = driver.targets.main()?;
    Ok(CostFit {
        schema: COST_FIT_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        id,
        time,
        seed,
        targets: session.targets.clone(),
        op,
        pattern: workload.pattern,
        depth: workload.depth,
        area_bytes: plan.area,
        findings: cost_findings(&finished.trials, &modes),
        modes,
        break_even_bytes,
        environment: session.environment.clone(),
    })
}
