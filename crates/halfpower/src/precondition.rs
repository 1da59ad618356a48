//! `--precondition`: runs the plan that brings the targets into their steady state.
//!
//! The plan decides, this carries out: each of its trials is an ordinary one on the same session,
//! and none of them is kept. What the page cache takes has not been written, so the device is
//! written past it wherever that can be done, whatever cache the measured run goes through.

use crate::progress::Progress;
use plan::{FILL_PASSES, MAX_ROUNDS, PreconditionPlan};
use record::{CacheMode, EngineName, Preconditioning, Workload, format_bytes};
use session::Display;
use session::{self, Session};
use workload::derive_seed;

/// What progress calls it.
const PHASE: &str = "precondition";
/// Apart from the seeds of streams, data and tags.
const SEEDS: u64 = 3 << 32;

/// Whether writes past the page cache would be aligned, so that it is worth to open for them.
pub(crate) fn goes_past_cache(workload: &Workload, alignment: u64) -> bool {
    let start = workload.offset_bytes.0 + workload.misalign_bytes.0;
    workload.engine != EngineName::Mmap
        && start.is_multiple_of(alignment)
        && workload.max_bs().0.is_multiple_of(alignment)
}

/// Writes the targets until they are steady, or it is given up.
pub(crate) fn run(
    session: &mut Session,
    workload: &Workload,
    past_cache: bool,
    seed: u64,
    progress: &mut Progress,
) -> anyhow::Result<Preconditioning> {
    let cache = match workload.cache {
        cache if cache.direct() || !past_cache => cache,
        _ => CacheMode::Device,
    };
    let plan = PreconditionPlan::new(workload, cache);
    let mut done = Vec::new();
    while let Some(next) = plan.next_trial(&done) {
        let number = done.len();
        let remark = if number == 0 {
            let area = format_bytes(workload.size_bytes.0);
            format!("writes {FILL_PASSES} times {area}")
        } else {
            let last = plan.outcome(&done).round_iops.last().copied();
            let rate = last.map_or(String::new(), |rate| format!(", last {rate:.0} IOPS"));
            let what = plan::describe(plan.round());
            format!("round {number} of at most {MAX_ROUNDS}{rate}, {what}")
        };
        let share = number as f64 / (MAX_ROUNDS + 1) as f64;
        progress.show(PHASE, share, &remark);
        let trial = session.trial(next, derive_seed(seed, SEEDS + number as u64), &mut |_| {
            progress.show(PHASE, share, &remark);
        })?;
        done.push(trial);
    }
    Ok(plan.outcome(&done))
}
