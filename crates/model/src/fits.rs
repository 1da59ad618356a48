//! Straight lines through service time against request size: y = m x + b.
//!
//! At depth 1 the response time is the service time, so the line is fitted to response times at
//! depth 1, per operation and pattern, weighted by the cells' variances. The intercept is what a
//! request costs whatever its size, the slope the inverse of a transfer rate (Friedman calls it a
//! rate).
//!
//! *Weights.* No device is an exact straight line, so a cell that was measured to 0.1 % must not
//! be believed to 0.1 %: a model error of [`MODEL_ERROR_REL`] is added to each cell's own standard
//! error (in quadrature), and chi-square is judged with both.
//!
//! *Which sizes.* A line that fits small requests stops fitting where another limit takes over (a
//! split into several device requests, a throttle, the medium), and that happens from some size
//! upwards. So the longest run of sizes, counted from the smallest, that passes a chi-square test
//! at 1 % is fitted, and at least five sizes. What lies above is kept in `left_out` with its residual, because the sign tells the reason: Friedman left
//! his 64 KB point out as saturated, yet it lies *below* his line, where saturation cannot put it.
//! If no run passes, all sizes are fitted and the bad chi-square says so: see [`fit_is_poor`].
//! Rejected: lines through three or four sizes (with one or two degrees of freedom left, Student's
//! t makes their intervals meaningless: an intercept of 22 ±55 µs was seen), dropping the worst
//! point wherever it is (a fit that chooses its data proves anything), and a two-piece line (needs
//! more sizes than a minute allows).

use crate::size::only_size;
use record::{CacheMode, Cell, LeftOut, OpKind, Pattern, ServiceTimeFit};

/// Relative error of a straight line as a model of a device, one standard deviation.
pub const MODEL_ERROR_REL: f64 = 0.03;

/// Fewest request sizes that a line is fitted to.
pub const MIN_FIT_SIZES: usize = 5;

/// A good line fails its test this rarely.
const FALSE_ALARM_SHARE: f64 = 0.01;

/// One fit per operation and pattern with at least [`MIN_FIT_SIZES`] request sizes at depth 1 and
/// the file-system cache bypassed; reads before writes, sequential, random, hit.
#[must_use]
pub fn service_time_fits(cells: &[Cell]) -> Vec<ServiceTimeFit> {
    let mut fits = Vec::new();
    for op in [OpKind::Read, OpKind::Write] {
        for pattern in [Pattern::Sequential, Pattern::Random, Pattern::Hit] {
            fits.extend(service_time_fit(cells, op, pattern));
        }
    }
    fits
}

fn service_time_fit(cells: &[Cell], op: OpKind, pattern: Pattern) -> Option<ServiceTimeFit> {
    let points = depth_one_points(cells, op, pattern);
    let keep = fitted_count(&points)?;
    let line = stats::weighted_line(&points[..keep])?;
    let residual_rel = |(point, residual): (&stats::Point, &f64)| (residual / point.y).abs();
    let max_residual_rel = points.iter().zip(&line.residuals).map(residual_rel).fold(0.0, f64::max);
    let left_out = points[keep..].iter().map(|point| LeftOut {
        bytes: point.x as u64,
        measured_ns: point.y,
        residual_ns: point.y - line.at(point.x),
    });
    Some(ServiceTimeFit {
        op,
        pattern,
        intercept_ns: line.intercept,
        slope_ns_per_byte: line.slope,
        sizes_bytes: points[..keep].iter().map(|point| point.x as u64).collect(),
        reduced_chi_square: line.reduced_chi_square,
        max_residual_rel,
        left_out: left_out.collect(),
    })
}

/// Bytes and nanoseconds by rising size; of two cells with one size the first in the design.
fn depth_one_points(cells: &[Cell], op: OpKind, pattern: Pattern) -> Vec<stats::Point> {
    let mut points: Vec<stats::Point> = cells
        .iter()
        .filter(|cell| {
            let workload = &cell.workload;
            workload.depth == 1
                && workload.pattern == pattern
                && workload.cache == CacheMode::Device
                && workload.only_op() == Some(op)
        })
        .filter_map(|cell| {
            let (y, own) = (cell.latency_ns.value, cell.latency_ns.se);
            let model = MODEL_ERROR_REL * y;
            let se = (own * own + model * model).sqrt();
            Some(stats::Point { x: only_size(cell)? as f64, y, se })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points.dedup_by(|a, b| a.x == b.x);
    points
}

/// How many of the points, from the smallest size, the line is fitted to; `None` with too few.
fn fitted_count(points: &[stats::Point]) -> Option<usize> {
    if points.len() < MIN_FIT_SIZES {
        return None;
    }
    let passes = |&count: &usize| {
        stats::weighted_line(&points[..count])
            .is_some_and(|line| line.reduced_chi_square <= chi_square_limit(count - 2))
    };
    Some((MIN_FIT_SIZES..=points.len()).rev().find(passes).unwrap_or(points.len()))
}

/// Whether the points of a fit scatter more than their variances and the model error explain.
#[must_use]
pub fn fit_is_poor(fit: &ServiceTimeFit) -> bool {
    fit.reduced_chi_square > chi_square_limit(fit.sizes_bytes.len().saturating_sub(2))
}

/// The value that chi-square per degree of freedom exceeds with probability 1 % if the line holds.
/// Wilson and Hilferty 1931; within 4 % of the exact value at one degree of freedom, within 1 %
/// from two on. Infinite at zero degrees, where nothing can be judged.
#[must_use]
pub fn chi_square_limit(degrees_of_freedom: usize) -> f64 {
    stats::chi_square_per_degree(1.0 - FALSE_ALARM_SHARE, degrees_of_freedom)
}

/// The line through exactly two points: how Friedman reads his Table 4. It has no interval and
/// cannot be judged, so profiles never use it; it is kept to hold published tables against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactLine {
    /// Change of y per unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
}

impl ExactLine {
    /// The line through two points (x, y); `None` where both have the same x.
    #[must_use]
    pub fn through(first: (f64, f64), second: (f64, f64)) -> Option<Self> {
        let run = second.0 - first.0;
        if run == 0.0 {
            return None;
        }
        let slope = (second.1 - first.1) / run;
        Some(Self { slope, intercept: first.1 - slope * first.0 })
    }

    /// y at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Measured minus projected: negative where the device is faster than the line.
    #[must_use]
    pub fn residual(&self, point: (f64, f64)) -> f64 {
        point.1 - self.at(point.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chi_square_limit_matches_the_tables() {
        // Abramowitz and Stegun 1964, table 26.8, upper 1 % points.
        for (degrees, exact) in [(1, 6.635), (2, 9.210), (3, 11.345), (5, 15.086), (10, 23.209)] {
            let limit = chi_square_limit(degrees) * degrees as f64;
            let allowed = if degrees == 1 { 0.04 } else { 0.01 };
            assert!((limit / exact - 1.0).abs() < allowed, "{degrees}: {limit} against {exact}");
        }
    }
}
