//! What pairs of runs say: the ratio of two sides with its interval, and whether it is as good
//! as one.
//!
//! The two runs of a pair stand next to each other in time, so that a slow drift of the machine
//! falls on both and leaves the ratio alone; every second pair is run in reverse order (ABBA), so
//! that what is left of it cancels. Ratios are worked with as logarithms, where "5 % more" and
//! "5 % less" are equally far from none.
//!
//! Equivalence is decided by two one-sided t tests (TOST; Schuirmann 1987): the two sides are
//! equivalent where the whole 90 % interval lies within the margin, different where it lies
//! wholly outside, and otherwise undecided. A test of "no difference" was rejected: it passes
//! whatever is too noisy to tell. Looking several times and stopping at the first decision would
//! make false decisions likelier, so the error is shared out over the looks (Bonferroni).

use std::fmt::{Display, Formatter};

/// The margin of equivalence: ±5 %, as a ratio.
pub(crate) const MARGIN: f64 = 1.05;
/// Error of each one-sided test over all looks together: the ends of a 90 % interval.
const ERROR: f64 = 0.05;
/// Numbers of pairs after which the results are looked at.
pub(crate) const LOOKS: [usize; 4] = [5, 10, 20, 40];

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Display for Ratio {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        if !self.value.is_finite() {
            return write!(out, "not measured");
        }
        write!(out, "{:.3} [{:.3}, {:.3}]", self.value, self.low, self.high)
    }
}

/// What a ratio amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Surely within the margin.
    Equivalent,
    /// Surely outside the margin.
    Different,
    /// Neither.
    Undecided,
}

impl Display for Verdict {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.pad(match self {
            Self::Equivalent => "equivalent",
            Self::Different => "different",
            Self::Undecided => "undecided",
        })
    }
}

impl Ratio {
    /// What this ratio amounts to.
    pub(crate) fn verdict(&self) -> Verdict {
        let (low, high) = (1.0 / MARGIN, MARGIN);
        if self.low >= low && self.high <= high {
            Verdict::Equivalent
        } else if self.high < low || self.low > high {
            Verdict::Different
        } else {
            // Includes intervals that are not numbers.
            Verdict::Undecided
        }
    }

    /// The mean ratio B/A of pairs (A, B): geometric mean, t interval on the logarithms, 90 %
    /// over all [`LOOKS`] together. With fewer than two pairs the interval is everything.
    pub(crate) fn of_pairs(pairs: &[(f64, f64)]) -> Self {
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        if logs.len() < 2 {
            return Self { value: mean.exp(), low: 0.0, high: f64::INFINITY };
        }
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let quantile = stats::student_t_quantile(1.0 - ERROR / LOOKS.len() as f64, n - 1.0);
        let half_width = quantile * (variance / n).sqrt();
        Self { value: mean.exp(), low: (mean - half_width).exp(), high: (mean + half_width).exp() }
    }

    /// The median ratio B/A of pairs, with the interval of the sign test: at least 95 %, whatever
    /// the distribution (Hollander and Wolfe 1973, section 3.6). With fewer than six pairs no
    /// such interval exists, and it is everything.
    pub(crate) fn median_of_pairs(pairs: &[(f64, f64)]) -> Self {
        let mut ratios: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
        ratios.sort_by(f64::total_cmp);
        let value = stats::median(ratios.clone());
        match sign_test_rank(ratios.len()) {
            None => Self { value, low: 0.0, high: f64::INFINITY },
            Some(rank) => Self { value, low: ratios[rank - 1], high: ratios[ratios.len() - rank] },
        }
    }
}

/// The largest rank r (from 1) such that fewer than r of n fair coins show heads with a
/// probability of at most 2.5 %: the r-th smallest and r-th largest value enclose the median.
fn sign_test_rank(n: usize) -> Option<usize> {
    let mut probability = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for rank in 0..n {
        below += probability;
        if below > 0.025 {
            return (rank > 0).then_some(rank);
        }
        probability *= (n - rank) as f64 / (rank + 1) as f64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose ratios spread by ±`spread` around `ratio`, evenly.
    fn pairs(ratio: f64, spread: f64, n: usize) -> Vec<(f64, f64)> {
        let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..n)
            .map(|i| (1000.0 + i as f64, (1000.0 + i as f64) * ratio * (1.0 + spread * sign(i))))
            .collect()
    }

    #[test]
    fn equal_sides_are_equivalent_a_tenth_less_is_different_and_noise_is_undecided() {
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.01, 5)).verdict(), Verdict::Equivalent);
        assert_eq!(Ratio::of_pairs(&pairs(0.9, 0.01, 5)).verdict(), Verdict::Different);
        assert_eq!(Ratio::of_pairs(&pairs(1.1, 0.01, 5)).verdict(), Verdict::Different);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.2, 5)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.2, 400)).verdict(), Verdict::Equivalent);
        assert_eq!(Ratio::of_pairs(&pairs(0.95, 0.02, 40)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.0, 1)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&[]).verdict(), Verdict::Undecided);
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_student() {
        // Logarithms -0.1, 0, 0.1: mean 0, standard deviation 0.1; t(0.9875, 2) = 6.2053.
        let ratio = Ratio::of_pairs(&[(1.0, (-0.1f64).exp()), (1.0, 1.0), (1.0, 0.1f64.exp())]);
        let half_width = 6.2053 * 0.1 / 3f64.sqrt();
        assert!((ratio.high.ln() - half_width).abs() < 1e-4, "{ratio}");
        assert!((ratio.low.ln() + half_width).abs() < 1e-4, "{ratio}");
    }

    #[test]
    fn the_ranks_of_the_sign_test_are_those_of_the_tables() {
        // Two-sided 5 % critical values of the sign test, e.g. Hollander and Wolfe, table A.2.
        let tables = [
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (15, Some(4)),
            (20, Some(6)),
            (40, Some(14)),
        ];
        for (n, rank) in tables {
            assert_eq!(sign_test_rank(n), rank, "{n}");
        }
    }

    #[test]
    fn a_wild_pair_does_not_move_the_median() {
        let mut many = pairs(0.9, 0.01, 15);
        many[3].1 *= 100.0;
        let ratio = Ratio::median_of_pairs(&many);
        assert!(ratio.low > 0.88 && ratio.high < 0.92, "{ratio}");
        assert_eq!(Ratio::median_of_pairs(&many[..5]).high, f64::INFINITY);
    }
}
