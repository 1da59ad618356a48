//! Writes trials in the form of fio's JSON (`--output-format=json+`), for tools that read it: fio's own
//! converters, fio-plot, dashboards.
//!
//! Values that fio reports but this program does not measure are left out. So are percentiles with fewer than
//! ten requests beyond them; a reader of these has to handle their absence. Sums are those of the measured
//! window. fio's `slat`, the time of the submission call, is not measured separately: `clat` includes it, and
//! equals fio's `lat` in a closed loop. In an open loop, only `lat` has bins, and `clat` has the percentiles
//! of its summary. Facts: fio 3.33 and its HOWTO.

use crate::fio_options::options;
use crate::trial::jobs_of;
use record::{Arrival, DirectionResult, HistogramSnapshot, TimeSummary, Trial, bucket_mid};
use serde_json::{Map, Value, json};

/// Percentiles that fio prints.
static PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// Bounds of fio's latency table, in each of its units.
const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const KIB: f64 = 1024.0;

/// A run for fio's JSON.
#[derive(Clone, Debug)]
pub struct FioRun {
    /// Name of its job, if it has only one. Several jobs have names of their own.
    pub name: String,
    /// The requested percentiles of each job, in percent; without any, those that fio prints.
    pub percentiles: Vec<Vec<f64>>,
    /// The result.
    pub trial: Trial,
}

/// Converts runs to the document that fio would print for them.
#[must_use]
pub fn fio_json(runs: &[FioRun]) -> Value {
    let first = runs.first().map(|run| &run.trial);
    let ours = || format!("halfpower-{}", first.map_or("", |it| it.halfpower_version.as_str()));
    json!({
        "fio version": first.and_then(|it| it.measured_by.clone()).unwrap_or_else(ours),
        "time": first.and_then(|trial| trial.time.clone()),
        "jobs": runs.iter().flat_map(of_run).collect::<Vec<_>>(),
    })
}

fn of_run(run: &FioRun) -> Vec<Value> {
    let percentiles = |index: usize| {
        let asked = run.percentiles.get(index).filter(|asked| !asked.is_empty());
        asked.map_or(PERCENTILES.as_slice(), Vec::as_slice)
    };
    match jobs_of(&run.trial).as_slice() {
        [_] => vec![job(&run.name, &run.trial, percentiles(0))],
        several => {
            let named = several.iter().enumerate();
            named.map(|(index, (name, trial))| job(name, trial, percentiles(index))).collect()
        }
    }
}

fn job(name: &str, trial: &Trial, percentiles: &[f64]) -> Value {
    let result = &trial.result;
    let seconds = result.duration_ns.as_secs_f64();
    let open = trial.workload.arrival != Arrival::Closed;
    let side = |side: &Option<DirectionResult>| {
        let none = DirectionResult::default();
        direction(side.as_ref().unwrap_or(&none), (seconds, open), percentiles)
    };
    let errno = trial.directions().flat_map(|one| &one.error_kinds).map(|kind| kind.errno).next();
    let mut job = json!({
        "jobname": name,
        "groupid": 0,
        "error": errno.unwrap_or(0),
        "elapsed": seconds.ceil() as u64,
        "job options": options(name, trial),
        "read": side(&result.read),
        "write": side(&result.write),
        "trim": side(&result.trim),
        "sync": flushes(result.flush.as_ref(), percentiles),
        "job_runtime": (seconds * 1e3 * f64::from(trial.workload.numjobs)).round() as u64,
        "latency_depth": trial.workload.iodepth,
    });
    let all = trial.histogram();
    for (key, unit_ns, last) in
        [("latency_ns", 1, false), ("latency_us", 1_000, false), ("latency_ms", 1_000_000, true)]
    {
        job[key] = table(&all, unit_ns, last);
    }
    if let Some(cpu) = trial.cpu.value().filter(|_| seconds > 0.0) {
        // As a share of one CPU, like fio.
        job["usr_cpu"] = json!(cpu.user_ms / (seconds * 10.0));
        job["sys_cpu"] = json!(cpu.system_ms / (seconds * 10.0));
    }
    job
}

fn direction(side: &DirectionResult, (seconds, open): (f64, bool), percentiles: &[f64]) -> Value {
    let bytes_per_s = side.bytes_per_s;
    let whole = Some(&side.histogram);
    let (latency, completion) = (side.latency_ns.as_ref(), side.completion_ns.as_ref());
    let mut found = json!({
        "io_bytes": side.bytes,
        "io_kbytes": (side.bytes as f64 / KIB).floor() as u64,
        "bw_bytes": bytes_per_s.round() as u64,
        "bw": (bytes_per_s / KIB).floor() as u64,
        "iops": side.iops,
        "runtime": if side.ios > 0 { (seconds * 1e3).round() as u64 } else { 0 },
        "total_ios": side.ios,
        "short_ios": side.short,
        "drop_ios": 0,
        "lat_ns": times(latency, side.ios, whole, percentiles),
        "clat_ns": times(completion, side.ios, whole.filter(|_| !open), percentiles),
    });
    if let Some(share) = side.iops_ci95_rel {
        found["halfpower_iops_ci95_rel"] = json!(share);
    }
    found
}

fn flushes(flush: Option<&DirectionResult>, percentiles: &[f64]) -> Value {
    let none = DirectionResult::default();
    let flush = flush.unwrap_or(&none);
    let (latency, histogram) = (flush.latency_ns.as_ref(), Some(&flush.histogram));
    json!({
        "total_ios": flush.ios,
        "lat_ns": times(latency, flush.ios, histogram, percentiles),
    })
}

/// Times in fio's form. Their percentiles are those of the histogram, or without one, of the summary.
fn times(
    times: Option<&TimeSummary>,
    count: u64,
    histogram: Option<&HistogramSnapshot>,
    percentiles: &[f64],
) -> Value {
    let Some(times) = times else {
        return json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    };
    let mut found = json!({
        "min": times.min, "max": times.max, "mean": times.mean, "stddev": times.stddev, "N": count,
    });
    let histogram = histogram.filter(|histogram| histogram.count() > 0);
    let one = |percent: &f64| {
        let value = match histogram {
            Some(histogram) => histogram.percentile(percent / 100.0),
            None => of_summary(times, *percent),
        }?;
        Some((format!("{percent:.6}"), json!(value.round() as u64)))
    };
    found["percentile"] = percentiles.iter().filter_map(one).collect::<Map<String, Value>>().into();
    if let Some(histogram) = histogram {
        let bins = histogram.buckets.iter().map(|&(bucket, count)| {
            ((bucket_mid(bucket as usize).round() as u64).to_string(), json!(count))
        });
        found["bins"] = bins.collect::<Map<String, Value>>().into();
    }
    found
}

/// A percentile of a summary, if it has that one.
fn of_summary(times: &TimeSummary, percent: f64) -> Option<f64> {
    let known = [
        (50.0, times.p50),
        (90.0, times.p90),
        (95.0, times.p95),
        (99.0, times.p99),
        (99.9, times.p99_9),
        (99.99, times.p99_99),
    ];
    known.into_iter().find(|(known, _)| *known == percent)?.1
}

/// Percentage of requests with a latency below each bound but not below the previous one.
fn table(histogram: &HistogramSnapshot, unit_ns: u64, last: bool) -> Value {
    let total = histogram.count().max(1) as f64;
    let share = |from: f64, to: f64| {
        let within = |bucket: u32| (from..to).contains(&bucket_mid(bucket as usize));
        let count: u64 =
            histogram.buckets.iter().filter(|(bucket, _)| within(*bucket)).map(|(_, n)| n).sum();
        json!(100.0 * count as f64 / total)
    };
    let unit = unit_ns as f64;
    // The table of a unit begins where that of the smaller unit ends.
    let mut from = if unit_ns == 1 { 0.0 } else { unit };
    let mut found = Map::new();
    for bound in BOUNDS {
        let to = bound as f64 * unit;
        found.insert(bound.to_string(), share(from, to));
        from = to;
    }
    if last {
        found.insert("2000".to_owned(), share(from, 2.0 * from));
        found.insert(">=2000".to_owned(), share(2.0 * from, f64::INFINITY));
    }
    found.into()
}
