//! Results of fio, from its JSON, as trials: to be kept, compared and shown like ours.
//!
//! A job's options become a workload on the same way as a job file does, so that what cannot be run here
//! cannot be told of a result either. What fio does not tell (counters of the device, limits of the
//! generator, the course of the run) is not measured. Its percentiles keep our rule: one with fewer than
//! ten requests beyond it is none. The interval of a rate is from fio's own samples of it.

use crate::run_args::RunArgs;
use ::record::{
    DirectionResult, ErrorCount, Estimate, HistogramSnapshot, Measured, Nanos, TRIAL_SCHEMA,
    Target, TargetKind, TimeSummary, Trial, TrialResult, Workload, bucket_index, hex_digest,
};
use fio::{FileKind, Section, Setting};
use serde_json::{Map, Value};
use session::VERSION;
use std::collections::BTreeMap;

/// Why a trial of fio has no such part.
const NOT_TOLD: &str = "fio does not tell";
/// Requests beyond a percentile that it takes.
const BEYOND_MIN: f64 = 10.0;
/// Samples of the rate from which on their spread says anything.
const SAMPLES_MIN: f64 = 4.0;

/// The trials of a text that is fio's JSON, which may stand behind lines of fio's own; `None` for any
/// other.
pub(crate) fn trials(text: &str) -> Option<Result<Vec<Trial>, String>> {
    let begin = match text.starts_with('{') {
        true => 0,
        false => text.find("\n{")? + 1,
    };
    // Not every JSON is parsed: ours can be large.
    text[begin..]
        .get(..200)
        .or(Some(&text[begin..]))
        .filter(|head| head.contains("fio version"))?;
    let document: Value = match serde_json::from_str(&text[begin..]) {
        Ok(document) => document,
        Err(error) => return Some(Err(format!("it is no whole JSON of fio: {error}"))),
    };
    document.get("fio version")?;
    let jobs = document["jobs"].as_array().cloned().unwrap_or_default();
    let all = jobs.iter().enumerate().map(|(index, job)| {
        let name = job["jobname"].as_str().unwrap_or_default();
        let same = |other: &&Value| other["jobname"] == job["jobname"];
        let alone = jobs.iter().filter(same).count() == 1;
        let id = hex_digest(&format!("{index} {text}"));
        trial(&document, job, (id, alone)).map_err(|why| format!("the job {name:?} of fio: {why}"))
    });
    Some(all.collect())
}

fn trial(document: &Value, job: &Value, (id, alone): (String, bool)) -> Result<Trial, String> {
    let (path, mut workload) = workload(document, job)?;
    if workload.numjobs > 1 && !alone {
        return Err("it has several results; run fio with --group_reporting".to_owned());
    }
    let seconds = run_seconds(job).ok_or("nothing completed")?;
    workload.runtime_ns = Nanos((seconds * 1e9) as u64);
    let errno = job["error"].as_i64().unwrap_or(0) as i32;
    let side = |name: &str| -> Option<DirectionResult> {
        let told = direction(&job[name], errno);
        (told.ios > 0).then_some(told)
    };
    let (read, write, trim) = (side("read"), side("write"), side("trim"));
    if read.is_none() && write.is_none() && trim.is_none() {
        return Err("it has no reads, no writes and no trims".to_owned());
    }
    let concurrency = |side: &Option<DirectionResult>| {
        let of = side.as_ref().and_then(|side| Some(side.iops * side.latency_ns.as_ref()?.mean));
        of.unwrap_or(0.0) / 1e9
    };
    Ok(Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        id,
        time: document["time"].as_str().map(str::to_owned),
        seed: 0,
        simulated: false,
        cell: workload.cell(),
        targets: vec![Target {
            path,
            kind: TargetKind::File,
            size_bytes: workload.size_bytes,
            device: None,
            filesystem: None,
            extents: None,
            file_hash: None,
        }],
        result: TrialResult {
            duration_ns: workload.runtime_ns,
            concurrency: concurrency(&read) + concurrency(&write) + concurrency(&trim),
            read,
            write,
            trim,
            ..TrialResult::default()
        },
        workload,
        cpu: Measured::not(NOT_TOLD),
        device_counters: Measured::not(NOT_TOLD),
        harness: Measured::not(NOT_TOLD),
        findings: Vec::new(),
        environment: None,
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
        total: None,
        clients: None,
        parts: Vec::new(),
    })
}

/// The workload that the options ask for, and the target that they name.
fn workload(document: &Value, job: &Value) -> Result<(String, Workload), String> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for of in [&document["global options"], &job["job options"]] {
        let told = of.as_object().into_iter().flatten();
        options.extend(told.map(|(key, value)| {
            (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        }));
    }
    let size = options.get("size").or(options.get("filesize")).cloned();
    let settings =
        options.iter().filter(|(name, _)| *name != "name").map(|(name, value)| Setting {
            name: name.clone(),
            // A switch stands in the options without a value.
            value: Some(if value.is_empty() { "1".to_owned() } else { value.clone() }),
            place: "its options".to_owned(),
        });
    let section = Section {
        name: job["jobname"].as_str().unwrap_or_default().to_owned(),
        settings: settings.collect(),
        place: "its options".to_owned(),
    };
    let run = fio::run_of(&section, &|_| FileKind::File).map_err(|error| error.to_string())?;
    let words = run.words.iter().map(String::as_str);
    let arguments = RunArgs::read(words)?;
    let mut spec = arguments.spec();
    let size = spec.size.ok_or_else(|| match size {
        Some(size) => format!("its size {size:?} is no number of bytes"),
        None => "its options tell no size".to_owned(),
    })?;
    spec.asked.stop.cut_warm_up = false;
    let target = record::Bytes(size.0.saturating_add(spec.asked.offset_bytes.0));
    let workload = spec.build(target).map_err(|error| error.to_string())?;
    Ok((arguments.targets.join(", "), workload))
}

/// How long it ran, in seconds.
fn run_seconds(job: &Value) -> Option<f64> {
    let of = |side: &str| job[side]["runtime"].as_f64();
    let longest = ["read", "write", "trim"].into_iter().filter_map(of).fold(0.0, f64::max);
    (longest > 0.0).then_some(longest / 1e3)
}

fn direction(side: &Value, errno: i32) -> DirectionResult {
    let number = |name: &str| side[name].as_f64().unwrap_or(0.0);
    let ios = side["total_ios"].as_u64().unwrap_or(0);
    let samples = number("iops_samples");
    let se = number("iops_stddev") / samples.sqrt();
    let spread = Estimate::from_se(number("iops_mean"), se, samples as u32).relative_half_width();
    // Of all latencies fio keeps bins of one kind, the same as its percentiles.
    let (latency, completion) = (&side["lat_ns"], &side["clat_ns"]);
    let binned = if latency["bins"].is_object() { latency } else { completion };
    let errors: Vec<ErrorCount> = (errno != 0)
        .then(|| {
            let message = std::io::Error::from_raw_os_error(errno).to_string();
            ErrorCount { errno, message, count: 1 }
        })
        .into_iter()
        .collect();
    DirectionResult {
        ios,
        bytes: side["io_bytes"].as_u64().unwrap_or(0),
        iops: number("iops"),
        bytes_per_s: number("bw_bytes"),
        iops_ci95_rel: (samples >= SAMPLES_MIN).then_some(spread).filter(|it| it.is_finite()),
        errors: errors.len() as u64,
        error_kinds: errors,
        short: side["short_ios"].as_u64().unwrap_or(0),
        latency_ns: times(latency, binned, ios),
        completion_ns: times(completion, completion, ios),
        offered_iops: None,
        histogram: bins(binned["bins"].as_object()),
    }
}

/// Times of fio, with percentiles from where they stand.
fn times(of: &Value, percentiles: &Value, ios: u64) -> Option<TimeSummary> {
    of["N"].as_f64().filter(|count| *count > 0.0)?;
    let number = |name: &str| of[name].as_f64().unwrap_or(0.0);
    let percentile = |percent: f64| {
        let borne = ios as f64 * (1.0 - percent / 100.0) >= BEYOND_MIN;
        percentiles["percentile"][format!("{percent:.6}")].as_f64().filter(|_| borne)
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

/// fio's bins, by their upper ends, in our buckets.
fn bins(bins: Option<&Map<String, Value>>) -> HistogramSnapshot {
    let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
    for (nanos, count) in bins.into_iter().flatten() {
        let (Ok(nanos), Some(count)) = (nanos.parse::<u64>(), count.as_u64()) else { continue };
        *buckets.entry(bucket_index(nanos) as u32).or_default() += count;
    }
    HistogramSnapshot { buckets: buckets.into_iter().filter(|(_, count)| *count > 0).collect() }
}
