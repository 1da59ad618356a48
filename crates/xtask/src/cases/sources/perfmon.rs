//! PhysicalDisk counters as `typeperf -f CSV` writes them: with six decimals, and without an interval
//! before the first row.

use super::{Recording, Step, date};
use std::fmt::Write;

const COUNTERS: [&str; 11] = [
    "% Idle Time",
    "Avg. Disk sec/Read",
    "Avg. Disk sec/Write",
    "Avg. Disk sec/Transfer",
    "Disk Reads/sec",
    "Disk Writes/sec",
    "Disk Transfers/sec",
    "Disk Read Bytes/sec",
    "Disk Write Bytes/sec",
    "Avg. Disk Queue Length",
    "Current Disk Queue Length",
];

pub(super) fn text(recording: &Recording<'_>) -> String {
    let mut text = String::from("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"");
    for (device, _) in &recording.devices {
        for counter in COUNTERS {
            let _ = write!(text, ",\"\\\\SIM\\PhysicalDisk({device})\\{counter}\"");
        }
    }
    for row in 0..=recording.steps() {
        let (day, time) = date(recording.end_s(row));
        let _ = write!(text, "\r\n\"01/{day:02}/2026 {time}.000\"");
        for (_, steps) in &recording.devices {
            match row.checked_sub(1) {
                None => COUNTERS.iter().for_each(|_| text.push_str(",\" \"")),
                Some(at) => {
                    let step = steps.get(at).copied().unwrap_or_default();
                    for value in values(&step, recording.step_s as f64) {
                        let _ = write!(text, ",\"{value:.6}\"");
                    }
                }
            }
        }
    }
    text.push_str("\r\n");
    text
}

/// In the order of [`COUNTERS`].
fn values(step: &Step, seconds: f64) -> [f64; COUNTERS.len()] {
    let Step { read, write, busy_s, in_flight } = *step;
    let all = step.all();
    [
        (1.0 - busy_s / seconds).max(0.0) * 100.0,
        read.each(read.time_ns) / 1e9,
        write.each(write.time_ns) / 1e9,
        all.each(all.time_ns) / 1e9,
        read.requests / seconds,
        write.requests / seconds,
        all.requests / seconds,
        read.bytes / seconds,
        write.bytes / seconds,
        all.time_ns / 1e9 / seconds,
        in_flight,
    ]
}
