//! Fits straight lines y = m x + b through the latency at queue depth 1 against request size. The intercept
//! is the cost of a request, the slope the inverse of a transfer rate.
//!
//! No device is an exact line, so a model error ([`MODEL_ERROR_REL`]) is added to each cell's standard
//! error. From some size upwards another limit may take over. The fit uses the longest run of sizes, from
//! the smallest, that passes a chi-square test at 1 %, and at least five sizes. The sizes above go to
//! `left_out` with their residuals, whose signs indicate the reason. If no run passes, all sizes are fitted
//! and [`fit_is_poor`] reports it. Rejected: three or four sizes (an intercept of 22 ±55 µs was seen),
//! dropping the worst point wherever it is, and two-piece lines, which need more sizes than a minute
//! allows.

use crate::size::{direct, only_size};
use record::{Cell, LeftOut, OpKind, Pattern, ServiceTimeFit};
use stats::Ordered;

/// Relative error of a straight line as a model of a device, one standard deviation.
const MODEL_ERROR_REL: f64 = 0.03;

/// Minimum number of request sizes for a line.
pub const MIN_FIT_SIZES: usize = 5;

/// Probability that a good line fails its test.
const FALSE_ALARM_SHARE: f64 = 0.01;

/// One fit per operation and pattern with at least [`MIN_FIT_SIZES`] request sizes at queue depth 1 with
/// direct I/O. Order: reads before writes; sequential, random, hit.
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

/// Bytes and nanoseconds by rising size. If two cells have one size, the first in the design is used.
fn depth_one_points(cells: &[Cell], op: OpKind, pattern: Pattern) -> Vec<stats::Point> {
    let mut points: Vec<stats::Point> = cells
        .iter()
        .filter(|cell| direct(cell, op) && cell.workload.pattern == pattern)
        .filter(|cell| cell.workload.depth == 1)
        .filter_map(|cell| {
            let (y, own) = (cell.latency_ns.value, cell.latency_ns.se);
            let model = MODEL_ERROR_REL * y;
            let se = (own * own + model * model).sqrt();
            Some(stats::Point { x: only_size(cell)? as f64, y, se })
        })
        .collect();
    points.sort_by_cached_key(|one| Ordered(one.x));
    points.dedup_by(|a, b| a.x == b.x);
    points
}

/// Number of points, from the smallest size, that the line is fitted to; `None` if too few.
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
fn chi_square_limit(degrees_of_freedom: usize) -> f64 {
    stats::chi_square_per_degree(1.0 - FALSE_ALARM_SHARE, degrees_of_freedom)
}
