//! The mean of an autocorrelated series, with an interval that counts the correlation.
//!
//! The rate of a disk in one slice of time resembles that of the next slice, so the textbook
//! standard error of a mean is too small, often by a factor of three. Batch means (Conway 1963;
//! Law, Simulation Modeling and Analysis, chapter 9) average runs of neighbouring slices until the
//! averages are nearly independent and apply Student's t to them. Three choices are made:
//!
//! - The search starts at 32 to 63 batches, not at single slices. More batches narrow the interval
//!   by 4 % at most, and a lag-1 test on raw slices passes series whose correlation is weak but
//!   long.
//! - Batches are doubled while their lag-1 correlation is above half its standard error, as far as
//!   at least ten remain.
//! - What correlation remains widens the variance by (1 + r) / (1 - r), exact for batch means that
//!   are themselves autoregressive, as in the procedures ASAP3 and SBatch (Steiger et al. 2005;
//!   Lada, Steiger, Wilson 2008). The estimate of r has the bias -(1 + 3 r) / k (Marriott and Pope
//!   1954, Kendall 1954), which is put back first. A negative r is not used to narrow the interval.
//!
//! Coverage of the nominal 95 % interval in simulation (6,000 series of 1,000 slices): 96 % on
//! independent data; 96, 95 and 94 % on autoregressive series of coefficient 0.5, 0.9 and 0.95; 93
//! % on single response times of an M/M/1 queue at half load; 92 % on means of ten of them at 0.8
//! load. With 100 slices: 96, 94, 91, 86 %, and 86 and 84 % for the queue. A series that holds few
//! correlation times has no good interval by any method (single response times at 0.8 load: 83 %),
//! which is one reason why `check` visits a cell more than once.
//!
//! Rejected: spectral estimates (a window to choose, and harder to explain); overlapping batches
//! (less variance of the variance, but unknown degrees of freedom once corrected for correlation);
//! the skewness correction of N-Skart (asymmetric intervals everywhere, for a gain on short skewed
//! series alone).

use crate::{UPPER_95, all_finite, mean, squares, student_t_quantile};
use libm::sqrt;
use record::Estimate;

/// Fewest values with an estimate.
const VALUES_MIN: usize = 8;
/// The search begins with at least this many batches, where there are as many values.
const BATCHES_START: usize = 32;
/// Batches are not doubled below this number.
const BATCHES_MIN: usize = 10;
/// Correlation above this many of its standard errors (1 / sqrt k) doubles the batches.
const CORRELATION_LIMIT: f64 = 0.5;
/// The correction for remaining correlation stops here: a factor of nine in variance.
pub(crate) const CORRELATION_MAX: f64 = 0.8;

/// Variance of a mean, and how many batches it rests on.
struct MeanVariance {
    variance: f64,
    batches: usize,
}

/// Lag-1 correlation of `values` around `centre`: the sum of products of neighbours over the sum of
/// squares; 0 for a constant series.
pub(crate) fn lag_one(values: &[f64], centre: f64) -> f64 {
    let total = squares(values, centre);
    if total <= 0.0 {
        return 0.0;
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    products / total
}

/// Means of neighbouring runs of `size` values. Values that fill no batch are left out at the
/// start, where a transient would be.
pub(crate) fn batches_of(series: &[f64], size: usize) -> Vec<f64> {
    series[series.len() % size..].chunks_exact(size).map(mean).collect()
}

/// Variance of the mean of a stationary series, as the module says.
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
        let correlation = (raw + (1.0 + 3.0 * raw.max(0.0)) / count).clamp(0.0, CORRELATION_MAX);
        let inflation = (1.0 + correlation) / (1.0 - correlation);
        let variance = squares(&batches, centre) / (count - 1.0) / count * inflation;
        return Some(MeanVariance { variance, batches: batches.len() });
    }
}

/// `value` with the interval that a variance from batches gives; the variance is divided by the
/// square of `scale`.
fn interval(value: f64, variance: &MeanVariance, scale: f64) -> Estimate {
    let t = student_t_quantile(UPPER_95, variance.batches as f64 - 1.0);
    Estimate::symmetric(value, t * sqrt(variance.variance) / scale, variance.batches as u32)
}

/// Mean of a stationary, autocorrelated series with its 95 % interval, in the unit of the values;
/// `n` is the number of batches. `None` with fewer than eight values. Batch means with correction
/// for the correlation that remains (Conway 1963; Lada, Steiger, Wilson 2008).
#[must_use]
pub fn batch_means(series: &[f64]) -> Option<Estimate> {
    let variance = variance_of_mean(series)?;
    Some(interval(mean(series), &variance, 1.0))
}

/// Ratio of two sums with its 95 % interval, e.g. mean response time as the sum of times over the
/// sum of requests, slice by slice. The variance is that of the mean of `numerator - ratio x
/// denominator` over the mean denominator (ratio estimator; Cochran, Sampling Techniques, 6.3), by
/// batch means. `None` where the slices differ in number, are fewer than eight, or the denominators
/// sum to nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_without_variance_has_an_interval_of_no_width() {
        let estimate = batch_means(&[5.0; 40]).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (5.0, 5.0, 5.0));
        let ratio = batch_ratio(&[6.0; 9], &[2.0; 9]).unwrap();
        assert_eq!((ratio.value, ratio.low, ratio.high), (3.0, 3.0, 3.0));
    }

    #[test]
    fn short_broken_or_empty_series_have_no_estimate() {
        assert!(batch_means(&[1.0; 7]).is_none());
        assert!(batch_means(&[1.0; 8]).is_some());
        let mut series = [1.0; 20];
        series[3] = f64::NAN;
        assert!(batch_means(&series).is_none());
        assert!(batch_ratio(&[1.0; 20], &[0.0; 20]).is_none());
        assert!(batch_ratio(&[1.0; 20], &[1.0; 19]).is_none());
        assert!(batch_ratio(&[1.0; 7], &[1.0; 7]).is_none());
    }

    #[test]
    fn the_mean_takes_every_value_even_where_batches_leave_some_out() {
        let series: Vec<f64> = (0..101).map(f64::from).collect();
        assert_eq!(batch_means(&series).unwrap().value, 50.0);
        assert_eq!(batches_of(&[9.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
    }

    #[test]
    fn a_ratio_weighs_slices_by_their_denominator() {
        // Slices of one and of three requests, 10 and 20 time units each.
        let counts: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
        let times: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 10.0 } else { 60.0 }).collect();
        assert_eq!(batch_ratio(&times, &counts).unwrap().value, 17.5);
    }

    #[test]
    fn slices_without_requests_do_not_move_a_ratio() {
        let mut times = vec![10.0, 12.0, 11.0, 9.0, 10.0, 8.0, 12.0, 10.0];
        let mut counts = vec![1.0; 8];
        let before = batch_ratio(&times, &counts).unwrap();
        times.extend([0.0; 8]);
        counts.extend([0.0; 8]);
        let after = batch_ratio(&times, &counts).unwrap();
        assert_eq!(before.value, after.value);
        assert!((after.se / before.se - 1.0).abs() < 0.5, "{before:?} {after:?}");
    }
}
