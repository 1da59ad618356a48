//! Computes cells, fits, curves, limits and predictions from trials.
//!
//! Pure arithmetic on records: the same trials give the same profile on any machine. [`aggregate`] folds
//! visits into cells. [`service_time_fits`], [`depth_curves`] and [`size_curves`] select the cells that
//! belong together. [`expectations`] applies [`queueing`] to a depth curve. [`characterise`] does all of
//! it. [`Predictor`] predicts any mix, [`whatif`] the effect of changes. [`compare`] compares two sides.
//!
//! [`fleet`] compares disks with their peers. [`papers`] compares results with published figures.
#![forbid(unsafe_code)]

mod areas;
mod cells;
mod characterise;
mod commits;
mod compare;
mod curve;
mod depth;
mod expect;
mod fits;
pub mod fleet;
mod group_commit;
mod limits;
mod lone;
pub mod papers;
mod predict;
pub mod queueing;
mod size;
mod validation;
mod visit;
mod wander;
pub mod whatif;

pub use cells::{aggregate, counts};
pub use characterise::{Characterise, add_caps, characterise};
pub use commits::{commit_points, log_kind};
pub use compare::{
    CompareOptions, SCHEDULER, Side, SideError, TraceObservation, changed_since, compare,
    settings_told,
};
pub use curve::moderated;
pub use depth::{
    DEFAULT_KNEE_GAIN, ENOUGH_SHARE, SufficientIndex, deep_enough, depth_curves, enough,
    is_uncertain, rates,
};
pub use expect::expectations;
pub use fits::{MIN_FIT_SIZES, fit_is_poor, service_time_fits};
pub use group_commit::{Flushes, Sessions, group_commit};
pub use lone::{is_lone, leaves_rests, lone_reads};
pub use predict::{
    DataSheet, DriftFactors, DriftNow, LOADED, OpenLoad, PredictError, PredictQuestion, Predictor,
    mix_of, open_loads,
};
pub use size::size_curves;
pub use validation::{validation_summary, visits_repeat_rel};
pub use wander::{level_se_between, level_se_rel, levels_of};
