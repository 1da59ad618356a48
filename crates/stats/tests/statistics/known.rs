//! Intervals with the rule that ends a run when its rate is precise enough.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{FIRST_LOOK, batch_means, known_to};
use record::Estimate;

/// Number of values in a full run.
const VALUES: usize = 1_024;
/// Requested half-width, as a share of the mean.
const ASKED: f64 = 0.05;

/// A run with mean 1 whose full length is `margin` times as precise as requested.
fn series(source: &mut Source, coefficient: f64, margin: f64) -> Vec<f64> {
    let variance_of_mean = (1.0 + coefficient) / (1.0 - coefficient) / VALUES as f64;
    let noise = ASKED / margin / 1.96 / variance_of_mean.sqrt();
    source.autoregressive(coefficient, VALUES).iter().map(|value| 1.0 + noise * value).collect()
}

/// Tests from `first` values at each doubling. Returns the interval at the stop, or for all values.
fn stopped(series: &[f64], first: usize, enough: impl Fn(&[f64]) -> bool) -> (usize, Estimate) {
    let looks = std::iter::successors(Some(first), |look| Some(look * 2));
    let mut looks = looks.take_while(|&look| look < series.len());
    let end = looks.find(|&look| enough(&series[..look])).unwrap_or(series.len());
    (end, batch_means(&series[..end]).unwrap())
}

#[test]
fn the_interval_covers_the_mean_through_the_rule() {
    for coefficient in [0.0, 0.5, 0.8, 0.9, 0.95] {
        for margin in [1.1, 2.0, 4.0, 8.0, 16.0] {
            let covered = share(|source| {
                let series = series(source, coefficient, margin);
                let (_, estimate) = stopped(&series, FIRST_LOOK, |seen| known_to(seen, ASKED));
                covers(&estimate, 1.0)
            });
            let name = format!("coefficient {coefficient}, {margin} times as precise as asked");
            assert_share(&name, covered, 0.90..=0.97);
        }
    }
}

#[test]
fn looking_early_without_asking_for_length_fails_the_same_requirement() {
    let narrow = |seen: &[f64]| batch_means(seen).unwrap().relative_half_width() <= ASKED;
    for (coefficient, high) in [(0.8, 0.85), (0.9, 0.75), (0.95, 0.6)] {
        let covered = share(|source| {
            let (_, estimate) = stopped(&series(source, coefficient, 4.0), 16, narrow);
            covers(&estimate, 1.0)
        });
        assert_share(&format!("early looks, coefficient {coefficient}"), covered, 0.3..=high);
    }
}

#[test]
fn a_series_without_correlation_ends_early_and_a_precise_one_at_the_first_look() {
    let mean_end = |coefficient: f64, margin: f64| {
        let ends = (0..200).map(|seed| {
            let series = series(&mut Source::new(seed), coefficient, margin);
            stopped(&series, FIRST_LOOK, |seen| known_to(seen, ASKED)).0 as f64
        });
        ends.sum::<f64>() / 200.0
    };
    assert!(mean_end(0.0, 16.0) < 66.0);
    // Twice the precision needs four times the values, so half of the requested precision is reached after a
    // quarter.
    assert!((200.0..600.0).contains(&mean_end(0.0, 2.0)));
    assert!(mean_end(0.0, 0.5) > 1_000.0);
}

/// Jumps between 100 and 104.
fn lively(length: usize) -> Vec<f64> {
    (0..length).map(|index| 100.0 + (index * index % 5) as f64).collect()
}

#[test]
fn a_lively_series_is_known_at_the_first_look_and_not_before() {
    assert!(known_to(&lively(FIRST_LOOK), 0.05));
    assert!(!known_to(&lively(FIRST_LOOK - 1), 0.05));
    assert!(!known_to(&lively(FIRST_LOOK), 0.000_01));
}

#[test]
fn a_series_that_has_not_had_time_to_wander_is_not_known_however_flat_it_looks() {
    // A steady rise by a hundredth of the level: narrow, but strongly correlated.
    let sweep: Vec<f64> = (0..64).map(|index| 100.0 + f64::from(index) / 64.0).collect();
    assert!(batch_means(&sweep).unwrap().relative_half_width() < 0.05);
    assert!(!known_to(&sweep, 0.05));
}

#[test]
fn series_without_an_interval_are_not_known() {
    assert!(!known_to(&[], 0.5));
    let mut broken = lively(100);
    broken[7] = f64::NAN;
    assert!(!known_to(&broken, 0.5));
    assert!(known_to(&[5.0; 64], 0.01), "one without noise is");
}
