//! A value with its confidence interval, and a value that may be missing for a stated reason.
//!
//! [`Estimate`] is the only home of interval arithmetic. Code that turns bounds, standard errors or shares
//! into an interval, or combines intervals, uses its methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The 0.975 quantile of the standard normal distribution: a 95 % interval extends this many standard errors
/// to each side (Abramowitz and Stegun 1964, table 26.5). Two decimals, as in textbooks.
pub const NORMAL_95: f64 = 1.96;

/// Relative standard error above which a positive quantity gets the interval of its logarithm.
const PLAIN_SE_REL: f64 = 1.0 / 3.0;

/// A point estimate with its 95 % confidence interval, in the unit that the enclosing key states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
    /// Half-width of the interval divided by 1.96: the standard error of a normal estimate with the same
    /// interval. Comparisons between runs use it.
    pub se: f64,
    /// Independent observations (batches, visits, points) behind the interval.
    pub n: u32,
}

impl Estimate {
    /// `value ± half_width`, from `n` observations.
    #[must_use]
    pub fn symmetric(value: f64, half_width: f64, n: u32) -> Self {
        let se = half_width / NORMAL_95;
        Self { value, low: value - half_width, high: value + half_width, se, n }
    }

    /// A normal estimate with this standard error.
    #[must_use]
    pub fn from_se(value: f64, se: f64, n: u32) -> Self {
        Self { se, ..Self::symmetric(value, NORMAL_95 * se, n) }
    }

    /// An interval from `low` to `high`, which need not be symmetric around the value.
    #[must_use]
    pub fn spanning(value: f64, low: f64, high: f64, n: u32) -> Self {
        Self { value, low, high, se: (high - low) / 2.0 / NORMAL_95, n }
    }

    /// The interval from `value / exp(rel)` to `value * exp(rel)`, with no observations.
    #[must_use]
    pub fn within_ratio(value: f64, rel: f64) -> Self {
        let factor = libm::exp(rel);
        Self::spanning(value, value / factor, value * factor, 0)
    }

    /// The value of an estimate whose logarithm is `log`.
    #[must_use]
    pub fn exp_of(log: &Self) -> Self {
        let value = libm::exp(log.value);
        let (low, high) = (libm::exp(log.low), libm::exp(log.high));
        Self { value, low, high, se: value * log.se, n: log.n }
    }

    /// The same estimate of a positive quantity, such as a latency or a rate. If its standard error exceeds a
    /// third of the value, it gets the interval of its logarithm, to first order: the plain interval of a few
    /// widely spread visits would reach zero.
    #[must_use]
    pub fn positive(&self) -> Self {
        if self.value <= 0.0 || self.relative_se() <= PLAIN_SE_REL {
            return *self;
        }
        let ratio = Self::within_ratio(self.value, NORMAL_95 * self.relative_se());
        Self { se: self.se, n: self.n, ..ratio }
    }

    /// The same estimate of a quantity that is never negative but may be zero, such as an additional latency.
    #[must_use]
    pub fn not_negative(&self) -> Self {
        Self { low: self.low.max(0.0), ..*self }
    }

    /// Half of the interval's width.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Half of the interval's width as a share of the value; infinite if the value is zero.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.value == 0.0 { f64::INFINITY } else { self.half_width() / self.value.abs() }
    }

    /// The standard error as a share of the value.
    #[must_use]
    pub fn relative_se(&self) -> f64 {
        self.se / self.value
    }

    /// Whether the interval includes this value.
    #[must_use]
    pub fn includes(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Upper end of the 95 % interval of `self - other`, for two independent estimates.
    #[must_use]
    pub fn largest_difference(&self, other: &Self) -> f64 {
        self.value - other.value + NORMAL_95 * libm::hypot(self.se, other.se)
    }

    /// Whether this estimate exceeds another by more than the 95 % interval of their difference.
    #[must_use]
    pub fn exceeds(&self, other: &Self) -> bool {
        self.value - other.value > NORMAL_95 * libm::hypot(self.se, other.se)
    }

    /// This estimate divided by an independent one; both are positive. Relative variances add, to first order.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let ratio = self.value / other.value;
        let se = ratio * libm::hypot(self.relative_se(), other.relative_se());
        Self::from_se(ratio, se, self.n.min(other.n)).positive()
    }

    /// The sum of this estimate and an independent one. Standard errors add in quadrature.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let side = |one: f64, two: f64| libm::hypot(one, two);
        let value = self.value + other.value;
        let low = value - side(self.value - self.low, other.value - other.low);
        let high = value + side(self.high - self.value, other.high - other.value);
        Self { value, low, high, se: side(self.se, other.se), n: self.n.min(other.n) }
    }

    /// The same estimate in another unit: everything is multiplied by `factor` (positive).
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
            se: self.se * factor,
            n: self.n,
        }
    }

    /// The same estimate with one more independent error, given as a standard error relative to the value.
    /// Standard errors add in quadrature, and both ends move by the increase.
    #[must_use]
    pub fn with_error(&self, se_rel: f64) -> Self {
        let se = libm::hypot(self.se, se_rel * self.value);
        let extra = NORMAL_95 * (se - self.se);
        Self { low: self.low - extra, high: self.high + extra, se, ..*self }
    }

    /// The same estimate with one more independent error, given as a standard error of its logarithm. Each
    /// side of the interval grows in quadrature, so that a wide interval stays above zero.
    #[must_use]
    pub fn with_ratio_error(&self, se_log: f64) -> Self {
        let factor = libm::exp(NORMAL_95 * se_log);
        let ends = [self.value / factor, self.value * factor];
        if self.low > 0.0 || self.value <= 0.0 {
            return self.widened(&ends);
        }
        // The mean of a few visits that differ by several times is only known to within a factor.
        Self { low: self.value * self.value / self.high, ..*self }.widened(&ends)
    }

    /// The same estimate with further independent errors. `ends` are the values it would have at the ends of
    /// the 95 % intervals of its inputs. Each side of the interval grows in quadrature by the ends on that
    /// side. If all are above zero, the logarithms are used, so that the interval stays above zero.
    #[must_use]
    pub fn widened(&self, ends: &[f64]) -> Self {
        if ends.is_empty() {
            return *self;
        }
        let by_ratio = self.low > 0.0 && ends.iter().all(|end| *end > 0.0);
        let apart = |end: f64| match by_ratio {
            true => libm::log(end / self.value),
            false => end - self.value,
        };
        let at = |apart: f64| match by_ratio {
            true => self.value * libm::exp(apart),
            false => self.value + apart,
        };
        let [mut below, mut above] = [self.low, self.high].map(|end| apart(end).abs());
        for end in ends {
            let apart = apart(*end);
            let side = if apart < 0.0 { &mut below } else { &mut above };
            *side = side.hypot(apart);
        }
        Self::spanning(self.value, at(-below), at(above), self.n)
    }

    /// The same estimate with at least this half-width, given as a share of the value.
    #[must_use]
    pub fn at_least(&self, half_width_rel: f64) -> Self {
        let half = half_width_rel * self.value.abs();
        Self {
            low: self.low.min(self.value - half),
            high: self.high.max(self.value + half),
            se: self.se.max(half / NORMAL_95),
            ..*self
        }
    }
}

/// A result, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Measured<T> {
    /// The measured value.
    Value(T),
    /// Not measured, for a stated reason.
    NotMeasured {
        /// The reason, a clause that fits after "not measured: ".
        not_measured: String,
    },
}

impl<T, R: Into<String>> From<Result<T, R>> for Measured<T> {
    fn from(found: Result<T, R>) -> Self {
        found.map_or_else(Self::not, Self::Value)
    }
}

impl<T> Measured<T> {
    /// A value that was not measured, for this reason.
    #[must_use]
    pub fn not(reason: impl Into<String>) -> Self {
        Self::NotMeasured { not_measured: reason.into() }
    }

    /// The value, if there is one.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        self.known().ok()
    }

    /// The value, or the reason as an error.
    ///
    /// # Errors
    /// The reason, if nothing was measured.
    pub fn known(&self) -> Result<&T, &str> {
        match self {
            Self::Value(value) => Ok(value),
            Self::NotMeasured { not_measured } => Err(not_measured),
        }
    }

    /// The reason, if there is no value.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.known().err()
    }
}
