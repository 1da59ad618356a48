//! Compares percentiles from a histogram with those of the sorted values.

use crate::source::Source;
use halfpower_stats::{Histogram, summarise};
use libm::exp;

/// Values per distribution.
const VALUES: usize = 200_000;

/// Fills a histogram from a distribution of times in nanoseconds, and compares every figure of its summary
/// with the values themselves.
fn compare(name: &str, mut time_ns: impl FnMut(&mut Source) -> f64) {
    let mut source = Source::new(11);
    let mut histogram = Histogram::default();
    let mut values: Vec<u64> = (0..VALUES).map(|_| time_ns(&mut source) as u64).collect();
    for &value in &values {
        histogram.record(value);
    }
    values.sort_unstable();
    let mean = values.iter().sum::<u64>() as f64 / VALUES as f64;
    let square = |value: &u64| (*value as f64 - mean) * (*value as f64 - mean);
    let stddev = (values.iter().map(square).sum::<f64>() / (VALUES as f64 - 1.0)).sqrt();
    let summary = summarise(&histogram.snapshot(), mean, None).unwrap();
    let within = |what: &str, got: f64, exact: f64| {
        assert!((got - exact).abs() <= 0.01 * exact, "{name} {what}: {got} for {exact}");
    };
    let percentiles = [
        (0.50, summary.p50),
        (0.90, summary.p90),
        (0.95, summary.p95),
        (0.99, summary.p99),
        (0.999, summary.p99_9),
        (0.9999, summary.p99_99),
    ];
    for (p, got) in percentiles {
        let rank = (p * VALUES as f64).ceil() as usize;
        within(&format!("p{p}"), got.unwrap(), values[rank - 1] as f64);
    }
    within("stddev", summary.stddev, stddev);
    assert!(summary.min <= values[0] && values[VALUES - 1] <= summary.max, "{name}");
    assert!(summary.min as f64 >= values[0] as f64 * (1.0 - 1.0 / 64.0), "{name}");
    assert!(summary.max as f64 <= values[VALUES - 1] as f64 * (1.0 + 1.0 / 64.0), "{name}");
}

#[test]
fn percentiles_are_within_a_percent_of_the_sorted_values() {
    compare("uniform", |source| 5_000.0 + 95_000.0 * source.uniform());
    compare("exponential", |source| 20_000.0 + 8e6 * source.exponential());
    compare("lognormal", |source| exp(11.0 + 1.2 * source.normal()));
    compare("two modes", |source| {
        let hit = source.uniform() < 0.8;
        let (centre, spread) = if hit { (9e4, 4e3) } else { (7e6, 9e5) };
        centre + spread * source.normal()
    });
    compare("heavy tail", |source| 1e5 / libm::pow(source.uniform(), 0.4));
}

#[test]
fn merging_gives_what_recording_together_gives() {
    let (mut left, mut right, mut both) =
        (Histogram::default(), Histogram::default(), Histogram::default());
    for step in 0..5_000u64 {
        let nanos = step * step * 37 % 9_999_991;
        if step % 3 == 0 {
            left.record(nanos);
        } else {
            right.record(nanos);
        }
        both.record(nanos);
    }
    let kept = left.snapshot().merged(&right.snapshot());
    left.merge(&right);
    assert_eq!(kept.count(), 5_000);
    assert_eq!(left.snapshot(), both.snapshot());
    assert_eq!(kept, both.snapshot());
}

#[test]
fn the_extremes_are_in_range_and_an_empty_histogram_has_no_summary() {
    let mut histogram = Histogram::default();
    assert!(summarise(&histogram.snapshot(), 0.0, None).is_none());
    histogram.record(u64::MAX);
    histogram.record(0);
    assert_eq!(histogram.snapshot().count(), 2);
}

#[test]
fn a_constant_time_has_no_spread_and_extremes_that_enclose_it() {
    let mut histogram = Histogram::default();
    for _ in 0..100 {
        histogram.record(1_000_003);
    }
    let summary = summarise(&histogram.snapshot(), 1_000_003.0, Some(0.01)).unwrap();
    assert_eq!(summary.stddev, 0.0);
    assert_eq!((summary.mean, summary.mean_ci95_rel), (1_000_003.0, Some(0.01)));
    assert!(summary.min <= 1_000_003 && 1_000_003 <= summary.max);
    assert!((summary.max - summary.min) as f64 <= 1_000_003.0 / 64.0);
    assert_eq!(summary.p99, None);
}
