//! Intervals of a fitted line.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{Line, Point, weighted_line};

const SIZES_KIB: [f64; 5] = [4.0, 16.0, 64.0, 256.0, 1024.0];
const SLOPE: f64 = 0.5;
const INTERCEPT: f64 = 100.0;

/// A fit of five points whose true relative error is `noise` and whose stated one is `stated`.
fn fit(source: &mut Source, noise: f64, stated: f64) -> Line {
    let points = SIZES_KIB.map(|x| {
        let truth = INTERCEPT + SLOPE * x;
        Point { x, y: truth * (1.0 + noise * source.normal()), se: truth * stated }
    });
    weighted_line(&points).unwrap()
}

#[test]
fn slope_and_intercept_are_covered_where_the_points_errors_are_right() {
    let slope = share(|source| covers(&fit(source, 0.03, 0.03).slope, SLOPE));
    let intercept = share(|source| covers(&fit(source, 0.03, 0.03).intercept, INTERCEPT));
    assert_share("slope", slope, 0.95..=0.995);
    assert_share("intercept", intercept, 0.95..=0.995);
}

#[test]
fn slope_is_covered_where_the_points_scatter_more_than_they_admit() {
    let covered = share(|source| covers(&fit(source, 0.03, 0.003).slope, SLOPE));
    assert_share("errors understated tenfold", covered, 0.93..=0.97);
}

#[test]
fn the_band_covers_the_line_between_and_beyond_the_points() {
    for x in [0.0, 128.0, 2048.0] {
        let covered = share(|source| {
            let (low, high) = fit(source, 0.03, 0.03).band(x);
            (low..=high).contains(&(INTERCEPT + SLOPE * x))
        });
        assert_share(&format!("band at {x}"), covered, 0.95..=0.995);
    }
}

#[test]
fn chi_square_averages_one_where_the_points_errors_are_right() {
    let total: f64 =
        (0..2_000).map(|seed| fit(&mut Source::new(seed), 0.03, 0.03).reduced_chi_square).sum();
    assert!((total / 2_000.0 - 1.0).abs() < 0.06, "{total}");
}
