//! Interval arithmetic.

use halfpower_record::Estimate;

#[test]
fn an_interval_is_the_same_from_its_ends_its_width_and_its_standard_error() {
    let one = Estimate::symmetric(10.0, 1.96, 4);
    let ends = Estimate::spanning(10.0, 8.04, 11.96, 4);
    assert!((ends.se - 1.0).abs() < 1e-12 && Estimate { se: 1.0, ..ends } == one, "{ends:?}");
    assert_eq!(one, Estimate::from_se(10.0, 1.0, 4));
    assert!((one.half_width() - 1.96).abs() < 1e-12 && one.includes(11.9));
    assert!((one.relative_half_width() - 0.196).abs() < 1e-12 && !one.includes(12.0));
    assert!(Estimate::symmetric(0.0, 1.0, 1).relative_half_width().is_infinite());
    let ratio = Estimate::within_ratio(10.0, 0.5);
    assert!((ratio.low * ratio.high - 100.0).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn independent_errors_add_in_quadrature() {
    let (three, four) = (Estimate::from_se(20.0, 3.0, 5), Estimate::from_se(10.0, 4.0, 3));
    // The difference of 10 has a standard error of 5, and 1.96 times that is 9.8.
    assert!(three.exceeds(&four) && !three.exceeds(&four.with_error(0.2)));
    assert!((three.largest_difference(&four) - 19.8).abs() < 1e-9);
    let both = Estimate::from_se(100.0, 3.0, 5).with_error(0.04);
    assert!((both.se - 5.0).abs() < 1e-9 && (both.high - 109.8).abs() < 1e-9, "{both:?}");
    let ratio = Estimate::from_se(20.0, 0.6, 5).over(&Estimate::from_se(10.0, 0.4, 3));
    assert!((ratio.value - 2.0).abs() < 1e-12 && (ratio.se - 0.1).abs() < 1e-9, "{ratio:?}");
    // A ratio known only to within several times stays above zero.
    let vague = Estimate::from_se(26.7, 45.0, 3).over(&Estimate::from_se(1.0, 0.5, 3));
    assert!(vague.low > 0.0 && vague.includes(26.7), "{vague:?}");
    let least = both.at_least(0.2);
    assert!((least.low - 80.0).abs() < 1e-9 && both.at_least(0.01) == both, "{least:?}");
}

#[test]
fn an_independent_error_widens_the_side_that_it_lies_on() {
    let one = Estimate::symmetric(100.0, 3.0, 5);
    let found = one.widened(&[96.0, 112.0, 105.0]);
    // Each side is the root of the sum of squared logarithms.
    let side = |ends: &[f64]| ends.iter().map(|end| (end / 100.0).ln().powi(2)).sum::<f64>().sqrt();
    let (low, high) =
        (100.0 * (-side(&[97.0, 96.0])).exp(), 100.0 * side(&[103.0, 112.0, 105.0]).exp());
    assert_eq!((found.value, found.n), (100.0, 5));
    assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    assert_eq!(one.widened(&[]), one);
    // If a value may be negative, the values themselves are added.
    let change = Estimate::symmetric(3.0, 4.0, 5).widened(&[0.0]);
    assert!((change.low + 2.0).abs() < 1e-9, "{change:?}");
}

#[test]
fn a_positive_quantity_has_a_positive_interval() {
    let precise = Estimate::from_se(100.0, 30.0, 3);
    assert_eq!(precise.positive(), precise);
    let wide = Estimate::from_se(100.0, 60.0, 3).positive();
    assert!((wide.low * wide.high - 1e4).abs() < 1e-6 && wide.low > 30.0, "{wide:?}");
    assert_eq!((wide.se, wide.n), (60.0, 3));
    // An additional latency of unknown size does not make the whole shorter.
    let more = Estimate::symmetric(10.0, 1_000.0, 1).not_negative();
    let whole = Estimate::symmetric(100.0, 20.0, 4).plus(&more);
    assert!(whole.low >= 80.0 && whole.high > 1_000.0, "{whole:?}");
}

#[test]
fn a_rate_of_few_visits_that_differ_stays_above_zero() {
    let few = Estimate::symmetric(100.0, 400.0, 2).with_ratio_error(0.3);
    assert!(few.low > 0.0 && few.low < 20.0 && few.high > 500.0, "{few:?}");
}
