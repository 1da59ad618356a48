//! Reads the numbers of a job in fio's JSON.

use ::record::{
    DirectionResult, ErrorCount, Estimate, HistogramSnapshot, TimeSummary, bucket_index,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Minimum number of requests beyond a percentile.
const BEYOND_MIN: f64 = 10.0;
/// Minimum number of rate samples from which a spread is computed.
const SAMPLES_MIN: f64 = 4.0;
/// Maximum share of the submission in the mean latency for which bins of the completion latency count as
/// those of the latency.
const SUBMISSION_SHARE_MAX: f64 = 0.05;

/// Run time in seconds.
pub(crate) fn run_seconds(job: &Value) -> Option<f64> {
    let of = |name: &str| side_seconds(&job[name]);
    let longest = ["read", "write", "trim", "mixed"].into_iter().filter_map(of).fold(0.0, f64::max);
    (longest > 0.0).then_some(longest)
}

/// Run time of a direction in seconds. If the file omits it, or rounds it to 0 ms, it follows from requests
/// and rate.
fn side_seconds(side: &Value) -> Option<f64> {
    let number = |name: &str| side[name].as_f64();
    match number("runtime").filter(|millis| *millis > 0.0) {
        Some(millis) => Some(millis / 1e3),
        None => {
            let rate = number("iops").filter(|rate| *rate > 0.0)?;
            Some(number("total_ios")? / rate)
        }
    }
}

/// The result of a direction. `paced`: its requests have a rate, and fio does not count the time by which a
/// request is submitted later than its rate intends.
pub(crate) fn direction(side: &Value, errno: i32, paced: bool) -> DirectionResult {
    let number = |name: &str| side[name].as_f64().unwrap_or(0.0);
    // fio before 2.2 has no request counts; fio before 3 uses KiB and microseconds.
    let counted = (number("iops") * number("runtime") / 1e3).round() as u64;
    let ios = side["total_ios"].as_u64().unwrap_or(counted);
    let old = ["io_kbytes", "lat_ns", "clat_ns"].iter().all(|name| side[name].is_null());
    let kib = if old { 1_024 } else { 1 };
    let bytes_per_s = side["bw_bytes"].as_f64().unwrap_or(number("bw") * 1_024.0);
    // If the file omits the bytes, they follow from bandwidth and run time.
    let moved = || (bytes_per_s * side_seconds(side).unwrap_or(0.0)).round() as u64;
    let bytes = side["io_bytes"].as_u64().map_or_else(moved, |bytes| bytes.saturating_mul(kib));
    let samples = number("iops_samples");
    let se = number("iops_stddev") / samples.sqrt();
    let spread = Estimate::from_se(number("iops_mean"), se, samples as u32).relative_half_width();
    let (latency, completion, unit_ns) = match old {
        false => (&side["lat_ns"], &side["clat_ns"], 1.0),
        true => (&side["lat"], &side["clat"], 1e3),
    };
    // Without `lat_percentiles`, fio has only bins of the completion latency.
    let of_latency = latency["bins"].as_object().filter(|bins| !bins.is_empty());
    let mean = |of: &Value| of["mean"].as_f64().unwrap_or(0.0);
    let least = mean(latency) * (1.0 - SUBMISSION_SHARE_MAX);
    let close = least > 0.0 && mean(completion) >= least;
    let binned = of_latency.or_else(|| completion["bins"].as_object().filter(|_| close));
    let errors: Vec<ErrorCount> = (errno != 0)
        .then(|| {
            let message = std::io::Error::from_raw_os_error(errno).to_string();
            ErrorCount { errno, message, count: 1 }
        })
        .into_iter()
        .collect();
    let of_completion = times(completion, (ios, unit_ns));
    let (latency_ns, completion_ns) = match (times(latency, (ios, unit_ns)), paced) {
        (Some(whole), true) if close => {
            (None, of_completion.map(|it| TimeSummary { mean: whole.mean, ..it }))
        }
        (whole, true) => (None, whole),
        (whole, false) => (whole, of_completion),
    };
    DirectionResult {
        ios,
        bytes,
        iops: number("iops"),
        bytes_per_s,
        iops_ci95_rel: (samples >= SAMPLES_MIN).then_some(spread).filter(|it| it.is_finite()),
        errors: errors.len() as u64,
        error_kinds: errors,
        short: side["short_ios"].as_u64().unwrap_or(0),
        latency_ns,
        completion_ns,
        offered_iops: None,
        // Old versions number their bins differently.
        histogram: bins(binned.filter(|_| !old && !paced)),
    }
}

/// Flushes by their latencies, because fio's own number of them is always 0; `None` without any.
pub(crate) fn flushes(latency: &Value, seconds: f64) -> Option<DirectionResult> {
    let ios = latency["N"].as_u64().filter(|count| *count > 0)?;
    let times = times(latency, (ios, 1.0));
    Some(DirectionResult {
        ios,
        iops: ios as f64 / seconds,
        latency_ns: times.clone(),
        completion_ns: times,
        histogram: bins(latency["bins"].as_object()),
        ..DirectionResult::default()
    })
}

/// fio's times, in units of `unit_ns` nanoseconds.
fn times(of: &Value, (ios, unit_ns): (u64, f64)) -> Option<TimeSummary> {
    let number = |name: &str| of[name].as_f64().unwrap_or(0.0) * unit_ns;
    if of["N"].as_u64() == Some(0) || number("max") <= 0.0 {
        return None;
    }
    let percentile = |percent: f64| {
        let borne = ios as f64 * (1.0 - percent / 100.0) >= BEYOND_MIN;
        let at = &of["percentile"][format!("{percent:.6}")];
        at.as_f64().map(|time| time * unit_ns).filter(|_| borne)
    };
    Some(TimeSummary {
        mean: number("mean"),
        mean_ci95_rel: None,
        stddev: number("stddev"),
        min: number("min") as u64,
        max: number("max") as u64,
        p50: percentile(50.0),
        p90: percentile(90.0),
        p95: percentile(95.0),
        p99: percentile(99.0),
        p99_9: percentile(99.9),
        p99_99: percentile(99.99),
    })
}

/// Converts fio's bins, which are keyed by their upper ends, to halfpower's buckets.
fn bins(bins: Option<&Map<String, Value>>) -> HistogramSnapshot {
    let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
    for (nanos, count) in bins.into_iter().flatten() {
        let (Ok(nanos), Some(count)) = (nanos.parse::<u64>(), count.as_u64()) else { continue };
        *buckets.entry(bucket_index(nanos) as u32).or_default() += count;
    }
    HistogramSnapshot { buckets: buckets.into_iter().filter(|(_, count)| *count > 0).collect() }
}
