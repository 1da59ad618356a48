//! Converts rates, pauses and flushes of a job.
//!
//! fio has a separate rate for each direction. A run has one rate and the share of writes in it.

use crate::fio::load::Load;
use crate::fio::parts::Words;
use crate::fio::settings::Settings;
use crate::fio::values::{MICROSECOND_NS, SECOND_NS, by_direction, number, size, time};
use record::time_word;

pub(crate) fn pace(settings: &Settings<'_>, out: &mut Words, jobs: u64, load: &Load, kb_base: u64) {
    let mean = load.sizes.mean();
    let number = |text: &str| size(text, kb_base).map(|number| number as f64);
    let requests = settings.value("rate_iops", |text| rates(text, number));
    let of_bytes = settings.value("rate", |text| rates(text, |text| Ok(number(text)? / mean)));
    if requests.is_some() && of_bytes.is_some() {
        return settings.refuse("rate", "rate and rate_iops both set a limit; omit one of them");
    }
    let name = if of_bytes.is_some() { "rate" } else { "rate_iops" };
    if let Some([reads, writes, trims]) = requests.or(of_bytes) {
        rate(settings, out, (name, jobs), load, [reads, if load.trims { trims } else { writes }]);
    }
    let pause = settings.value("thinktime", |text| time(text, MICROSECOND_NS));
    let Some(pause) = pause.filter(|pause| *pause > 0) else { return };
    if settings.number("thinktime_blocks").is_some_and(|blocks| blocks != 1) {
        settings.refuse("thinktime_blocks", "halfpower pauses after each request; use 1");
    }
    if settings.has(name) {
        settings.refuse(
            "thinktime",
            "a load can have a rate or pauses, but not both; omit one of them",
        );
    }
    out.flag("think-time", &time_word(pause));
}

/// Requests per second for each direction; `None` and 0 mean no limit.
fn rates(
    text: &str,
    read: impl Fn(&str) -> Result<f64, String>,
) -> Result<[Option<f64>; 3], String> {
    let [reads, writes, trims] = by_direction(text)?;
    let of = |part: Option<&str>| part.filter(|part| *part != "0").map(&read).transpose();
    Ok([of(reads)?, of(writes)?, of(trims)?])
}

fn rate(
    settings: &Settings<'_>,
    out: &mut Words,
    (name, jobs): (&str, u64),
    load: &Load,
    [reads, writes]: [Option<f64>; 2],
) {
    // fio's limits are per direction.
    let limits = match (load.reads, load.writes) {
        (true, true) if reads.is_some() != writes.is_some() => {
            return settings
                .refuse(name, "a mix needs a rate for both reads and writes, or no rate");
        }
        (true, true) => vec![reads, writes],
        (true, false) => vec![reads],
        (false, _) => vec![writes],
    };
    let limits: Vec<f64> = limits.into_iter().flatten().collect();
    if limits.is_empty() {
        return;
    }
    if limits.iter().any(|limit| *limit < 1.0) {
        return slow(out, name, limits.iter().sum());
    }
    let of_all = |limit: &f64| (limit.round() as u64).saturating_mul(jobs).to_string();
    let word = limits.iter().map(of_all).collect::<Vec<_>>().join(",");
    out.flag("rate-iops", &word);
    out.note(format!(
        "{name}: requests arrive at that rate, and latency counts from the arrival; fio delays \
         requests, and counts latency from the end of the delay"
    ));
    match settings.text("rate_process") {
        None | Some("linear") => {}
        Some("poisson") => out.flag("arrival", &"poisson"),
        Some(_) => settings.refuse("rate_process", "use linear or poisson"),
    }
}

/// Converts a rate below one request per second into pauses.
fn slow(out: &mut Words, name: &str, per_s: f64) {
    out.one_in_flight();
    let pause = (SECOND_NS as f64 / per_s) as u64;
    out.flag("think-time", &time_word(pause));
    out.note(format!("{name}: a pause of {:.3} s follows each request", pause as f64 / 1e9));
}

/// How often a file is written out and waited for: the N of `write,wait_after:N`.
fn write_out(text: &str) -> Result<u64, String> {
    let (kinds, every) = text.split_once(':').ok_or("use KINDS:N")?;
    let kinds: Vec<&str> = kinds.split(',').collect();
    let known = kinds.iter().all(|kind| ["wait_before", "write", "wait_after"].contains(kind));
    if !known || !kinds.contains(&"write") || !kinds.contains(&"wait_after") {
        return Err("halfpower waits for the written data; use write,wait_after:N".to_owned());
    }
    number(every)
}

pub(crate) fn flushes(settings: &Settings<'_>, out: &mut Words, load: &Load) {
    let paced = ["rate", "rate_iops", "thinktime"].into_iter().find(|name| settings.has(name));
    let durable = settings.text("sync").is_some_and(|sync| !["0", "none"].contains(&sync));
    let mut flush = |name: &str, flag: &str, every: Option<u64>| {
        let Some(every) = every.filter(|every| *every > 0) else { return };
        if !load.writes || load.trims {
            out.note(format!("{name}: has no effect without writes, as in fio"));
        } else if durable {
            out.note(format!(
                "{name}: each write is durable when it completes, so the job does not flush"
            ));
        } else if let Some(paced) = paced {
            settings
                .refuse(name, &format!("flushes and {paced} in the same job are not supported"));
        } else {
            out.flag(flag, &every);
        }
    };
    flush("fsync", "fsync", settings.number("fsync"));
    flush("fdatasync", "fdatasync", settings.number("fdatasync"));
    let written_out = settings.value("sync_file_range", write_out);
    flush("sync_file_range", "sync-file-range", written_out);
    if written_out.is_some() {
        out.note(
            "sync_file_range: covers all data written to the file, not only the last requests",
        );
    }
}
