//! Decides which trial comes next. The driver asks planners for trials and gives them the results.
//!
//! A planner is a state machine over finished trials: it receives each result and returns the next trial.
//! It reads only those trials, so feeding it the saved ones resumes an experiment where it stopped.
//! Planners use the models (a knee decides where to measure), but neither files nor screens. Rejected: a
//! fixed list of trials made before the first, which cannot follow the device.
//!
//! [`session`] runs plans. [`limits`] has the plans and conclusions for peaks and zones.
//! [`scenarios`] simulates devices under several loads.
#![forbid(unsafe_code)]

mod cache_size;
mod cells;
mod check;
mod commits;
mod cost_fit;
mod crash_loss;
mod drift_probe;
mod for_diagnosis;
pub mod limits;
mod loads;
mod lone;
mod parallel;
mod planned;
mod precondition;
pub mod scenarios;
pub mod session;
mod side_by_side;
mod sustained;
mod sweep;
mod validate;
mod visits;

pub use cells::{CellSpec, check_cells};
pub use check::{CheckPlan, MIN_BUDGET};
pub use commits::CommitsPlan;
pub use cost_fit::{CostFitPlan, cost_findings, cost_lines, fit};
pub use drift_probe::{DriftProbe, Look};
pub use for_diagnosis::DiagnosisPlan;
pub use loads::{Amount, LoadSpec};
pub use lone::LoneReadsPlan;
pub use parallel::on_all_processors;
pub use planned::{Plan, PlannedTrial, Preparation, Progress, Saved, TrialList, describe};
pub use precondition::{PreconditionPlan, goes_past_cache, steady};
pub use side_by_side::SideBySide;
pub use sustained::{SUSTAINED_MOST, SustainedPlan};
pub use sweep::{
    MIN_BLOCKS, SPREAD_MAX_REL, blocks_in_order, conclude, missing, missing_trials, trial_seed,
};
pub use validate::{ValidatePlan, ValidationSettings};
pub use visits::CheckSettings;
