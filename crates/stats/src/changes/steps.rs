//! Finds steps in a row of levels, but not in noise.
//!
//! The statistic is the largest standardised difference of means left and right of any split (CUSUM; Page
//! 1955, Sen and Srivastava 1975). Its distribution comes from permuting the positions, so the test is exact
//! for noise of any shape. Of rows without steps, at most [`STEP_FALSE_ALARM_SHARE`] show one. Each part next
//! to a found step is tested in the same way (binary segmentation; Vostrikova 1981). Rejected: tests that
//! assume normal and independent noise (one slow visit becomes two steps), and a penalty as in
//! [`super::segments`] (no known false alarm rate).

use super::PartialSums;

/// Share of rows without steps in which a step is found by chance.
pub const STEP_FALSE_ALARM_SHARE: f64 = 0.01;
/// Number of random permutations; together with the actual order there are two thousand.
const ORDERS: usize = 1_999;
/// Minimum number of positions between two steps.
const PART_MIN: usize = 2;

/// The steps of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Positions at which a new level begins, rising.
    pub starts: Vec<usize>,
    /// Probability that chance causes a first step as clear as this one.
    pub p_value: f64,
}

/// Finds the steps of at least `least` in a row of levels. `below` draws a random integer below a bound.
#[must_use]
pub fn steps(levels: &[f64], least: f64, mut below: impl FnMut(u64) -> u64) -> Steps {
    let mut starts = Vec::new();
    let p_value = find(levels, 0, least, &mut below, &mut starts);
    starts.sort_unstable();
    Steps { starts, p_value }
}

/// Searches for a step in `levels`, which start at `offset` in the row, and then in the parts on both sides.
/// Returns the p-value of the first step.
fn find(
    levels: &[f64],
    offset: usize,
    least: f64,
    below: &mut impl FnMut(u64) -> u64,
    starts: &mut Vec<usize>,
) -> f64 {
    let Some((at, statistic, size)) = best_split(levels) else { return 1.0 };
    if size.abs() < least {
        return 1.0;
    }
    let mut order = levels.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        // Fisher-Yates shuffle.
        for last in (1..order.len()).rev() {
            order.swap(last, below(last as u64 + 1) as usize);
        }
        // Sums in another order differ in their last digits.
        let other = best_split(&order).map_or(0.0, |(_, statistic, _)| statistic);
        as_clear += usize::from(other >= statistic * (1.0 - 1e-9));
    }
    let p_value = (as_clear + 1) as f64 / (ORDERS + 1) as f64;
    if p_value <= STEP_FALSE_ALARM_SHARE {
        let (left, right) = levels.split_at(at);
        starts.push(offset + at);
        find(left, offset, least, below, starts);
        find(right, offset + at, least, below, starts);
    }
    p_value
}

/// Position, statistic and size of the clearest step; `None` if the row is too short.
fn best_split(levels: &[f64]) -> Option<(usize, f64, f64)> {
    let sums = PartialSums::new(levels.iter().copied().map(Some));
    let mut best: Option<(usize, f64, f64)> = None;
    for at in PART_MIN..=levels.len().saturating_sub(PART_MIN) {
        let (size, statistic) = sums.split(at);
        if best.is_none_or(|(_, most, _)| statistic > most) {
            best = Some((at, statistic, size));
        }
    }
    best
}
