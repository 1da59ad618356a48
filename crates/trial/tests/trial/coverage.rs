//! Tests the coverage of the intervals: over many seeds, 95 % contain the truth.
//!
//! The number of hits is binomial: with 200 runs and a true coverage of 0.95 it is 190 with a standard
//! deviation of 3.1. Below 0.90 an interval is too narrow for 95 % (three standard deviations below); above
//! 0.99 it is wider than necessary. Mean latencies of a queue are correlated over busy periods, the hard
//! case for batch means.

use crate::common::{identity, sim_workload};
use record::{Arrival, Nanos, Trial, Workload};
use simdisk::{SimBackend, SimSpec};
use std::sync::atomic::AtomicBool;
use trial::run_trial;
use workload::Spec;

const SEEDS: u64 = 200;

fn trials(device: &str, workload: &Workload) -> Vec<Trial> {
    let spec = SimSpec::parse(device).unwrap();
    let one = |seed| {
        let mut backend = SimBackend::new(&spec, seed);
        let stop = AtomicBool::new(false);
        run_trial(&mut backend, workload, (workload, seed), identity(), &stop, &mut |_| ())
            .unwrap()
            .0
    };
    (1..=SEEDS).map(one).collect()
}

/// Checks the shares of the runs whose intervals contain the true rate and the true mean latency, and the
/// mean error of both, relative to the truth.
#[track_caller]
fn check(device: &str, change: impl FnOnce(&mut Spec), iops: f64, latency_ns: f64) {
    let mut held = [0.0; 2];
    let mut bias = [0.0; 2];
    let mut widths = [0.0; 2];
    for trial in trials(device, &sim_workload(change)) {
        let read = trial.result.read.unwrap();
        let latency = read.latency_ns.unwrap();
        let found = [
            (read.iops / iops - 1.0, read.iops_ci95_rel.unwrap() * read.iops / iops),
            (
                latency.mean / latency_ns - 1.0,
                latency.mean_ci95_rel.unwrap() * latency.mean / latency_ns,
            ),
        ];
        for (index, (error, half_width)) in found.into_iter().enumerate() {
            held[index] += f64::from(u8::from(error.abs() <= half_width)) / SEEDS as f64;
            bias[index] += error / SEEDS as f64;
            widths[index] += half_width / SEEDS as f64;
        }
    }
    println!("{device}: coverage {held:?}, bias {bias:?}, mean half-width {widths:?}");
    for index in 0..2 {
        assert!((0.9..=0.99).contains(&held[index]), "{device}: coverage {held:?}");
        // Half-width of the mean over the seeds: a fourteenth of one run's.
        assert!(bias[index].abs() < 0.2 * widths[index], "{device}: bias {bias:?} of {widths:?}");
    }
}

#[test]
fn intervals_of_a_closed_loop_hold_the_truth_in_95_of_100_runs() {
    let closed = |depth: u32| {
        move |spec: &mut Spec| {
            spec.asked.iodepth = depth;
            spec.asked.ramp_ns = Nanos(1_000_000_000);
        }
    };
    check("mm1,service=1ms", closed(1), 1_000.0, 1e6);
    check("mm1,service=1ms", closed(8), 1_000.0, 8e6);
    check("mmc,servers=4,service=1ms", closed(8), 4_000.0, 2e6);
    check("mg1,cv=2,service=1ms", closed(4), 1_000.0, 4e6);
}

#[test]
fn intervals_of_an_open_loop_hold_the_truth_in_95_of_100_runs() {
    let poisson = |rate: u64| {
        move |spec: &mut Spec| {
            spec.arrival = Some(Arrival::Poisson);
            spec.asked.rate_iops = Some(rate);
            spec.asked.iodepth = 4_096;
            spec.asked.ramp_ns = Nanos(1_000_000_000);
            spec.asked.runtime_ns = Nanos(20_000_000_000);
        }
    };
    check("mm1,service=1ms", poisson(500), 500.0, 2e6);
    // Four servers at half load: Erlang C.
    check("mmc,servers=4,service=1ms", poisson(2_000), 2_000.0, 1e6 * (1.0 + 0.173_913 / 2.0));
    check("md1,service=1ms", poisson(700), 700.0, 1e6 * (1.0 + 0.7 / 0.6));
}
