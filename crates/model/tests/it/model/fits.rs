//! Service-time lines on known devices. Friedman's Table 4 is a claim of `papers`.

use crate::model::synthetic::{Noise, rounds, sizes, workload};
use record::{OpKind, Pattern, ServiceTimeFit, Workload};
use stats::{Point, weighted_line};

const FIXED_NS: f64 = 80_000.0;
const NS_PER_BYTE: f64 = 2.0;

/// The rate of a device whose service time is a straight line.
fn linear(workload: &Workload) -> f64 {
    1e9 / (FIXED_NS + NS_PER_BYTE * workload.max_bs().0 as f64)
}

fn fit(rate: impl Fn(&Workload) -> f64, noise_rel: f64, seed: u64) -> ServiceTimeFit {
    let trials = rounds(&sizes(OpKind::Read, 1), rate, 6, noise_rel, &mut Noise(seed));
    let mut fits = model::service_time_fits(&model::aggregate(&trials, 0.05));
    assert_eq!(fits.len(), 1);
    fits.remove(0)
}

#[test]
fn a_straight_device_gives_its_line_with_all_sizes_fitted() {
    let mut covered = 0;
    for seed in 0..100 {
        let fit = fit(linear, 0.02, seed);
        assert_eq!((fit.op, fit.pattern), (OpKind::Read, Pattern::Sequential));
        let intercept = fit.intercept_ns.low <= FIXED_NS && FIXED_NS <= fit.intercept_ns.high;
        let slope = &fit.slope_ns_per_byte;
        let slope = slope.low <= NS_PER_BYTE && NS_PER_BYTE <= slope.high;
        covered += u32::from(intercept && slope && fit.left_out.is_empty());
    }
    assert!(covered >= 90, "{covered} of 100");
}

#[test]
fn sizes_beyond_a_limit_are_left_out_with_a_positive_residual() {
    // 500 µs and 2 ns per byte, until a throttle of 100 MB/s takes over above 62.5 kB.
    let throttled = |workload: &Workload| {
        let bytes = workload.max_bs().0 as f64;
        1e9 / (500_000.0 + 2.0 * bytes).max(10.0 * bytes)
    };
    let fit = fit(throttled, 0.005, 7);
    let left_out: Vec<u64> = fit.left_out.iter().map(|point| point.bytes >> 10).collect();
    assert_eq!(left_out, [128, 256, 512, 1024]);
    assert!(fit.left_out.iter().all(|point| point.residual_ns > 0.0));
    assert!((fit.intercept_ns.value / 500_000.0 - 1.0).abs() < 0.02, "{:?}", fit.intercept_ns);
    assert!(!model::fit_is_poor(&fit));
}

#[test]
fn sizes_that_the_device_serves_faster_than_the_line_have_a_negative_residual() {
    let prefetched = |workload: &Workload| {
        let factor = if workload.max_bs().0 > 1 << 18 { 2.0 } else { 1.0 };
        factor * linear(workload)
    };
    let fit = fit(prefetched, 0.005, 7);
    assert_eq!(fit.left_out.len(), 2);
    assert!(fit.left_out.iter().all(|point| point.residual_ns < 0.0));
}

#[test]
fn a_device_without_a_line_keeps_all_sizes_and_is_called_poor() {
    let zigzag = |workload: &Workload| {
        let odd = workload.max_bs().0.trailing_zeros() % 2 == 1;
        if odd { 1.8 * linear(workload) } else { linear(workload) }
    };
    let zigzag = fit(zigzag, 0.005, 7);
    assert!(zigzag.left_out.is_empty());
    assert!(model::fit_is_poor(&zigzag));
    assert!(zigzag.max_residual_rel > 0.2);
    assert!(!model::fit_is_poor(&fit(linear, 0.005, 7)));
}

#[test]
fn other_depths_patterns_and_cache_modes_do_not_enter_a_line() {
    let mut design = sizes(OpKind::Read, 1);
    design.extend(sizes(OpKind::Read, 8));
    design.extend([12, 14].map(|bits| workload(OpKind::Read, Pattern::Random, 1 << bits, 1)));
    design.push(crate::model::synthetic::cached(
        workload(OpKind::Read, Pattern::Sequential, 1 << 21, 1),
        record::CacheMode::All,
    ));
    let trials = rounds(&design, linear, 3, 0.01, &mut Noise(3));
    let fits = model::service_time_fits(&model::aggregate(&trials, 0.05));
    assert_eq!(fits.len(), 1, "two random sizes make no line");
    assert_eq!(fits[0].sizes_bytes.len(), 9);
}

#[test]
fn fewer_than_five_sizes_make_no_fit_and_five_make_one() {
    let fits = |count: usize| {
        let design = &sizes(OpKind::Read, 1)[..count];
        let trials = rounds(design, linear, 3, 0.01, &mut Noise(1));
        model::service_time_fits(&model::aggregate(&trials, 0.05)).len()
    };
    assert_eq!([2, 3, 4, 5].map(fits), [0, 0, 0, 1]);
}

/// Rows of Friedman's Table 4 for one operation, in order: KB and milliseconds, each weighted by its
/// standard error.
fn table_4(op: &str, standard_errors: [f64; 3]) -> Vec<Point> {
    include_str!("../../data/friedman_table4.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[1] == op && row[2] == "sequential")
        .map(|row| [0, 3].map(|column| row[column].parse().expect("a number in the table")))
        .zip(standard_errors)
        .map(|([x, y], se)| Point { x, y, se })
        .collect()
}

#[test]
fn friedmans_lines_through_4_and_16_kb_come_out_and_64_kb_lies_below_them() {
    // Slope, intercept, projection at 64 KB: half of the last printed digit is allowed.
    for (op, slope, intercept, projected, measured) in
        [("read", 0.025_83, 0.0967, 1.75, 1.38), ("write", 0.0300, 0.1500, 2.07, 1.39)]
    {
        // The third point has almost no weight: the line is the author's, through the other two.
        let points = table_4(op, [1e-6, 1e-6, 1e6]);
        let line = weighted_line(&points).unwrap();
        let near = |left: f64, right: f64, tolerance: f64| {
            assert!((left - right).abs() <= tolerance, "{op}: {left} and {right}");
        };
        near(line.slope.value, slope, 5e-6);
        near(line.intercept.value, intercept, 5e-5);
        near(line.at(64.0), projected, 5e-3);
        near(points[2].y, measured, 1e-9);
        assert!(points[2].y < line.at(64.0), "{op}");
        near(points[2].y - line.at(64.0), measured - projected, 5e-3);
    }
}
