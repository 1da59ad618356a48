//! Knees, half-power points and maxima on known devices.

use crate::model::expect::profile;
use crate::model::synthetic::{Noise, cached, depths, rounds, sizes, workload};
use model::DEFAULT_KNEE_GAIN;
use record::{CacheMode, DepthCurve, OpKind, Pattern, Workload};

const RATE_OF_ONE: f64 = 10_000.0;

/// Equal servers behind one queue, asymptotically: min(n, c) times the rate of one.
fn servers(count: u32) -> impl Fn(&Workload) -> f64 {
    move |workload| RATE_OF_ONE * f64::from(workload.depth.min(count))
}

fn curve(rate: impl Fn(&Workload) -> f64, max_depth: u32, noise_rel: f64, seed: u64) -> DepthCurve {
    let design = depths(OpKind::Read, max_depth);
    let trials = rounds(&design, rate, 3, noise_rel, &mut Noise(seed));
    let mut curves = model::depth_curves(&model::aggregate(&trials, 0.05), DEFAULT_KNEE_GAIN);
    assert_eq!(curves.len(), 1);
    curves.remove(0)
}

#[test]
fn the_knee_of_equal_servers_is_their_number_also_with_noise() {
    for (count, knee) in [(1, 1), (2, 2), (6, 8), (16, 16), (64, 64)] {
        assert_eq!(curve(servers(count), 256, 0.0, 0).knee, Some(knee), "{count} servers");
        let right = (0..200)
            .filter(|&seed| curve(servers(count), 256, 0.04, seed).knee == Some(knee))
            .count();
        assert!(right >= 190, "{count} servers: {right} of 200");
    }
}

#[test]
fn one_low_point_does_not_end_a_growing_curve() {
    let dented = |workload: &Workload| {
        let dent = if workload.depth == 8 { 0.5 } else { 1.0 };
        dent * servers(32)(workload)
    };
    assert_eq!(curve(dented, 256, 0.01, 5).knee, Some(32));
}

#[test]
fn a_flat_piece_and_noise_do_not_end_a_curve_below_four_fifths_of_its_largest_rate() {
    // Grows, is flat from 4 to 16, and grows again.
    let stepped = |workload: &Workload| {
        let rates = [10.0, 20.0, 40.0, 41.0, 42.0, 80.0, 82.0, 82.0, 82.0];
        1e3 * rates[workload.depth.ilog2() as usize]
    };
    assert_eq!(curve(stepped, 256, 0.0, 0).knee, Some(32));
    for seed in 0..50 {
        let noisy = curve(stepped, 256, 0.4, seed);
        let Some(knee) = noisy.knee else { continue };
        let at = noisy.points.iter().find(|point| point.depth == knee).unwrap();
        assert!(at.iops.value >= 0.8 * noisy.max_iops.value, "{seed}: {noisy:?}");
    }
}

#[test]
fn errors_give_the_depths_among_which_another_check_may_find_the_knee() {
    let of = |noise: f64| {
        let noisy = curve(servers(8), 64, noise, 3);
        model::deep_enough(&model::rates(&noisy.points), DEFAULT_KNEE_GAIN).unwrap()
    };
    let sharp = of(0.01);
    assert_eq!((sharp.least, sharp.at, sharp.most), (3, 3, 3));
    let wide = of(0.5);
    assert!(wide.least < wide.at.max(3) && wide.most >= 3, "{wide:?}");
    assert!(wide.least <= wide.at && wide.at <= wide.most, "{wide:?}");
    assert_eq!(model::deep_enough(&[], DEFAULT_KNEE_GAIN), None);
}

#[test]
fn a_curve_that_still_grows_at_its_end_has_no_knee() {
    let growing = curve(servers(256), 64, 0.02, 5);
    assert_eq!(growing.knee, None);
    assert_eq!(growing.max_depth, 64);
    assert!(
        growing.max_iops.low < 64.0 * RATE_OF_ONE && 64.0 * RATE_OF_ONE < growing.max_iops.high
    );
}

#[test]
fn a_curve_is_made_of_the_smallest_random_size_that_has_several_depths() {
    let mut design = depths(OpKind::Read, 8);
    design.push(workload(OpKind::Read, Pattern::Random, 512, 1));
    design.push(workload(OpKind::Read, Pattern::Random, 16384, 1));
    design.push(workload(OpKind::Read, Pattern::Random, 16384, 4));
    design.push(workload(OpKind::Read, Pattern::Sequential, 4096, 16));
    design.push(cached(workload(OpKind::Read, Pattern::Random, 4096, 16), CacheMode::None));
    let trials = rounds(&design, servers(4), 3, 0.01, &mut Noise(1));
    let curves = model::depth_curves(&model::aggregate(&trials, 0.05), DEFAULT_KNEE_GAIN);
    assert_eq!(curves.len(), 1, "no writes, no curve of writes");
    assert_eq!(curves[0].bs_bytes, 4096);
    let depths: Vec<u32> = curves[0].points.iter().map(|point| point.depth).collect();
    assert_eq!(depths, [1, 2, 4, 8]);
}

/// 100 µs and 1 ns per byte for each request; unlimited concurrency, up to 2 GB/s in total.
fn bus(workload: &Workload) -> f64 {
    let bytes = workload.max_bs().0 as f64;
    let alone = 1e9 / (100_000.0 + bytes);
    (alone * f64::from(workload.depth)).min(2e9 / bytes)
}

#[test]
fn the_half_power_point_is_held_against_the_largest_throughput_of_all_depths() {
    let mut design = sizes(OpKind::Read, 1);
    design.extend(sizes(OpKind::Read, 8));
    let trials = rounds(&design, bus, 3, 0.001, &mut Noise(2));
    let cells = model::aggregate(&trials, 0.05);
    let curves = model::size_curves(&cells);
    let shape: Vec<_> = curves
        .iter()
        .map(|curve| (curve.depth, curve.points.len(), curve.half_power_bytes))
        .collect();
    // A single request reaches 1 MiB / 1.149 ms = 0.91 GB/s at most, less than half of 2 GB/s; eight of 16
    // KiB give 1.13 GB/s, eight of 8 KiB 0.61.
    assert_eq!(shape, [(1, 9, None), (8, 9, Some(16384))]);
    assert!((curves[0].half_of_max_bytes_per_s / 1e9 - 1.0).abs() < 0.01);
    let limit = profile(&trials).limits.read_bytes_per_s.unwrap();
    assert!((limit.value / 2e9 - 1.0).abs() < 0.01);
}

#[test]
fn three_sizes_are_a_row_of_the_matrix_and_not_a_curve() {
    let design = [12, 14, 16].map(|bits| workload(OpKind::Read, Pattern::Random, 1 << bits, 1));
    let trials = rounds(&design, bus, 3, 0.001, &mut Noise(2));
    assert!(model::size_curves(&model::aggregate(&trials, 0.05)).is_empty());
}

#[test]
fn limits_leave_out_hits_other_cache_modes_and_larger_requests() {
    let mut design = depths(OpKind::Read, 4);
    design.push(workload(OpKind::Read, Pattern::Hit, 4096, 64));
    design.push(workload(OpKind::Read, Pattern::Random, 65536, 16));
    design.push(cached(workload(OpKind::Read, Pattern::Random, 4096, 128), CacheMode::All));
    let trials = rounds(&design, servers(256), 3, 0.0, &mut Noise(1));
    let profile = profile(&trials);
    let limits = &profile.limits;
    assert_eq!(limits.read_iops.unwrap().value, 4.0 * RATE_OF_ONE);
    assert_eq!(limits.read_bytes_per_s.unwrap().value, 16.0 * RATE_OF_ONE * 65536.0);
    assert_eq!(limits.write_iops, None);
    assert_eq!(limits.write_bytes_per_s, None);
}

#[test]
fn a_check_and_a_prediction_state_one_maximum_rate_with_one_interval() {
    let mut design = depths(OpKind::Read, 64);
    design.extend(depths(OpKind::Write, 16));
    for seed in 0..5 {
        let trials = rounds(&design, servers(4), 3, 0.05, &mut Noise(seed));
        let profile = profile(&trials);
        let predictor = model::Predictor::new(&profile);
        let limits = [profile.limits.read_iops, profile.limits.write_iops];
        for (op, limit) in [OpKind::Read, OpKind::Write].into_iter().zip(limits) {
            let mix = record::Mix::one(op, record::Locality::Random, 4096);
            assert_eq!(limit, predictor.max_rate(&mix).ok(), "{seed}");
            let deep = predictor.predict(&mix, record::Offered::Depth(64.0)).unwrap();
            assert_eq!(limit.unwrap(), deep.max_iops, "{seed}");
        }
    }
}
