//! Predictions against theory, on cells that are made of it.

use super::*;
use record::{
    Arrival, Bytes, CacheMode, HistogramSnapshot, Locality, Measured, MixClass, Nanos, OpKind,
    Pattern, SizeShare, Workload, bucket_index,
};

/// A cell of reads at a depth or, where there is a rate, in an open loop.
pub(super) fn cell(bytes: u64, depth: u32, rate: Option<u64>, iops: f64, response_ns: f64) -> Cell {
    let workload = Workload {
        pattern: Pattern::Random,
        bs: vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
        iodepth: depth,
        depth,
        cache: CacheMode::Device,
        arrival: if rate.is_some() { Arrival::Poisson } else { Arrival::Closed },
        rate_iops: rate,
        size_bytes: Bytes(1 << 30),
        runtime_ns: Nanos(1_000_000_000),
        ..Workload::default()
    };
    let exact = |value: f64| Estimate::symmetric(value, 0.001 * value, 6);
    Cell {
        cell: workload.cell(),
        workload,
        trial_ids: Vec::new(),
        ios: 10_000,
        iops: exact(iops),
        rerun_iops: exact(iops),
        bytes_per_s: exact(iops * bytes as f64),
        response_ns: exact(response_ns),
        read_response_ns: None,
        write_response_ns: None,
        median_visit: None,
        // Constant times: no variance.
        histogram: HistogramSnapshot {
            buckets: vec![(bucket_index(response_ns as u64) as u32, 10_000)],
        },
        utilization: Measured::not("synthetic"),
        service_ns: Measured::not("synthetic"),
        cpu_us_per_io: Measured::not("synthetic"),
        precise: true,
    }
}

/// Closed loops of `servers` servers of 1 ms.
fn servers(servers: u32) -> Vec<Cell> {
    [1u32, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .map(|depth| {
            let iops = 1_000.0 * f64::from(depth.min(servers));
            cell(4096, depth, None, iops, f64::from(depth) / iops * 1e9)
        })
        .collect()
}

fn reads(bytes: u64) -> Mix {
    Mix {
        classes: vec![MixClass { op: OpKind::Read, locality: Locality::Random, bytes, share: 1.0 }],
    }
}

fn response(predictor: &Predictor, model: ModelName, rate: f64) -> f64 {
    let prediction = predictor.predict_by(model, &reads(4096), Offered::PoissonPerS(rate));
    prediction.unwrap().response_ns.value / 1e6
}

#[test]
fn each_model_is_its_textbook_formula() {
    let predictor = Predictor::of_cells(&servers(1));
    assert!((response(&predictor, ModelName::UtilizationLaw, 500.0) - 1.0).abs() < 0.01);
    assert!((response(&predictor, ModelName::Mm1, 500.0) - 2.0).abs() < 0.01);
    assert!((response(&predictor, ModelName::LoadDependent, 500.0) - 2.0).abs() < 0.01);
    // Constant times halve the queue.
    assert!((response(&predictor, ModelName::Mg1, 500.0) - 1.5).abs() < 0.01);
    assert!((response(&predictor, ModelName::MixCapacity, 500.0) - 1.5).abs() < 0.01);
}

#[test]
fn a_parallel_device_has_its_unloaded_time_where_mm1_has_a_fraction_of_it() {
    let predictor = Predictor::of_cells(&servers(8));
    assert!((response(&predictor, ModelName::LoadDependent, 2_000.0) - 1.0).abs() < 0.01);
    assert!(response(&predictor, ModelName::Mm1, 2_000.0) < 0.2);
    assert_eq!(predictor.advised(), ModelName::LoadDependent);
}

#[test]
fn a_depth_between_measured_ones_obeys_littles_law() {
    let predictor = Predictor::of_cells(&servers(8));
    let prediction = predictor.predict(&reads(4096), Offered::Depth(24.0)).unwrap();
    assert!((prediction.response_ns.value / 3e6 - 1.0).abs() < 0.01, "{prediction:?}");
    assert!((prediction.concurrency - 24.0).abs() < 0.1);
}

#[test]
fn open_trials_overrule_theory_where_it_is_wrong() {
    // A token bucket: the curve of one server, and no queue below the cap.
    let mut cells = servers(1);
    for rate in [150u64, 300, 450, 550, 600, 650] {
        cells.push(cell(4096, 256, Some(rate), rate as f64, 1.0e6));
    }
    let predictor = Predictor::of_cells(&cells);
    assert_eq!(predictor.advised(), ModelName::Calibrated);
    let found = predictor.predict(&reads(4096), Offered::PoissonPerS(500.0)).unwrap();
    assert!((found.response_ns.value / 1e6 - 1.0).abs() < 0.03, "{found:?}");
}

#[test]
fn what_cannot_be_answered_is_an_error() {
    let predictor = Predictor::of_cells(&servers(1));
    let writes = Mix { classes: vec![MixClass { op: OpKind::Write, ..reads(4096).classes[0] }] };
    let ask = |mix: &Mix, offered| predictor.predict(mix, offered).unwrap_err();
    assert!(matches!(ask(&writes, Offered::Depth(1.0)), PredictError::NotMeasured(_)));
    let full = ask(&reads(4096), Offered::PoissonPerS(1_000.0));
    assert!(matches!(full, PredictError::Saturated { .. }), "{full:?}");
    assert!(matches!(ask(&reads(4096), Offered::Depth(0.5)), PredictError::Offered(_)));
    assert!(matches!(ask(&Mix::default(), Offered::Depth(1.0)), PredictError::Shares(_)));
    let none = Predictor::of_cells(&[]);
    assert!(none.predict(&reads(4096), Offered::Depth(1.0)).is_err());
}

#[test]
fn the_highest_rate_that_keeps_a_mean_is_where_the_mean_is_that() {
    let predictor = Predictor::of_cells(&servers(1));
    let found = predictor.highest_rate(&reads(4096), Slo::MeanNs(2e6)).unwrap();
    assert!((found.iops.value - 500.0).abs() < 5.0, "{:?}", found.iops);
    assert_eq!(
        predictor.highest_rate(&reads(4096), Slo::MeanNs(5e5)),
        Err(PredictError::OutOfReach)
    );
    assert_eq!(
        predictor.highest_rate(&reads(4096), Slo::P99Ns(1e9)),
        Err(PredictError::NoPercentile)
    );
}
