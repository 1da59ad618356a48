//! Converts fio's JSON results to trials, which can be saved, compared and shown.
//!
//! Results of all versions since 2.1 are read, from anywhere in a text, and from several documents. Of the
//! cumulative documents of one run (`--status-interval`), only the last is a result. A job's options become a
//! workload as a job file does. An option without a counterpart is reported and omitted, because the
//! measurement remains valid. Values that fio does not report are not measured: counters of the device, limits
//! of the generator, the course of the run, and the latency from the intended arrival of a request with a
//! rate. fio's percentiles follow the same rule as halfpower's: one with fewer than ten requests beyond it is
//! omitted. Percentiles of the completion latency are never those of the latency, which includes the
//! submission. The interval of a rate comes from fio's own samples of it.

use crate::fio_sides::{direction, flushes, run_seconds};
use crate::fio_snapshots::{jobs, without_snapshots};
use crate::output;
use crate::run_args::RunArgs;
use ::record::{
    Arrival, Bytes, Data, DirectionResult, Finding, FindingCode, Instead, Measured, NO_TIME_LIMIT,
    Nanos, OpKind, SizeShare, TRIAL_SCHEMA, Target, TargetKind, Trial, TrialResult, Workload,
    hex_digest,
};
use plan::session::VERSION;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use workload::fio::{self, FileKind, Section, Setting, result_at};

/// Why a trial lacks a part.
const NOT_TOLD: &str = "not reported by fio";
/// The claim about a file without the options of its jobs.
const NO_OPTIONS: &str = "fio's file does not contain the options of the job: the target, the order \
                          of requests, queue depth, number of jobs, engine and cache mode are unknown.";
/// The claim about a job whose reads include those of the verification.
const VERIFY_READS: &str = "fio's reads of this job are those of the verification, after the writes. They \
                            are no load, so they are excluded from all numbers.";
/// The claim about a job with a rate.
const FROM_SUBMISSION: &str = "fio's latencies of a job with a rate count from the submission, even if a \
                               request is submitted later than its rate intends. The latency from the \
                               intended arrival is unknown.";

/// An unknown size: fio does not report the lengths of its files, and perhaps not that of the area.
const UNKNOWN: Bytes = Bytes(0);
/// A target large enough for any area, because fio does not report the length of its files.
const LARGEST: Bytes = Bytes(1 << 60);

/// The trials of a text that contains fio's JSON; `None` for any other text.
pub(crate) fn trials(text: &str) -> Option<Result<Vec<Trial>, String>> {
    result_at(text)?;
    let mut documents = Vec::new();
    let mut rest = text;
    while let Some(at) = result_at(rest) {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let document = match values.next() {
            Some(Ok(document)) => document,
            Some(Err(error)) => {
                return Some(Err(format!("the file is not complete fio JSON output: {error}")));
            }
            None => break,
        };
        let end = at + values.byte_offset();
        documents.push((document, hex_digest(&rest[at..end])));
        rest = &rest[end..];
    }
    let count = documents.len();
    let results = without_snapshots(documents);
    if results.len() < count {
        output::remark(&format!(
            "{} of {count} JSON documents are intermediate results of a run (--status-interval) \
             and are left out: the last document of a run covers all of it",
            count - results.len()
        ));
    }
    let trials = results.iter().map(|(document, digest)| of_document(document, digest));
    Some(trials.collect::<Result<Vec<_>, _>>().map(|trials| trials.concat()))
}

/// The trials of a document.
fn of_document(document: &Value, digest: &str) -> Result<Vec<Trial>, String> {
    let jobs = jobs(document);
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
    let (path, mut workload) = workload(document, job)?;
    // fio adds the reads of the verification to the reads of the job.
    let verified = workload.data == Data::Tagged && requests("read");
    if verified && workload.only_op().is_none() {
        return Err("its reads include those of the verification, and fio does not report them \
                    separately; run fio with do_verify=0"
            .to_owned());
    }
    let mut load = Cow::Borrowed(job);
    if verified {
        load.to_mut()["read"] = Value::Null;
    }
    let job = &*load;
    let seconds = run_seconds(job).ok_or_else(|| {
        match ["read", "write", "trim", "mixed"].into_iter().any(requests) {
            true => "neither its run time nor its rate is in the file",
            false => "no request completed",
        }
    })?;
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
    let measured_by = document["fio version"].as_str().unwrap_or("fio");
    let errno = job["error"].as_i64().unwrap_or(0) as i32;
    // halfpower's own file has the latency from the arrival.
    let own = measured_by.starts_with("halfpower");
    let paced = workload.arrival != Arrival::Closed && !own;
    let side = |name: &str| -> Option<DirectionResult> {
        // With one direction, fio's sum is that direction's result.
        let of = if sum && only == Some(name) { "mixed" } else { name };
        let told = direction(&job[of], errno, paced);
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
    let duration_ns = Nanos((seconds * 1e9) as u64);
    let rules = &workload.stop;
    let endless =
        workload.runtime_ns == NO_TIME_LIMIT && rules.max_bytes.is_none() && rules.passes.is_none();
    if endless || !workload.options_known() {
        workload.runtime_ns = duration_ns;
    }
    let claims = [
        (!workload.options_known(), NO_OPTIONS),
        (verified, VERIFY_READS),
        (paced, FROM_SUBMISSION),
    ];
    let claims = claims.into_iter().filter(|(applies, _)| *applies);
    let findings =
        claims.map(|(_, claim)| Finding::note(FindingCode::FiguresMissing, claim, "")).collect();
    let concurrency = |side: &Option<DirectionResult>| {
        let times = |side: &DirectionResult| {
            side.latency_ns.as_ref().or(side.completion_ns.as_ref()).map(|times| times.mean)
        };
        let of = side.as_ref().and_then(|side| Some(side.iops * times(side)?));
        of.unwrap_or(0.0) / 1e9
    };
    Ok(Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        measured_by: Some(measured_by.to_owned()),
        id,
        time: document["time"].as_str().map(str::to_owned),
        seed: 0,
        simulated: false,
        cell: workload.cell(),
        targets: vec![Target {
            path,
            kind: TargetKind::File,
            size_bytes: UNKNOWN,
            device: None,
            filesystem: None,
            extents: None,
            file_hash: None,
            test_file: None,
        }],
        result: TrialResult {
            duration_ns,
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
    let [read, write, trim] = ["read", "write", "trim"].map(|name| direction(&job[name], 0, false));
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

/// The setting of `rw` without the part after the colon, if it has one.
fn without_modifier(setting: &Setting) -> Option<Setting> {
    let (kind, _) = setting.value.as_deref()?.split_once(':')?;
    let is_rw = ["rw", "readwrite"].contains(&setting.name.as_str());
    is_rw.then(|| Setting { value: Some(kind.to_owned()), ..setting.clone() })
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
        let (kept, refused): (Vec<Setting>, Vec<Setting>) =
            section.settings.drain(..).partition(|setting| !faults.contains(&setting.place));
        let none_refused = refused.is_empty();
        // Without its modifier, `rw` still names the direction and the order.
        let directions: Vec<Setting> = refused.iter().filter_map(without_modifier).collect();
        left_out.extend(
            refused
                .into_iter()
                .map(|setting| format!("{}={}", setting.name, setting.value.unwrap_or_default())),
        );
        section.settings = kept;
        section.settings.extend(directions);
        if none_refused {
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
