//! Recorded requests and the load that is to do the same, side by side.
//!
//! Both ran in turn on one target, so that what changes there hits both. A ratio is the mean of the logarithms
//! of the pairs' ratios, with the interval that their spread gives.

use record::{Estimate, SideBySideRuns, Trial, TwinRow};
use stats::{median, visits_mean};

/// What a quantity is of, its identifier, and how it is read from a trial.
type Quantity = (&'static str, &'static str, fn(&Trial) -> Option<f64>);

const QUANTITIES: [Quantity; 10] = [
    ("reads", "iops", |it| Some(it.result.read.as_ref()?.iops)),
    ("reads", "latency_mean_ns", |it| Some(it.result.read.as_ref()?.latency_ns.as_ref()?.mean)),
    ("reads", "latency_p50_ns", |it| it.result.read.as_ref()?.latency_ns.as_ref()?.p50),
    ("reads", "latency_p99_ns", |it| it.result.read.as_ref()?.latency_ns.as_ref()?.p99),
    ("writes", "iops", |it| Some(it.result.write.as_ref()?.iops)),
    ("writes", "latency_mean_ns", |it| Some(it.result.write.as_ref()?.latency_ns.as_ref()?.mean)),
    ("writes", "latency_p50_ns", |it| it.result.write.as_ref()?.latency_ns.as_ref()?.p50),
    ("writes", "latency_p99_ns", |it| it.result.write.as_ref()?.latency_ns.as_ref()?.p99),
    ("device", "device_mean_request_bytes", |it| it.device_counters.value()?.mean_request_bytes),
    ("device", "device_concurrency", |it| Some(it.device_counters.value()?.concurrency)),
];

/// Pairs of trials, original and twin, as one table; quantities that any of them lacks are left out.
#[must_use]
pub fn side_by_side(pairs: &[(Trial, Trial)]) -> Option<SideBySideRuns> {
    let (first, _) = pairs.first()?;
    let all: Vec<[Trial; 2]> = pairs
        .iter()
        .map(|(original, twin)| {
            [original, twin].map(|trial| trial.together().unwrap_or_else(|| trial.clone()))
        })
        .collect();
    let rows = QUANTITIES.iter().filter_map(|(of, quantity, read)| {
        let values: Option<Vec<[f64; 2]>> =
            all.iter().map(|[original, twin]| Some([read(original)?, read(twin)?])).collect();
        let values = values?;
        let column = |side: usize| median(values.iter().map(|pair| pair[side]).collect());
        let positive = values.iter().all(|[original, twin]| *original > 0.0 && *twin > 0.0);
        let logs = values.iter().map(|[original, twin]| libm::log(twin / original));
        let ratio = visits_mean(&logs.collect::<Vec<_>>()).filter(|_| positive);
        Some(TwinRow {
            of: (*of).to_owned(),
            quantity: (*quantity).to_owned(),
            original: column(0),
            twin: column(1),
            ratio: ratio.as_ref().map(Estimate::exp_of),
        })
    });
    Some(runs(first, pairs.len(), rows.collect()))
}

/// What counters told of a load, as its device had it.
#[derive(Clone, Copy, Debug)]
pub struct CountedLoad {
    /// Requests per second.
    pub iops: f64,
    /// Mean latency.
    pub latency_ns: Option<f64>,
    /// Mean size of a request.
    pub request_bytes: f64,
}

/// A load that was counted, and runs of its twin: what the device of the twin counted of them.
#[must_use]
pub fn beside_counters(original: &CountedLoad, trials: &[Trial]) -> Option<SideBySideRuns> {
    let first = trials.first()?;
    let counted: Option<Vec<[f64; 4]>> = trials
        .iter()
        .map(|trial| {
            let device = trial.device_counters.value()?;
            let iops = device.ios as f64 / trial.result.duration_ns.as_secs_f64();
            let latency_ns = device.concurrency / iops * 1e9;
            Some([iops, latency_ns, device.mean_request_bytes?, device.concurrency])
        })
        .collect();
    let counted = counted?;
    let CountedLoad { iops, latency_ns, request_bytes } = *original;
    let originals = [
        ("iops", Some(iops)),
        ("latency_mean_ns", latency_ns),
        ("device_mean_request_bytes", Some(request_bytes)),
        ("device_concurrency", latency_ns.map(|latency| latency * iops / 1e9)),
    ];
    let rows = originals.iter().enumerate().filter_map(|(at, (quantity, original))| {
        let original = (*original)?;
        let values: Vec<f64> = counted.iter().map(|values| values[at]).collect();
        let positive = original > 0.0 && values.iter().all(|value| *value > 0.0);
        let logs: Vec<f64> = values.iter().map(|twin| libm::log(twin / original)).collect();
        Some(TwinRow {
            of: "device".to_owned(),
            quantity: (*quantity).to_owned(),
            original,
            twin: median(values),
            ratio: visits_mean(&logs).filter(|_| positive).as_ref().map(Estimate::exp_of),
        })
    });
    Some(runs(first, trials.len(), rows.collect()))
}

fn runs(first: &Trial, pairs: usize, rows: Vec<TwinRow>) -> SideBySideRuns {
    SideBySideRuns {
        target: first.targets.first().map(|target| target.path.clone()).unwrap_or_default(),
        simulated: first.simulated,
        pairs: pairs as u32,
        rows,
    }
}
