//! Which trials enter a cell, and the values of the cell.

use crate::model::synthetic::{WINDOW_NS, trial, visits, workload};
use record::{Finding, FindingCode, Measured, OpKind, Pattern, Severity, Trial};

fn random_read() -> record::Workload {
    workload(OpKind::Read, Pattern::Random, 4096, 1)
}

#[test]
fn cells_come_in_order_of_first_appearance_with_all_their_visits() {
    let (first, second) = (random_read(), workload(OpKind::Write, Pattern::Random, 4096, 1));
    let trials =
        [trial(&first, 100.0), trial(&second, 50.0), trial(&first, 110.0), trial(&first, 90.0)];
    let cells = model::aggregate(&trials, 0.05);
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0].cell, first.cell());
    assert_eq!(cells[0].trial_ids, [&trials[0].id, &trials[2].id, &trials[3].id].map(Clone::clone));
    assert!((cells[0].iops.value - 100.0).abs() < 1e-9);
    assert!((cells[0].bytes_per_s.value - 409_600.0).abs() < 1e-6);
    assert_eq!(cells[0].ios, 300);
    assert_eq!(cells[0].histogram.count(), 300);
    assert!((cells[1].latency_ns.value - 20e6).abs() < 1.0);
}

#[test]
fn the_interval_covers_the_spread_between_visits() {
    let cells = model::aggregate(&visits(&random_read(), 1000.0), 0.05);
    let iops = cells[0].iops;
    assert!((0.015..0.03).contains(&iops.relative_half_width()), "{iops:?}");
    assert!(cells[0].precise);
    assert!(!model::aggregate(&visits(&random_read(), 1000.0), 0.01)[0].precise);
}

#[test]
fn a_lone_visit_takes_its_own_interval_and_is_never_called_precise() {
    let mut only = trial(&random_read(), 1000.0);
    let cells = model::aggregate(std::slice::from_ref(&only), 0.05);
    assert!((cells[0].iops.relative_half_width() - 0.02).abs() < 1e-12);
    assert!((cells[0].latency_ns.relative_half_width() - 0.02).abs() < 1e-12);
    assert!(!cells[0].precise);
    only.result.read.as_mut().unwrap().iops_ci95_rel = None;
    let iops = model::aggregate(&[only], 0.05)[0].iops;
    assert!((record::NORMAL_95 * iops.relative_se() - 1.0).abs() < 1e-12);
    assert!(iops.low > 0.0, "{iops:?}");
}

#[test]
fn a_trial_that_is_not_what_was_asked_for_does_not_count() {
    let spoil: [fn(&mut Trial); 5] = [
        |trial| trial.result.read.as_mut().unwrap().errors = 1,
        |trial| trial.result.read.as_mut().unwrap().short = 1,
        |trial| trial.result.read.as_mut().unwrap().ios = 0,
        |trial| trial.result.duration_ns.0 = 0,
        |trial| {
            let code = FindingCode::Interrupted;
            trial.findings.push(Finding::new(code, Severity::Invalid, "interrupted", ""));
        },
    ];
    for (index, spoil) in spoil.iter().enumerate() {
        let mut bad = trial(&random_read(), 5000.0);
        assert!(model::counts(&bad));
        spoil(&mut bad);
        assert!(!model::counts(&bad), "{index}");
        let cells = model::aggregate(&[trial(&random_read(), 1000.0), bad], 0.05);
        assert_eq!(cells[0].trial_ids.len(), 1, "{index}");
    }
}

#[test]
fn a_warning_does_not_keep_a_trial_out() {
    let mut warned = trial(&random_read(), 1000.0);
    warned.findings.push(Finding::new(FindingCode::ForeignIo, Severity::Warning, "other", ""));
    assert!(model::counts(&warned));
}

#[test]
fn service_time_follows_from_the_utilization_law() {
    let mut trials = visits(&random_read(), 1000.0);
    for trial in &mut trials {
        if let Measured::Value(counters) = &mut trial.device_counters {
            counters.busy_ms = 0.25 * WINDOW_NS as f64 / 1e6;
        }
    }
    let cells = model::aggregate(&trials, 0.05);
    assert_eq!(cells[0].utilization.value(), Some(&0.25));
    let service = cells[0].service_ns.value().unwrap();
    assert!((service.value / 250_000.0 - 1.0).abs() < 1e-3, "{service:?}");
    assert!(service.relative_half_width() > 0.01);
}

#[test]
fn the_share_at_the_device_is_its_time_over_ours_where_requests_are_one_for_one() {
    let visits = visits(&random_read(), 1000.0);
    let with = |concurrency: f64, ratio: f64, other: u64| {
        let mut trials = visits.clone();
        for trial in &mut trials {
            let ios = trial.completed();
            let waited = trial.iops() * trial.latency_ns().unwrap() / 1e9;
            let Measured::Value(counters) = &mut trial.device_counters else { panic!() };
            counters.ios = (ios as f64 * ratio) as u64;
            counters.bytes = ios * 4096;
            (counters.ratio_ios, counters.ratio_bytes) = (Some(ratio), Some(1.0));
            counters.other_bytes = Some(other);
            // Requests in flight at the device, per request that we wait for.
            counters.concurrency = concurrency * waited;
        }
        model::aggregate(&trials, 0.05)[0].device_share.clone()
    };
    let share = |found: Measured<f64>| found.value().copied();
    assert!((share(with(0.6, 1.0, 0)).unwrap() - 0.6).abs() < 0.01);
    // Milliseconds may add up to more than the window.
    assert_eq!(share(with(1.2, 1.0, 0)), Some(1.0));
    for found in [with(0.6, 0.4, 0), with(0.6, 2.0, 0), with(0.6, 1.0, 1 << 30)] {
        assert!(found.reason().unwrap().contains("one to one"), "{found:?}");
    }
    assert!(with(0.0, 1.0, 0).reason().unwrap().contains("never changed"));
}

#[test]
fn what_one_visit_of_four_did_not_measure_the_others_tell() {
    let trial = |rate: f64| trial(&random_read(), rate);
    let told: Vec<Trial> = [1000.0, 1010.0, 990.0].map(trial).into();
    let mut late = trial(2000.0);
    late.device_counters = Measured::not("read late");
    late.cpu = Measured::not("read late");
    let four: Vec<Trial> = told.iter().cloned().chain([late.clone()]).collect();
    let (of_three, of_four) =
        (&model::aggregate(&told, 0.05)[0], &model::aggregate(&four, 0.05)[0]);
    assert_eq!(of_four.utilization, of_three.utilization);
    assert_eq!(of_four.service_ns, of_three.service_ns);
    assert_eq!(of_four.cpu_us_per_io, of_three.cpu_us_per_io);
    assert!(of_four.iops.value > of_three.iops.value, "rates are those of all visits");
    let five: Vec<Trial> = four.into_iter().chain([late]).collect();
    assert_eq!(model::aggregate(&five, 0.05)[0].utilization.reason(), Some("read late"));
}

#[test]
fn what_one_visit_of_three_did_not_measure_the_cell_has_not_measured() {
    let mut trials = visits(&random_read(), 1000.0);
    trials[1].device_counters = Measured::not("no counters");
    trials[2].cpu = Measured::not("no clock");
    let cells = model::aggregate(&trials, 0.05);
    assert_eq!(cells[0].utilization.reason(), Some("no counters"));
    assert_eq!(cells[0].service_ns.reason(), Some("no counters"));
    assert_eq!(cells[0].cpu_us_per_io.reason(), Some("no clock"));
}

#[test]
fn a_mixed_load_is_one_load_and_its_response_is_the_mean_over_all_requests() {
    let mut mixed = random_read();
    mixed.read_percent = 75;
    let mut trial = trial(&mixed, 1000.0);
    // `trial` made writes of it; give it reads three times as many and three times as fast.
    let mut reads = trial.result.write.clone().unwrap();
    reads.ios *= 3;
    reads.iops *= 3.0;
    reads.latency_ns.as_mut().unwrap().mean /= 3.0;
    trial.result.read = Some(reads);
    let cells = model::aggregate(&[trial], 0.05);
    assert!((cells[0].iops.value - 4000.0).abs() < 1e-9);
    // (3 x 1/3 + 1 x 1) / 4 of the writes' 1 ms.
    assert!((cells[0].latency_ns.value - 0.5e6).abs() < 1.0);
}

#[test]
fn visits_of_very_different_rates_keep_littles_law_and_the_utilization_law() {
    let load = workload(OpKind::Read, Pattern::Random, 4096, 8);
    let mut trials = [200.0, 1000.0, 5000.0, 700.0].map(|iops| trial(&load, iops));
    for (trial, share) in trials.iter_mut().zip([0.2, 0.9, 0.4, 0.7]) {
        let Measured::Value(counters) = &mut trial.device_counters else { panic!("they have it") };
        counters.busy_ms = share * WINDOW_NS as f64 / 1e6;
    }
    let cell = &model::aggregate(&trials, 0.05)[0];
    let in_progress = cell.iops.value * cell.latency_ns.value / 1e9;
    assert!((in_progress - 8.0).abs() < 1e-9, "{in_progress}");
    let busy = cell.iops.value * cell.service_ns.value().unwrap().value / 1e9;
    assert!((busy - cell.utilization.value().unwrap()).abs() < 1e-12, "{busy}");
    assert_eq!(cell.latency_ns.n, 4);
}

#[test]
fn the_interval_of_a_response_time_is_that_of_a_ratio() {
    // Requests 100, 200, 300 and mean times 30, 20, 10 ms: the ratio is 10/600 s, its deviations
    // times requests are 4/3, 2/3 and -2 s.
    let mut trials = [100.0, 200.0, 300.0].map(|iops| trial(&random_read(), iops));
    for (trial, mean_ms) in trials.iter_mut().zip([30.0, 20.0, 10.0]) {
        let times = trial.result.read.as_mut().unwrap().latency_ns.as_mut().unwrap();
        times.mean = mean_ms * 1e6;
    }
    let latency = model::aggregate(&trials, 0.05)[0].latency_ns;
    assert!((latency.value - 1e10 / 600.0).abs() < 1e-3, "{latency:?}");
    let squares = (16.0_f64 + 4.0 + 36.0) / 9.0;
    let se_ns = (squares / 2.0 / 3.0).sqrt() / 200.0 * 1e9;
    let half_width = stats::student_t_quantile(0.98, 2.0) * se_ns;
    // An error of more than a third of the value is that of its logarithm.
    let ratio = (half_width / latency.value).exp();
    assert!((latency.high / latency.value - ratio).abs() < 1e-9, "{latency:?}");
    assert!((latency.value / latency.low - ratio).abs() < 1e-9, "{latency:?}");
}

#[test]
fn a_busy_counter_that_cannot_be_right_gives_neither_service_time_nor_utilization() {
    let with = |depth, busy_share: f64| {
        let mut trials = visits(&workload(OpKind::Read, Pattern::Random, 4096, depth), 1000.0);
        for trial in &mut trials {
            // Idle time between requests: the latency is half of the interval.
            let read = trial.result.read.as_mut().unwrap();
            read.latency_ns.as_mut().unwrap().mean /= 2.0;
            let Measured::Value(counters) = &mut trial.device_counters else {
                panic!("no counters")
            };
            counters.busy_ms = busy_share * WINDOW_NS as f64 / 1e6;
        }
        model::aggregate(&trials, 0.05).remove(0)
    };
    let still = with(1, 0.0);
    assert!(still.service_ns.reason().unwrap().contains("never changed"), "{still:?}");
    assert!(still.utilization.reason().is_some());
    let coarse = with(1, 1.0);
    assert!(coarse.service_ns.reason().unwrap().contains("S larger than R"), "{coarse:?}");
    assert!(coarse.utilization.reason().is_some());
    assert!(with(1, 0.505).service_ns.value().is_some(), "above, but within its interval");
    assert!(with(1, 0.4).service_ns.value().is_some());
    // At depth 1 in each of two jobs: requests wait for each other.
    assert!(with(2, 1.0).service_ns.value().is_some());
}

#[test]
fn the_median_visit_of_an_open_loop_stands_beside_the_mean_and_a_closed_one_has_none() {
    let open = record::Workload {
        arrival: record::Arrival::Poisson,
        rate_iops: Some(1000),
        ..random_read()
    };
    let slow_by = |times: f64| {
        let mut trial = trial(&open, 1000.0);
        let latency = trial.result.read.as_mut().unwrap().latency_ns.as_mut().unwrap();
        latency.mean *= times;
        trial
    };
    let trials: Vec<Trial> = [1.0, 1.1, 0.9, 30.0, 1.0].map(slow_by).into();
    let alone = 1e6;
    let cells = model::aggregate(&trials, 0.05);
    assert!((cells[0].latency_ns.value / alone - 6.8).abs() < 1e-6, "{:?}", cells[0].latency_ns);
    let middle = cells[0].median_visit.unwrap();
    assert!((middle.latency_ns / alone - 1.0).abs() < 1e-6, "{middle:?}");
    // With only reads there is no split.
    assert_eq!((middle.read_latency_ns, middle.write_latency_ns), (None, None));
    assert!(model::aggregate(&trials[..4], 0.05)[0].median_visit.is_none());
    assert!(model::aggregate(&visits(&random_read(), 1000.0), 0.05)[0].median_visit.is_none());
}
