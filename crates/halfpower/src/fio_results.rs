//! Converts fio's JSON results to trials, which can be saved, compared and shown.
//!
//! Results of all versions since 2.1 are read, from anywhere in a text, and from several documents. A job's
//! options become a workload as a job file does. An option without a counterpart is reported and omitted,
//! because the measurement remains valid. Values that fio does not report are not measured: counters of the
//! device, limits of the generator, the course of the run. fio's percentiles follow the same rule as
//! halfpower's: one with fewer than ten requests beyond it is omitted. Percentiles of the completion latency
//! are never those of the latency, which includes the submission. The interval of a rate comes from fio's own
//! samples of it.

use crate::output;
use crate::run_args::RunArgs;
use ::record::{
    Bytes, DirectionResult, ErrorCount, Estimate, Finding, FindingCode, HistogramSnapshot, Instead,
    Measured, Nanos, OpKind, SizeShare, TRIAL_SCHEMA, Target, TargetKind, TimeSummary, Trial,
    TrialResult, Workload, bucket_index, hex_digest,
};
use plan::session::VERSION;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use workload::fio::{self, FileKind, Section, Setting, result_at};

/// Why a trial lacks a part.
const NOT_TOLD: &str = "not reported by fio";
/// The claim about a file without the options of its jobs.
const NO_OPTIONS: &str = "fio's file does not contain the options of the job: the target, the order \
                          of requests, queue depth, number of jobs, engine and cache mode are unknown.";
/// Minimum number of requests beyond a percentile.
const BEYOND_MIN: f64 = 10.0;
/// Minimum number of rate samples from which a spread is computed.
const SAMPLES_MIN: f64 = 4.0;

/// Maximum share of the submission in the mean latency for which bins of the completion latency count as
/// those of the latency.
const SUBMISSION_SHARE_MAX: f64 = 0.05;

/// An unknown size; the area of such a trial has length 0.
const UNKNOWN: Bytes = Bytes(0);
/// A target large enough for any area, because fio does not report the length of its files.
const LARGEST: Bytes = Bytes(1 << 60);

/// The trials of a text that contains fio's JSON; `None` for any other text.
pub(crate) fn trials(text: &str) -> Option<Result<Vec<Trial>, String>> {
    result_at(text)?;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = result_at(rest) {
        let mut documents = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let document = match documents.next() {
            Some(Ok(document)) => document,
            Some(Err(error)) => {
                return Some(Err(format!("the file is not complete fio JSON output: {error}")));
            }
            None => break,
        };
        match of_document(&document, &hex_digest(&rest[at..at + documents.byte_offset()])) {
            Ok(trials) => found.extend(trials),
            Err(why) => return Some(Err(why)),
        }
        rest = &rest[at + documents.byte_offset()..];
    }
    Some(Ok(found))
}

/// The trials of a document: its jobs, or those of a server's clients.
fn of_document(document: &Value, digest: &str) -> Result<Vec<Trial>, String> {
    let jobs = [&document["jobs"], &document["client_stats"]].into_iter();
    let jobs: Vec<&Value> = jobs
        .filter_map(Value::as_array)
        .flatten()
        .filter(|job| job["jobname"] != "All clients")
        .collect();
    let idle = |job: &&Value| run_seconds(job).is_none();
    // If other jobs did something, an idle job has no result.
    let all_idle = jobs.iter().all(idle);
    let counted = jobs.iter().enumerate().filter(|(_, job)| all_idle || !idle(job));
    let trials = counted.map(|(index, job)| {
        let name = job["jobname"].as_str().unwrap_or_default();
        let same = |other: &&&Value| other["jobname"] == job["jobname"];
        let alone = jobs.iter().filter(same).count() == 1;
        let id = hex_digest(&format!("{index} {digest}"));
        trial(document, job, (id, alone)).map_err(|why| format!("the job {name:?} of fio: {why}"))
    });
    trials.collect()
}

fn trial(document: &Value, job: &Value, (id, alone): (String, bool)) -> Result<Trial, String> {
    let requests = |name: &str| job[name]["total_ios"].as_u64() > Some(0);
    let seconds = run_seconds(job).ok_or_else(|| {
        match ["read", "write", "trim", "mixed"].into_iter().any(requests) {
            true => "neither its run time nor its rate is in the file",
            false => "no request completed",
        }
    })?;
    let (path, mut workload) = workload(document, job)?;
    let sum = job["mixed"].is_object() && !job["read"].is_object();
    let only = workload.only_op().filter(|_| workload.instead.is_none()).map(OpKind::name);
    if sum && only.is_none() {
        return Err("reads and writes are combined (unified_rw_reporting); run fio without that \
                    option"
            .to_owned());
    }
    if !alone && workload.options_known() {
        // Without group_reporting, fio reports each job separately.
        let jobs = workload.numjobs;
        let rules = &mut workload.stop;
        rules.max_bytes = rules.max_bytes.map(|bytes| Bytes(bytes.0 / u64::from(jobs)));
        rules.passes = rules.passes.map(|passes| passes / jobs);
        (workload.numjobs, workload.depth) = (1, workload.iodepth);
    }
    workload.runtime_ns = Nanos((seconds * 1e9) as u64);
    let errno = job["error"].as_i64().unwrap_or(0) as i32;
    let side = |name: &str| -> Option<DirectionResult> {
        // With one direction, fio's sum is that direction's result.
        let of = if sum && only == Some(name) { "mixed" } else { name };
        let told = direction(&job[of], errno);
        (told.ios > 0).then_some(told)
    };
    let (read, write, trim) = (side("read"), side("write"), side("trim"));
    if read.is_none() && write.is_none() && trim.is_none() {
        return Err("the job has no reads, no writes and no trims".to_owned());
    }
    let moved = [&read, &write, &trim].into_iter().flatten().map(|side| side.bytes);
    let moved = moved.fold(0, u64::saturating_add);
    // fio's file has no switches, such as time_based. A job that went on after its bytes ended by time.
    workload.stop.max_bytes = workload.stop.max_bytes.filter(|most| moved <= most.0);
    let findings = match workload.options_known() {
        true => Vec::new(),
        false => vec![Finding::note(FindingCode::FiguresMissing, NO_OPTIONS, "")],
    };
    let concurrency = |side: &Option<DirectionResult>| {
        let of = side.as_ref().and_then(|side| Some(side.iops * side.latency_ns.as_ref()?.mean));
        of.unwrap_or(0.0) / 1e9
    };
    Ok(Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        measured_by: Some(document["fio version"].as_str().unwrap_or("fio").to_owned()),
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
            test_file: None,
        }],
        result: TrialResult {
            duration_ns: workload.runtime_ns,
            concurrency: concurrency(&read) + concurrency(&write) + concurrency(&trim),
            read,
            write,
            trim,
            flush: flushes(&job["sync"]["lat_ns"], seconds),
            ..TrialResult::default()
        },
        workload,
        cpu: Measured::not(NOT_TOLD),
        device_counters: Measured::not(NOT_TOLD),
        harness: Measured::not(NOT_TOLD),
        findings,
        environment: None,
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
        total: None,
        clients: None,
        parts: Vec::new(),
    })
}

/// The target and the workload of a job's options. Options without a counterpart are omitted.
fn workload(document: &Value, job: &Value) -> Result<(String, Workload), String> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for of in [&document["global options"], &job["job options"]] {
        let told = of.as_object().into_iter().flatten();
        options.extend(told.map(|(key, value)| {
            (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        }));
    }
    if options.is_empty() {
        return Ok(("unknown".to_owned(), without_options(job)));
    }
    let settings = options.iter().map(|(name, value)| Setting {
        name: name.clone(),
        // fio writes a switch as an option without a value.
        value: Some(if value.is_empty() { "1".to_owned() } else { value.clone() }),
        place: name.clone(),
    });
    let mut section = Section {
        name: job["jobname"].as_str().unwrap_or_default().to_owned(),
        settings: settings.filter(|setting| setting.name != "name").collect(),
        place: String::new(),
    };
    let (arguments, left_out) = honoured(&mut section)?;
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        output::remark(&format!(
            "the fio job {:?} has options without an equivalent, whose effect is unknown: \
             {left_out}",
            section.name
        ));
    }
    let mut spec = arguments.spec();
    let size = spec.size;
    spec.asked.stop.cut_warm_up = false;
    let workload = spec.build(LARGEST).map_err(|error| error.to_string())?;
    // An area of a known size is cut to whole requests, as in a run.
    let size_bytes = size.map_or(UNKNOWN, |_| workload.size_bytes);
    Ok((arguments.targets.join(", "), Workload { size_bytes, ..workload }))
}

/// The workload of a job without options, from its requests. A depth of 0 and no sizes mean unknown.
fn without_options(job: &Value) -> Workload {
    let [read, write, trim] = ["read", "write", "trim"].map(|name| direction(&job[name], 0));
    let all = [&read, &write, &trim].iter().map(|side| side.ios as f64).sum::<f64>();
    let share = (read.ios as f64 / all * 100.0).round();
    let read_percent = match (read.ios, write.ios.saturating_add(trim.ios)) {
        (0, 0) => 50,
        (_, 0) => 100,
        (0, _) => 0,
        _ => share.clamp(1.0, 99.0) as u8,
    };
    // The size of the requests, if all have the same one.
    let size = |name: &str, side: &DirectionResult| {
        let whole = job[name]["io_bytes"].is_u64() && side.bytes.is_multiple_of(side.ios);
        whole.then(|| side.bytes / side.ios)
    };
    let sides = [("read", &read), ("write", &write), ("trim", &trim)].into_iter();
    let sides = sides.filter(|(_, side)| side.ios > 0);
    let mut sizes: Vec<Option<u64>> = sides.map(|(name, side)| size(name, side)).collect();
    sizes.dedup();
    let bs = match sizes[..] {
        [Some(bytes)] if bytes > 0 => vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
        _ => Vec::new(),
    };
    Workload {
        read_percent,
        bs,
        instead: (trim.ios > 0 && write.ios == 0).then_some(Instead::Trim),
        iodepth: 0,
        numjobs: 0,
        depth: 0,
        size_bytes: UNKNOWN,
        ..Workload::default()
    }
}

/// The flags of a job, and the options that were omitted because they have no counterpart.
fn honoured(section: &mut Section) -> Result<(RunArgs, Vec<String>), String> {
    let mut left_out = Vec::new();
    loop {
        let faults: Vec<String> =
            match fio::run_of(section, &|_: &str| FileKind::File { bytes: None }) {
                Ok(run) => {
                    let words = run.targets.iter().chain(&run.words).map(String::as_str);
                    return Ok((RunArgs::read(words)?, left_out));
                }
                Err(errors) => errors.into_iter().map(|error| error.place).collect(),
            };
        let before = section.settings.len();
        let (kept, refused): (Vec<Setting>, Vec<Setting>) =
            section.settings.drain(..).partition(|setting| !faults.contains(&setting.place));
        left_out.extend(
            refused
                .into_iter()
                .map(|setting| format!("{}={}", setting.name, setting.value.unwrap_or_default())),
        );
        section.settings = kept;
        if section.settings.len() == before {
            // No more options to omit: the missing value is the size of a file of unknown length.
            let any = Setting {
                name: "filename".to_owned(),
                value: Some("unknown".to_owned()),
                place: String::new(),
            };
            section
                .settings
                .retain(|setting| setting.name != "directory" && setting.name != "nrfiles");
            if section.settings.iter().any(|setting| setting.name == "filename") {
                return Err("the options contradict each other".to_owned());
            }
            section.settings.push(any);
        }
    }
}

/// Run time in seconds.
fn run_seconds(job: &Value) -> Option<f64> {
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

fn direction(side: &Value, errno: i32) -> DirectionResult {
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
    DirectionResult {
        ios,
        bytes,
        iops: number("iops"),
        bytes_per_s,
        iops_ci95_rel: (samples >= SAMPLES_MIN).then_some(spread).filter(|it| it.is_finite()),
        errors: errors.len() as u64,
        error_kinds: errors,
        short: side["short_ios"].as_u64().unwrap_or(0),
        latency_ns: times(latency, (ios, unit_ns)),
        completion_ns: times(completion, (ios, unit_ns)),
        offered_iops: None,
        // Old versions number their bins differently.
        histogram: bins(binned.filter(|_| !old)),
    }
}

/// Flushes by their latencies, because fio's own number of them is always 0; `None` without any.
fn flushes(latency: &Value, seconds: f64) -> Option<DirectionResult> {
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
