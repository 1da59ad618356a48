//! Tests open loops and think time against queueing theory, and an open loop's report on itself.

use crate::common::{assert_agrees, file_workload, full_file, has, real, simulated};
use record::{Arrival, Discipline, EngineName, FindingCode, Nanos, TimeSummary, Trial};
use workload::Spec;

fn poisson(rate: u64, depth: u32, seconds: u64) -> impl Fn(&mut Spec) {
    move |spec| {
        spec.arrival = Some(Arrival::Poisson);
        spec.asked.rate_iops = Some(rate);
        spec.asked.iodepth = depth;
        spec.asked.runtime_ns = Nanos(seconds * 1_000_000_000);
    }
}

fn times(trial: &Trial) -> (&TimeSummary, &TimeSummary) {
    let read = trial.result.read.as_ref().unwrap();
    (read.latency_ns.as_ref().unwrap(), read.completion_ns.as_ref().unwrap())
}

#[test]
fn poisson_arrivals_at_one_server_wait_as_m_m_1_says() {
    for (rate, rho) in [(300, 0.3), (600, 0.6), (800, 0.8)] {
        let trial = simulated("mm1,service=1ms", poisson(rate, 1_000, 400));
        let latency_ns = 1e6 / (1.0 - rho);
        assert_agrees(&trial, rate as f64, latency_ns);
        let (latency, completion) = times(&trial);
        assert_eq!(latency.mean, completion.mean, "nobody waited for a slot");
        let expected = rho / (1.0 - rho);
        assert!((trial.result.concurrency / expected - 1.0).abs() < 0.1, "{rho}");
        let open = trial.result.open_loop.as_ref().unwrap();
        assert_eq!((open.late_max_ns, open.backlog_max, open.spin_ms), (0, 0, 0.0));
        assert_eq!(trial.findings, []);
    }
}

#[test]
fn with_one_slot_the_queue_is_in_the_response_time_and_not_in_the_completion_time() {
    let trial = simulated("mm1,service=1ms", poisson(500, 1, 400));
    let (latency, completion) = times(&trial);
    assert!((latency.mean / 2e6 - 1.0).abs() < 0.08, "{}", latency.mean);
    assert!((completion.mean / 1e6 - 1.0).abs() < 0.02, "{}", completion.mean);
    assert!((trial.result.concurrency - 0.5).abs() < 0.02, "Little's law on completion times");
    let open = trial.result.open_loop.as_ref().unwrap();
    assert!(open.backlog_max > 3 && open.late_mean_ns > 0.8e6);
    assert_eq!(open.pacer_late_mean_ns, Some(0.0), "a free slot was used at once");
    assert!((open.offered_iops / 500.0 - 1.0).abs() < 0.02);
    let histogram = &trial.result.read.as_ref().unwrap().histogram;
    assert_eq!(histogram.count(), trial.result.read.as_ref().unwrap().ios);
}

#[test]
fn constant_arrivals_slower_than_a_constant_server_never_wait() {
    let trial = simulated("md1,service=1ms", |spec| {
        spec.asked.rate_iops = Some(900);
        spec.asked.iodepth = 8;
    });
    let (latency, completion) = times(&trial);
    assert_eq!((latency.mean, completion.mean), (1e6, 1e6));
    let ios = trial.result.read.as_ref().unwrap().ios;
    assert!(ios.abs_diff(9_000) <= 1, "{ios}");
}

#[test]
fn jobs_and_directions_share_the_rate_that_was_asked_for() {
    let trial = simulated("mdc,servers=64,service=1ms", |spec| {
        spec.asked.read_percent = 75;
        spec.asked.rate_iops = Some(4_000);
        spec.asked.write_rate_iops = Some(1_000);
        spec.arrival = Some(Arrival::Poisson);
        (spec.asked.iodepth, spec.asked.numjobs) = (64, 3);
    });
    let (read, write) = (trial.result.read.unwrap(), trial.result.write.unwrap());
    // Poisson: four standard deviations of 30,000 and 10,000 arrivals.
    assert!((read.iops - 3_000.0).abs() < 70.0, "{}", read.iops);
    assert!((write.iops - 1_000.0).abs() < 40.0, "{}", write.iops);
    assert!((read.offered_iops.unwrap() - read.iops).abs() < 2.0);
    assert!((write.offered_iops.unwrap() - write.iops).abs() < 2.0);
}

#[test]
fn arrivals_faster_than_the_device_pile_up_and_none_is_lost() {
    let trial = simulated("md1,service=1ms", |spec| {
        spec.asked.rate_iops = Some(1_500);
        spec.asked.iodepth = 4;
    });
    let open = trial.result.open_loop.as_ref().unwrap();
    let ios = trial.result.read.as_ref().unwrap().ios;
    // 15,000 arrived, 10,000 were served, four are in flight.
    assert!((open.offered_iops - 1_500.0).abs() < 1.0);
    assert!((ios + open.backlog_end).abs_diff(15_000 - 4) <= 2, "{ios} {}", open.backlog_end);
    assert!(open.backlog_max >= open.backlog_end);
    assert!(has(&trial, FindingCode::FellBehind));
    // The last one had waited for a third of the run.
    assert!(times(&trial).0.max > 3_200_000_000);
    assert!((times(&trial).1.mean / 4e6 - 1.0).abs() < 0.01);
    let calm = simulated("md1,service=1ms", |spec| spec.asked.rate_iops = Some(900));
    assert!(!has(&calm, FindingCode::FellBehind));
}

#[test]
fn think_time_leaves_n_over_response_plus_think_time() {
    for depth in [1_u32, 4] {
        let trial = simulated("mdc,servers=64,service=1ms", |spec| {
            spec.asked.think_ns = Nanos(3_000_000);
            spec.asked.iodepth = depth;
        });
        let read = trial.result.read.as_ref().unwrap();
        assert!((read.iops / (f64::from(depth) / 4e-3) - 1.0).abs() < 0.01, "{}", read.iops);
        assert_eq!(times(&trial).0.mean, 1e6);
        assert!((trial.result.concurrency / f64::from(depth) - 0.25).abs() < 0.01);
    }
    // One server: X = n / (R + Z) whatever R is.
    let trial = simulated("mm1,service=1ms", |spec| {
        spec.asked.think_ns = Nanos(3_000_000);
        spec.asked.iodepth = 6;
        spec.asked.runtime_ns = Nanos(100_000_000_000);
    });
    let expected = 6.0 / (times(&trial).0.mean / 1e9 + 3e-3);
    let iops = trial.result.read.as_ref().unwrap().iops;
    assert!((iops / expected - 1.0).abs() < 0.001, "{iops} against {expected}");
}

#[test]
fn a_real_open_loop_offers_the_rate_asked_for_on_every_engine() {
    for engine in [engine::DEFAULT_ENGINE, EngineName::Sync, EngineName::Null] {
        let workload = file_workload(1 << 20, |spec| {
            spec.asked.engine = engine;
            spec.asked.rate_iops = Some(2_000);
            spec.arrival = Some(Arrival::Poisson);
            spec.asked.iodepth = 16;
            spec.asked.runtime_ns = Nanos(500_000_000);
        });
        let trial = real(full_file(1 << 20), &workload).unwrap();
        let open = trial.result.open_loop.as_ref().unwrap();
        // Six standard deviations of a thousand arrivals.
        assert!((open.offered_iops - 2_000.0).abs() < 400.0, "{engine:?} {open:?}");
        let read = trial.result.read.as_ref().unwrap();
        let arrived = (open.offered_iops * 0.5).round() as u64;
        let waiting = open.backlog_end + 16;
        assert!(read.ios <= arrived + 16 && read.ios + waiting >= arrived, "{engine:?}: {open:?}");
        let (latency, completion) = times(&trial);
        assert!(latency.mean >= completion.mean, "{engine:?}");
        assert!(open.spin_ms > 0.0 && open.spin_ms <= 500.0, "{engine:?}: {}", open.spin_ms);
    }
}

#[test]
fn completion_calls_do_not_nest_where_slots_think_first() {
    let trial = simulated("md1,service=1ms", |spec| {
        spec.asked.think_ns = Nanos(1_000_000);
        spec.asked.discipline = Discipline::Callback;
    });
    assert_eq!(trial.result.callback_depth, Some(1));
    assert!(trial.result.read.as_ref().unwrap().ios.abs_diff(5_000) <= 1);
}

#[test]
fn the_intervals_of_an_open_loop_count_concurrency_by_completion_times() {
    let trial = simulated("md1,service=1ms", |spec| {
        spec.asked.rate_iops = Some(2_000);
        spec.asked.stop.interval_ns = Some(Nanos(2_500_000_000));
    });
    let intervals = trial.result.intervals.as_ref().unwrap();
    assert_eq!(intervals.len(), 4);
    assert!(intervals.iter().all(|it| (it.concurrency - 1.0).abs() < 0.01));
    let means: Vec<f64> = intervals
        .iter()
        .map(|it| it.read.as_ref().unwrap().latency_ns.as_ref().unwrap().mean)
        .collect();
    assert!(means.windows(2).all(|pair| pair[0] < pair[1]), "the queue grows: {means:?}");
}
