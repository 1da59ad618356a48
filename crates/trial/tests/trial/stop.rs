//! Tests stop rules, intervals, and that the parts of a run add up.

use crate::common::{file_workload, full_file, has, real, simulated};
use record::{Bytes, EndedBy, EngineName, FindingCode, Nanos, Pattern, Trial, Workload};
use trial::{Control, Window};
use workload::Spec;

fn bytes(trial: &Trial) -> u64 {
    let result = &trial.result;
    result.read.iter().chain(&result.write).map(|direction| direction.bytes).sum()
}

#[test]
fn a_run_by_bytes_transfers_exactly_these() {
    for (depth, jobs) in [(1, 1), (7, 3)] {
        let trial = simulated("md1,service=1ms", |spec| {
            (spec.asked.iodepth, spec.asked.numjobs) = (depth, jobs);
            spec.asked.stop.max_bytes = Some(Bytes(1_000 * 4_096));
        });
        assert_eq!(bytes(&trial), 1_000 * 4_096);
        assert_eq!(trial.result.ended_by, Some(EndedBy::Bytes));
        assert_eq!(trial.result.duration_ns.0, 1_000_000_001);
        let counters = trial.device_counters.value().unwrap();
        assert_eq!((counters.ios, trial.result.unanswered), (1_000, 0));
        // The course ends with the load, not with the planned time.
        let series = &trial.result.series.ios;
        assert!(series.len() >= 32 && series.iter().all(|ios| *ios > 0), "{series:?}");
        assert!(!has(&trial, FindingCode::NotSteady), "{:?}", trial.findings);
        assert!(!has(&trial, FindingCode::StopRuleNotMet));
    }
}

#[test]
fn a_run_by_passes_covers_the_area_as_often_and_a_ramp_does_not_count() {
    let trial = simulated("md1,service=100us", |spec| {
        spec.size = Some(Bytes(1 << 20));
        spec.asked.pattern = Pattern::Sequential;
        spec.asked.ramp_ns = Nanos(500_000_000);
        spec.asked.stop.passes = Some(3);
    });
    // The request in flight at the begin of the window completes within it.
    assert!(bytes(&trial).abs_diff(3 << 20) <= 4_096, "{}", bytes(&trial));
    assert_eq!(trial.result.ended_by, Some(EndedBy::Passes));
}

#[test]
fn a_run_time_that_is_over_first_is_said() {
    let trial = simulated("md1,service=1ms", |spec| {
        spec.asked.stop.max_bytes = Some(Bytes(1 << 30));
    });
    assert_eq!(trial.result.ended_by, None);
    assert_eq!(trial.result.duration_ns, Nanos(10_000_000_000));
    assert!(has(&trial, FindingCode::StopRuleNotMet));
}

#[test]
fn a_run_by_precision_ends_when_the_rate_is_known_and_not_before() {
    let run = |ppm: u32| {
        simulated("mm1,service=1ms", |spec| {
            spec.asked.runtime_ns = Nanos(400_000_000_000);
            spec.asked.numjobs = 2;
            spec.asked.stop.precision_ppm = Some(ppm);
        })
    };
    let (loose, tight) = (run(50_000), run(10_000));
    for (trial, asked) in [(&loose, 0.05), (&tight, 0.01)] {
        let width = trial.result.read.as_ref().unwrap().iops_ci95_rel.unwrap();
        assert!(width <= asked * 1.2, "{width} of {asked}");
        assert_eq!(trial.result.ended_by, Some(EndedBy::Precision));
    }
    assert!(loose.result.duration_ns < tight.result.duration_ns);
    assert!(tight.result.duration_ns < Nanos(400_000_000_000));
    let vain = run(100);
    assert_eq!(vain.result.ended_by, None);
    assert!(has(&vain, FindingCode::StopRuleNotMet));
}

#[test]
fn intervals_sum_up_to_the_whole_and_the_last_one_may_be_shorter() {
    let mixed = |spec: &mut Spec| {
        spec.asked.read_percent = 60;
        (spec.asked.iodepth, spec.asked.numjobs) = (3, 2);
        spec.asked.stop.interval_ns = Some(Nanos(3_000_000_000));
    };
    let trial = simulated("mm1,service=1ms", mixed);
    let intervals = trial.result.intervals.as_ref().unwrap();
    let lengths: Vec<u64> = intervals.iter().map(|it| it.length_ns.0 / 1_000_000_000).collect();
    assert_eq!(lengths, [3, 3, 3, 1]);
    for write in [false, true] {
        let whole = if write { &trial.result.write } else { &trial.result.read };
        let whole = whole.as_ref().unwrap();
        let parts: Vec<_> = intervals
            .iter()
            .map(|it| if write { it.write.as_ref() } else { it.read.as_ref() }.unwrap())
            .collect();
        assert_eq!(parts.iter().map(|part| part.ios).sum::<u64>(), whole.ios);
        assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), whole.bytes);
        let weighted: f64 =
            parts.iter().map(|part| part.latency_ns.as_ref().unwrap().mean * part.ios as f64).sum();
        let mean = whole.latency_ns.as_ref().unwrap().mean;
        assert!((weighted / whole.ios as f64 / mean - 1.0).abs() < 1e-9);
    }
    assert!(intervals.iter().all(|it| (it.concurrency - 6.0).abs() < 0.2));
}

#[test]
fn a_real_run_by_bytes_ends_there_and_its_intervals_add_up() {
    let workload = file_workload(1 << 20, |spec| {
        spec.asked.engine = engine::DEFAULT_ENGINE;
        (spec.asked.iodepth, spec.asked.numjobs) = (8, 2);
        spec.asked.runtime_ns = Nanos(20_000_000_000);
        spec.asked.stop.passes = Some(4);
        spec.asked.stop.interval_ns = Some(Nanos(1_000_000));
    });
    let trial = real(full_file(1 << 20), &workload).unwrap();
    assert_eq!(bytes(&trial), 4 << 20);
    assert_eq!(trial.result.ended_by, Some(EndedBy::Passes));
    assert!(trial.result.duration_ns < Nanos(15_000_000_000));
    let intervals = trial.result.intervals.as_ref().unwrap();
    let ios: u64 = intervals.iter().map(|it| it.read.as_ref().unwrap().ios).sum();
    assert_eq!(ios, 1_024);
}

#[test]
fn a_real_run_by_precision_ends_early() {
    let workload = file_workload(1 << 20, |spec| {
        spec.asked.engine = EngineName::Sync;
        spec.asked.runtime_ns = Nanos(20_000_000_000);
        // Evenly spaced arrivals: the loop catches up after delays by a busy machine. So the rate is the
        // requested one whatever other programs do, and is known after the first check.
        spec.asked.rate_iops = Some(1_000);
        spec.asked.stop.precision_ppm = Some(500_000);
    });
    let trial = real(full_file(1 << 20), &workload).unwrap();
    assert_eq!(trial.result.ended_by, Some(EndedBy::Precision));
    assert!(trial.result.duration_ns < Nanos(15_000_000_000), "{:?}", trial.result.duration_ns);
}

#[test]
fn the_earliest_end_holds_with_its_reason() {
    let window = Window { begin: Nanos(10), end: Nanos(100) };
    let control = Control::new(&Workload::default(), window);
    control.end_at(Nanos(200), Some(EndedBy::Silence));
    assert_eq!((control.end(), control.ended_by()), (Nanos(100), None));
    control.end_at(Nanos(50), Some(EndedBy::Failures));
    control.end_at(Nanos(60), Some(EndedBy::Precision));
    assert_eq!((control.end(), control.ended_by()), (Nanos(50), Some(EndedBy::Failures)));
}
