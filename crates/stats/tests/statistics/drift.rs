//! False alarms and detections of drift, over the visits of many cells.

use crate::source::Source;
use crate::{assert_share, share};
use halfpower_stats::{LogRatio, drift, drift_across};

/// Forty cells of different levels, with three visits each in three shuffled rounds, 3 % noise and a relative
/// change of `change` over the whole period. Returns p-value and estimated change.
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

/// The p-value of `n` visits in an order with `score` more rising pairs than falling ones.
fn p_value(n: usize, score: usize) -> f64 {
    let mut falls = (n * (n - 1) / 2 - score) / 2;
    let mut values = Vec::new();
    for value in 0..n {
        // The largest value so far, inserted before `more` others, makes `more` falling pairs.
        let more = falls.min(value);
        values.insert(value - more, value as f64 + 1.0);
        falls -= more;
    }
    let times: Vec<f64> = (0..n).map(|time| time as f64).collect();
    drift(&times, &values).unwrap().1
}

#[test]
fn p_values_of_small_samples_agree_with_the_published_table() {
    // Kendall 1975, appendix table 1: upper tail of the score, doubled here.
    for (n, score, upper) in [
        (3, 3, 0.167),
        (4, 6, 0.042),
        (5, 8, 0.042),
        (6, 11, 0.028),
        (8, 16, 0.031),
        (10, 25, 0.014),
    ] {
        let p = p_value(n, score);
        assert!((p / 2.0 - upper).abs() < 6e-4, "{n} {score}: {p}");
    }
}

#[test]
fn the_exact_and_the_normal_p_value_agree_on_many_visits() {
    // Kendall 1975: n (n - 1) (2 n + 5) / 18.
    let se = libm::sqrt(40.0 * 39.0 * 85.0 / 18.0);
    for score in [100, 200, 260] {
        let log = score as f64 - 1.0;
        let normal = LogRatio { log, se, df: f64::INFINITY, slack: 0.0 }.p_value();
        let exact = p_value(40, score);
        assert!((normal - exact).abs() < 0.1 * exact + 2e-4, "{score}: {normal} {exact}");
    }
}

#[test]
fn a_steady_rise_is_measured_over_the_whole_period() {
    let times = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0];
    let values = [95.0, 97.0, 99.0, 101.0, 103.0, 105.0];
    let (change, p) = drift(&times, &values).unwrap();
    assert!((change - 0.1).abs() < 1e-12);
    assert!((p - 2.0 / 720.0).abs() < 1e-12);
    let falling: Vec<f64> = values.iter().rev().copied().collect();
    assert!((drift(&times, &falling).unwrap().0 + 0.1).abs() < 1e-12);
}

#[test]
fn one_disturbed_visit_is_no_drift() {
    let times: Vec<f64> = (0..12).map(f64::from).collect();
    let mut values = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 100.7, 99.4, 100.9, 99.8, 100.1, 0.0];
    values[11] = 40.0;
    let (change, p) = drift(&times, &values).unwrap();
    assert!(change.abs() < 0.02 && p > 0.05, "{change} {p}");
}

#[test]
fn three_visits_of_one_cell_decide_nothing_and_of_twenty_cells_they_do() {
    let (times, values) = ([0.0, 1.0, 2.0], [100.0, 101.0, 102.0]);
    assert!(drift(&times, &values).unwrap().1 > 0.3);
    let scaled = values.map(|value| value * 50.0);
    let cells: Vec<(&[f64], &[f64])> =
        (0..20).map(|i| (&times[..], if i % 2 == 0 { &values[..] } else { &scaled[..] })).collect();
    let (change, p) = drift_across(&cells).unwrap();
    assert!((change - 2.0 / 101.0).abs() < 1e-9 && p < 1e-9, "{change} {p}");
}

#[test]
fn ties_and_constants_are_no_evidence() {
    let times = [0.0, 1.0, 2.0, 3.0];
    assert_eq!(drift(&times, &[5.0; 4]), Some((0.0, 1.0)));
    assert!(drift(&times, &[5.0, 5.0, 5.0, 6.0]).unwrap().1 > 0.2);
}

#[test]
fn what_has_no_trend_to_speak_of_is_refused() {
    assert!(drift(&[0.0, 1.0], &[1.0, 2.0]).is_none());
    assert!(drift(&[0.0, 1.0, 2.0], &[1.0, 2.0]).is_none());
    assert!(drift(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).is_none());
    assert!(drift(&[0.0, 1.0, 2.0], &[-1.0, 0.0, 1.0]).is_none());
    assert!(drift(&[0.0, 1.0, 2.0], &[1.0, f64::NAN, 1.0]).is_none());
}
