//! Two measurements against each other, many rows at a time.
//!
//! A ratio is compared as the difference of logarithms, in which "half" and "twice" are equally far
//! from "the same", and in which the noise of a rate hardly depends on its size. What a row rests on
//! is a handful of blocks or visits on each side, so the test is Welch's (1947) with the degrees of
//! freedom of Satterthwaite: it needs neither equal numbers nor equal noise, which two machines do
//! not have. Where both sides were measured in the same blocks, the differences within the blocks
//! count instead, and what moved both cancels.
//!
//! A table of thirty rows at 5 % each has a false alarm three times out of four. Verdicts are
//! therefore made by Holm's method (1979), which holds the probability of any false alarm in the
//! table at its level whatever the rows have in common, and intervals are those of Bonferroni, which
//! hold together. Fixed in advance, as here, the level may be shared out unevenly between the
//! questions that a table asks (Wiens 2003); the caller does so by the levels that it passes.
//!
//! Tables of 100 with a false alarm, asked for 5 (normal noise of the logarithms, 12 rows, 2,000 tables
//! each; `tests/statistics/tables.rs`):
//!
//! | observations on each side | 3 | 5 | 10 |
//! |---|---|---|---|
//! | equal noise | 0.8 | 2.5 | 4.4 |
//! | one side three times as noisy | 1.1 | 4.2 | 5.0 |
//! | one side six times as noisy | 3.2 | 4.7 | 5.0 |
//! | Satterthwaite's degrees of freedom as they are, six times | 8.5 | 7.0 | 5.6 |
//!
//! That is why one degree of freedom is taken off Satterthwaite's, whose estimate is itself noisy,
//! down to those of the smaller side. Cells that were visited until they were precise ([`crate::look`])
//! were left where their variance came out small by chance: with noise of 5 % a table of forty such
//! cells raised an alarm in 27 of 100 cases. They get the degrees of freedom of the smaller side
//! alone (at most 3.5 of 100, over noise of 1 to 10 %), which makes those with three visits hard to tell
//! apart; that is what three visits are worth.
//!
//! Rejected: the pooled-variance t test (half as narrow an interval at three blocks, but 15 % of
//! false alarms where one side is noisier); Mann-Whitney's test (at three or five blocks its
//! smallest p-value is above what a table of thirty rows asks for); permutation of the blocks with
//! the maximum over the rows (exact, but 20 permutations of three and three blocks can establish
//! nothing at 5 %); the false-discovery rate of Benjamini and Hochberg (a gate in somebody's build
//! must not fail on one row in twenty that it flags).

use crate::quantile::{f_tail, student_t_two_sided};
use crate::{all_finite, mean, squares, student_t_quantile};
use libm::{exp, fabs, log, sqrt};

/// Above this many degrees of freedom a variance counts as known.
const DF_KNOWN: f64 = 1e9;
/// Variances between blocks of a run that stand for the variance of its level against another
/// run's, for a level that wanders as a random walk.
const BLOCK_VARIANCES: f64 = 5.0;
/// Probability with which blocks without a common level pass for having one.
const FALSE_LEVEL: f64 = 0.001;

/// The mean of logarithms, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Mean of the natural logarithms.
    pub log: f64,
    /// Variance of that mean.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub df: f64,
    /// Whether there were as many observations as it took to know it well, which makes the variance
    /// too small on average.
    pub stopped: bool,
}

impl Level {
    /// Of observations, which must be above zero; `None` with fewer than two or without a
    /// logarithm.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let logs = logarithms(values)?;
        if logs.len() < 2 {
            return None;
        }
        let (count, centre) = (logs.len() as f64, mean(&logs));
        let variance = squares(&logs, centre) / (count - 1.0) / count;
        Some(Self { log: centre, variance, df: count - 1.0, stopped: false })
    }

    /// Of a mean with its standard error from `n` observations (two at least) that were made until
    /// it was known well ([`crate::look`]); `None` where it has no logarithm.
    #[must_use]
    pub fn of_mean(value: f64, se: f64, n: u32) -> Option<Self> {
        let known = value > 0.0 && value.is_finite() && se.is_finite() && n >= 2;
        // The variance of a logarithm to first order.
        known.then(|| Self {
            log: log(value),
            variance: (se / value) * (se / value),
            df: f64::from(n) - 1.0,
            stopped: true,
        })
    }

    /// The same with one more independent source of error, given as its standard error (a share).
    /// Satterthwaite's degrees of freedom.
    #[must_use]
    pub fn with_error(self, se_rel: f64, df: f64) -> Self {
        let more = se_rel * se_rel;
        let (variance, df) = sum((self.variance, self.df), (more, df));
        Self { variance, df, ..self }
    }
}

/// The sum of two independent variances, and its degrees of freedom.
fn sum((one, df_one): (f64, f64), (other, df_other): (f64, f64)) -> (f64, f64) {
    let variance = one + other;
    let weight = one * one / df_one + other * other / df_other;
    let df = if weight > 0.0 { (variance * variance / weight).min(DF_KNOWN) } else { DF_KNOWN };
    (variance, df)
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logs: Vec<f64> = values.iter().map(|&value| log(value)).collect();
    all_finite(&logs).then_some(logs)
}

/// The logarithm of a ratio, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// Natural logarithm of the second over the first.
    pub log: f64,
    /// Standard error.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// What the ratio may be off by for reasons that no repetition shows (a request cut off by the
    /// end of a window, the width of a bucket): the interval is never narrower, and nothing within it
    /// is a difference.
    pub slack: f64,
}

impl LogRatio {
    /// Of two sides that were measured apart.
    #[must_use]
    pub fn between(a: Level, b: Level, slack: f64) -> Self {
        let (variance, satterthwaite) = sum((a.variance, a.df), (b.variance, b.df));
        let smaller = a.df.min(b.df);
        let df = if a.stopped || b.stopped { smaller } else { (satterthwaite - 1.0).max(smaller) };
        Self { log: b.log - a.log, se: sqrt(variance), df, slack }
    }

    /// Of two sides that were measured in pairs; `None` with fewer than two pairs or without
    /// logarithms.
    #[must_use]
    pub fn of_pairs(a: &[f64], b: &[f64], slack: f64) -> Option<Self> {
        let (a, b) = (logarithms(a)?, logarithms(b)?);
        if a.len() != b.len() || a.len() < 2 {
            return None;
        }
        let changes: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let (count, centre) = (changes.len() as f64, mean(&changes));
        let se = sqrt(squares(&changes, centre) / (count - 1.0) / count);
        Some(Self { log: centre, se, df: count - 1.0, slack })
    }

    /// The ratio.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        exp(self.log)
    }

    /// Probability of a ratio at least as far from one, on either side, where there is no difference.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        let distance = fabs(self.log);
        if distance <= self.slack {
            1.0
        } else if self.se == 0.0 {
            0.0
        } else {
            student_t_two_sided(distance / self.se, self.df)
        }
    }

    /// The interval of the ratio that misses the truth with this probability.
    #[must_use]
    pub fn interval(&self, miss: f64) -> (f64, f64) {
        let quantile = student_t_quantile(1.0 - miss / 2.0, self.df);
        let half_width = (quantile * self.se).max(self.slack);
        (exp(self.log - half_width), exp(self.log + half_width))
    }
}

/// Holm's adjusted p-values, in the order given: a row is established at a level where its adjusted
/// value is at most that level, and the probability that any is established wrongly is at most that
/// level.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &row) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        largest = largest.max((left * p_values[row]).min(1.0));
        adjusted[row] = largest;
    }
    adjusted
}

/// Standard error, as a share, of the level that all cells of a run have in common, against that of
/// another run: from how far whole blocks differ, all cells alike. `cells` holds the observations of
/// each cell, one for each block. `None` with fewer than three cells or blocks, or where cells lack
/// blocks.
///
/// Zero where the blocks differ by no more than their own noise explains (F test at 0.1 %). Where
/// they do differ, the level is taken for a random walk: the variance between blocks is then a sixth
/// of the variance over the run, and the means of two runs with a pause of a run's length between
/// them differ with five block variances for each.
#[must_use]
pub fn common_level(cells: &[Vec<f64>]) -> Option<f64> {
    let blocks = cells.first()?.len();
    if cells.len() < 3 || blocks < 3 || cells.iter().any(|cell| cell.len() != blocks) {
        return None;
    }
    let deviations: Vec<Vec<f64>> = cells
        .iter()
        .map(|cell| {
            let logs = logarithms(cell)?;
            let centre = mean(&logs);
            Some(logs.iter().map(|value| value - centre).collect())
        })
        .collect::<Option<_>>()?;
    let levels: Vec<f64> = (0..blocks)
        .map(|block| mean(&deviations.iter().map(|cell| cell[block]).collect::<Vec<_>>()))
        .collect();
    let (count, rows) = (cells.len() as f64, blocks as f64);
    let between = squares(&levels, 0.0) / (rows - 1.0);
    let within: f64 = deviations
        .iter()
        .flat_map(|cell| cell.iter().zip(&levels))
        .map(|(value, level)| (value - level) * (value - level))
        .sum();
    let (df_between, df_within) = (rows - 1.0, (count - 1.0) * (rows - 1.0));
    let own = within / df_within / count;
    if own <= 0.0 {
        return Some(sqrt(BLOCK_VARIANCES * between));
    }
    if f_tail(between / own, df_between, df_within) > FALSE_LEVEL {
        return Some(0.0);
    }
    Some(sqrt(BLOCK_VARIANCES * (between - own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welchs_test_agrees_with_a_published_example() {
        // Welch (1947) by way of the usual textbook data, on logarithms: means 20.82 and 22.98 (A1
        // and A2 of https://en.wikipedia.org/wiki/Welch%27s_t-test, example 1): t = -2.46, df = 24.9.
        let a = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let b = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5,
            24.4,
        ];
        let level = |values: &[f64]| {
            let exponentials: Vec<f64> = values.iter().map(|&value| exp(value)).collect();
            Level::of(&exponentials).unwrap()
        };
        let ratio = LogRatio::between(level(&a), level(&b), 0.0);
        assert!((ratio.log / ratio.se - 2.46).abs() < 0.005, "{ratio:?}");
        assert!((ratio.df - 23.9).abs() < 0.1, "one less: {ratio:?}");
        assert!((ratio.p_value() - 0.0215).abs() < 0.0005, "{}", ratio.p_value());
    }

    #[test]
    fn an_interval_excludes_one_exactly_where_its_p_value_is_below_what_it_misses() {
        for log in [-0.3, -0.05, 0.01, 0.2] {
            for slack in [0.0, 0.02, 0.1] {
                let ratio = LogRatio { log, se: 0.03, df: 4.0, slack };
                for miss in [0.2, 0.05, 0.001] {
                    let (low, high) = ratio.interval(miss);
                    let excluded = low > 1.0 || high < 1.0;
                    assert_eq!(excluded, ratio.p_value() < miss, "{ratio:?} {miss}");
                }
            }
        }
    }

    #[test]
    fn a_side_against_itself_has_no_difference() {
        let level = Level::of(&[7.0, 7.0, 7.0]).unwrap();
        let ratio = LogRatio::between(level, level, 0.0);
        assert_eq!((ratio.ratio(), ratio.p_value(), ratio.interval(0.05)), (1.0, 1.0, (1.0, 1.0)));
        let pairs = LogRatio::of_pairs(&[3.0, 4.0, 5.0], &[3.0, 4.0, 5.0], 0.0).unwrap();
        assert_eq!((pairs.ratio(), pairs.p_value()), (1.0, 1.0));
    }

    #[test]
    fn pairs_cancel_what_moved_both() {
        let (a, b) = ([100.0, 150.0, 80.0, 120.0], [90.0, 136.0, 72.0, 107.0]);
        let pairs = LogRatio::of_pairs(&a, &b, 0.0).unwrap();
        assert!(pairs.p_value() < 0.001, "{pairs:?}");
        let apart = LogRatio::between(Level::of(&a).unwrap(), Level::of(&b).unwrap(), 0.0);
        assert!(apart.p_value() > 0.3, "{apart:?}");
    }

    #[test]
    fn holms_values_rise_with_the_p_values_and_are_at_least_bonferronis_for_the_smallest() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (value, expected) in adjusted.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
    }

    #[test]
    fn what_has_no_logarithm_has_no_level() {
        assert!(Level::of(&[1.0, 0.0, 2.0]).is_none());
        assert!(Level::of(&[1.0]).is_none() && Level::of_mean(5.0, 1.0, 1).is_none());
        assert!(Level::of_mean(0.0, 1.0, 3).is_none());
        assert!(LogRatio::of_pairs(&[1.0, 2.0], &[1.0, -2.0], 0.0).is_none());
    }

    #[test]
    fn blocks_that_move_together_have_a_level_and_others_have_none() {
        let noise = [0.3, -0.1, 0.2, -0.4, 0.1, -0.2, 0.4, -0.3, 0.0, 0.25, -0.25, 0.15];
        let cells = |levels: [f64; 4]| -> Vec<Vec<f64>> {
            (0..6)
                .map(|cell| {
                    (0..4)
                        .map(|block| {
                            100.0 * (1.0 + levels[block]) + noise[(cell * 5 + block * 7) % 12]
                        })
                        .collect()
                })
                .collect()
        };
        assert_eq!(common_level(&cells([0.0; 4])), Some(0.0));
        let moved = common_level(&cells([0.05, -0.05, 0.02, -0.02])).unwrap();
        // The standard deviation between the blocks is 4.4 %; times the root of five.
        assert!((moved - 0.044 * sqrt(5.0)).abs() < 0.005, "{moved}");
        assert!(common_level(&cells([0.0; 4])[..2]).is_none());
        assert!(common_level(&[vec![1.0; 3], vec![1.0; 3], vec![1.0; 2]]).is_none());
    }
}
