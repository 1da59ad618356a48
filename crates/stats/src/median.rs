//! The median, with an interval for that of the population.

use record::Estimate;

/// Maximum total probability of the tails beyond the interval.
const TAILS: f64 = 0.05;

/// The middle value, or the mean of the two middle values; NaN for an empty list.
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

/// The median with an interval that includes that of the population with at least 95 % probability, for any
/// distribution of independent values. The interval is from the k-th smallest to the k-th largest value, with
/// the largest k for which fewer than k of n fair coins show heads in at most 2.5 % of all cases (David and
/// Nagaraja 2003, Order Statistics, section 7.1). `None` for fewer than six values, for which even the
/// extremes reach less than 95 %, and if a value is not finite.
#[must_use]
pub fn median_interval(mut values: Vec<f64>) -> Option<Estimate> {
    if !crate::all_finite(&values) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let count = values.len();
    // Probability of exactly `outside` heads, then that of at most as many.
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
