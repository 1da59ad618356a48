//! Requests of a real drive with their measured service times, made again one at a time.
//!
//! A line is `R|W what-the-cache-did block blocks microseconds pause`: a request that was issued when the one
//! before it had ended and the pause behind that was over. Facts: the traces that come with DiskSim.

use super::{ExtractedDrive, ExtractedSpec, SECTOR_BYTES};
use crate::device::{Arrival, Device};
use record::{Nanos, OpKind};

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serviced {
    /// Direction.
    pub op: OpKind,
    /// First block of 512 bytes.
    pub first: u64,
    /// Their number, at least 1.
    pub blocks: u64,
    /// What it took.
    pub service_ns: f64,
    /// From its end to the next request.
    pub pause_ns: f64,
}

/// The requests of a trace.
///
/// # Errors
/// With the line that cannot be read.
pub fn read_services(text: &str) -> Result<Vec<Serviced>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let read = |(line, number): (&str, u32)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |what: &str| format!("line {number}: {what} in {line:?}");
        let [op, _, first, blocks, service, pause] = words[..] else {
            return Err(wrong("the line must have six words"));
        };
        let op = match op {
            "R" => OpKind::Read,
            "W" => OpKind::Write,
            _ => return Err(wrong("the first word is neither R nor W")),
        };
        let whole = |word: &str, what: &str| word.parse::<u64>().map_err(|_| wrong(what));
        let time = |word: &str, what: &str| {
            let time = word.parse::<f64>().ok().filter(|time| time.is_finite() && *time >= 0.0);
            time.map(|us| us * 1e3).ok_or_else(|| wrong(what))
        };
        let blocks = whole(blocks, "the number of blocks is not a number")?;
        if blocks == 0 || blocks > u64::from(u32::MAX) / SECTOR_BYTES {
            return Err(wrong("the number of blocks is 0 or too large"));
        }
        Ok(Serviced {
            op,
            first: whole(first, "the first block is not a number")?,
            blocks,
            service_ns: time(service, "the service time is not a number")?,
            pause_ns: time(pause, "the pause is not a number")?,
        })
    };
    lines.map(read).collect()
}

/// What each request takes on a drive, in nanoseconds, each issued as in the trace.
///
/// # Errors
/// If a request lies beyond the drive.
pub fn serve_again(spec: &ExtractedSpec, requests: &[Serviced]) -> Result<Vec<f64>, String> {
    let mut drive = ExtractedDrive::new(spec);
    let (mut now, mut ended, mut times) =
        (Nanos(0), Vec::new(), Vec::with_capacity(requests.len()));
    for (request, number) in requests.iter().zip(1..) {
        let (offset, bytes) =
            (request.first * SECTOR_BYTES, (request.blocks * SECTOR_BYTES) as u32);
        if offset + u64::from(bytes) > drive.size() {
            let end = request.first + request.blocks;
            return Err(format!(
                "request {number} ends at block {end}, beyond the end of the drive"
            ));
        }
        drive.arrive(now, &Arrival { token: 0, op: request.op, offset, bytes });
        ended.clear();
        drive.advance(Nanos(u64::MAX), &mut ended);
        let end = ended.first().map_or(now, |ended| ended.at);
        times.push(end.since(now).0 as f64);
        now = Nanos(end.0 + request.pause_ns as u64);
    }
    Ok(times)
}
