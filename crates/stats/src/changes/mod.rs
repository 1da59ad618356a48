//! Detects changes in a series: whether, where and how it changes.
//!
//! There are five questions, because "no change" means something different in each:
//!
//! - How much of a start is warm-up? [`warm_up_cut`], [`warm_up_of_run`], [`warm_up_of_visits`]. No change:
//!   the start is like the rest. Rule: the cut with the smallest error of the remaining mean, then a t test.
//! - Does one visit hold its level? [`steadiness`], [`halves_differ`], [`wanders`]. No change: a level with
//!   correlated noise. Rule: t tests of a slope and of steps at given positions.
//! - Do visits drift? [`drift`], [`drift_across`]. No change: exchangeable visits. Rule: ranks of pairs.
//! - Where does a row of positions have steps? [`steps`]. No change: exchangeable positions. Rule: the
//!   clearest split compared with permutations.
//! - How does a recording divide into segments? [`segments`]. No change: pieces of one level. Rule: least
//!   squares with a penalty for each cut.
//!
//! All except the ranks use [`PartialSums`].

mod drift;
mod segments;
mod steady;
mod steps;
mod warm_up;

pub use drift::{drift, drift_across};
pub use segments::segments;
pub use steady::{Steadiness, WIDE_REL, halves_differ, steadiness, wanders};
pub use steps::{STEP_FALSE_ALARM_SHARE, Steps, steps};
pub use warm_up::{warm_up_cut, warm_up_of_run, warm_up_of_visits};

/// Running sums over a series in which some values may be missing. Values are relative to the first one. Sums
/// of squares therefore keep their precision for a level far from zero, and are exactly zero for a constant
/// series.
struct PartialSums {
    /// Number, sum and sum of squares of the values before each position.
    before: Vec<[f64; 3]>,
}

impl PartialSums {
    fn new(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let (mut first, mut sums) = (None, [0.0; 3]);
        let mut before = vec![sums];
        for value in values {
            if let Some(value) = value {
                let relative = value - *first.get_or_insert(value);
                let [count, sum, squares] = sums;
                sums = [count + 1.0, sum + relative, squares + relative * relative];
            }
            before.push(sums);
        }
        Self { before }
    }

    fn between(&self, from: usize, to: usize) -> [f64; 3] {
        std::array::from_fn(|at| self.before[to][at] - self.before[from][at])
    }

    /// Sum of squared deviations of the values between two positions from their own mean.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let [count, sum, squares] = self.between(from, to);
        if count < 1.0 { 0.0 } else { (squares - sum * sum / count).max(0.0) }
    }

    /// Mean after a position minus the mean before it, and this difference scaled by the numbers of values on
    /// both sides: the statistic that is largest at the clearest step (Page 1955).
    fn split(&self, at: usize) -> (f64, f64) {
        let [n, left, _] = self.between(0, at);
        let [m, right, _] = self.between(at, self.before.len() - 1);
        let size = right / m - left / n;
        (size, libm::fabs(size) * libm::sqrt(n * m / (n + m)))
    }
}
