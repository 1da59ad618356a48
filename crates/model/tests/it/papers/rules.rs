//! The language of rows, the claims of printed numbers, and the allowed deviations.

use model::papers::csv::*;
use model::papers::expression::*;
use model::papers::quote::*;
use model::papers::tolerance::*;
use model::papers::*;

fn curve(name: &str, at: Option<f64>, metric: Option<&str>) -> Expression {
    let at = at.map(|at| Box::new(Expression::Number(at)));
    let metric = metric.map(str::to_owned);
    Expression::Curve(CurveUse { name: name.to_owned(), at, metric })
}

#[test]
fn products_bind_more_than_sums_and_both_from_the_left() {
    let number = |value| Box::new(Expression::Number(value));
    let product = Expression::Binary('*', number(2.0), number(3.0));
    let sum = Expression::Binary('-', number(1.0), Box::new(product));
    let whole = Expression::Binary('+', Box::new(sum), number(4.0));
    assert_eq!(Expression::parse("1 - 2*3 + 4"), Ok(whole));
}

#[test]
fn curves_carry_their_point_and_their_metric() {
    assert_eq!(Expression::parse("a.b"), Ok(curve("a.b", None, None)));
    assert_eq!(Expression::parse("a[64]:iops"), Ok(curve("a", Some(64.0), Some("iops"))));
    let parsed = Expression::parse("a[2]:busy(bus 0)");
    assert_eq!(parsed, Ok(curve("a", Some(2.0), Some("busy(bus 0)"))));
    let parsed = Expression::parse("a[2]:phase(bus 0/(Re)Select End)");
    assert_eq!(parsed, Ok(curve("a", Some(2.0), Some("phase(bus 0/(Re)Select End)"))));
}

#[test]
fn an_error_says_where_it_is() {
    let place = |text: &str| Expression::parse(text).map_err(|error| error.at);
    assert_eq!(place("1 +"), Err(4));
    assert_eq!(place("max(1, 2"), Err(9));
    assert_eq!(place("1 2"), Err(3));
}

fn values(text: &str) -> Vec<(f64, f64)> {
    match Quote::parse(text) {
        Quote::Values(values) => {
            values.iter().map(|printed| (printed.value, printed.half_unit)).collect()
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_number_claims_its_digits_and_no_more() {
    assert_eq!(values("7.20"), [(7.2, 0.005)]);
    assert_eq!(values("about 480"), [(480.0, 5.0)]);
    assert_eq!(values("10000"), [(10_000.0, 5_000.0)]);
    assert_eq!(values("0"), [(0.0, 0.5)]);
    assert_eq!(values("7/8"), [(0.875, 0.0)]);
    assert_eq!(values("15 / 30 / 70").len(), 3);
}

#[test]
fn ranges_and_bounds_are_claims_of_their_own() {
    assert!(matches!(Quote::parse("25-50"), Quote::Between(..)));
    assert!(matches!(Quote::parse(">2"), Quote::MoreThan(..)));
    assert!(matches!(Quote::parse("<20"), Quote::AtMost(..)));
    assert_eq!(values("up to 20"), [(20.0, 5.0)]);
}

#[test]
fn words_claim_no_number() {
    for text in ["nearly constant", "none", "64 bit 66 MHz", "", "faster (no pre-read)"] {
        assert_eq!(Quote::parse(text), Quote::Text, "{text}");
    }
}

fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
    let sizes = [2.0, 4.0, 8.0, 16.0];
    sizes
        .iter()
        .zip(pairs)
        .map(|(&x, &(published, reproduced))| Point {
            x: Some(x),
            published: Some(published),
            reproduced: Some(reproduced),
            fitted: false,
        })
        .collect()
}

fn holds(text: &str, values: &[f64], tolerance: Tolerance) -> Option<bool> {
    claim_holds(&Quote::parse(text), values, tolerance)
}

#[test]
fn a_formula_must_give_the_printed_digits() {
    assert_eq!(holds("480", &[476.2], Tolerance::Rounding), Some(true));
    assert_eq!(holds("480", &[474.9], Tolerance::Rounding), Some(false));
    assert_eq!(holds("0.58", &[0.5849], Tolerance::Rounding), Some(true));
    assert_eq!(holds("0.58", &[0.586], Tolerance::Rounding), Some(false));
}

#[test]
fn a_simulated_value_may_be_fifteen_percent_off_and_no_more() {
    let share = Tolerance::Share(SINGLE);
    assert_eq!(holds("10", &[11.5], share), Some(true));
    assert_eq!(holds("10", &[11.6], share), Some(false));
    // One printed digit claims no more than that.
    assert_eq!(holds("0.1", &[0.149], share), Some(true));
    assert_eq!(holds("0.1", &[0.151], share), Some(false));
    assert_eq!(holds("15 / 30", &[14.0, 40.0], share), Some(false));
    assert_eq!(holds("15-20", &[22.9], share), Some(true));
    assert_eq!(holds("15-20", &[12.0], share), Some(false));
}

#[test]
fn a_bound_has_one_side() {
    assert_eq!(holds(">2", &[1.99], Tolerance::Share(SINGLE)), Some(false));
    assert_eq!(holds(">2", &[9.0], Tolerance::Share(SINGLE)), Some(true));
    assert_eq!(holds("<20", &[3.0], Tolerance::Share(SINGLE)), Some(true));
    assert_eq!(holds("<20", &[30.0], Tolerance::Share(SINGLE)), Some(false));
    // The largest effect is 20: an effect of 3, or none, does not match.
    assert_eq!(holds("up to 20", &[3.0], Tolerance::Share(SINGLE)), Some(false));
    assert_eq!(holds("up to 20", &[19.0], Tolerance::Share(SINGLE)), Some(true));
    assert_eq!(holds("sharp drop", &[1.0], Tolerance::Rounding), None);
}

#[test]
fn a_size_may_be_the_next_one() {
    let size = Tolerance::Size(Paper::Riedel.sizes());
    for (value, right) in [(8.0, true), (4.0, true), (16.0, true), (32.0, false), (2.0, false)] {
        assert_eq!(holds("8", &[value], size), Some(right), "{value}");
    }
    // 192 is between 128 and 256 on the axis, and 12 is not on it.
    assert_eq!(holds("128", &[192.0], size), Some(true));
    assert_eq!(holds("128", &[256.0], size), Some(false));
    assert_eq!(holds("8", &[12.0], size), Some(false));
}

#[test]
fn curves_must_keep_their_order_where_the_paper_shows_a_difference() {
    let one = points(&[(10.0, 5.0), (10.0, 5.0), (10.0, 9.0), (2.0, 1.98)]);
    let other = points(&[(9.5, 6.0), (8.0, 6.0), (8.0, 6.0), (1.0, 2.0)]);
    assert_eq!(out_of_order(&one, &other), [4.0, 16.0]);
    assert_eq!(out_of_order(&other, &one), [4.0, 16.0]);
}

#[test]
fn a_point_that_a_parameter_was_fitted_on_judges_nothing() {
    let mut curve = points(&[(10.0, 20.0), (10.0, 10.0), (20.0, 20.0), (30.0, 30.0)]);
    let other = points(&[(15.0, 15.0); 4]);
    assert_eq!(deviations(&curve), Some((0.0, 1.0)));
    assert_eq!(out_of_order(&curve, &other), [2.0]);
    curve[0].fitted = true;
    assert_eq!(deviations(&curve), Some((0.0, 0.0)));
    assert!(out_of_order(&curve, &other).is_empty());
}

#[test]
fn a_level_line_is_no_reproduction_of_a_slope() {
    let flat = points(&[(10.0, 8.5), (9.0, 8.5), (8.0, 8.5), (7.0, 8.5)]);
    assert!(deviations(&flat).unwrap().1 < CURVE_MAX);
    assert_eq!(slope_ratio(&flat), Some(0.0));
    let same = points(&[(10.0, 9.0), (9.0, 8.1), (8.0, 7.2), (7.0, 6.3)]);
    assert!((slope_ratio(&same).unwrap() - 1.0).abs() < 1e-9);
    // The same span in the opposite direction is no slope either.
    let turned = points(&[(10.0, 8.0), (9.4, 8.7), (8.7, 9.4), (8.0, 10.0)]);
    assert!(slope_ratio(&turned).unwrap() < 0.0);
    // A curve that hardly rises has no slope to reproduce.
    assert_eq!(slope_ratio(&points(&[(10.0, 8.0), (11.0, 9.0)])), None);
}

#[test]
fn half_power_is_counted_in_points() {
    let curve = points(&[(1.0, 1.0), (2.0, 5.0), (5.0, 5.0), (9.0, 9.0)]);
    assert_eq!(half_power_distance(&curve, 4.5), 1);
    assert_eq!(half_power_distance(&curve, 9.5), 0);
    assert_eq!(deviations(&curve), Some((0.0, 1.5)));
}

#[test]
fn fields_are_found_by_title_and_lines_are_counted() {
    let records = records("t", "a,b\n\"1,2\",\"say \"\"x\"\"\"\n3,\n").unwrap();
    assert_eq!((records[0].get("a"), records[0].get("b")), ("1,2", "say \"x\""));
    assert_eq!((records[1].get("a"), records[1].get("b"), records[1].line), ("3", "", 3));
    assert_eq!(records[1].get("none"), "");
}

#[test]
fn a_line_with_too_few_fields_is_named() {
    let error = records("t", "a,b\n1").unwrap_err();
    assert!(error.starts_with("t: ") && error.contains("line: 2"), "{error}");
}
