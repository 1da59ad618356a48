//! Fits a straight line through points with error bars.
//!
//! Weighted least squares (Bevington and Robinson, Data Reduction and Error Analysis, chapter 6): the weight
//! of a point is the inverse square of its standard error. The slope has two sources of error: the points,
//! whose error is known, and the model, whose error shows as additional scatter. The half-width is the larger
//! of two: normal standard errors from the points, and the same times the root of the reduced chi-square,
//! with Student's t of n - 2. Smaller scatter does not narrow it. Rejected: t of n - 2 in both cases (covers
//! 99.8 % with five points, 1.6 times too wide); Theil-Sen (no weights); a fit in logarithms (the intercept
//! is the quantity wanted).

use crate::{UPPER_95, normal_quantile, student_t_quantile};
use libm::{fabs, sqrt};
use record::Estimate;

/// Minimum standard error, as a share of the largest ordinate, so that a point from a simulated device
/// without noise has a finite weight.
const SE_MIN_REL: f64 = 1e-6;

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Abscissa, assumed exact.
    pub x: f64,
    /// Ordinate.
    pub y: f64,
    /// Standard error of the ordinate, not negative.
    pub se: f64,
}

/// A fitted line `y = slope x + intercept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Change of y per unit of x, with its 95 % interval.
    pub slope: Estimate,
    /// y at x = 0, with its 95 % interval.
    pub intercept: Estimate,
    /// Weighted sum of squared residuals per degree of freedom: near 1 if a line fits.
    pub reduced_chi_square: f64,
    /// Measured minus fitted value of each point.
    pub residuals: Vec<f64>,
    /// Weighted mean of x, where the line is most precise.
    centre_x: f64,
    /// y at `centre_x`.
    centre_y: f64,
    /// Half-width of the 95 % interval of `centre_y`.
    centre_half_width: f64,
}

impl Line {
    /// The line's y at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.centre_y + self.slope.value * (x - self.centre_x)
    }

    /// Lower and upper end of the 95 % interval of the line (not of a new point) at `x`.
    #[must_use]
    pub fn band(&self, x: f64) -> (f64, f64) {
        let slope = self.slope.half_width() * (x - self.centre_x);
        let half_width = libm::hypot(self.centre_half_width, slope);
        (self.at(x) - half_width, self.at(x) + half_width)
    }
}

/// The line through `points` by least squares weighted with 1 / se², with 95 % intervals. `None` with fewer
/// than three points, without spread in x, with a value that is not finite, or with a negative `se`.
#[must_use]
pub fn weighted_line(points: &[Point]) -> Option<Line> {
    let sound = |p: &Point| p.x.is_finite() && p.y.is_finite() && p.se.is_finite() && p.se >= 0.0;
    if points.len() < 3 || !points.iter().all(sound) {
        return None;
    }
    let largest = points.iter().map(|p| fabs(p.y)).fold(0.0, f64::max);
    let se_min = if largest > 0.0 { SE_MIN_REL * largest } else { 1.0 };
    let weights: Vec<f64> =
        points.iter().map(|p| p.se.max(se_min)).map(|se| 1.0 / (se * se)).collect();
    let sum = |value: &dyn Fn(&Point) -> f64| -> f64 {
        points.iter().zip(&weights).map(|(p, w)| w * value(p)).sum()
    };
    let total = sum(&|_| 1.0);
    let centre_x = sum(&|p| p.x) / total;
    let centre_y = sum(&|p| p.y) / total;
    let spread = sum(&|p| (p.x - centre_x) * (p.x - centre_x));
    let scale_x = points.iter().map(|p| fabs(p.x)).fold(0.0, f64::max);
    if spread <= total * scale_x * scale_x * 1e-20 {
        return None;
    }
    let slope = sum(&|p| (p.x - centre_x) * (p.y - centre_y)) / spread;
    let residuals: Vec<f64> =
        points.iter().map(|p| p.y - centre_y - slope * (p.x - centre_x)).collect();
    let freedom = points.len() as f64 - 2.0;
    let reduced_chi_square =
        residuals.iter().zip(&weights).map(|(r, w)| w * r * r).sum::<f64>() / freedom;
    let by_scatter = student_t_quantile(UPPER_95, freedom) * sqrt(reduced_chi_square);
    let quantile = by_scatter.max(normal_quantile(UPPER_95));
    let (slope_se, centre_se) = (sqrt(1.0 / spread), sqrt(1.0 / total));
    let intercept_se = libm::hypot(centre_se, slope_se * centre_x);
    let n = points.len() as u32;
    Some(Line {
        slope: Estimate::symmetric(slope, quantile * slope_se, n),
        intercept: Estimate::symmetric(centre_y - slope * centre_x, quantile * intercept_se, n),
        reduced_chi_square,
        residuals,
        centre_x,
        centre_y,
        centre_half_width: quantile * centre_se,
    })
}
