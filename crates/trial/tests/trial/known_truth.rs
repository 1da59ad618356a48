//! Compares every queue device with theory, under closed and open loads.
//!
//! Rates and latencies must be within the interval that the run itself gives (`assert_agrees`), so that a
//! bias of the harness, of the device or of the interval is detected. S is the mean service time, c the
//! number of servers, rho = arrival rate x S / c. Formulae: Kleinrock 1975, Queueing Systems 1: M/M/1
//! (3.23), M/G/1 (5.71, Pollaczek-Khinchine), M/M/c (3.40, Erlang C).

use crate::common::{assert_agrees, has, simulated};
use record::{Arrival, Bytes, FindingCode, Nanos, SizeShare, Trial};
use workload::Spec;

const SECOND: u64 = 1_000_000_000;

/// This many Poisson arrivals, which always find a free slot.
fn open(rate: u64, requests: u64) -> impl Fn(&mut Spec) {
    move |spec| {
        spec.arrival = Some(Arrival::Poisson);
        spec.asked.rate_iops = Some(rate);
        spec.asked.iodepth = 4_096;
        spec.asked.ramp_ns = Nanos(SECOND);
        spec.asked.runtime_ns = Nanos(requests * SECOND / rate);
    }
}

/// A closed loop for this many seconds.
fn closed(depth: u32, seconds: u64) -> impl Fn(&mut Spec) {
    move |spec| {
        spec.asked.iodepth = depth;
        spec.asked.ramp_ns = Nanos(SECOND);
        spec.asked.runtime_ns = Nanos(seconds * SECOND);
    }
}

fn iops(trial: &Trial) -> f64 {
    trial.result.read.as_ref().unwrap().iops
}

/// Mean latency of M/G/1 in units of S.
fn pollaczek_khinchine(rho: f64, cv: f64) -> f64 {
    1.0 + rho * (1.0 + cv * cv) / (2.0 * (1.0 - rho))
}

/// The probability that an arrival waits in M/M/c: Erlang B by its recursion, then C from B.
fn erlang_c(servers: u32, rho: f64) -> f64 {
    let offered = f64::from(servers) * rho;
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    blocked / (1.0 - rho * (1.0 - blocked))
}

#[test]
fn one_server_makes_arrivals_wait_as_pollaczek_and_khinchine_say_whatever_the_variation() {
    for (device, cv) in
        [("md1", 0.0), ("mg1,cv=0.5", 0.5), ("mm1", 1.0), ("mg1,cv=1.5", 1.5), ("mg1,cv=2", 2.0)]
    {
        for rate in [300, 600, 800] {
            let rho = rate as f64 / 1_000.0;
            let trial = simulated(&format!("{device},service=1ms"), open(rate, 400_000));
            assert_agrees(&trial, rate as f64, 1e6 * pollaczek_khinchine(rho, cv));
        }
    }
}

#[test]
fn several_servers_make_arrivals_wait_as_erlang_says() {
    for servers in [2, 8, 32] {
        for rho in [0.5, 0.7, 0.85] {
            let rate = (f64::from(servers) * rho * 1_000.0) as u64;
            let device = format!("mmc,servers={servers},service=1ms");
            let trial = simulated(&device, open(rate, 800_000));
            let spread = f64::from(servers) * (1.0 - rho);
            assert_agrees(&trial, rate as f64, 1e6 * (1.0 + erlang_c(servers, rho) / spread));
        }
    }
}

#[test]
fn percentiles_of_m_m_1_are_those_of_an_exponential_response_time() {
    let trial = simulated("mm1,service=1ms", open(700, 1_000_000));
    let latency = trial.result.read.as_ref().unwrap().latency_ns.as_ref().unwrap();
    let mean_ns = 1e6 / 0.3;
    for (share, found) in [(0.5, latency.p50), (0.9, latency.p90), (0.99, latency.p99)] {
        let truth = -mean_ns * f64::ln(1.0 - share);
        // A million requests, but their latencies are correlated in busy periods of some hundred.
        assert!((found.unwrap() / truth - 1.0).abs() < 0.06, "{share}: {found:?}, not {truth}");
    }
}

#[test]
fn a_closed_loop_keeps_one_server_busy_whatever_the_variation_of_its_times() {
    for device in ["md1", "mg1,cv=0.3", "mg1,cv=0.7", "mm1", "mg1,cv=2", "mg1,cv=3"] {
        for depth in [1, 8] {
            let trial = simulated(&format!("{device},service=1ms"), closed(depth, 200));
            assert_agrees(&trial, 1_000.0, 1e6 * f64::from(depth));
        }
    }
}

#[test]
fn a_closed_loop_gets_from_servers_what_its_depth_keeps_busy() {
    for device in ["mmc", "mdc", "mmc,cv=2"] {
        for (depth, busy) in [(1, 1.0), (4, 4.0), (32, 8.0)] {
            let trial = simulated(&format!("{device},service=1ms"), closed(depth, 60));
            assert_agrees(&trial, 1_000.0 * busy, 1e6 * f64::from(depth) / busy);
        }
    }
}

#[test]
fn a_cap_holds_exactly_and_below_it_the_device_is_what_it_was() {
    for (depth, rate) in [(1, 2_000.0), (2, 3_000.0), (32, 3_000.0)] {
        let trial = simulated("capped", closed(depth, 100));
        assert_agrees(&trial, rate, f64::from(depth) / rate * 1e9);
    }
    // Arrivals below the cap find a token, or wait for one as at a slightly faster server.
    let trial = simulated("capped", open(1_500, 150_000));
    assert_agrees(&trial, 1_500.0, 500e3);
    let above = simulated("capped", |spec| {
        open(4_000, 80_000)(spec);
        spec.asked.iodepth = 64;
    });
    assert!((iops(&above) / 3_000.0 - 1.0).abs() < 0.001, "{}", iops(&above));
    assert!(has(&above, FindingCode::FellBehind));
}

#[test]
fn a_burst_is_served_at_once_and_only_once() {
    let ios = |burst: u64, seconds: u64| {
        let device = format!("capped,service=100us,cv=0,iops=1000,burst={burst}");
        let trial = simulated(&device, |spec| {
            spec.asked.iodepth = 64;
            spec.asked.runtime_ns = Nanos(seconds * SECOND);
        });
        trial.result.read.unwrap().ios
    };
    // One request of the last millisecond is still in service.
    assert!(ios(1, 2).abs_diff(2_000) <= 2, "{}", ios(1, 2));
    assert!(ios(500, 2).abs_diff(2_500) <= 2, "{}", ios(500, 2));
    assert!(ios(500, 20).abs_diff(20_500) <= 2, "{}", ios(500, 20));
}

#[test]
fn a_cap_on_bytes_holds_at_every_request_size() {
    for kib in [4_u64, 64, 256] {
        let trial = simulated("capped,iops=none,throughput=50MB/s", |spec| {
            closed(32, 50)(spec);
            spec.asked.bs = vec![SizeShare { bytes: Bytes(kib << 10), percent: 100 }];
        });
        let rate = trial.result.read.as_ref().unwrap().bytes_per_s;
        assert!((rate / 50e6 - 1.0).abs() < 0.001, "{kib} KiB: {rate}");
    }
}

#[test]
fn a_device_that_stands_still_now_and_then_loses_that_share_of_its_rate() {
    // Up for 500 ms on average, then stalled for 20 ms: up for 1 / 1.04 of the time.
    for (device, servers) in [("jittery", 8.0), ("jittery,servers=1,cv=0", 1.0)] {
        let trial = simulated(device, closed(8, 200));
        assert_agrees(&trial, 1_000.0 * servers / 1.04, 8e6 * 1.04 / servers);
        let latency = trial.result.read.as_ref().unwrap().latency_ns.clone().unwrap();
        assert!(latency.max > 20_000_000, "some request met a stall: {latency:?}");
    }
}

#[test]
fn a_drifting_device_completes_what_the_integral_over_its_slowing_says() {
    // S (1 + g t) each: after T, ln(1 + g T) / (g S) requests. The service time is that at the arrival,
    // which at depth 1 is also its begin.
    let trial = simulated("drifting,cv=0,servers=1,drift=100%", |spec| {
        spec.asked.runtime_ns = Nanos(60 * SECOND);
    });
    let truth = f64::ln(2.0) * 60.0 / 1e-3;
    let ios = trial.result.read.as_ref().unwrap().ios as f64;
    assert!((ios / truth - 1.0).abs() < 1e-3, "{ios}, not {truth}");
    assert!(has(&trial, FindingCode::NotSteady), "{:?}", trial.findings);
    let steady = simulated("drifting,cv=0,servers=1,drift=0", |_| ());
    assert!(!has(&steady, FindingCode::NotSteady), "{:?}", steady.findings);
}

#[test]
fn a_faulty_device_fails_as_many_requests_as_its_probability_says_and_the_trial_is_not_clean() {
    let trial = simulated("faulty,error=0.002", |spec| {
        spec.asked.iodepth = 8;
        spec.asked.runtime_ns = Nanos(60 * SECOND);
    });
    let read = trial.result.read.as_ref().unwrap();
    let mean = 0.002 * (read.ios + read.errors) as f64;
    // Binomial: four standard deviations.
    assert!((read.errors as f64 - mean).abs() < 4.0 * mean.sqrt(), "{} of {mean}", read.errors);
    assert!(has(&trial, FindingCode::IoErrors) && !trial.clean());
    assert!(simulated("faulty,error=0", |_| ()).clean());
}

#[test]
fn a_burst_that_runs_out_is_cut_off_as_a_warm_up_or_told_as_unsteady() {
    let run = |burst: u64| {
        simulated(&format!("capped,service=100us,burst={burst}"), |spec| {
            spec.asked.iodepth = 32;
            spec.asked.runtime_ns = Nanos(20 * SECOND);
            spec.asked.stop.cut_warm_up = true;
        })
    };
    // 30,000 above 3,000 per second: used up after a tenth of a second, within the first segment.
    let short = run(30_000);
    let warm_up = short.result.warm_up.as_ref().expect("a start that differs");
    assert!(warm_up.duration_ns.as_secs_f64() < 5.0, "{warm_up:?}");
    assert!((iops(&short) / 3_000.0 - 1.0).abs() < 0.005, "{}", iops(&short));
    // 3.5 million: it lasts for most of the run, so no steady part is left.
    let long = run(3_500_000);
    let unsteady = has(&long, FindingCode::NotSteady);
    assert!(unsteady, "{:?} {:?}", long.result.warm_up, long.findings);
    let none = run(1);
    assert!(none.result.warm_up.is_none() && !has(&none, FindingCode::NotSteady));
}
