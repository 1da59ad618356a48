//! A value with its interval, and a value that may be missing for a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point estimate with its 95 % confidence interval, in the unit that the enclosing key states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
    /// Half-width of the interval divided by 1.96: the standard error of a normal estimate that
    /// would have the same interval. Two runs are compared with it.
    pub se: f64,
    /// Independent observations (batches, visits, points) behind the interval.
    pub n: u32,
}

impl Estimate {
    /// A symmetric interval: `value ± half_width`, from `n` observations.
    #[must_use]
    pub fn symmetric(value: f64, half_width: f64, n: u32) -> Self {
        Self { value, low: value - half_width, high: value + half_width, se: half_width / 1.96, n }
    }

    /// Half of the interval's width as a share of the value; infinite where the value is zero.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.value == 0.0 {
            return f64::INFINITY;
        }
        (self.high - self.low) / 2.0 / self.value.abs()
    }

    /// The same estimate in another unit: everything times `factor` (positive).
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        debug_assert!(factor > 0.0);
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
            se: self.se * factor,
            n: self.n,
        }
    }

    /// The same estimate with further, independent errors: what its value would be at the ends of
    /// the 95 % intervals of what it was computed from. Each side of the interval grows by those
    /// that lie on it, in quadrature.
    #[must_use]
    pub fn widened(&self, ends: &[f64]) -> Self {
        if ends.is_empty() {
            return *self;
        }
        let [mut below, mut above] = [self.value - self.low, self.high - self.value];
        for end in ends {
            let apart = end - self.value;
            let side = if apart < 0.0 { &mut below } else { &mut above };
            *side = side.hypot(apart);
        }
        let (low, high) = (self.value - below, self.value + above);
        Self { low, high, se: (high - low) / (2.0 * 1.96), ..*self }
    }
}

/// A result, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Measured<T> {
    /// It was measured.
    Value(T),
    /// It was not, and this says why.
    NotMeasured {
        /// The reason, a clause that can follow "not measured: ".
        not_measured: String,
    },
}

impl<T> Measured<T> {
    /// The reason form.
    #[must_use]
    pub fn not(reason: impl Into<String>) -> Self {
        Self::NotMeasured { not_measured: reason.into() }
    }

    /// The value, where there is one.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotMeasured { .. } => None,
        }
    }

    /// The reason, where there is no value.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::NotMeasured { not_measured } => Some(not_measured),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_independent_error_widens_the_side_that_it_lies_on() {
        let one = Estimate::symmetric(100.0, 3.0, 5);
        let found = one.widened(&[96.0, 112.0, 105.0]);
        assert_eq!((found.value, found.low, found.n), (100.0, 95.0, 5));
        // The square root of 9 + 144 + 25.
        assert!((found.high - 113.341_7).abs() < 1e-3, "{found:?}");
        assert!((found.se - (found.high - found.low) / 3.92).abs() < 1e-12);
        assert_eq!(one.widened(&[]), one);
    }
}
