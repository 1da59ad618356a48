//! Steps in a row of rates, and never in noise.
//!
//! The statistic is the largest standardised difference of means left and right of any split (the
//! maximum of the CUSUM; Page 1955, Sen and Srivastava 1975). Its distribution comes from
//! permuting the positions: if the place has no effect on its neighbours' rates, every order of
//! the values was as likely as the one found, whatever their distribution, and even if single
//! places are fast or slow by themselves, as the pieces of a distributed volume are. So the test
//! is exact: a row without zones is called one with zones in at most [`FALSE_ALARM_SHARE`] of all
//! maps. Behind a first step each part is tested in the same way (binary segmentation; Vostrikova
//! 1981), at the same level; a part of fewer than ten positions has too few orders to be split.
//!
//! A step that is real and smaller than half a percent is no zone of any disk and is left alone.
//!
//! Rejected: tests that take the noise for normal and independent (a disk's is neither, and one
//! slow visit becomes two steps), and a penalty on the number of steps (BIC, PELT): it has no
//! stated rate of false alarms.

use workload::Rng;

/// Share of maps without zones in which a step is found by chance.
pub const FALSE_ALARM_SHARE: f64 = 0.01;
/// Orders that are drawn; with the one found there are two thousand.
const ORDERS: usize = 1_999;
/// Fewest positions of a band.
const BAND_MIN: usize = 2;
/// Smallest step, as a share of the rate (a difference of logarithms).
const STEP_MIN: f64 = 0.005;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Where a new band begins, rising.
    pub starts: Vec<usize>,
    /// Probability of a first step as clear as this one by chance.
    pub p_value: f64,
}

/// The best split of a row.
#[derive(Clone, Copy, Debug)]
struct Split {
    at: usize,
    statistic: f64,
    /// Difference of the means.
    size: f64,
}

/// Finds the steps in a row of logarithms of rates.
#[must_use]
pub fn steps(levels: &[f64], rng: &mut Rng) -> Steps {
    let mut starts = Vec::new();
    let p_value = find(levels, 0, rng, &mut starts);
    starts.sort_unstable();
    Steps { starts, p_value }
}

/// Looks for a step in `levels`, which begin at `offset` of the row, and in the parts behind it;
/// returns the p-value of the first.
fn find(levels: &[f64], offset: usize, rng: &mut Rng, starts: &mut Vec<usize>) -> f64 {
    let Some(split) = best_split(levels) else { return 1.0 };
    if split.size.abs() < STEP_MIN {
        return 1.0;
    }
    let mut order = levels.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        // Fisher and Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, rng.below(last as u64 + 1) as usize);
        }
        // Sums in another order differ in their last digits.
        let statistic = best_split(&order).map_or(0.0, |split| split.statistic);
        if statistic >= split.statistic * (1.0 - 1e-9) {
            as_clear += 1;
        }
    }
    let p_value = (as_clear + 1) as f64 / (ORDERS + 1) as f64;
    if p_value <= FALSE_ALARM_SHARE {
        let (left, right) = levels.split_at(split.at);
        starts.push(offset + split.at);
        find(left, offset, rng, starts);
        find(right, offset + split.at, rng, starts);
    }
    p_value
}

/// The split with the largest standardised difference of means; `None` in too short a row.
fn best_split(levels: &[f64]) -> Option<Split> {
    let count = levels.len();
    let total: f64 = levels.iter().sum();
    let mut left = 0.0;
    let mut best: Option<Split> = None;
    for (index, level) in levels.iter().enumerate() {
        left += level;
        let at = index + 1;
        if at < BAND_MIN || count - at < BAND_MIN {
            continue;
        }
        let (n, m) = (at as f64, (count - at) as f64);
        let size = (total - left) / m - left / n;
        let statistic = libm::fabs(size) * libm::sqrt(n * m / (n + m));
        if best.is_none_or(|best| statistic > best.statistic) {
            best = Some(Split { at, statistic, size });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(parts: &[(usize, f64)], noise: f64, rng: &mut Rng) -> Vec<f64> {
        parts
            .iter()
            .flat_map(|&(count, level)| std::iter::repeat_n(level, count))
            .map(|level| level + noise * (rng.unit() - 0.5))
            .collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut rng = Rng::new(5);
        let levels = row(&[(20, 0.0), (20, -0.1), (20, -0.3)], 0.04, &mut rng);
        let found = steps(&levels, &mut rng);
        assert_eq!(found.starts, [20, 40]);
        assert!(found.p_value <= 0.001, "{}", found.p_value);
    }

    #[test]
    fn a_row_without_noise_gives_its_steps_and_a_flat_one_none() {
        let mut rng = Rng::new(5);
        let levels = row(&[(30, 0.0), (30, -0.2)], 0.0, &mut rng);
        assert_eq!(steps(&levels, &mut rng).starts, [30]);
        assert_eq!(steps(&[0.7; 60], &mut rng), Steps { starts: Vec::new(), p_value: 1.0 });
        assert!(steps(&[0.1, 0.2, 0.3], &mut rng).starts.is_empty());
    }

    #[test]
    fn a_step_that_is_too_small_to_matter_is_left_alone() {
        let mut rng = Rng::new(5);
        let levels = row(&[(30, 0.0), (30, -0.004)], 0.0, &mut rng);
        assert!(steps(&levels, &mut rng).starts.is_empty());
    }

    /// Noise as a disk's: skewed, with rare slow places.
    #[test]
    fn noise_of_any_shape_gives_a_step_no_more_often_than_stated() {
        let maps = 600;
        let mut alarms = 0;
        for seed in 0..maps {
            let mut rng = Rng::new(seed);
            let levels: Vec<f64> = (0..40)
                .map(|_| {
                    let slow = if rng.unit() < 0.05 { 0.6 } else { 0.0 };
                    0.05 * libm::log(rng.unit()) - slow
                })
                .collect();
            alarms += u64::from(!steps(&levels, &mut rng).starts.is_empty());
        }
        // 1 % is stated; of 600 maps with 1 % each, more than 14 come once in two thousand times.
        assert!(alarms <= 14, "{alarms} of {maps}");
    }
}
