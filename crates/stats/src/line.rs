//! A straight line through points with error bars.
//!
//! Weighted least squares (Bevington and Robinson, Data Reduction and Error Analysis, chapter 6):
//! each point weighs by the inverse square of its standard error, so a cell that was visited longer
//! counts for more. Two errors threaten the slope: that of the points, which is known, and that of
//! the model, which shows only as scatter around the line beyond what the points' errors explain.
//! The half-width is therefore the larger of two: 1.96 standard errors as the points give them, and
//! the same standard error times the root of the reduced chi-square, with Student's t of n - 2, as
//! the scatter gives it. Scatter below what the errors predict does not narrow it. Rejected: t with
//! n - 2 degrees of freedom times the larger of 1 and chi (with five points it covers 99.8 % where
//! the errors are right: 1.6 times wider than need be); Theil-Sen (no weights, no interval at five
//! points); a fit in logarithms (the errors of service time add, and the intercept is the quantity
//! wanted).

use crate::{UPPER_95, normal_quantile, student_t_quantile};
use libm::{fabs, sqrt};
use record::Estimate;

/// Standard errors count as at least this share of the largest ordinate, so that a point from a
/// simulated device without noise has a finite weight.
const SE_MIN_REL: f64 = 1e-6;

/// One point: abscissa, ordinate, and the ordinate's standard error, which is not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Abscissa, taken as exact.
    pub x: f64,
    /// Ordinate.
    pub y: f64,
    /// Standard error of the ordinate.
    pub se: f64,
}

/// A fitted line `y = slope x + intercept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Change of y per unit of x, with its 95 % interval.
    pub slope: Estimate,
    /// y at x = 0, with its 95 % interval.
    pub intercept: Estimate,
    /// Weighted sum of squared residuals per degree of freedom: near 1 where a line describes the
    /// points within their errors, well above it where not.
    pub reduced_chi_square: f64,
    /// Measured minus fitted, point by point.
    pub residuals: Vec<f64>,
    /// Weighted mean of x, where the line is known best.
    centre_x: f64,
    /// y there.
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

/// The line through `points` by least squares weighted with 1 / se², with 95 % intervals as the
/// module says. `None` with fewer than three points (two leave no residual), without spread in x,
/// or with a value that is not finite or a negative `se`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(f64, f64, f64)]) -> Vec<Point> {
        values.iter().map(|&(x, y, se)| Point { x, y, se }).collect()
    }

    #[test]
    fn points_on_a_line_give_it_back_with_the_intervals_of_their_errors() {
        let line = weighted_line(&points(&[
            (4.0, 110.0, 1.0),
            (16.0, 140.0, 1.0),
            (64.0, 260.0, 1.0),
            (256.0, 740.0, 1.0),
        ]))
        .unwrap();
        assert!((line.slope.value - 2.5).abs() < 1e-12);
        assert!((line.intercept.value - 100.0).abs() < 1e-9);
        assert!(line.reduced_chi_square < 1e-18);
        assert!(line.residuals.iter().all(|r| r.abs() < 1e-9));
        // Spread of x around its mean of 85: 41,004.
        assert!((line.slope.se - 1.0 / sqrt(41_004.0)).abs() < 1e-6, "{}", line.slope.se);
        assert!((line.at(100.0) - 350.0).abs() < 1e-9);
    }

    #[test]
    fn points_without_error_fit_without_dividing_by_zero() {
        let line =
            weighted_line(&points(&[(0.0, 1.0, 0.0), (1.0, 3.0, 0.0), (2.0, 5.0, 0.0)])).unwrap();
        assert!((line.slope.value - 2.0).abs() < 1e-9);
        assert!(line.slope.high - line.slope.low < 1e-4);
        let flat = weighted_line(&points(&[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)]));
        assert_eq!(flat.unwrap().slope.value, 0.0);
    }

    #[test]
    fn a_precise_point_outweighs_a_vague_one() {
        let line = weighted_line(&points(&[
            (0.0, 0.0, 0.01),
            (1.0, 1.0, 0.01),
            (2.0, 2.0, 0.01),
            (3.0, 9.0, 100.0),
        ]))
        .unwrap();
        assert!((line.slope.value - 1.0).abs() < 1e-3, "{}", line.slope.value);
        assert!((line.residuals[3] - 6.0).abs() < 0.01);
    }

    #[test]
    fn the_band_is_the_intercept_s_interval_at_zero_and_narrowest_in_the_middle() {
        let line = weighted_line(&points(&[
            (4.0, 110.0, 3.0),
            (16.0, 150.0, 5.0),
            (64.0, 255.0, 4.0),
            (256.0, 745.0, 20.0),
        ]))
        .unwrap();
        let (low, high) = line.band(0.0);
        assert!((low - line.intercept.low).abs() < 1e-9);
        assert!((high - line.intercept.high).abs() < 1e-9);
        let width = |x: f64| line.band(x).1 - line.band(x).0;
        assert!(width(line.centre_x) < width(0.0) && width(line.centre_x) < width(256.0));
    }

    #[test]
    fn a_curve_shows_in_chi_square_and_widens_the_interval() {
        let curve: Vec<Point> =
            (0..6).map(|i| Point { x: f64::from(i), y: f64::from(i * i), se: 0.1 }).collect();
        let straight: Vec<Point> = curve.iter().map(|p| Point { y: 5.0 * p.x, ..*p }).collect();
        let (curve, straight) = (weighted_line(&curve).unwrap(), weighted_line(&straight).unwrap());
        assert!(curve.reduced_chi_square > 100.0);
        assert!(curve.slope.se > 10.0 * straight.slope.se);
    }

    #[test]
    fn too_few_points_or_one_abscissa_have_no_line() {
        assert!(weighted_line(&points(&[(0.0, 1.0, 1.0), (1.0, 2.0, 1.0)])).is_none());
        assert!(weighted_line(&points(&[(0.3, 1.0, 1.0); 4])).is_none());
        assert!(
            weighted_line(&points(&[(1.0, 1.0, 1.0), (2.0, 1.0, -1.0), (3.0, 1.0, 1.0)])).is_none()
        );
        assert!(
            weighted_line(&points(&[(1.0, 1.0, 1.0), (2.0, f64::NAN, 1.0), (3.0, 1.0, 1.0)]))
                .is_none()
        );
    }
}
