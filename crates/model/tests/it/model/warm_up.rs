//! The warm-up cut: a slow start common to all visits is cut, chance is not.

use crate::model::synthetic::{Noise, trial, workload};
use record::{Cell, Nanos, OpKind, Pattern, Series, Trial, Workload};

/// Intervals of a series.
const INTERVALS: usize = 64;
/// Requests per interval of a visit at full speed.
const LEVEL: f64 = 400.0;

fn random_read() -> Workload {
    workload(OpKind::Read, Pattern::Random, 4096, 1)
}

/// A visit whose completions follow a series, with the latencies of a closed loop.
fn visit(workload: &Workload, ios: &[f64]) -> Trial {
    let ios: Vec<u64> = ios.iter().map(|ios| ios.max(0.0).round() as u64).collect();
    let mut trial = trial(workload, ios.iter().sum::<u64>().max(1) as f64);
    let interval_ns = trial.result.duration_ns.0 / INTERVALS as u64;
    let latency = |&ios: &u64| (ios > 0).then(|| interval_ns as f64 / ios as f64);
    trial.result.series = Series {
        interval_ns: Nanos(interval_ns),
        latency_mean_ns: ios.iter().map(latency).collect(),
        ios,
    };
    trial
}

/// A cell of visits whose relative speed is `shape` of the interval, with noise.
fn cell(visits: usize, noise: &mut Noise, shape: impl Fn(usize, &mut Noise) -> f64) -> Cell {
    let workload = random_read();
    let trials: Vec<Trial> = (0..visits)
        .map(|_| {
            let ios: Vec<f64> = (0..INTERVALS).map(|at| LEVEL * shape(at, noise)).collect();
            visit(&workload, &ios)
        })
        .collect();
    model::aggregate(&trials, 0.05).remove(0)
}

/// Requests per second at full speed.
fn full_rate() -> f64 {
    LEVEL * INTERVALS as f64
}

/// Mean over 400 cells of the rate as a share of the true one.
fn mean_share(visits: usize, shape: impl Fn(usize, &mut Noise) -> f64, truth: f64) -> f64 {
    let mut noise = Noise(7);
    let sum: f64 = (0..400).map(|_| cell(visits, &mut noise, &shape).iops.value).sum();
    sum / 400.0 / (truth * full_rate())
}

#[test]
fn steady_noise_is_not_biased() {
    for visits in [3, 6] {
        let quiet = mean_share(visits, |_, noise| 1.0 + 0.05 * noise.next(), 1.0);
        assert!((quiet - 1.0).abs() < 0.002, "{visits} visits: {quiet}");
        // One interval in fifty has no completions: the bare rule makes this 0.2 to 0.35 % too fast.
        let stalls = |_, noise: &mut Noise| {
            if noise.next() > 2.0537 { 0.0 } else { 1.0 + 0.05 * noise.next() }
        };
        let stalling = mean_share(visits, stalls, 0.98);
        assert!((stalling - 1.0).abs() < 0.001, "{visits} visits: {stalling}");
    }
}

#[test]
fn a_start_that_all_visits_share_is_removed() {
    let slow_start = |at, noise: &mut Noise| {
        let speed = if at < 12 { 0.6 } else { 1.0 };
        speed * (1.0 + 0.05 * noise.next())
    };
    // The whole window would give 92.5 %.
    let share = mean_share(6, slow_start, 1.0);
    assert!((share - 1.0).abs() < 0.002, "{share}");
    let cell = cell(6, &mut Noise(1), slow_start);
    let expected_ns = 1e9 / full_rate();
    assert!((cell.latency_ns.value / expected_ns - 1.0).abs() < 0.02, "{:?}", cell.latency_ns);
    let bytes_per_request = cell.bytes_per_s.value / cell.iops.value;
    assert!((bytes_per_request / 4096.0 - 1.0).abs() < 1e-9, "{bytes_per_request}");
    assert_eq!(cell.histogram.count(), cell.ios, "percentiles are of the whole window");
}

#[test]
fn a_slow_start_of_one_visit_is_chance_and_stays() {
    let workload = random_read();
    let steady = vec![LEVEL; INTERVALS];
    let slow_start: Vec<f64> = (0..INTERVALS).map(|at| if at < 10 { 0.0 } else { LEVEL }).collect();
    let trials = [&steady, &slow_start, &steady].map(|ios| visit(&workload, ios));
    let rates: Vec<f64> = trials.iter().map(|t| t.result.read.as_ref().unwrap().iops).collect();
    let cell = model::aggregate(&trials, 0.05).remove(0);
    assert!((cell.iops.value - rates.iter().sum::<f64>() / 3.0).abs() < 1e-6);
    let lone = model::aggregate(&trials[1..2], 0.05).remove(0);
    assert!((lone.iops.value - rates[1]).abs() < 1e-6);
}

#[test]
fn a_mixed_workload_is_kept_whole() {
    let mut mixed = random_read();
    mixed.read_percent = 50;
    let slow_start: Vec<f64> =
        (0..INTERVALS).map(|at| if at < 10 { LEVEL / 2.0 } else { LEVEL }).collect();
    let trials = [(); 3].map(|()| visit(&mixed, &slow_start));
    let rate = trials[0].result.write.as_ref().unwrap().iops;
    assert!((model::aggregate(&trials, 0.05).remove(0).iops.value - rate).abs() < 1e-6);
    let pure = [(); 3].map(|()| visit(&random_read(), &slow_start));
    assert!(model::aggregate(&pure, 0.05).remove(0).iops.value > 1.05 * rate, "it is the mix");
}
