//! Compares quantiles and p-values with published tables and closed forms.

use halfpower_stats::{LogRatio, chi_square_per_degree, normal_quantile, student_t_quantile};
use libm::sqrt;
use std::f64::consts::PI;

/// Probability that a t variable is at least as far from zero as `t`, on either side.
fn two_sided(t: f64, df: f64) -> f64 {
    LogRatio { log: t, se: 1.0, df, slack: 0.0 }.p_value()
}

fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!((actual - expected).abs() <= relative * expected.abs(), "{actual} {expected}");
}

#[test]
fn normal_quantiles_agree_with_published_values() {
    // Abramowitz and Stegun, tables 26.5 and 26.6.
    for (p, x) in [
        (0.5, 0.0),
        (0.75, 0.674_489_750_2),
        (0.9, 1.281_551_565_5),
        (0.975, 1.959_963_984_5),
        (0.995, 2.575_829_303_5),
        (0.9995, 3.290_526_731_5),
        (1e-9, -5.997_807_015),
    ] {
        assert!((normal_quantile(p) - x).abs() < 1e-9, "{p}: {}", normal_quantile(p));
    }
    assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    assert!(normal_quantile(1.5).is_nan());
}

#[test]
fn t_quantiles_agree_with_published_tables() {
    for (p, df, t) in [
        (0.975, 1.0, 12.706_2),
        (0.975, 2.0, 4.302_65),
        (0.975, 3.0, 3.182_45),
        (0.975, 4.0, 2.776_45),
        (0.975, 5.0, 2.570_58),
        (0.975, 10.0, 2.228_14),
        (0.975, 23.0, 2.068_66),
        (0.975, 30.0, 2.042_27),
        (0.975, 120.0, 1.979_93),
        (0.95, 2.0, 2.919_99),
        (0.90, 7.0, 1.414_92),
        (0.995, 2.0, 9.924_84),
        (0.995, 9.0, 3.249_84),
        (0.999_5, 3.0, 12.923_98),
        (0.75, 1.0, 1.0),
    ] {
        assert_close(student_t_quantile(p, df), t, 3e-6);
        assert_close(student_t_quantile(1.0 - p, df), -t, 3e-6);
    }
    assert!(student_t_quantile(0.5, 4.0).abs() < 1e-12);
}

#[test]
fn t_quantiles_invert_the_closed_forms_of_one_and_two_degrees_of_freedom() {
    for p in [1e-6, 0.01, 0.2, 0.4, 0.499, 0.6, 0.9, 0.999] {
        let cauchy = -libm::cos(PI * p) / libm::sin(PI * p);
        assert_close(student_t_quantile(p, 1.0), cauchy, 1e-9);
        let two = (2.0 * p - 1.0) / sqrt(2.0 * p * (1.0 - p));
        assert_close(student_t_quantile(p, 2.0), two, 1e-9);
    }
}

#[test]
fn t_quantiles_fall_to_the_normal_one_as_the_degrees_of_freedom_grow() {
    let mut before = f64::INFINITY;
    for df in [0.7, 1.0, 1.5, 2.0, 3.9, 8.0, 33.3, 1e3, 1e5, 0.999e6, 1.001e6, 1e9] {
        let t = student_t_quantile(0.975, df);
        assert!(t < before, "{df}: {t} {before}");
        before = t;
    }
    assert_close(student_t_quantile(0.975, f64::INFINITY), normal_quantile(0.975), 1e-12);
}

#[test]
fn two_sided_p_values_return_the_level_of_their_quantile() {
    for df in [2.0, 6.5, 40.0, 1e4] {
        assert_close(two_sided(student_t_quantile(0.995, df), df), 0.01, 1e-8);
    }
    assert_close(two_sided(-1.959_963_984_5, f64::INFINITY), 0.05, 1e-8);
}

#[test]
fn upper_points_of_chi_square_agree_with_published_tables() {
    // Abramowitz and Stegun, table 26.8, upper 1 % points.
    for (degrees, exact) in [(1, 6.635), (2, 9.210), (3, 11.345), (5, 15.086), (10, 23.209)] {
        let point = chi_square_per_degree(0.99, degrees) * degrees as f64;
        assert_close(point, exact, if degrees == 1 { 0.04 } else { 0.01 });
    }
}
