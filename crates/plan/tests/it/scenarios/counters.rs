//! What the counters of a scenario show: loads, limits, and trace data.

use plan::scenarios::{GroupLimit, Scenario, ScenarioLoad, observe};
use record::{Bytes, EngineName, Nanos, Observation};
use simdisk::SimSpec;
use std::sync::atomic::AtomicBool;
use workload::Spec;

const SECOND: u64 = 1_000_000_000;

fn load(begin: u64, end: u64, change: impl FnOnce(&mut Spec)) -> ScenarioLoad {
    let mut spec = Spec::default();
    spec.asked.engine = EngineName::Sim;
    change(&mut spec);
    ScenarioLoad {
        name: "program".to_owned(),
        workload: spec.build(Bytes(1 << 30)).expect("a load that can be built"),
        begin: Nanos(begin * SECOND),
        end: Nanos(end * SECOND),
        limits: Vec::new(),
        write_back: false,
        uncounted: false,
    }
}

fn seen(device: &str, loads: Vec<ScenarioLoad>) -> Observation {
    let device = SimSpec::parse(device).expect("a device that there is");
    let scenario = Scenario {
        device: &device,
        array: None,
        loads,
        duration: Nanos(10 * SECOND),
        interval: Nanos(SECOND),
        seed: 1,
        traced: true,
        steal_share: 0.0,
    };
    observe(&scenario, "0", &AtomicBool::new(false)).expect("a scenario that runs")
}

#[test]
fn counters_show_loads_while_they_are_there_and_no_longer() {
    let observation = seen(
        "md1,service=1ms",
        vec![
            load(0, 10, |spec| spec.asked.rate_iops = Some(100)),
            load(4, 6, |spec| spec.asked.read_percent = 0),
        ],
    );
    assert_eq!(observation.intervals.len(), 10);
    for (second, interval) in observation.intervals.iter().enumerate() {
        let writes = interval.write.per_s.unwrap().value;
        assert_eq!(writes > 10.0, (4..6).contains(&second), "{second}: {writes}");
        let reads = interval.read.per_s.unwrap().value;
        assert!((reads - 100.0).abs() < 15.0, "{second}: {reads}");
        if !(4..7).contains(&second) {
            assert_eq!(interval.read.latency_ns.unwrap().value, 1e6);
            assert!((interval.busy_share.unwrap().value - 0.1).abs() < 0.01);
        }
    }
}

#[test]
fn the_same_scenario_is_the_same_bytes() {
    let one = || {
        let loads = vec![load(1, 9, |spec| spec.asked.iodepth = 4)];
        format!("{:?}", seen("mmc,servers=2", loads))
    };
    assert_eq!(one(), one());
}

#[test]
fn a_limited_load_shows_its_limit_and_a_fast_device() {
    let mut limited = load(0, 10, |spec| spec.asked.iodepth = 32);
    limited.limits.extend(GroupLimit::of("riops", 200));
    let observation = seen("mdc,servers=8,service=1ms", vec![limited]);
    let interval = &observation.intervals[5];
    assert!((interval.read.per_s.unwrap().value - 200.0).abs() <= 1.0);
    assert_eq!(interval.read.latency_ns.unwrap().value, 1e6);
    let context = &observation.contexts[5];
    assert_eq!(context.io_some_share, Some(1.0));
    assert_eq!(context.cgroup_limits[0].limit_per_s, 200);
}

#[test]
fn limits_of_bytes_and_of_one_operation_are_kept_in_proportion() {
    let rate = |what: &str, per_s: u64, read_percent: u8| {
        let mut limited = load(0, 10, |spec| {
            spec.asked.iodepth = 32;
            spec.asked.read_percent = read_percent;
            *spec = spec.clone().with_bs(64 << 10);
        });
        limited.limits.extend(GroupLimit::of(what, per_s));
        let observation = seen("mdc,servers=8,service=1ms", vec![limited]);
        let interval = &observation.intervals[5];
        (interval.read.per_s.unwrap().value, interval.write.per_s.unwrap().value)
    };
    let (reads, _) = rate("rbps", 200 << 16, 100);
    assert!((reads - 200.0).abs() <= 1.0, "{reads}");
    let (reads, writes) = rate("wiops", 100, 50);
    assert!((reads + writes - 200.0).abs() <= 1.0 && (writes - 100.0).abs() < 30.0, "{writes}");
    // A limit on writes does not affect a reader.
    assert!(rate("wiops", 100, 100).0 > 7_000.0);
}

#[test]
fn a_tracer_tells_streams_from_random_requests() {
    let share = |pattern| {
        let loads = vec![load(0, 10, |spec| {
            spec.asked.pattern = pattern;
            spec.asked.numjobs = 4;
        })];
        let observation = seen("md1,service=1ms", loads);
        let interval = &observation.intervals[5];
        assert_eq!(interval.processes.as_ref().unwrap().len(), 1);
        interval.traced.as_ref().unwrap().read.sequential_share.unwrap()
    };
    assert!(share(record::Pattern::Sequential) > 0.99);
    assert!(share(record::Pattern::Random) < 0.01);
}
