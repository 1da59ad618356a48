//! Whether a device changes over the time in which it was visited.
//!
//! One visit that a neighbour disturbed must not look like a drift, so the change is the median of
//! all pairwise slopes (Theil 1950, Sen 1968) and the evidence is the number of pairs that rise
//! against those that fall (Mann 1945, Kendall 1975), which asks nothing of the noise but that the
//! order of visits is exchangeable. The p-value is exact, because `check` has three visits per cell
//! and a normal approximation means nothing there. Three visits can never be significant alone (the
//! smallest p is 1/3), so [`drift_across`] adds up the pairs within each cell over all cells: the
//! seasonal test of Hirsch, Slack and Smith (1982), cells in the place of seasons.
//!
//! It assumes that visits are independent but for the drift. A device whose level wanders slowly is
//! reported as drifting, which for a reader's purpose it is. Rejected: a weighted straight line
//! through all visits (one outlier moves it, and cells of different level need a term each), and
//! comparing each cell's first visit with its last (it ignores those between).

use crate::quantile::normal_two_sided;
use crate::{all_finite, mean, median};
use libm::{fabs, sqrt};

/// The exact distribution is used up to this many pairs; beyond it the normal one is as good.
const PAIRS_EXACT_MAX: usize = 1_000;

/// Pairs that rise minus pairs that fall, with what their distribution needs.
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
    /// Adds all pairs of one cell; `values` are relative to the cell's level.
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

    /// Two-sided p-value of the score.
    fn p_value(&self, sizes: &[usize]) -> f64 {
        let pairs: usize = sizes.iter().map(|n| n * (n - 1) / 2).sum();
        if !self.tied && pairs <= PAIRS_EXACT_MAX {
            return exact_p_value(sizes, self.score.unsigned_abs() as usize);
        }
        if self.variance <= 0.0 {
            return 1.0;
        }
        // The score moves in steps of two, of which one half is the continuity correction.
        let z = (self.score.unsigned_abs() as f64 - 1.0).max(0.0) / sqrt(self.variance);
        normal_two_sided(z)
    }
}

/// Probability that the score of cells of these sizes is at least `score` from zero, over all
/// orders. The number of falling pairs of n values is a sum of independent uniform counts on 0..=i
/// for i below n, so its distribution is built by convolution (Kendall 1975, section 5).
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

/// Drift of one quantity: its change over the whole period as a share of its mean (positive is
/// rising), and the two-sided p-value of "no trend". `times` in any unit, ideally distinct. `None`
/// with fewer than three values, of different numbers of times and values, without spread in time,
/// or of mean zero.
#[must_use]
pub fn drift(times: &[f64], values: &[f64]) -> Option<(f64, f64)> {
    drift_across(&[(times, values)])
}

/// Drift that many cells have in common, each given as the times and values of its visits: the
/// change over the whole period as a share, and the p-value, as [`drift`] gives them. Values are
/// compared within their cell only, so cells may have any level, unit and number of visits; those
/// with fewer than two visits or a mean of zero say nothing. `None` with fewer than three pairs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_of_small_samples_agree_with_the_published_table() {
        // Kendall 1975, appendix table 1: upper tail of the score; doubled here.
        for (n, score, upper) in [
            (3, 3, 0.167),
            (4, 6, 0.042),
            (5, 8, 0.042),
            (6, 11, 0.028),
            (8, 16, 0.031),
            (10, 25, 0.014),
        ] {
            let p = exact_p_value(&[n], score);
            assert!((p / 2.0 - upper).abs() < 6e-4, "{n} {score}: {p}");
        }
    }

    #[test]
    fn the_exact_and_the_normal_p_value_agree_on_many_visits() {
        let variance = score_variance(40.0);
        for score in [100, 200, 260] {
            let normal = normal_two_sided((score as f64 - 1.0) / sqrt(variance));
            let exact = exact_p_value(&[40], score);
            assert!((normal - exact).abs() < 0.1 * exact + 2e-4, "{score}: {normal} {exact}");
        }
    }

    #[test]
    fn a_steady_rise_is_measured_over_the_whole_period() {
        let times = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0];
        let values = [95.0, 97.0, 99.0, 101.0, 103.0, 105.0];
        let (change, p) = drift(&times, &values).unwrap();
        assert!((change - 0.1).abs() < 1e-12);
        assert!((p - 2.0 / 720.0).abs() < 1e-12);
        let falling: Vec<f64> = values.iter().rev().copied().collect();
        assert!((drift(&times, &falling).unwrap().0 + 0.1).abs() < 1e-12);
    }

    #[test]
    fn one_disturbed_visit_is_no_drift() {
        let times: Vec<f64> = (0..12).map(f64::from).collect();
        let mut values =
            [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 100.7, 99.4, 100.9, 99.8, 100.1, 0.0];
        values[11] = 40.0;
        let (change, p) = drift(&times, &values).unwrap();
        assert!(change.abs() < 0.02 && p > 0.05, "{change} {p}");
    }

    #[test]
    fn three_visits_of_one_cell_decide_nothing_and_of_twenty_cells_they_do() {
        let (times, values) = ([0.0, 1.0, 2.0], [100.0, 101.0, 102.0]);
        assert!(drift(&times, &values).unwrap().1 > 0.3);
        let scaled = values.map(|value| value * 50.0);
        let cells: Vec<(&[f64], &[f64])> = (0..20)
            .map(|i| (&times[..], if i % 2 == 0 { &values[..] } else { &scaled[..] }))
            .collect();
        let (change, p) = drift_across(&cells).unwrap();
        assert!((change - 2.0 / 101.0).abs() < 1e-9 && p < 1e-9, "{change} {p}");
    }

    #[test]
    fn ties_and_constants_are_no_evidence() {
        let times = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(drift(&times, &[5.0; 4]), Some((0.0, 1.0)));
        assert!(drift(&times, &[5.0, 5.0, 5.0, 6.0]).unwrap().1 > 0.2);
    }

    #[test]
    fn what_has_no_trend_to_speak_of_is_refused() {
        assert!(drift(&[0.0, 1.0], &[1.0, 2.0]).is_none());
        assert!(drift(&[0.0, 1.0, 2.0], &[1.0, 2.0]).is_none());
        assert!(drift(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(drift(&[0.0, 1.0, 2.0], &[-1.0, 0.0, 1.0]).is_none());
        assert!(drift(&[0.0, 1.0, 2.0], &[1.0, f64::NAN, 1.0]).is_none());
    }
}
