//! Intervals of a fitted line.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{Line, Point, weighted_line};

const SIZES_KIB: [f64; 5] = [4.0, 16.0, 64.0, 256.0, 1024.0];
const SLOPE: f64 = 0.5;
const INTERCEPT: f64 = 100.0;

/// A fit of five points with true relative error `noise` and stated relative error `stated`.
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
    let count = testkit::draws(500, 2_000);
    let total: f64 =
        (0..count).map(|seed| fit(&mut Source::new(seed), 0.03, 0.03).reduced_chi_square).sum();
    // The standard error with so few draws is twice that with all.
    let most = testkit::draws(0.12, 0.06);
    assert!((total / count as f64 - 1.0).abs() < most, "{total}");
}

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
    // The sum of squares of x around its mean of 85 is 41,004.
    assert!((line.slope.se - 1.0 / libm::sqrt(41_004.0)).abs() < 1e-6, "{}", line.slope.se);
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
    // The mean of x, weighted with 1 / se².
    let weights = [1.0 / 9.0, 1.0 / 25.0, 1.0 / 16.0, 1.0 / 400.0];
    let sum = 4.0 * weights[0] + 16.0 * weights[1] + 64.0 * weights[2] + 256.0 * weights[3];
    let centre = sum / weights.iter().sum::<f64>();
    for x in [0.0, 0.9 * centre, 1.1 * centre, 256.0] {
        assert!(width(centre) < width(x), "{x}");
    }
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
        weighted_line(&points(&[(1.0, 1.0, 1.0), (2.0, f64::NAN, 1.0), (3.0, 1.0, 1.0)])).is_none()
    );
}
