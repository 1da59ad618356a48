//! Compares two measurements in many rows at once.
//!
//! A ratio is compared as the difference of logarithms: "half" and "twice" are equally far from "the same". A
//! row has only a few blocks or visits per side. The test is therefore Welch's (1947) with Satterthwaite's
//! degrees of freedom, which needs neither equal numbers nor equal noise. If both sides were measured in the
//! same blocks, the differences within the blocks are tested instead.
//!
//! A table of thirty rows at 5 % each has a false alarm three times out of four. Holm's method (1979) limits
//! the probability of any false alarm in the table. The intervals are Bonferroni's, which are valid together.
//! A caller may divide the probability unevenly between the questions of a table, if it does so in advance
//! (Wiens 2003).
//!
//! Tables with a false alarm, in percent, for a nominal 5 (normal noise of the logarithms, 12 rows, 2,000
//! tables each; `tests/statistics/tables.rs`):
//!
//! | observations on each side | 3 | 5 | 10 |
//! |---|---|---|---|
//! | equal noise | 0.8 | 2.5 | 4.4 |
//! | one side three times as noisy | 1.1 | 4.2 | 5.0 |
//! | one side six times as noisy | 3.2 | 4.7 | 5.0 |
//! | unreduced Satterthwaite's degrees of freedom, six times | 8.5 | 7.0 | 5.6 |
//!
//! Satterthwaite's degrees of freedom are therefore reduced by one, down to those of the smaller side. Cells
//! that are visited until they are precise ([`crate::look`]) stop when their variance is small by chance: a
//! table of forty such cells had a false alarm in 27 of 100 cases. They get the degrees of freedom of the
//! smaller side alone (at most 3.5 of 100).
//!
//! Rejected: the pooled t test (15 % false alarms if one side is noisier); Mann-Whitney (its smallest p-value
//! with five blocks is too large for thirty rows); permutation of the blocks (20 permutations establish
//! nothing at 5 %); the false-discovery rate of Benjamini and Hochberg (a gate must not fail on one row in
//! twenty that it flags).

use crate::Ordered;
use crate::quantile::{f_tail, student_t_two_sided};
use crate::{all_finite, mean, mean_and_variance, squares, student_t_quantile};
use libm::{exp, fabs, log, sqrt};

/// With more degrees of freedom, a variance counts as known.
const DF_KNOWN: f64 = 1e9;
/// Variance between runs of the common level, as a multiple of the variance between blocks of a run, for a
/// level that wanders as a random walk.
const BLOCK_VARIANCES: f64 = 5.0;
/// Probability that blocks without a common change of level appear to have one.
const FALSE_LEVEL: f64 = 0.001;

/// The mean of logarithms and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Mean of the natural logarithms.
    pub log: f64,
    /// Variance of that mean.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub df: f64,
    /// Whether observations continued until the mean was precise. The variance is then too small on average.
    pub stopped: bool,
}

impl Level {
    /// The level of observations, which must be above zero; `None` with fewer than two, or if a logarithm is
    /// not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let logs = logarithms(values)?;
        if logs.len() < 2 {
            return None;
        }
        let (log, variance) = mean_and_variance(&logs);
        Some(Self { log, variance, df: logs.len() as f64 - 1.0, stopped: false })
    }

    /// The level of a mean with its standard error from `n` observations (at least two) that continued until
    /// the mean was precise ([`crate::look`]); `None` if it has no logarithm.
    #[must_use]
    pub fn of_mean(value: f64, se: f64, n: u32) -> Option<Self> {
        let known = value > 0.0 && value.is_finite() && se.is_finite() && n >= 2;
        // Variance of a logarithm, to first order.
        known.then(|| Self {
            log: log(value),
            variance: (se / value) * (se / value),
            df: f64::from(n) - 1.0,
            stopped: true,
        })
    }

    /// The same with one more independent error, given as a relative standard error. Uses Satterthwaite's
    /// degrees of freedom.
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

/// The logarithm of a ratio and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// Natural logarithm of the second value divided by the first.
    pub log: f64,
    /// Standard error.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Error that repetition does not reveal (a request cut off by the end of a window, the width of a
    /// bucket). The interval is never narrower, and nothing within it counts as a difference.
    pub slack: f64,
}

impl LogRatio {
    /// The ratio of two sides that were measured separately.
    #[must_use]
    pub fn between(a: Level, b: Level, slack: f64) -> Self {
        let (variance, satterthwaite) = sum((a.variance, a.df), (b.variance, b.df));
        let smaller = a.df.min(b.df);
        let df = if a.stopped || b.stopped { smaller } else { (satterthwaite - 1.0).max(smaller) };
        Self { log: b.log - a.log, se: sqrt(variance), df, slack }
    }

    /// The ratio of two sides that were measured in pairs; `None` with fewer than two pairs, or if a
    /// logarithm is not finite.
    #[must_use]
    pub fn of_pairs(a: &[f64], b: &[f64], slack: f64) -> Option<Self> {
        let (a, b) = (logarithms(a)?, logarithms(b)?);
        if a.len() != b.len() || a.len() < 2 {
            return None;
        }
        let changes: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let (log, variance) = mean_and_variance(&changes);
        Some(Self { log, se: sqrt(variance), df: changes.len() as f64 - 1.0, slack })
    }

    /// The ratio.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        exp(self.log)
    }

    /// Probability of a ratio at least as far from one, on either side, if there is no difference.
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

    /// The interval of the ratio that excludes the true value with probability `miss`.
    #[must_use]
    pub fn interval(&self, miss: f64) -> (f64, f64) {
        let quantile = student_t_quantile(1.0 - miss / 2.0, self.df);
        let half_width = (quantile * self.se).max(self.slack);
        (exp(self.log - half_width), exp(self.log + half_width))
    }
}

/// Holm's adjusted p-values, in the given order. Rows whose adjusted value is at most a level are
/// established. The probability that any of them is wrong is at most that level.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by_cached_key(|&one| Ordered(p_values[one]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &row) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        largest = largest.max((left * p_values[row]).min(1.0));
        adjusted[row] = largest;
    }
    adjusted
}

/// Relative standard error of the level that all cells of a run share, between runs, computed from the
/// differences between whole blocks. `cells` has one observation per block for each cell. `None` with fewer
/// than three cells or blocks, or if cells lack blocks.
///
/// Zero if the blocks differ by no more than their own noise explains (F test at 0.1 %). Otherwise the level
/// is assumed to be a random walk. The means of two runs, separated by a pause of a run's length, then differ
/// with five block variances for each.
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
