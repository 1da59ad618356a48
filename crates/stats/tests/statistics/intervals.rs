//! Intervals within one visit: means and ratios over slices.

use crate::source::Source;
use crate::{assert_share, covers, share};
use halfpower_stats::{batch_means, batch_ratio, student_t_quantile};

/// Whether the batch-means interval of 10 plus an autoregressive series includes 10.
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

/// One closed-loop visit at queue depth 1, with autoregressive request times, counted in slices of ten time
/// units. Returns the sums of times and the counts per slice.
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
    // The clamp at 0.05 is three standard deviations out; it shifts the mean by 6e-5.
    let covered = share(|source| {
        let (times, counts) = closed_loop(source, 400);
        covers(&batch_ratio(&times, &counts).unwrap(), 1.000_06)
    });
    assert_share("ratio of sums", covered, 0.90..=0.97);
}

#[test]
fn a_series_without_variance_has_an_interval_of_no_width() {
    let estimate = batch_means(&[5.0; 40]).unwrap();
    assert_eq!((estimate.value, estimate.low, estimate.high), (5.0, 5.0, 5.0));
    let ratio = batch_ratio(&[6.0; 9], &[2.0; 9]).unwrap();
    assert_eq!((ratio.value, ratio.low, ratio.high), (3.0, 3.0, 3.0));
}

#[test]
fn short_broken_or_empty_series_have_no_estimate() {
    assert!(batch_means(&[1.0; 7]).is_none());
    assert!(batch_means(&[1.0; 8]).is_some());
    let mut series = [1.0; 20];
    series[3] = f64::NAN;
    assert!(batch_means(&series).is_none());
    assert!(batch_ratio(&[1.0; 20], &[0.0; 20]).is_none());
    assert!(batch_ratio(&[1.0; 20], &[1.0; 19]).is_none());
    assert!(batch_ratio(&[1.0; 7], &[1.0; 7]).is_none());
}

#[test]
fn the_mean_takes_every_value_even_where_batches_leave_some_out() {
    let series: Vec<f64> = (0..101).map(f64::from).collect();
    assert_eq!(batch_means(&series).unwrap().value, 50.0);
    // 99 of 101 values make 33 batches. The first two are in no batch.
    let late: Vec<f64> = (0..101).map(|i| if i < 2 { 1_000.0 } else { 5.0 }).collect();
    let estimate = batch_means(&late).unwrap();
    assert!(estimate.value > 20.0 && estimate.low == estimate.high, "{estimate:?}");
}

#[test]
fn a_ratio_weighs_slices_by_their_denominator() {
    // Slices with one or three requests of 10 or 20 time units each.
    let counts: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
    let times: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 10.0 } else { 60.0 }).collect();
    assert_eq!(batch_ratio(&times, &counts).unwrap().value, 17.5);
}

#[test]
fn slices_without_requests_do_not_move_a_ratio() {
    let mut times = vec![10.0, 12.0, 11.0, 9.0, 10.0, 8.0, 12.0, 10.0];
    let mut counts = vec![1.0; 8];
    let before = batch_ratio(&times, &counts).unwrap();
    times.extend([0.0; 8]);
    counts.extend([0.0; 8]);
    let after = batch_ratio(&times, &counts).unwrap();
    assert_eq!(before.value, after.value);
    assert!((after.se / before.se - 1.0).abs() < 0.5, "{before:?} {after:?}");
}
