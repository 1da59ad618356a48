//! Intervals of one visit: means and ratios over slices.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{batch_means, batch_ratio, student_t_quantile};

/// Whether the batch-means interval of 10 plus an autoregressive series holds 10.
fn autoregressive_mean_is_covered(source: &mut Source, coefficient: f64, slices: usize) -> bool {
    let series: Vec<f64> =
        source.autoregressive(coefficient, slices).iter().map(|value| 10.0 + value).collect();
    covers(&batch_means(&series).unwrap(), 10.0)
}

#[test]
fn batch_means_cover_the_mean_of_autoregressive_series() {
    for coefficient in [0.0, 0.5, 0.9, 0.95] {
        let covered = share(|source| autoregressive_mean_is_covered(source, coefficient, 1_000));
        assert_share(&format!("coefficient {coefficient}"), covered, 0.90..=0.97);
    }
}

#[test]
fn an_interval_that_ignores_correlation_fails_the_same_requirement() {
    let covered = share(|source| {
        let series = source.autoregressive(0.9, 1_000);
        let mean = series.iter().sum::<f64>() / 1_000.0;
        let variance = series.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 999.0;
        mean.abs() <= student_t_quantile(0.975, 999.0) * (variance / 1_000.0).sqrt()
    });
    assert_share("independence assumed", covered, 0.20..=0.60);
}

#[test]
fn batch_means_cover_the_mean_response_time_of_a_queue() {
    for (load, per_slice) in [(0.5, 1), (0.5, 10), (0.8, 10)] {
        let covered = share(|source| {
            let series = source.mm1_responses(load, 1_000, per_slice);
            covers(&batch_means(&series).unwrap(), 1.0 / (1.0 - load))
        });
        assert_share(&format!("load {load}, {per_slice} per slice"), covered, 0.90..=0.97);
    }
}

#[test]
fn short_series_lose_the_coverage_that_the_documentation_states() {
    for (coefficient, low) in [(0.0, 0.93), (0.5, 0.92), (0.9, 0.88), (0.95, 0.83)] {
        let covered = share(|source| autoregressive_mean_is_covered(source, coefficient, 100));
        assert_share(&format!("100 slices, {coefficient}"), covered, low..=low + 0.05);
    }
}

#[test]
fn correlation_that_fades_costs_little_width() {
    let mut width = 0.0;
    for seed in 0..500 {
        let series = Source::new(seed).autoregressive(0.5, 1_000);
        width += batch_means(&series).unwrap().se / 500.0;
    }
    // The variance of the mean is (1 + 0.5) / (1 - 0.5) / 1000.
    let ideal = (3.0f64 / 1_000.0).sqrt();
    assert!(ideal < width && width < 1.4 * ideal, "{width} {ideal}");
}

/// One closed-loop visit at depth 1: requests whose times are autoregressive, counted into slices
/// of ten time units. Sums of times and counts per slice.
fn closed_loop(source: &mut Source, slices: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut times, mut counts) = (vec![0.0; slices], vec![0.0; slices]);
    let mut clock = 0.0;
    let requests = source.autoregressive(0.8, 40 * slices);
    for wander in requests {
        let latency = (1.0 + 0.3 * wander).max(0.05);
        clock += latency;
        let slice = (clock / 10.0) as usize;
        if slice >= slices {
            break;
        }
        times[slice] += latency;
        counts[slice] += 1.0;
    }
    (times, counts)
}

#[test]
fn a_ratio_of_sums_covers_the_mean_response_time_of_a_closed_loop() {
    // The clamp at 0.05 lies three standard deviations out: it moves the mean by 6e-5.
    let covered = share(|source| {
        let (times, counts) = closed_loop(source, 400);
        covers(&batch_ratio(&times, &counts).unwrap(), 1.000_06)
    });
    assert_share("ratio of sums", covered, 0.90..=0.97);
}
