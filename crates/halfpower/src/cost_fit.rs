//! `--cost-fit`: runs the plan that finds fixed and marginal processor cost.
//!
//! The plan decides, this carries out: before each buffered visit the area is read into the page
//! cache, because a direct write throws it out of there. The trials are those of any run, but they
//! are not kept: what they say is in the document of the fit. Virtual time has no processor cost,
//! so a simulated target is refused with the other flags that are about a real machine.

use crate::failure::UsageError;
use crate::progress::Progress;
use plan::{CostFitPlan, cost_findings, cost_lines};
use record::{COST_FIT_SCHEMA, CostFit, Workload};
use session::Display;
use session::{self, Session, VERSION};

/// What progress calls it.
const PHASE: &str = "cost fit";

/// Measures and fits.
///
/// # Errors
/// If the workload has no single operation, the area is too small, or the target fails.
pub(crate) fn measure(
    session: &mut Session,
    workload: &Workload,
    seed: u64,
    progress: &mut Progress,
) -> anyhow::Result<CostFit> {
    let Some(op) = workload.only_op() else {
        let text = "--cost-fit fits one operation: use --rw read, write, randread or randwrite";
        return Err(UsageError(text.to_owned()).into());
    };
    let Some(mut plan) = CostFitPlan::new(workload, session.alignment(), seed) else {
        let text = "--cost-fit needs an area of at least 1 MiB; give it with --size";
        return Err(UsageError(text.to_owned()).into());
    };
    let (id, time) = session.identity("cost fit");
    let mut trials = Vec::new();
    while let Some((visit, seed)) = plan.next_trial() {
        if !visit.cache.direct() {
            session.read_into_cache(visit.offset_bytes, plan.area())?;
        }
        let (total, number) = plan.progress();
        let what = plan::describe(&visit);
        progress.show(PHASE, (number - 1) as f64 / total as f64, &what);
        let trial = session.trial(&visit, seed, &mut |_| ())?;
        plan.observe(&visit, &trial);
        trials.push(trial);
    }
    let (modes, break_even_bytes) = cost_lines(&trials);
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
        area_bytes: plan.area(),
        findings: cost_findings(&trials, &modes),
        modes,
        break_even_bytes,
        environment: session.environment.clone(),
    })
}
