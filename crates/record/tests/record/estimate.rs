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
    // The difference of 10 has a standard error of 5, and 1.96 of it are 9.8.
    assert!(three.exceeds(&four) && !three.exceeds(&four.with_error(0.2)));
    assert!((three.largest_difference(&four) - 19.8).abs() < 1e-9);
    let both = Estimate::from_se(100.0, 3.0, 5).with_error(0.04);
    assert!((both.se - 5.0).abs() < 1e-9 && (both.high - 109.8).abs() < 1e-9, "{both:?}");
    let ratio = Estimate::from_se(20.0, 0.6, 5).over(&Estimate::from_se(10.0, 0.4, 3));
    assert!((ratio.value - 2.0).abs() < 1e-12 && (ratio.se - 0.1).abs() < 1e-9, "{ratio:?}");
    let least = both.at_least(0.2);
    assert!((least.low - 80.0).abs() < 1e-9 && both.at_least(0.01) == both, "{least:?}");
}

#[test]
fn an_independent_error_widens_the_side_that_it_lies_on() {
    let one = Estimate::symmetric(100.0, 3.0, 5);
    let found = one.widened(&[96.0, 112.0, 105.0]);
    assert_eq!((found.value, found.low, found.n), (100.0, 95.0, 5));
    // The square root of 9 + 144 + 25.
    assert!((found.high - 113.341_7).abs() < 1e-3, "{found:?}");
    assert_eq!(one.widened(&[]), one);
}
