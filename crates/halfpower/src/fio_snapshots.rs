//! Finds the documents of fio that later documents of the same run replace.
//!
//! With `--status-interval`, fio writes a document at each interval and one at the end. All of them count from
//! the start of the run. A document replaces the one before it if it has the same jobs, no count in it is
//! lower, and its run began before the earlier document was written. A second run begins later. A document
//! from before the first request is replaced in any case. Rejected: the counts alone, because two runs of one
//! job that are appended to a file often have equal or growing counts.

use crate::fio_sides::run_seconds;
use serde_json::Value;

const SIDES: [&str; 4] = ["read", "write", "trim", "mixed"];

/// The jobs of a document, or those of a server's clients.
pub(crate) fn jobs(document: &Value) -> Vec<&Value> {
    let jobs = [&document["jobs"], &document["client_stats"]].into_iter();
    let jobs = jobs.filter_map(Value::as_array).flatten();
    jobs.filter(|job| job["jobname"] != "All clients").collect()
}

/// The documents that are the last of their run, each with its digest.
pub(crate) fn without_snapshots(documents: Vec<(Value, String)>) -> Vec<(Value, String)> {
    let mut results: Vec<(Value, String)> = Vec::new();
    for document in documents {
        results.pop_if(|(before, _)| replaces(&document.0, before));
        results.push(document);
    }
    results
}

fn replaces(later: &Value, earlier: &Value) -> bool {
    let (of_later, of_earlier) = (jobs(later), jobs(earlier));
    let number = |job: &Value, side: &str| job[side]["total_ios"].as_u64().unwrap_or(0);
    let idle = of_earlier.iter().all(|job| SIDES.iter().all(|side| number(job, side) == 0));
    let grows = |(later, earlier): (&&Value, &&Value)| {
        let same = ["jobname", "job options", "groupid"].iter().all(|it| later[it] == earlier[it]);
        same && SIDES.iter().all(|side| number(later, side) >= number(earlier, side))
    };
    let same = of_later.len() == of_earlier.len() && later["fio version"] == earlier["fio version"];
    let written = written_ms(earlier);
    let begun = written_ms(later).zip(running_ms(&of_later)).map(|(end, ms)| end - ms);
    let overlap = begun.zip(written).is_some_and(|(begun, written)| begun < written);
    same && (overlap || idle) && of_later.iter().zip(&of_earlier).all(grows)
}

/// When a document was written, in milliseconds.
fn written_ms(document: &Value) -> Option<f64> {
    let seconds = || Some(document["timestamp"].as_f64()? * 1e3);
    document["timestamp_ms"].as_f64().or_else(seconds)
}

/// How long a run with these jobs has taken at least, in milliseconds.
fn running_ms(jobs: &[&Value]) -> Option<f64> {
    // fio rounds the time since its start up to seconds.
    let elapsed = jobs.iter().filter_map(|job| Some((job["elapsed"].as_f64()? - 1.0) * 1e3));
    let measured = jobs.iter().filter_map(|job| Some(run_seconds(job)? * 1e3));
    elapsed.chain(measured).reduce(f64::max)
}
