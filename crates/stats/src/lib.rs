//! Estimators with error bars. Pure arithmetic: nothing here knows what a disk is.
//!
//! A benchmark's number is worth what its interval is worth, so every estimator states how often
//! its 95 % interval holds the truth, and a simulation in the tests checks the statement on data
//! that resemble a disk's: autocorrelated, skewed, drifting, and looked at more than once. Each
//! module gives one method, its source, and the methods that lost.
//!
//! Time runs through three scales, each with its own source of noise. Slices within one visit are
//! autocorrelated: [`batch_means`] and [`batch_ratio`]. Visits of one cell at different moments
//! differ by what else the device was doing: [`visits_mean`] and the stopping rule [`look`]; whether
//! one visit by itself has gone on for long enough says [`known_to`]. Cells of a sweep lie on
//! curves: [`weighted_line`]. What contradicts "one unchanging device" is found by the functions of
//! the module `changes`: [`steadiness`], [`drift`], [`segments`] and others.
//!
//! Series with a value that is not finite have no estimate: the functions return `None`.
#![forbid(unsafe_code)]

mod batch;
mod changes;
mod compare;
mod histogram;
mod known;
mod line;
mod median;
mod quantile;
mod random;
mod visits;

pub use batch::{batch_means, batch_ratio};
pub use changes::{
    STEP_FALSE_ALARM_SHARE, Steadiness, Steps, drift, drift_across, segments, steadiness, steps,
    warm_up_cut, warm_up_of_run, warm_up_of_visits,
};
pub use compare::{Level, LogRatio, common_level, holm};
pub use histogram::{Histogram, summarise};
pub use known::{FIRST_LOOK, known_to, long_enough};
pub use line::{Line, Point, weighted_line};
pub use median::{median, median_interval};
pub use quantile::{chi_square_per_degree, normal_quantile, student_t_quantile};
pub use random::SplitMix64;
pub use visits::{Look, MIN_VISITS, look, visits_factor, visits_mean, visits_se};

/// Probability below the upper end of a two-sided 95 % interval.
pub(crate) const UPPER_95: f64 = 0.975;

/// Arithmetic mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared distances from `centre`.
pub(crate) fn squares(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|value| (value - centre) * (value - centre)).sum()
}

/// Whether every value is a number.
pub(crate) fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}
