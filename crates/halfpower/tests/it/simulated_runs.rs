//! `run` on devices with a known truth.
//!
//! A closed loop keeps N requests at the device. One server of mean service time S is then always busy, so X
//! = 1/S and, by Little's law, R = N S; with c servers and N >= c, X = c/S and R = N S / c (Kleinrock 1975;
//! Lazowska et al. 1984, chapter 3).

use crate::program::trial;
use record::Trial;

/// Rate and mean latency in seconds, each with the half-width of its 95 % interval.
fn measured(trial: &Trial) -> [(f64, f64); 2] {
    let reads = trial.result.read.as_ref().unwrap();
    let latency = reads.latency_ns.as_ref().unwrap();
    let mean_s = latency.mean / 1e9;
    [
        (reads.iops, reads.iops * reads.iops_ci95_rel.unwrap()),
        (mean_s, mean_s * latency.mean_ci95_rel.unwrap()),
    ]
}

/// Checks that the interval includes the truth, and is not too wide to be meaningful.
#[track_caller]
fn check(what: &str, (value, half_width): (f64, f64), truth: f64) {
    assert!((value - truth).abs() <= half_width, "{what}: {value} ± {half_width}, not {truth}");
    assert!(half_width < 0.05 * truth, "{what}: {value} ± {half_width}");
}

#[test]
fn one_server_is_always_busy_and_response_time_grows_with_depth() {
    const SERVICE_S: f64 = 0.005;
    for depth in [1, 2, 8, 32] {
        let words = format!("sim:mm1,service=5ms --iodepth {depth} --runtime 300s --ramp-time 5s");
        let trial = trial(0, &words);
        let [rate, latency] = measured(&trial);
        check(&format!("rate at depth {depth}"), rate, 1.0 / SERVICE_S);
        let truth = f64::from(depth) * SERVICE_S;
        check(&format!("latency at depth {depth}"), latency, truth);
        assert!((trial.result.concurrency / f64::from(depth) - 1.0).abs() < 0.01);
    }
}

#[test]
fn several_servers_work_at_once_as_far_as_depth_and_their_number_allow() {
    const SERVICE_S: f64 = 0.001;
    const SERVERS: f64 = 4.0;
    for depth in [1, 2, 4, 16] {
        let words = format!("sim:mmc,servers=4,service=1ms --iodepth {depth}");
        let trial = trial(0, &format!("{words} --runtime 60s --ramp-time 1s"));
        let busy = f64::from(depth).min(SERVERS);
        let [rate, latency] = measured(&trial);
        check(&format!("rate at depth {depth}"), rate, busy / SERVICE_S);
        let truth = f64::from(depth) * SERVICE_S / busy;
        check(&format!("latency at depth {depth}"), latency, truth);
    }
}

#[test]
fn depth_from_jobs_is_the_same_as_depth_from_one_job() {
    const SERVICE_S: f64 = 0.001;
    let trial = trial(0, "sim:mmc,servers=4,service=1ms --numjobs 8 --iodepth 2 --runtime 60s");
    let [rate, latency] = measured(&trial);
    check("rate", rate, 4.0 / SERVICE_S);
    check("latency", latency, 16.0 * SERVICE_S / 4.0);
}

#[test]
fn a_fixed_service_time_with_transfer_is_met_exactly() {
    // 1 ms and 65,536 bytes at 100 MB/s: 1.65536 ms.
    let trial = trial(0, "sim:md1,service=1ms,rate=100MB/s --bs 64k --runtime 30s");
    let latency = trial.result.read.unwrap().latency_ns.unwrap();
    assert!((latency.mean - 1_655_360.0).abs() < 1.0, "{latency:?}");
    assert!(latency.stddev < 0.01 * latency.mean);
    // A bucket of the histogram is at most 0.8 % wide.
    let median = latency.p50.unwrap();
    assert!((median / latency.mean - 1.0).abs() < 0.01, "{latency:?}");
}

#[test]
fn percentiles_of_an_exponential_service_time_are_those_of_the_distribution() {
    let trial = trial(0, "sim:mm1,service=1ms --runtime 300s");
    let latency = trial.result.read.unwrap().latency_ns.unwrap();
    // Quantile q of an exponential distribution: -S ln(1 - q). 300,000 samples.
    let shares = [(0.5, latency.p50), (0.9, latency.p90), (0.99, latency.p99)];
    for (share, measured) in shares {
        let truth = -1e6 * f64::ln(1.0 - share);
        let measured = measured.unwrap();
        assert!((measured / truth - 1.0).abs() < 0.02, "{share}: {measured}, not {truth}");
    }
    assert!((latency.stddev / 1e6 - 1.0).abs() < 0.02, "{latency:?}");
}

#[test]
fn a_device_that_becomes_ever_faster_stops_at_a_hundredth_of_its_service_time() {
    let words = "sim:md1,service=1ms,drift=-1000% --runtime 10s --ramp-time 10s";
    let latency = trial(0, words).result.read.unwrap().latency_ns.unwrap();
    assert!((latency.mean / 10_000.0 - 1.0).abs() < 0.001, "{latency:?}");
}

#[test]
fn re_reads_are_served_by_the_cache_of_the_device_and_random_reads_are_not() {
    let device = "sim:md1,service=5ms,hit=100us,cache=16m";
    let mean = |flags: &str| {
        let trial = trial(0, &format!("{device} {flags} --runtime 60s --ramp-time 10s"));
        trial.result.read.unwrap().latency_ns.unwrap().mean
    };
    assert!((mean("--pattern hit") / 100_000.0 - 1.0).abs() < 0.01);
    assert!((mean("") / 5_000_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn a_mix_has_the_share_of_reads_that_was_asked() {
    let trial = trial(0, "sim:mm1,service=1ms --rw randrw --rwmixread 70 --runtime 60s");
    let (reads, writes) = (trial.result.read.unwrap().ios, trial.result.write.unwrap().ios);
    let share = reads as f64 / (reads + writes) as f64;
    // Binomial with 60,000 requests: the standard deviation is 0.0019.
    assert!((share - 0.7).abs() < 0.01, "{share}");
}
