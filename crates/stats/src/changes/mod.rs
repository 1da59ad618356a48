//! Change detection: the one place that says whether, where and how a series changes.
//!
//! Five questions, because what counts as "no change" differs:
//!
//! | question | function | what no change means | rule |
//! |---|---|---|---|
//! | how much of a start is warm-up | [`warm_up_cut`], [`warm_up_of_run`], [`warm_up_of_visits`] | a start as good as the rest | the cut that leaves the mean best known, then a t test |
//! | does one visit hold its level | [`steadiness`], [`halves_differ`], [`wanders`] | a level with correlated noise | t tests of a slope and of steps at given places |
//! | do visits drift | [`drift`], [`drift_across`] | exchangeable visits | ranks of pairs |
//! | where does a row of places have steps | [`steps`] | exchangeable places | the clearest split against permutations |
//! | into which segments does a recording fall | [`segments`] | pieces of one level | least squares with a penalty for each cut |
//!
//! All but the ranks rest on [`PartialSums`].

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

/// Running sums over a series, of which some values may be missing. Values are taken relative to the
/// first one, so that sums of squares of a level far from zero keep their digits and those of a
/// constant series are exactly zero.
struct PartialSums {
    /// Number, sum and sum of squares of the values before each place.
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

    /// Sum of squares of the values from one place to another around their own mean.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let [count, sum, squares] = self.between(from, to);
        if count < 1.0 { 0.0 } else { (squares - sum * sum / count).max(0.0) }
    }

    /// Mean after a place less that before it, and this difference over the standard deviation of a
    /// value: the statistic that is largest where a step is clearest (Page 1955).
    fn split(&self, at: usize) -> (f64, f64) {
        let [n, left, _] = self.between(0, at);
        let [m, right, _] = self.between(at, self.before.len() - 1);
        let size = right / m - left / n;
        (size, libm::fabs(size) * libm::sqrt(n * m / (n + m)))
    }
}
