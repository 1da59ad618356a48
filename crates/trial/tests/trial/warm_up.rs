//! Tests that a different start is found and cut off, and that a steady run stays whole.

use crate::common::{has, identity, sim_workload, simulated};
use record::{Arrival, Bytes, FindingCode, Nanos};
use simdisk::{SimBackend, SimSpec};
use std::sync::atomic::AtomicBool;
use trial::run_trial;
use workload::Spec;

/// A cache that fills: slow first, fast later.
fn filling(spec: &mut Spec) {
    spec.size = Some(Bytes(4 << 20));
    spec.asked.runtime_ns = Nanos(20_000_000_000);
}

const CACHED: &str = "mm1,service=2ms,cache=4MiB,hit=100us";

#[test]
fn a_cache_that_fills_is_cut_off_and_the_rest_is_what_is_reported() {
    let trial = simulated(CACHED, |spec| {
        filling(spec);
        spec.asked.stop.cut_warm_up = true;
    });
    let warm_up = trial.result.warm_up.as_ref().unwrap();
    let read = trial.result.read.as_ref().unwrap();
    let seconds = warm_up.duration_ns.as_secs_f64();
    assert!((2.0..10.1).contains(&seconds), "{seconds}");
    assert_eq!(warm_up.duration_ns.0 + trial.result.duration_ns.0, 20_000_000_000);
    // All hits: 100 us each.
    assert!((read.iops / 10_000.0 - 1.0).abs() < 0.01, "{}", read.iops);
    assert!(warm_up.iops < 0.95 * read.iops);
    assert_eq!(read.histogram.count(), read.ios);
    assert_eq!(trial.result.series.ios.iter().sum::<u64>(), read.ios);
    assert_eq!(trial.result.steady, Some(true));
    let counters = trial.device_counters.value().unwrap();
    assert!(counters.ios.abs_diff(read.ios) <= 1, "counters over the same time");
    assert!(has(&trial, FindingCode::WarmUpCut) && trial.clean());
    let kept = simulated(CACHED, filling);
    assert!(kept.result.warm_up.is_none());
    let total = read.ios + warm_up.ios;
    assert_eq!(kept.result.read.as_ref().unwrap().ios, total, "nothing but the cut differs");
}

#[test]
fn a_device_that_speeds_up_for_more_than_half_of_the_run_is_not_steady_instead() {
    // The service time falls to a hundredth within six seconds, the length of the run.
    let trial = simulated("mm1,service=5ms,drift=-1000%", |spec| {
        spec.asked.runtime_ns = Nanos(6_000_000_000);
        spec.asked.stop.cut_warm_up = true;
    });
    assert!(trial.result.warm_up.is_none() || trial.result.steady == Some(false));
}

/// Number of steady runs with a cut.
fn false_cuts(runs: u64, device: &str, change: impl Fn(&mut Spec)) -> u64 {
    let workload = sim_workload(|spec| {
        spec.asked.stop.cut_warm_up = true;
        change(spec);
    });
    let spec = SimSpec::parse(device).unwrap();
    let cut = (0..runs).filter(|&seed| {
        let mut backend = SimBackend::new(&spec, seed);
        let stop = AtomicBool::new(false);
        let trial =
            run_trial(&mut backend, &workload, (&workload, seed), identity(), &stop, &mut |_| ())
                .unwrap()
                .0;
        trial.result.warm_up.is_some()
    });
    let cut = cut.count() as u64;
    println!("{device}: {cut} of {runs} steady runs were cut");
    cut
}

#[test]
fn steady_runs_are_hardly_ever_cut() {
    let closed = |spec: &mut Spec| spec.asked.iodepth = 4;
    assert!(false_cuts(200, "mm1,service=500us", closed) <= 5);
    assert_eq!(false_cuts(20, "md1,service=500us", closed), 0);
    let open = |spec: &mut Spec| {
        spec.arrival = Some(Arrival::Poisson);
        spec.asked.rate_iops = Some(1_000);
        spec.asked.iodepth = 100;
    };
    assert!(false_cuts(200, "mm1,service=500us", open) <= 8);
}
