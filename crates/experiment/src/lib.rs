//! Which trial comes next: planners, and the one driver that runs what they ask for.
//!
//! A planner is a state machine over finished trials: it is told of each and asked for the next.
//! It reads nothing but those trials, so feeding it the stored ones resumes an experiment where it
//! was. Planners know the models (a knee decides where to measure) but neither files nor screens.
//! Rejected: a fixed list of trials made before the first, which cannot follow the device.
#![forbid(unsafe_code)]

mod cells;
mod check;

pub use cells::{CellSpec, check_cells};
pub use check::{CheckPlan, CheckSettings, MIN_BUDGET, Phase, Planned};

use record::{Nanos, Trial};

/// Runs what a plan asks for until it asks for nothing more. `run` carries a trial out and says
/// how long that took, all included.
///
/// # Errors
/// The first error of `run`; what was finished before is kept by `run` itself.
pub fn drive<E>(
    plan: &mut CheckPlan,
    mut run: impl FnMut(&Planned) -> Result<(Trial, Nanos), E>,
) -> Result<Vec<Trial>, E> {
    let mut trials = Vec::new();
    while let Some(planned) = plan.next_trial() {
        let (trial, spent) = run(&planned)?;
        plan.observe(&trial, spent);
        trials.push(trial);
    }
    Ok(trials)
}
