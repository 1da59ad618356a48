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
pub const MARGIN: f64 = 1.05;
/// Error of each one-sided test over all looks together: the ends of a 90 % interval.
const ERROR: f64 = 0.05;
/// Numbers of pairs after which the results are looked at.
pub const LOOKS: [usize; 4] = [8, 14, 24, 40];

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate; not a number where nothing is known.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
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
pub enum Verdict {
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
    #[must_use]
    pub fn verdict(&self) -> Verdict {
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
    #[must_use]
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Self {
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let mut means: Vec<f64> = Vec::new();
        for (index, one) in logs.iter().enumerate() {
            means.extend(logs[index..].iter().map(|other| (one + other) / 2.0));
        }
        means.sort_by(f64::total_cmp);
        let known = logs.iter().all(|log| log.is_finite());
        let value = if known { stats::median(means.clone()).exp() } else { f64::NAN };
        let rank = signed_rank(logs.len(), ERROR / LOOKS.len() as f64).filter(|_| known);
        let (low, high) = rank.map_or((0.0, f64::INFINITY), |rank| {
            (means[rank - 1].exp(), means[means.len() - rank].exp())
        });
        Self { value, low, high }
    }

    /// The median of values with its interval, which is everything where [`stats::median_interval`]
    /// has none, as of fewer than six values.
    #[must_use]
    pub fn median_of(values: Vec<f64>) -> Self {
        let value = stats::median(values.clone());
        let interval = stats::median_interval(values);
        let (low, high) = interval.map_or((0.0, f64::INFINITY), |it| (it.low, it.high));
        Self { value, low, high }
    }

    /// The median ratio B/A of pairs, with the same interval.
    #[must_use]
    pub fn median_of_pairs(pairs: &[(f64, f64)]) -> Self {
        Self::median_of(pairs.iter().map(|(a, b)| b / a).collect())
    }
}

/// The largest rank r (from 1) such that the r-th smallest and the r-th largest mean of two of n
/// values each miss the middle that the values lie evenly around with a probability of at most
/// `miss`: the sum of the ranks of the positive ones is below r where it is (Wilcoxon 1945;
/// Hollander and Wolfe 1973, section 3.3).
#[must_use]
pub fn signed_rank(n: usize, miss: f64) -> Option<usize> {
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
