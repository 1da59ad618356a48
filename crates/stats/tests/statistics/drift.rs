//! False alarms and detections of drift over the visits of many cells.

use crate::source::Source;
use crate::{assert_share, share};
use halfpower_stats::{drift, drift_across};

/// Forty cells of different level, three visits each in three rounds of shuffled order, with 3 %
/// noise and a relative change of `change` over the whole period: p-value and estimated change.
fn visited_device(source: &mut Source, change: f64) -> (f64, f64) {
    let cells: Vec<(Vec<f64>, Vec<f64>)> = (0..40)
        .map(|cell| {
            let times: Vec<f64> =
                (0..3).map(|round| (f64::from(round) + source.uniform()) / 3.0).collect();
            let level = f64::from(cell + 1) * 100.0;
            let value = |&at: &f64| level * (1.0 + change * at + 0.03 * source.normal());
            let values = times.iter().map(value).collect();
            (times, values)
        })
        .collect();
    let borrowed: Vec<(&[f64], &[f64])> = cells.iter().map(|(t, v)| (&t[..], &v[..])).collect();
    let (estimate, p) = drift_across(&borrowed).unwrap();
    (p, estimate)
}

#[test]
fn a_device_that_does_not_drift_is_rarely_called_drifting() {
    let at_five = share(|source| visited_device(source, 0.0).0 < 0.05);
    assert_share("cells, p < 0.05", at_five, 0.03..=0.065);
    let single = share(|source| {
        let times: Vec<f64> = (0..24).map(f64::from).collect();
        let values: Vec<f64> = times.iter().map(|_| 100.0 + source.normal()).collect();
        drift(&times, &values).unwrap().1 < 0.05
    });
    assert_share("24 visits, p < 0.05", single, 0.03..=0.065);
}

#[test]
fn a_drift_of_a_twentieth_shows_over_cells_with_three_visits_each() {
    let found = share(|source| visited_device(source, -0.05).0 < 0.01);
    assert_share("5 % slower", found, 0.85..=1.0);
    let total: f64 = (0..200).map(|seed| visited_device(&mut Source::new(seed), -0.05).1).sum();
    assert!((total / 200.0 + 0.05).abs() < 0.005, "{}", total / 200.0);
}
