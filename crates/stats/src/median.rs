//! The median, and where that of the population lies.

use record::Estimate;

/// The most by which the tails beyond the interval may add up.
const TAILS: f64 = 0.05;

/// The middle value, or the mean of the two in the middle; NaN of nothing.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// The median with an interval that holds that of the population at least 95 times in 100, whatever
/// the distribution, if the values are independent: from the k-th smallest to the k-th largest, with
/// the largest k for which fewer than k of n fair coins show heads in at most 2.5 % of all cases
/// (David and Nagaraja 2003, Order Statistics, section 7.1). `None` of fewer than six values, of
/// which even the extremes do not hold it so often, and where one is not finite.
#[must_use]
pub fn median_interval(mut values: Vec<f64>) -> Option<Estimate> {
    if !crate::all_finite(&values) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let count = values.len();
    // Probability of exactly `heads` heads, then that of at most so many.
    let mut exactly = libm::pow(0.5, count as f64);
    let mut at_most = exactly;
    let mut outside = 0;
    while at_most <= TAILS / 2.0 && 2 * (outside + 1) <= count {
        outside += 1;
        exactly *= (count + 1 - outside) as f64 / outside as f64;
        at_most += exactly;
    }
    let (low, high) = (*values.get(outside.checked_sub(1)?)?, *values.get(count - outside)?);
    Some(Estimate::spanning(median(values), low, high, count as u32))
}
