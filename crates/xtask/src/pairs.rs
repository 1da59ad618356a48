//! What pairs of runs say: the ratio of two sides with its interval, and whether it is as good as
//! one.
//!
//! The two runs of a pair stand next to each other in time, every second pair in reverse order
//! (ABBA), so that a drift of the machine falls on both. Ratios are worked with as logarithms.

use std::fmt::{Display, Formatter};

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

impl Ratio {
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
