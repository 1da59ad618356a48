//! What pairs of runs say: the ratio of two sides with its interval, and whether it is as good as
//! one.
//!
//! The two runs of a pair stand next to each other in time, every second pair in reverse order
//! (ABBA), so that a drift of the machine falls on both. Ratios are worked with as logarithms.
//!
//! Equivalence is decided by two one-sided tests (TOST; Schuirmann 1987): equivalent where the
//! whole 90 % interval lies within the margin, different where it lies wholly outside, else
//! undecided. The interval is that of the signed ranks (Hodges and Lehmann 1963), which asks only
//! that the logarithms lie evenly around the ratio. Rejected: a t interval (one pair in ten is off
//! by half where a host takes the processors away now and then, and forty pairs decided nothing),
//! and a test of "no difference", which passes whatever is too noisy to tell. The error is shared
//! out over the looks at which a comparison may stop (Bonferroni).

use std::fmt::{Display, Formatter};

/// The margin of equivalence: ±5 %, as a ratio.
pub(crate) const MARGIN: f64 = 1.05;
/// Error of each one-sided test over all looks together: the ends of a 90 % interval.
const ERROR: f64 = 0.05;
/// Numbers of pairs after which the results are looked at.
pub(crate) const LOOKS: [usize; 4] = [8, 14, 24, 40];

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

    /// The ratio B/A of pairs (A, B): the median of the means of any two logarithms, and the
    /// interval of the signed ranks, 90 % over all [`LOOKS`] together. With fewer than seven pairs
    /// no such interval exists, and it is everything.
    pub(crate) fn of_pairs(pairs: &[(f64, f64)]) -> Self {
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let mut means: Vec<f64> = Vec::new();
        for (index, one) in logs.iter().enumerate() {
            means.extend(logs[index..].iter().map(|other| (one + other) / 2.0));
        }
        means.sort_by(f64::total_cmp);
        let value = if means.is_empty() { f64::NAN } else { stats::median(means.clone()).exp() };
        let known = logs.iter().all(|log| log.is_finite());
        match signed_rank(logs.len(), ERROR / LOOKS.len() as f64).filter(|_| known) {
            None if known => Self { value, low: 0.0, high: f64::INFINITY },
            None => Self { value: f64::NAN, low: 0.0, high: f64::INFINITY },
            Some(rank) => {
                Self { value, low: means[rank - 1].exp(), high: means[means.len() - rank].exp() }
            }
        }
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

/// The largest rank r (from 1) such that the r-th smallest and the r-th largest mean of two of n
/// values each miss the middle that the values lie evenly around with a probability of at most
/// `miss`: the sum of the ranks of the positive ones is below r where it is (Wilcoxon 1945;
/// Hollander and Wolfe 1973, section 3.3).
fn signed_rank(n: usize, miss: f64) -> Option<usize> {
    // How probable each sum of ranks is where every rank is in or out with even chance.
    let mut of_sum = vec![1.0];
    for rank in 1..=n {
        let mut more = vec![0.0; of_sum.len() + rank];
        for (sum, probability) in of_sum.iter().enumerate() {
            more[sum] += probability / 2.0;
            more[sum + rank] += probability / 2.0;
        }
        of_sum = more;
    }
    let below = of_sum.iter().scan(0.0, |below, probability| {
        *below += probability;
        Some(*below)
    });
    let rank = below.take_while(|below| *below <= miss).count();
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose ratios spread by up to ±`spread` around `ratio`, evenly.
    fn pairs(ratio: f64, spread: f64, n: usize) -> Vec<(f64, f64)> {
        let off = |i: usize| 2.0 * i as f64 / (n - 1).max(1) as f64 - 1.0;
        (0..n)
            .map(|i| (1000.0 + i as f64, (1000.0 + i as f64) * ratio * (1.0 + spread * off(i))))
            .collect()
    }

    #[test]
    fn equal_sides_are_equivalent_a_tenth_less_is_different_and_noise_is_undecided() {
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.01, 8)).verdict(), Verdict::Equivalent);
        assert_eq!(Ratio::of_pairs(&pairs(0.9, 0.01, 8)).verdict(), Verdict::Different);
        assert_eq!(Ratio::of_pairs(&pairs(1.1, 0.01, 8)).verdict(), Verdict::Different);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.2, 8)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.01, 6)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&pairs(0.95, 0.02, 40)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&pairs(1.0, 0.0, 1)).verdict(), Verdict::Undecided);
        assert_eq!(Ratio::of_pairs(&[]).verdict(), Verdict::Undecided);
    }

    #[test]
    fn the_ranks_of_the_signed_rank_test_are_those_of_the_tables() {
        // One-sided 2.5 % critical values of T+, one less than the rank, e.g. Hollander and Wolfe,
        // table A.4, and Wilcoxon and Wilcox 1964.
        let tables = [
            (5, None),
            (6, Some(1)),
            (8, Some(4)),
            (10, Some(9)),
            (12, Some(14)),
            (20, Some(53)),
            (25, Some(90)),
        ];
        for (n, rank) in tables {
            assert_eq!(signed_rank(n, 0.025), rank, "{n}");
        }
    }

    #[test]
    fn an_interval_misses_no_more_often_than_it_says_even_where_one_pair_in_ten_is_off_by_half() {
        let mut dice = workload::Rng::new(7);
        let (mut missed, mut width, mut all) = (0, 0.0, 0);
        for _ in 0..testkit::draws(500, 2_000) {
            let pairs: Vec<(f64, f64)> = (0..LOOKS[2])
                .map(|_| {
                    let spread = if dice.unit() < 0.1 { 0.5 } else { 0.03 };
                    (1.0, (0.02 + spread * (2.0 * dice.unit() - 1.0)).exp())
                })
                .collect();
            let ratio = Ratio::of_pairs(&pairs);
            missed += u32::from(!(ratio.low..=ratio.high).contains(&0.02f64.exp()));
            width += (ratio.high / ratio.low).ln() / 2.0;
            all += 1;
        }
        // 2 x 1.25 % for each look; 4 % is two standard errors more in 500, and four in 2,000.
        assert!(f64::from(missed) < 0.04 * f64::from(all), "{missed} of {all}");
        // Within the margin on average, which the standard deviation of 0.09 would not allow.
        assert!(width / f64::from(all) < 0.03, "{}", width / f64::from(all));
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
