//! Tests whether a device's speed changes over the time in which it was visited.
//!
//! One disturbed visit must not look like a drift. The change is therefore the median of all pairwise slopes
//! (Theil 1950, Sen 1968), and the evidence is the number of rising pairs compared with falling ones (Mann
//! 1945, Kendall 1975). The p-value is exact, because `check` has three visits per cell. Three visits can
//! never be significant alone. [`drift_across`] therefore adds up the pairs within each cell over all cells:
//! the seasonal test of Hirsch, Slack and Smith (1982), with cells instead of seasons. A level that wanders
//! slowly is reported as drifting. Rejected: a weighted line through all visits (one outlier moves it), each
//! cell's first visit against its last (ignores those between).

use crate::quantile::student_t_two_sided;
use crate::{all_finite, mean, median};
use libm::{fabs, sqrt};

/// Maximum number of pairs for the exact distribution. Beyond it, the normal one is as good.
const PAIRS_EXACT_MAX: usize = 1_000;

/// Rising pairs minus falling pairs, and the inputs for their distribution.
#[derive(Default)]
struct Pairs {
    score: i64,
    variance: f64,
    tied: bool,
    slopes: Vec<f64>,
}

/// Variance of the score of `n` exchangeable values without ties (Kendall 1975).
fn score_variance(n: f64) -> f64 {
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

impl Pairs {
    /// Adds all pairs of one cell. `values` are relative to the cell's level.
    fn add(&mut self, times: &[f64], values: &[f64]) {
        for later in 0..values.len() {
            for earlier in 0..later {
                let time = times[later] - times[earlier];
                let change = values[later] - values[earlier];
                if time == 0.0 || change == 0.0 {
                    self.tied = true;
                } else {
                    self.score += if change * time > 0.0 { 1 } else { -1 };
                }
                if time != 0.0 {
                    self.slopes.push(change / time);
                }
            }
        }
        self.variance += score_variance(values.len() as f64);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        for run in sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            self.variance -= score_variance(run.len() as f64);
        }
    }

    fn p_value(&self, sizes: &[usize]) -> f64 {
        let pairs: usize = sizes.iter().map(|n| n * (n - 1) / 2).sum();
        if !self.tied && pairs <= PAIRS_EXACT_MAX {
            return exact_p_value(sizes, self.score.unsigned_abs() as usize);
        }
        if self.variance <= 0.0 {
            return 1.0;
        }
        // The score moves in steps of two. Half a step is the continuity correction.
        let z = (self.score.unsigned_abs() as f64 - 1.0).max(0.0) / sqrt(self.variance);
        student_t_two_sided(z, f64::INFINITY)
    }
}

/// Probability that the score of cells of these sizes is at least `score` from zero, over all orders. The
/// number of falling pairs of n values is a sum of independent uniform counts on 0..=i for i below n. Its
/// distribution is therefore built by convolution (Kendall 1975, section 5).
fn exact_p_value(sizes: &[usize], score: usize) -> f64 {
    let mut chances = vec![1.0];
    for terms in sizes.iter().flat_map(|&size| 1..size) {
        let mut next = vec![0.0; chances.len() + terms];
        for (falls, chance) in chances.iter().enumerate() {
            for more in 0..=terms {
                next[falls + more] += chance / (terms as f64 + 1.0);
            }
        }
        chances = next;
    }
    let pairs = chances.len() - 1;
    // score = pairs - 2 falls.
    let tail: f64 = chances.iter().take((pairs - score) / 2 + 1).sum();
    (2.0 * tail).min(1.0)
}

/// Drift of one quantity: its change over the whole period as a share of its mean (positive is rising), and
/// the two-sided p-value of "no trend". `None` with fewer than three values, different numbers of times and
/// values, no spread in time, or a mean of zero.
#[must_use]
pub fn drift(times: &[f64], values: &[f64]) -> Option<(f64, f64)> {
    drift_across(&[(times, values)])
}

/// Drift that many cells share. Each cell is given as the times and values of its visits, and the result is
/// as for [`drift`]. Values are compared only within their cell, so cells may have any level and unit. Cells
/// with fewer than two visits or a mean of zero are ignored. `None` with fewer than three pairs.
#[must_use]
pub fn drift_across(cells: &[(&[f64], &[f64])]) -> Option<(f64, f64)> {
    let mut pairs = Pairs::default();
    let mut sizes = Vec::new();
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for &(times, values) in cells {
        let centre = mean(values);
        if times.len() != values.len() || !all_finite(times) || !all_finite(values) {
            return None;
        }
        if values.len() < 2 || centre == 0.0 {
            continue;
        }
        let relative: Vec<f64> = values.iter().map(|value| value / fabs(centre)).collect();
        pairs.add(times, &relative);
        sizes.push(values.len());
        first = times.iter().copied().fold(first, f64::min);
        last = times.iter().copied().fold(last, f64::max);
    }
    if pairs.slopes.len() < 3 {
        return None;
    }
    let p_value = pairs.p_value(&sizes);
    Some((median(pairs.slopes) * (last - first), p_value))
}
