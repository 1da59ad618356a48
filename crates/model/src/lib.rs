//! What trials add up to: cells, fits, curves, limits, and what a load would see.
//!
//! Pure arithmetic on records. The same trials give the same profile on any machine and in any
//! year, so a profile can be computed again from the store. The crate opens no file, reads no
//! clock and knows no screen; conclusions in words are made one step further, in `diagnose`.
//!
//! The way through: [`aggregate`] folds the visits of each workload into a cell with an interval;
//! [`service_time_fits`], [`depth_curves`] and [`size_curves`] pick the cells that belong
//! together; [`expectations`] turns a depth curve into open response times through the queueing
//! formulae of [`queueing`]; [`characterise`] does all of it. [`Predictor`] answers for any mix.
#![forbid(unsafe_code)]

mod cells;
mod characterise;
mod compare;
mod depth;
mod expect;
mod fits;
mod monotone;
mod predict;
pub mod queueing;
mod size;
mod validation;
mod visit;
mod wander;
pub mod whatif;

pub use cells::{aggregate, counts};
pub use characterise::{Characterise, characterise};
pub use compare::{CompareOptions, Side, SideError, TraceObservation, compare};
pub use depth::{DEFAULT_KNEE_GAIN, deep_enough, depth_curves, enough, rates};
pub use expect::expectations;
pub use fits::{
    ExactLine, MIN_FIT_SIZES, MODEL_ERROR_REL, chi_square_limit, fit_is_poor, service_time_fits,
};
pub use predict::{
    DataSheet, DriftFactors, DriftNow, LOADED, ModelError, OpenLoad, OpenTrial, Part, PredictError,
    PredictQuestion, Predictor, SheetAnswer, mix_of, open_loads,
};
pub use size::{limits, size_curves};
pub use validation::{validation_summary, visits_repeat_rel};
pub use wander::{level_se_between, level_se_rel, levels_of};
