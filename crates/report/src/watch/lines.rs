//! Prints one line per device and interval, for scripts and logs.
//!
//! The columns are a contract: their names, order and units do not change, new ones are added at the end, and
//! unknown values are `-`. `docs/watch.md` defines each. Numbers are plain, in the unit of the column's name,
//! so that `awk` can count columns and a person can still read them. Names from outside are escaped, and
//! their blanks become underscores. The screen has other columns, which depend on the width.

use super::WatchRow;
use super::words::open;
use Entry::{Device, Number, Time, Verdict};

#[derive(Clone, Copy, Debug)]
enum Entry {
    Time,
    Device,
    Verdict,
    /// A number of the row, and its decimals.
    Number(fn(&WatchRow) -> Option<f64>, usize),
}

const KB: f64 = 1e-3;
const KIB: f64 = 1.0 / 1024.0;
const US: f64 = 1e-3;

/// The columns in order, with their names.
const COLUMNS: [(&str, Entry); 22] = [
    ("time", Time),
    ("device", Device),
    ("seconds", Number(|row| Some(row.interval.as_ref()?.duration_ns as f64 / 1e9), 3)),
    ("read_per_s", Number(|row| row.figure(|i| i.read.per_s), 1)),
    ("write_per_s", Number(|row| row.figure(|i| i.write.per_s), 1)),
    ("read_kb_per_s", Number(|row| Some(row.figure(|i| i.read.bytes_per_s)? * KB), 1)),
    ("write_kb_per_s", Number(|row| Some(row.figure(|i| i.write.bytes_per_s)? * KB), 1)),
    ("read_kib", Number(|row| Some(row.figure(|i| i.read.request_bytes)? * KIB), 1)),
    ("write_kib", Number(|row| Some(row.figure(|i| i.write.request_bytes)? * KIB), 1)),
    ("merged_per_s", Number(|row| row.figure(|i| i.all.merged_per_s), 1)),
    ("latency_us", Number(|row| Some(row.figure(|i| i.all.latency_ns)? * US), 1)),
    ("read_us", Number(|row| Some(row.figure(|i| i.read.latency_ns)? * US), 1)),
    ("write_us", Number(|row| Some(row.figure(|i| i.write.latency_ns)? * US), 1)),
    ("law_service_us", Number(|row| Some(row.utilization_law?.service_ns * US), 1)),
    ("law_queue_us", Number(|row| Some(row.utilization_law?.queue_ns * US), 1)),
    ("qd1_us", Number(|row| Some(split(row)?.0 * US), 1)),
    ("queue_us", Number(|row| Some(split(row)?.1 * US), 1)),
    ("expected_us", Number(|row| Some(row.calibrated?.expected_ns.value * US), 1)),
    ("queue_depth", Number(|row| row.figure(|i| i.concurrency), 3)),
    ("busy", Number(|row| row.figure(|i| i.busy_share), 3)),
    ("saturation", Number(|row| Some(row.calibrated?.saturation), 3)),
    ("verdict", Verdict),
];

/// The split by the profile, if there is one.
fn split(row: &WatchRow) -> Option<(f64, f64)> {
    row.split().filter(|_| row.calibrated.is_some())
}

/// The header line.
#[must_use]
pub fn watch_header() -> String {
    padded(|name, _| name.to_owned())
}

/// The line of one device. `time` is the end of its interval.
#[must_use]
pub fn watch_line(row: &WatchRow, time: &str) -> String {
    padded(|_, entry| match entry {
        Time => time.to_owned(),
        Device => crate::escape(&row.device.name).replace(char::is_whitespace, "_"),
        Number(of, decimals) => match of(row) {
            Some(value) if value.is_finite() => format!("{value:.decimals$}"),
            _ => "-".to_owned(),
        },
        Verdict => match &row.verdict {
            None => "-".to_owned(),
            Some(it) => format!("{}{}", it.verdict.name(), open(it)),
        },
    })
}

/// Least column width: for times, and for others.
const LEAST: (usize, usize) = (9, 5);

/// Pads entries to their columns: text left-aligned, numbers right-aligned.
fn padded(text: impl Fn(&str, Entry) -> String) -> String {
    let entries = COLUMNS.map(|(name, entry)| {
        let least = if name.ends_with("_us") { LEAST.0 } else { LEAST.1 };
        let (text, width) = (text(name, entry), name.len().max(least));
        match entry {
            Number(..) => format!("{text:>width$}"),
            Time => format!("{text:<20}"),
            Device => format!("{text:<10}"),
            Verdict => text,
        }
    });
    entries.join(" ").trim_end().to_owned()
}
