//! Parses and writes fio's logs of requests, version 2 and 3.
//!
//! Version 3 has the time of each request, in microseconds since the start of the run. Version 2 has waits
//! between requests instead, also in microseconds.

use crate::replay::ReplayError;
use crate::replay::lines::{Lines, Words};
use crate::replay::requests::Requests;
use record::{Nanos, OpKind, RecordedRequest, Replay};
use std::fmt::Write;

pub(crate) const MICROSECOND_NS: u64 = 1_000;

pub(crate) fn read(mut lines: Lines<'_>, unit_ns: u64) -> Result<Replay, ReplayError> {
    let Some(head) = lines.next() else { return Err(ReplayError::unknown("")) };
    let timed = match head.text.trim() {
        "fio version 2 iolog" => false,
        "fio version 3 iolog" => true,
        other => {
            let what = format!("{other:?} is not the first line of a log of version 2 or 3");
            return Err(head.words().wrong(&what));
        }
    };
    let mut found = Requests::default();
    let mut waited = Nanos(0);
    for line in lines {
        let mut words = line.words();
        let at = if timed { Nanos(words.time("the time", unit_ns)?) } else { waited };
        let before_name = words;
        let name = words.word("the file")?;
        let before_action = words;
        let action = words.word("the action")?;
        let device = || before_name.wrong("the log has more than 65,536 files");
        let known = found.knows(name);
        match action {
            "add" => {
                found.device(name).ok_or_else(device)?;
            }
            "open" | "close" => {}
            _ if !known && action != "wait" => {
                let why = format!("the file {name:?} was not added by an earlier line");
                return Err(before_name.wrong(&why));
            }
            "read" | "write" | "trim" => {
                let (offset, bytes) = place(&mut words, action == "trim")?;
                let behind = words;
                if let Some(more) = words.maybe() {
                    return Err(behind.wrong(&format!("unexpected {more:?} after the length")));
                }
                let device = found.device(name).ok_or_else(device)?;
                match action {
                    "read" => found.push(device, at, OpKind::Read, offset, bytes as u32),
                    "write" => found.push(device, at, OpKind::Write, offset, bytes as u32),
                    _ => found.push_discard(device, at, offset, bytes),
                }
            }
            "wait" => waited = waited.plus(Nanos(words.time("the wait", unit_ns)?)),
            "sync" | "datasync" | "sync_file_range" => {
                let device = found.device(name).ok_or_else(device)?;
                found.push_flush(device, at);
            }
            other => {
                let what = format!(
                    "{other:?} is not an action; actions are add, open, close, read, write, sync, datasync, trim and wait"
                );
                return Err(before_action.wrong(&what));
            }
        }
    }
    found.replay("")
}

/// Parses offset and length of a request. A trim may have any length.
fn place(words: &mut Words<'_>, trim: bool) -> Result<(u64, u64), ReplayError> {
    let offset = words.number("the offset")?;
    let before = *words;
    let bytes = words.number("the length")?;
    let wrong = || before.wrong(&format!("a request cannot have {bytes} bytes"));
    offset.checked_add(bytes).ok_or_else(wrong)?;
    let fits = bytes > 0 && (trim || bytes <= i32::MAX as u64);
    if fits { Ok((offset, bytes)) } else { Err(wrong()) }
}

/// Formats a recording as a log of version 3, with the names of its devices or files.
#[must_use]
pub fn write_iolog(replay: &Replay, names: &[String]) -> String {
    let mut text = "fio version 3 iolog\n".to_owned();
    let name = |device: u16| names.get(usize::from(device)).map_or("disk", String::as_str);
    let kinds = [
        (&replay.recorded, None),
        (&replay.flushes, Some("sync")),
        (&replay.discards, Some("trim")),
    ];
    let all = kinds.iter().flat_map(|(recorded, action)| {
        recorded.0.iter().map(move |request| (request, action.unwrap_or(request.op.name())))
    });
    let mut all: Vec<(&RecordedRequest, &str)> = all.collect();
    all.sort_by_key(|(request, _)| request.at);
    let devices = all.iter().map(|(request, _)| request.device).max().map_or(0, |most| most + 1);
    let end = all.last().map_or(0, |(last, _)| last.at.0 / MICROSECOND_NS);
    // Writing to a string cannot fail.
    for device in 0..devices {
        let _ = writeln!(text, "0 {0} add\n0 {0} open", name(device));
    }
    for (RecordedRequest { at, offset, bytes, device, .. }, action) in all {
        let (at, name) = (at.0 / MICROSECOND_NS, name(*device));
        let _ = writeln!(text, "{at} {name} {action} {offset} {bytes}");
    }
    for device in 0..devices {
        let _ = writeln!(text, "{end} {} close", name(device));
    }
    text
}
