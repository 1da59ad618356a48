//! Reads recorded requests from text formats of other tools, and writes them.
//!
//! The readers support fio's logs of version 2 and 3, output of blkparse, DiskSim's ASCII traces, and the CSV
//! of published block traces. The first lines identify the format. An invalid line is an error with its
//! place, because a recording with a gap would be another load. The module is pure: it opens no file.
//! Sources: fio's HOWTO and the output of fio 3.33, blkparse's manual page, DiskSim's manual.
#![forbid(unsafe_code)]

mod blkparse;
mod csv;
mod disksim;
mod iolog;
mod lines;
mod miss_ratio;
mod requests;
mod summary;
mod times;

pub use iolog::write_iolog;
pub use lines::ReplayError;
pub use requests::Found;
pub use times::time_unit;

use lines::Lines;
use record::{Bytes, CachePoint, OpKind, REQUESTS_SCHEMA, Replay, RequestsSummary, size_shares};

/// Parses the requests of a recording. `unit_ns` is the unit of its times, if the user specifies one.
///
/// # Errors
/// The line and column of invalid text, or an unknown format.
pub fn read(text: &str, unit_ns: Option<u64>) -> Result<Replay, ReplayError> {
    let (form, unit_ns) = (form_of(text)?, unit_of(text, unit_ns)?);
    let lines = Lines::new(text);
    match form {
        Form::Iolog => iolog::read(lines, unit_ns),
        Form::Blkparse => blkparse::read(lines, unit_ns),
        Form::DiskSim => disksim::read(lines, unit_ns),
        Form::Csv(form) => csv::read(lines, form, unit_ns),
    }
}

/// The unit that is used for the times of a recording, and why; `None` if its format has only one unit and
/// the user specifies none.
///
/// # Errors
/// Those of [`read`].
pub fn times_taken(text: &str, unit_ns: Option<u64>) -> Result<Option<String>, ReplayError> {
    let how = match form_of(text)? {
        _ if unit_ns.is_some() => "as you specified".to_owned(),
        Form::Iolog | Form::Blkparse => return Ok(None),
        Form::DiskSim => "chosen from the gaps between the times".to_owned(),
        Form::Csv(form) => format!("the unit of {}'s traces", form.name),
    };
    let unit = times::unit_name(unit_of(text, unit_ns)?);
    Ok(Some(format!(
        "times are read in {unit}, {how}; to use another unit, add ,times=UNIT (ns, us, ms or s) \
         to the file name"
    )))
}

enum Form {
    Iolog,
    Blkparse,
    DiskSim,
    Csv(&'static csv::Form),
}

fn unit_of(text: &str, named: Option<u64>) -> Result<u64, ReplayError> {
    Ok(match (named, form_of(text)?) {
        (Some(named), _) => named,
        (None, Form::Iolog) => iolog::MICROSECOND_NS,
        (None, Form::Blkparse) => blkparse::SECOND_NS,
        (None, Form::DiskSim) => times::guessed(text),
        (None, Form::Csv(form)) => form.unit_ns,
    })
}

/// The format of a text, from its first line.
fn form_of(text: &str) -> Result<Form, ReplayError> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if first.starts_with("fio version") {
        return Ok(Form::Iolog);
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let is_device = |word: &str| {
        let numbers = word.split_once(',');
        numbers.is_some_and(|(major, minor)| {
            major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok()
        })
    };
    if words.first().is_some_and(|word| is_device(word)) {
        return Ok(Form::Blkparse);
    }
    if words.len() == 5 && words.iter().all(|word| word.parse::<f64>().is_ok() || is_hex(word)) {
        return Ok(Form::DiskSim);
    }
    csv::form_of(text).map(Form::Csv).ok_or_else(|| ReplayError::unknown(first))
}

/// Whether a file that starts with `head` may be a recording of requests.
#[must_use]
pub fn is_known(head: &[u8]) -> bool {
    form_of(&String::from_utf8_lossy(head)).is_ok()
}

/// Summarizes requests. `lost` is the number of missing ones, if known.
#[must_use]
pub fn summary(replay: &Replay, version: &str, lost: Option<u64>) -> RequestsSummary {
    let requests = replay.recorded.0.as_slice();
    let side = |op: OpKind| summary::side(requests, op, replay.span_ns, size_shares);
    RequestsSummary {
        schema: REQUESTS_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        source: replay.source.clone(),
        digest: replay.digest.clone(),
        requests: replay.requests,
        span_ns: replay.span_ns,
        devices: replay.devices,
        flushes: replay.flushes_left_out,
        discards: replay.discards_left_out,
        lost,
        reach: Bytes(replay.end()),
        read: side(OpKind::Read),
        write: side(OpKind::Write),
        cache: reuse(replay),
    }
}

/// Share of the reads that a page cache of each size would have served; empty without reads.
#[must_use]
pub fn reuse(replay: &Replay) -> Vec<CachePoint> {
    miss_ratio::curve(&replay.recorded.0)
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_hexdigit())
}
