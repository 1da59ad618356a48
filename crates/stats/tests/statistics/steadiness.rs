//! False alarms and detections of the steadiness test and of the warm-up cut.

use crate::source::Source;
use crate::{assert_share, share};
use halfpower_stats::{Steadiness, halves_differ, steadiness, wanders, warm_up_cut};
use libm::exp;

/// A series around 100 with autoregressive noise. `noise` is its relative standard deviation, and `shape`
/// gives the relative change at a position in 0..1.
fn series(
    source: &mut Source,
    coefficient: f64,
    noise: f64,
    length: usize,
    shape: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let wander = source.autoregressive(coefficient, length);
    let value = |(i, w): (usize, &f64)| 100.0 * (1.0 + shape(i as f64 / length as f64) + noise * w);
    wander.iter().enumerate().map(value).collect()
}

/// Completions per slice in 1,000 slices of a closed loop at queue depth 1 with exponential service times. At
/// the rate 1, `services` of them would fill the window. `rate` gives the rate at a position in 0..1.
fn completions(source: &mut Source, services: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut counts = vec![0.0; 1_000];
    let mut at = 0.0;
    loop {
        at += source.exponential() / rate(at) / services;
        match counts.get_mut((at * 1_000.0) as usize) {
            Some(count) => *count += 1.0,
            None => return counts,
        }
    }
}

/// The rate at a position in 0..1 of a device whose service time grows linearly by `factor`.
fn slowing(factor: f64) -> impl Fn(f64) -> f64 {
    move |at| 1.0 / (1.0 + (factor - 1.0) * at)
}

/// Noise whose mean over the window has a standard deviation of 2 %. In most series, chance alone then causes
/// changes above 5 %, so that only the p-value limits false alarms.
fn loud(coefficient: f64, length: usize) -> f64 {
    0.02 * (length as f64 * (1.0 - coefficient) / (1.0 + coefficient)).sqrt()
}

/// Asserts that chance often causes changes above 5 % in these series, and that false alarms are below 2 %.
fn assert_few_false_alarms(name: &str, make: impl Fn(&mut Source) -> Vec<f64>) {
    let verdict = |source: &mut Source| steadiness(&make(source)).unwrap();
    let large = share(|source| {
        let verdict = verdict(source);
        verdict.trend_rel.abs().max(verdict.level_rel) > 0.05
    });
    assert_share(&format!("chance change above 5 %: {name}"), large, 0.3..=1.0);
    assert_share(&format!("false alarm: {name}"), share(|s| !verdict(s).steady), 0.0..=0.0199);
}

#[test]
fn stationary_series_raise_a_false_alarm_in_less_than_two_percent() {
    for coefficient in [0.0, 0.5, 0.9] {
        for length in [200, 1_000] {
            let noise = loud(coefficient, length);
            assert_few_false_alarms(&format!("{coefficient}, {length} slices"), |source| {
                series(source, coefficient, noise, length, |_| 0.0)
            });
        }
    }
    assert_few_false_alarms("queue", |source| source.mm1_responses(0.5, 500, 10));
    assert_few_false_alarms("closed loop", |source| completions(source, 2_500.0, |_| 1.0));
}

#[test]
fn rare_stalls_of_a_steady_device_raise_few_false_alarms() {
    // Two stalls per window on average, each 4 % of the window long.
    let alarms = share(|source| {
        let mut rates: Vec<f64> = Vec::new();
        while rates.len() < 1_024 {
            let stalled = source.uniform() < 0.002;
            rates.extend(if stalled { vec![0.0; 40] } else { vec![100.0 + source.normal()] });
        }
        !steadiness(&rates[..1_024]).unwrap().steady
    });
    assert_share("false alarm: stalls", alarms, 0.0..=0.0199);
}

#[test]
fn a_change_of_a_fifth_is_detected() {
    for (coefficient, noise) in [(0.0, 0.10), (0.5, 0.10), (0.9, 0.05)] {
        let ramp = share(|source| {
            let values = series(source, coefficient, noise, 1_000, |at| 0.2 * at);
            !steadiness(&values).unwrap().steady
        });
        assert_share(&format!("ramp of 20 %, {coefficient}"), ramp, 0.95..=1.0);
        let step = share(|source| {
            let fall = |at| if at > 0.6 { -0.2 } else { 0.0 };
            !steadiness(&series(source, coefficient, noise, 1_000, fall)).unwrap().steady
        });
        assert_share(&format!("step of 20 %, {coefficient}"), step, 0.95..=1.0);
    }
}

#[test]
fn a_curved_fall_is_detected_however_loud_or_quiet_the_noise_is() {
    for factor in [1.5, 2.0, 4.0, 10.0] {
        let loud = share(|source| {
            !steadiness(&completions(source, 5_000.0, slowing(factor))).unwrap().steady
        });
        assert_share(&format!("fall to 1/{factor}, 5,000 services"), loud, 0.99..=1.0);
        // A standard deviation of 1 % per slice, as with ten million services.
        for coefficient in [0.0, 0.9] {
            let quiet = share(|source| {
                let shape = |at| slowing(factor)(at) - 1.0;
                !steadiness(&series(source, coefficient, 0.01, 1_000, shape)).unwrap().steady
            });
            assert_share(&format!("fall to 1/{factor}, quiet {coefficient}"), quiet, 0.99..=1.0);
        }
    }
}

#[test]
fn a_large_step_is_detected_wherever_it_is_however_loud_or_quiet_the_noise_is() {
    for place in [0.15, 0.44, 0.60, 0.81] {
        let rate = |at| if at < place { 1.0 } else { 0.4 };
        let loud = share(|source| !steadiness(&completions(source, 5_000.0, rate)).unwrap().steady);
        assert_share(&format!("step at {place}, 5,000 services"), loud, 0.99..=1.0);
        let quiet = share(|source| {
            let values = series(source, 0.0, 0.01, 1_000, |at| rate(at) - 1.0);
            !steadiness(&values).unwrap().steady
        });
        assert_share(&format!("step at {place}, quiet"), quiet, 0.99..=1.0);
    }
}

#[test]
fn a_transient_is_cut_and_little_else() {
    // Starts 50 % too high and decays with a time constant of 40 slices: 1 % is left after 156.
    let mut cuts: Vec<usize> = (0..500)
        .map(|seed| {
            let shape = |at: f64| 0.5 * exp(-at * 1_000.0 / 40.0);
            warm_up_cut(&series(&mut Source::new(seed), 0.5, 0.05, 1_000, shape))
        })
        .collect();
    cuts.sort_unstable();
    assert!((60..=300).contains(&cuts[25]), "5th percentile {}", cuts[25]);
    assert!((80..=200).contains(&cuts[250]), "median {}", cuts[250]);
    assert!(cuts[475] <= 400, "95th percentile {}", cuts[475]);
}

#[test]
fn the_cut_removes_the_bias_of_a_transient() {
    let (mut before, mut after) = (0.0f64, 0.0f64);
    for seed in 0..500 {
        let shape = |at: f64| 0.5 * exp(-at * 1_000.0 / 40.0);
        let values = series(&mut Source::new(seed), 0.5, 0.05, 1_000, shape);
        let kept = &values[warm_up_cut(&values)..];
        before += values.iter().sum::<f64>() / values.len() as f64 / 500.0;
        after += kept.iter().sum::<f64>() / kept.len() as f64 / 500.0;
    }
    assert!(before > 101.9, "{before}");
    assert!((after - 100.0).abs() < 0.2, "{after}");
}

#[test]
fn a_steady_series_is_kept_almost_whole() {
    let mut cuts: Vec<usize> = (0..500)
        .map(|seed| warm_up_cut(&series(&mut Source::new(seed), 0.5, 0.05, 1_000, |_| 0.0)))
        .collect();
    cuts.sort_unstable();
    assert!(cuts[250] <= 50, "median {}", cuts[250]);
}

#[test]
fn a_constant_series_is_steady() {
    let verdict = steadiness(&[7.0; 50]).unwrap();
    assert_eq!(verdict, Steadiness { steady: true, trend_rel: 0.0, level_rel: 0.0, p_value: 1.0 });
}

#[test]
fn a_clean_slope_is_measured_from_end_to_end() {
    let series: Vec<f64> = (0..160).map(|i| 90.0 + 20.0 * (f64::from(i) + 0.5) / 160.0).collect();
    let verdict = steadiness(&series).unwrap();
    assert!((verdict.trend_rel - 0.2).abs() < 0.003, "{verdict:?}");
    assert!((verdict.level_rel - 0.1).abs() < 0.003, "{verdict:?}");
    assert!(!verdict.steady && verdict.p_value < 1e-6);
}

#[test]
fn a_significant_trifle_is_steady() {
    let series: Vec<f64> = (0..160).map(|i| 1000.0 + 0.1 * f64::from(i)).collect();
    let verdict = steadiness(&series).unwrap();
    assert!(verdict.steady && verdict.p_value < 0.01, "{verdict:?}");
}

#[test]
fn a_step_between_the_halves_is_found() {
    let series: Vec<f64> =
        (0..64).map(|i| (if i < 32 { 100.0 } else { 80.0 }) + f64::from(i * 7 % 5)).collect();
    let verdict = steadiness(&series).unwrap();
    assert!(!verdict.steady && (verdict.level_rel - 0.22).abs() < 0.02, "{verdict:?}");
}

#[test]
fn the_shortest_series_with_a_verdict_can_be_told_apart() {
    let noisy = |level: f64| (0..16).map(move |i| level + f64::from(i * 7 % 5));
    let steady: Vec<f64> = noisy(100.0).collect();
    assert!(steadiness(&steady).unwrap().steady);
    let step: Vec<f64> = noisy(100.0).take(7).chain(noisy(50.0).take(9)).collect();
    assert!(!steadiness(&step).unwrap().steady);
}

#[test]
fn short_broken_or_empty_series_have_no_verdict() {
    assert!(steadiness(&[1.0; 15]).is_none());
    assert!(steadiness(&[0.0; 50]).is_none());
    let mut broken = [1.0; 50];
    broken[9] = f64::NAN;
    assert!(steadiness(&broken).is_none());
}

#[test]
fn a_constant_series_is_kept_whole() {
    assert_eq!(warm_up_cut(&[3.0; 200]), 0);
}

#[test]
fn a_step_at_the_start_is_cut_where_it_ends() {
    let series: Vec<f64> = (0..200).map(|i| if i < 40 { 9.0 } else { 3.0 }).collect();
    assert_eq!(warm_up_cut(&series), 40);
}

#[test]
fn never_more_than_half_is_cut() {
    let step: Vec<f64> = (0..203).map(|i| if i < 180 { 9.0 } else { 3.0 }).collect();
    assert!(warm_up_cut(&step) <= 101);
    let slope: Vec<f64> = (0..203).map(f64::from).collect();
    assert!(warm_up_cut(&slope) <= 101);
}

#[test]
fn series_that_cannot_tell_are_kept_whole() {
    assert_eq!(warm_up_cut(&[]), 0);
    assert_eq!(warm_up_cut(&[9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0);
    let mut broken = [1.0; 100];
    broken[0] = f64::INFINITY;
    assert_eq!(warm_up_cut(&broken), 0);
}

#[test]
fn a_half_that_is_more_than_twice_the_other_is_seen_in_any_noise() {
    let restless = [1000.0, 200.0, 2000.0, 2700.0, 700.0, 600.0, 800.0, 700.0];
    assert!(halves_differ(&[&restless[..], &[0.0, 30.0, 0.0, 0.0, 30.0, 0.0, 0.0, 30.0]].concat()));
    assert!(!halves_differ(&restless[1..]), "its own restlessness is less");
    assert!(!halves_differ(&[3.0, 0.0]), "three requests say nothing");
    assert!(!halves_differ(&[]));
}

#[test]
fn a_rate_that_rises_and_falls_again_wanders_and_one_of_few_requests_does_not() {
    let hill = |height: f64| -> Vec<f64> {
        let along = |index: u32| f64::from(index) / 960.0 * std::f64::consts::PI;
        (0..960).map(|index| 100.0 * (1.0 + height * along(index).sin())).collect()
    };
    assert!(wanders(&hill(2.0)));
    assert!(!wanders(&hill(0.2)));
    let mut source = Source::new(9);
    for requests in [100.0, 200.0, 1_000.0] {
        let runs = 1_000;
        let false_alarms = (0..runs).filter(|_| {
            let mut counts = vec![0.0; 1_024];
            let mut time = 0.0;
            while let Some(count) = counts.get_mut(time as usize) {
                *count += 1.0;
                time += source.exponential() * 1_024.0 / requests;
            }
            wanders(&counts)
        });
        let false_alarms = false_alarms.count();
        println!("{requests} requests: {false_alarms} of {runs} steady runs wander");
        assert!(false_alarms <= 5, "{requests}: {false_alarms}");
    }
}
