//! Tests of the pass for the upper bound, on this machine. They do not assert speed.

use super::*;
use record::Estimate;

#[test]
fn a_slice_runs_the_same_load_without_what_could_end_or_cut_it() {
    let asked = Workload {
        iodepth: 7,
        runtime_ns: Nanos(4_000_000_000),
        stop: StopRules {
            passes: Some(1),
            precision_ppm: Some(20_000),
            cut_warm_up: true,
            interval_ns: Some(Nanos(1)),
            io_timeout_ns: Nanos(77),
            ..StopRules::default()
        },
        ..Workload::default()
    };
    let slice = slice_workload(&asked);
    assert_eq!(slice.cell(), asked.cell());
    assert_eq!(slice.runtime_ns, Nanos(200_000_000));
    let rules = StopRules { io_timeout_ns: Nanos(77), ..StopRules::default() };
    assert_eq!(slice.stop, rules);
    let short = Workload { runtime_ns: Nanos(1), ..asked.clone() };
    assert_eq!(slice_workload(&short).runtime_ns, SLICE_MIN);
    let long = Workload { runtime_ns: Nanos(u64::MAX), ..asked };
    assert_eq!(slice_workload(&long).runtime_ns, SLICE_MAX);
}

fn found(calibration: f64, baseline: f64, steal: f64) -> CpuUpper {
    CpuUpper {
        us_per_io: Estimate::symmetric(1.0, 0.1, 6),
        rate_change_rel: 0.0,
        ios: 1,
        cpus: 2,
        busy_share: 0.5,
        baseline_share: baseline,
        lower_us_per_io: None,
        elsewhere_us_per_io: None,
        calibration_change_rel: calibration,
        kernel: Some(record::KernelAccounting { idle: 0.0, interrupts: 0.0, steal }),
        doubts: Vec::new(),
    }
}

#[test]
fn what_makes_the_bound_unsure_is_said_and_nothing_is_on_a_quiet_machine() {
    assert_eq!(seen_doubts(&found(0.01, 0.02, 0.001)), Vec::<String>::new());
    assert!(seen_doubts(&found(0.03, 0.02, 0.0))[0].contains("changed by 3.0 %"));
    assert!(seen_doubts(&found(0.0, 0.3, 0.0))[0].contains("not idle: 30 %"));
    assert!(seen_doubts(&found(0.0, 0.0, 0.05))[0].contains("steal"));
}

#[test]
fn a_bound_below_what_was_charged_is_none() {
    let with = |upper: f64, charged: Option<f64>| CpuUpper {
        us_per_io: Estimate::symmetric(upper, 0.1, 6),
        lower_us_per_io: charged.map(|charged| Estimate::symmetric(charged, 0.1, 6)),
        ..found(0.0, 0.97, 0.0)
    };
    assert!(starved(&with(0.0, Some(1.0)), Some(1.0)));
    assert!(!starved(&with(0.9, Some(1.0)), Some(1.0)), "within the errors");
    assert!(!starved(&with(5.0, Some(1.0)), Some(1.0)));
    // If the pass does not know the charged time, the trial does.
    assert!(starved(&with(0.0, None), Some(1.0)) && !starved(&with(0.0, None), None));
}

#[test]
fn a_pass_over_real_soakers_has_a_bound_an_interval_and_the_change_of_the_rate() {
    let soaker = Soaker::start(&Roots::default()).unwrap();
    let calibration = soaker.calibrate(Duration::from_millis(50));
    let slice = Nanos(10_000_000);
    let block = |ios: u64| {
        let idle = idle_slice(&soaker, slice);
        let span = idle_slice(&soaker, slice);
        let duration = span.length;
        let load =
            LoadSlice { span, ios, duration, charged_ns: Some(5e3 * ios as f64), spin_ns: 0.0 };
        Block { idle, load: vec![load] }
    };
    let blocks: Vec<Block> = (0..3).map(|_| block(100)).collect();
    let calibrations = [calibration.clone(), calibration];
    let found = upper(&blocks, &calibrations, 5_000.0, &[], true).unwrap();
    assert_eq!((found.ios, found.cpus), (300, soaker.cpus()));
    assert!((found.lower_us_per_io.unwrap().value - 5.0).abs() < 1e-9);
    let difference = found.elsewhere_us_per_io.unwrap().value;
    assert!((found.us_per_io.value - 5.0 - difference).abs() < 1e-6);
    assert!(found.us_per_io.low <= found.us_per_io.value);
    assert!(found.doubts.iter().any(|doubt| doubt.contains("is written to the disk later")));
    assert!(upper(&blocks[..1], &calibrations, 1.0, &[], false).is_none());
}
