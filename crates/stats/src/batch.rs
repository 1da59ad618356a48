//! The mean of an autocorrelated series, with an interval that accounts for the correlation.
//!
//! The textbook standard error of a mean is too small for consecutive slices of a disk's time, often by a
//! factor of three. Batch means (Conway 1963; Law, Simulation Modeling and Analysis, chapter 9) average
//! neighbouring slices until the averages are nearly independent, and apply Student's t to them:
//!
//! - The search starts at 32 to 63 batches. A lag-1 test on single slices passes series whose
//!   correlation is weak but long.
//! - Batches double while their lag-1 correlation is above half its standard error and at least ten remain.
//! - Remaining correlation r widens the variance by (1 + r) / (1 - r), as in ASAP3 and SBatch (Steiger et al.
//!   2005; Lada, Steiger, Wilson 2008), after correction of its bias -(1 + 3 r) / k (Marriott and Pope 1954,
//!   Kendall 1954). A negative r does not narrow the interval.
//!
//! Coverage of the nominal 95 % in simulation, 1,000 slices: 96 % on independent data; 96, 95 and
//! 94 % on autoregressive series of coefficient 0.5, 0.9 and 0.95; 92 to 93 % on an M/M/1 queue. With
//! 100 slices: 96, 94, 91, 86 %, and 84 to 86 % for the queue. No method has a good interval for a series of
//! few correlation times. This is one reason why `check` visits a cell more than once.
//!
//! Rejected: spectral estimates (a window to choose), overlapping batches (unknown degrees of freedom
//! once corrected), the skewness correction of N-Skart (asymmetric intervals for a small gain).

use crate::{UPPER_95, all_finite, mean, squares, student_t_quantile};
use libm::sqrt;
use record::Estimate;

/// Minimum number of values for an estimate.
const VALUES_MIN: usize = 8;
/// The search begins with at least this many batches, if there are enough values.
const BATCHES_START: usize = 32;
/// Batches are not doubled below this number.
const BATCHES_MIN: usize = 10;
/// The batch size doubles while the correlation is above this many of its standard errors (1 / sqrt k).
const CORRELATION_LIMIT: f64 = 0.5;
/// Maximum correlation that the correction uses: a factor of nine in variance.
pub(crate) const CORRELATION_MAX: f64 = 0.8;

/// Variance of a mean, and the number of batches behind it.
struct MeanVariance {
    variance: f64,
    batches: usize,
}

/// Lag-1 correlation of `values` around `centre`: the sum of products of neighbours divided by the sum of
/// squares; 0 for a constant series.
pub(crate) fn lag_one(values: &[f64], centre: f64) -> f64 {
    let total = squares(values, centre);
    if total <= 0.0 {
        return 0.0;
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    products / total
}

/// Factor by which correlation widens the variance of a mean of `count` values: (1 + r) / (1 - r). The bias
/// of the lag-1 correlation is corrected; the result is from 0 to `most`.
pub(crate) fn inflation(lag_one: f64, count: f64, most: f64) -> f64 {
    let unbiased = lag_one + (1.0 + 3.0 * lag_one.max(0.0)) / count;
    let correlation = unbiased.clamp(0.0, most);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Means of consecutive batches of `size` values. Values that do not fill a batch are dropped at the start,
/// where a transient would be.
pub(crate) fn batches_of(series: &[f64], size: usize) -> Vec<f64> {
    series[series.len() % size..].chunks_exact(size).map(mean).collect()
}

fn variance_of_mean(series: &[f64]) -> Option<MeanVariance> {
    if series.len() < VALUES_MIN || !all_finite(series) {
        return None;
    }
    let mut size = (series.len() / BATCHES_START).max(1);
    loop {
        let batches = batches_of(series, size);
        let count = batches.len() as f64;
        let centre = mean(&batches);
        let raw = lag_one(&batches, centre);
        if raw + 1.0 / count > CORRELATION_LIMIT / sqrt(count)
            && series.len() / (2 * size) >= BATCHES_MIN
        {
            size *= 2;
            continue;
        }
        let inflation = inflation(raw, count, CORRELATION_MAX);
        let variance = squares(&batches, centre) / (count - 1.0) / count * inflation;
        return Some(MeanVariance { variance, batches: batches.len() });
    }
}

/// `value` with the interval for a variance from batches. The variance is divided by the square of `scale`.
fn interval(value: f64, variance: &MeanVariance, scale: f64) -> Estimate {
    let t = student_t_quantile(UPPER_95, variance.batches as f64 - 1.0);
    Estimate::symmetric(value, t * sqrt(variance.variance) / scale, variance.batches as u32)
}

/// Mean of a stationary, autocorrelated series with its 95 % interval, in the unit of the values;
/// `n` is the number of batches. `None` with fewer than eight values.
#[must_use]
pub fn batch_means(series: &[f64]) -> Option<Estimate> {
    let variance = variance_of_mean(series)?;
    Some(interval(mean(series), &variance, 1.0))
}

/// Ratio of two sums with its 95 % interval, for example mean latency as the sum of times divided by the
/// number of requests, slice by slice (ratio estimator; Cochran, Sampling Techniques, 6.3; by batch means).
/// `None` if the two have different numbers of slices, have fewer than eight, or the denominators sum to
/// zero.
#[must_use]
pub fn batch_ratio(numerator: &[f64], denominator: &[f64]) -> Option<Estimate> {
    let total: f64 = denominator.iter().sum();
    if numerator.len() != denominator.len() || total <= 0.0 {
        return None;
    }
    let ratio = numerator.iter().sum::<f64>() / total;
    let residuals: Vec<f64> =
        numerator.iter().zip(denominator).map(|(over, under)| over - ratio * under).collect();
    let variance = variance_of_mean(&residuals)?;
    Some(interval(ratio, &variance, mean(denominator)))
}
