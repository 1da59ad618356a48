//! Estimators with error bars. Pure arithmetic: this crate knows nothing about disks.
//!
//! Every estimator states how often its 95 % interval includes the true value. The tests check that by
//! simulation on data like a disk's: autocorrelated, skewed, drifting, and tested repeatedly.
//!
//! Noise has three time scales. Slices of one visit are autocorrelated: [`batch_means`], [`batch_ratio`], and
//! [`known_to`] for when to stop. Visits of a cell differ because the device does other work:
//! [`visits_mean`], with the stopping rule [`look`]. Cells of a sweep are on curves: [`weighted_line`]. The
//! functions of the module `changes` find deviations from "one unchanging device". Values that are not finite
//! have no estimate: `None`.
#![forbid(unsafe_code)]

mod batch;
mod changes;
mod compare;
mod histogram;
mod known;
mod line;
mod median;
mod ordered;
mod quantile;
mod random;
mod visits;

pub use batch::{batch_means, batch_ratio};
pub use changes::{
    STEP_FALSE_ALARM_SHARE, Steadiness, Steps, WIDE_REL, drift, drift_across, halves_differ,
    segments, steadiness, steps, wanders, warm_up_cut, warm_up_of_run, warm_up_of_visits,
};
pub use compare::{Level, LogRatio, common_level, holm};
pub use histogram::{Histogram, kept_histogram, summarise};
pub use known::{FIRST_LOOK, known_to, long_enough};
pub use line::{Line, Point, weighted_line};
pub use median::{median, median_interval};
pub use ordered::Ordered;
pub use quantile::{chi_square_per_degree, normal_quantile, normal_tail, student_t_quantile};
pub use random::SplitMix64;
pub use visits::{Look, MIN_VISITS, look, over_visits, visits_mean, visits_se};

/// Probability below the upper end of a two-sided 95 % interval.
pub(crate) const UPPER_95: f64 = 0.975;

/// Arithmetic mean; NaN for an empty slice.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Groups items by key, in the order in which each key first appears.
pub fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// Mean of values with weights; `None` if the weights sum to zero.
#[must_use]
pub fn weighted_mean(parts: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let sum = |(sum, all), (value, weight): (f64, f64)| (sum + value * weight, all + weight);
    let (sum, weight) = parts.into_iter().fold((0.0, 0.0), sum);
    (weight > 0.0).then(|| sum / weight)
}

/// Greatest common divisor; that of 0 and a number is the number.
#[must_use]
pub fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The mean of at least two independent values, and the variance of that mean.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let (count, centre) = (values.len() as f64, mean(values));
    (centre, squares(values, centre) / (count - 1.0) / count)
}

/// Sum of squared distances from `centre`.
pub(crate) fn squares(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|value| (value - centre) * (value - centre)).sum()
}

pub(crate) fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}
