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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_of_a_skewed_population_as_often_as_it_says() {
        // A fixed sequence (a multiplicative generator), made exponential: its median is ln 2.
        let mut state = 88_172_645_463_325_252u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        for (count, exact) in [(6, 0.96875), (12, 0.96143), (25, 0.95671)] {
            let runs = 20_000;
            let inside = (0..runs)
                .filter(|_| {
                    let values = (0..count).map(|_| -libm::log(uniform())).collect();
                    let found = median_interval(values).unwrap();
                    (found.low..=found.high).contains(&std::f64::consts::LN_2)
                })
                .count();
            let share = inside as f64 / f64::from(runs);
            // Five standard errors of a share of 20,000.
            assert!((share - exact).abs() < 0.008, "{count}: {share}");
        }
    }

    #[test]
    fn of_few_values_there_is_no_interval() {
        assert!(median_interval(vec![1.0, 2.0, 3.0, 4.0, 5.0]).is_none());
        let six = median_interval(vec![6.0, 1.0, 2.0, 3.0, 5.0, 4.0]).unwrap();
        assert_eq!((six.low, six.value, six.high), (1.0, 3.5, 6.0));
        assert!(median_interval(vec![f64::NAN; 12]).is_none());
    }
}
