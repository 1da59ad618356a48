//! Compares two sides in pairs of runs: computes the ratio with its interval.
//!
//! The two runs of a pair follow each other, every second pair in reverse order (ABBA), so that a drift of
//! the machine affects both sides. The interval is that of the median.

use std::fmt::{Display, Formatter};

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ratio {
    /// The estimate; NaN if unknown.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
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
    /// The median of values with its interval. If [`stats::median_interval`] has none, as for fewer than six
    /// values, the interval is 0 to infinity.
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
