//! Parses blkparse's default output: `8,0 3 11 0.009507758 697 Q W 223490 + 8 [name]`.
//!
//! A request appears several times in the output. Its queue event (`Q`) is what the program requested. If the
//! recording has none, its issue (`D`) is used, and without that its completion (`C`). Device and offset come
//! from the first kind of event that exists.

use crate::replay::ReplayError;
use crate::replay::lines::Lines;
use crate::replay::requests::Requests;
use record::{Nanos, OpKind, Replay};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
const SECTOR_BYTES: u64 = 512;
/// The kinds of events that can represent a request, best first.
const KINDS: [&str; 3] = ["Q", "D", "C"];

pub(crate) fn read(lines: Lines<'_>, unit_ns: u64) -> Result<Replay, ReplayError> {
    let mut found: [Requests<'_>; 3] = Default::default();
    let mut any = [false; 3];
    for line in lines {
        let mut words = line.words();
        let place = words;
        let device = words.word("the device")?;
        // The summary at the end: for each processor, then in total.
        if device.starts_with("CPU") || device == "Total" {
            break;
        }
        let digit = |letter: char| letter.is_ascii_digit();
        if !device.starts_with(digit) || !device.contains(',') {
            return Err(place.wrong(&format!("{device:?} is not a device; use major,minor")));
        }
        words.number("the processor")?;
        words.number("the number of the event")?;
        let at = Nanos(words.time("the time", unit_ns)?);
        words.word("the process")?;
        let action = words.word("the action")?;
        let Some(kind) = KINDS.iter().position(|kind| *kind == action) else { continue };
        let what = words.word("the kind of request")?;
        any[kind] = true;
        let requests = &mut found[kind];
        let too_many = || place.wrong("the recording has more than 65,536 devices");
        let has = |letter: char| what.contains(letter);
        // A flush occurs alone, or before a write that also counts.
        if what.starts_with('F') || has('F') && !has('R') && !has('W') && !has('D') {
            let number = requests.device(device).ok_or_else(too_many)?;
            requests.push_flush(number, at);
        }
        if !(has('R') || has('W') || has('D')) {
            continue;
        }
        let before = words;
        let Ok(sector) = words.number("the sector") else {
            // Commands of a driver have no sector.
            continue;
        };
        let plus = words;
        if words.word("a plus")? != "+" {
            return Err(plus.wrong("a plus is missing between sector and length"));
        }
        let length = words;
        let sectors = words.number("the length")?;
        if sectors == 0 {
            continue;
        }
        let offset = sector.checked_mul(SECTOR_BYTES);
        let offset = offset.ok_or_else(|| before.wrong("the sector is larger than any device"))?;
        let bytes = sectors.checked_mul(SECTOR_BYTES);
        let bytes = bytes.filter(|bytes| has('D') || *bytes <= i32::MAX as u64);
        let bytes = bytes.ok_or_else(|| length.wrong("no request can have this length"))?;
        let end = offset.checked_add(bytes);
        end.ok_or_else(|| before.wrong("the sector is larger than any device"))?;
        let number = requests.device(device).ok_or_else(too_many)?;
        match (has('D'), has('R')) {
            (true, _) => requests.push_discard(number, at, offset, bytes),
            (_, true) => requests.push(number, at, OpKind::Read, offset, bytes as u32),
            _ => requests.push(number, at, OpKind::Write, offset, bytes as u32),
        }
    }
    let best = any.iter().position(|any| *any).unwrap_or(0);
    let [queued, issued, completed] = found;
    let why = " (events Q, D or C)";
    match best {
        0 => queued.replay(why),
        1 => issued.replay(why),
        _ => completed.replay(why),
    }
}
