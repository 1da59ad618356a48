//! One line per device and interval, for scripts and logs.
//!
//! The columns are a contract: their names, order and units do not change, new ones come at the
//! end, and what is not known is `-`. Numbers are plain, in the unit of the column's name, so that
//! `awk` can count columns and a person can still read them. Names from outside are escaped and
//! their blanks become underscores. Rejected: the screen's own columns, which change with its
//! width.

use super::{WatchRow, columns};
use record::{Figure, Interval};

/// A column of a line.
#[derive(Debug)]
pub struct WatchColumn {
    /// Name with its unit.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    entry: Entry,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Time,
    Device,
    Verdict,
    /// A number of the row, with so many decimals.
    Number(fn(&WatchRow) -> Option<f64>, usize),
    /// A figure of the interval, times a factor, with so many decimals.
    Figure(fn(&Interval) -> Option<Figure>, f64, usize),
}

const fn column(name: &'static str, meaning: &'static str, entry: Entry) -> WatchColumn {
    WatchColumn { name, meaning, entry }
}

/// The split by the profile, where there is one.
fn split(row: &WatchRow) -> Option<(f64, f64)> {
    columns::split(row).filter(|_| row.calibrated.is_some())
}

use Entry::{Figure as Of, Number};

const KB: f64 = 1e-3;
const KIB: f64 = 1.0 / 1024.0;
const US: f64 = 1e-3;

/// The columns, in order.
pub const WATCH_COLUMNS: [WatchColumn; 22] = [
    column("time", "end of the interval, RFC 3339 in UTC", Entry::Time),
    column("device", "kernel name", Entry::Device),
    column("seconds", "length of the interval", Number(seconds, 3)),
    column("read_per_s", "reads completed per second, after merging", Of(|i| i.read.per_s, 1.0, 1)),
    column("write_per_s", "writes completed per second", Of(|i| i.write.per_s, 1.0, 1)),
    column(
        "read_kb_per_s",
        "bytes read per second, in thousands",
        Of(|i| i.read.bytes_per_s, KB, 1),
    ),
    column(
        "write_kb_per_s",
        "bytes written per second, in thousands",
        Of(|i| i.write.bytes_per_s, KB, 1),
    ),
    column("read_kib", "mean size of a read, in KiB", Of(|i| i.read.request_bytes, KIB, 1)),
    column("write_kib", "mean size of a write, in KiB", Of(|i| i.write.request_bytes, KIB, 1)),
    column(
        "merged_per_s",
        "requests merged into others per second",
        Of(|i| i.all.merged_per_s, 1.0, 1),
    ),
    column(
        "latency_us",
        "mean latency of reads and writes, from start to end in the block layer",
        Of(|i| i.all.latency_ns, US, 1),
    ),
    column("read_us", "mean latency of reads", Of(|i| i.read.latency_ns, US, 1)),
    column("write_us", "mean latency of writes", Of(|i| i.write.latency_ns, US, 1)),
    column(
        "law_service_us",
        "service time by the utilization law, S = U/X",
        Number(|row| Some(row.utilization_law?.service_ns * US), 1),
    ),
    column(
        "law_queue_us",
        "latency less that service time",
        Number(|row| Some(row.utilization_law?.queue_ns * US), 1),
    ),
    column(
        "qd1_us",
        "latency of this mix at queue depth 1, by the profile",
        Number(|row| Some(split(row)?.0 * US), 1),
    ),
    column(
        "queue_us",
        "latency less that at queue depth 1",
        Number(|row| Some(split(row)?.1 * US), 1),
    ),
    column(
        "expected_us",
        "latency that the profile predicts at this queue depth",
        Number(|row| Some(row.calibrated?.expected_ns.value * US), 1),
    ),
    column("queue_depth", "mean requests in flight", Of(|i| i.concurrency, 1.0, 3)),
    column(
        "busy",
        "share of the time with a request in flight, 0 to 1",
        Of(|i| i.busy_share, 1.0, 3),
    ),
    column(
        "saturation",
        "IOPS over the largest of this mix by the profile, 0 to 1",
        Number(|row| Some(row.calibrated?.saturation), 3),
    ),
    column(
        "verdict",
        "diagnosis of the last 30 s; `?` behind it where other explanations remain",
        Entry::Verdict,
    ),
];

fn seconds(row: &WatchRow) -> Option<f64> {
    Some(row.interval.as_ref()?.duration_ns as f64 / 1e9)
}

/// The line of the column names.
#[must_use]
pub fn watch_header() -> String {
    padded(|column| column.name.to_owned())
}

/// The line of one device; `time` is the end of its interval.
#[must_use]
pub fn watch_line(row: &WatchRow, time: &str) -> String {
    let plain = |value: Option<f64>, decimals: usize| match value {
        Some(value) if value.is_finite() => format!("{value:.decimals$}"),
        _ => "-".to_owned(),
    };
    padded(|column| match column.entry {
        Entry::Time => time.to_owned(),
        Entry::Device => crate::escape(&row.device.name).replace(char::is_whitespace, "_"),
        Number(of, decimals) => plain(of(row), decimals),
        Of(of, factor, decimals) => {
            let figure = row.interval.as_ref().and_then(of);
            plain(figure.map(|figure| figure.value * factor), decimals)
        }
        Entry::Verdict => match &row.verdict {
            None => "-".to_owned(),
            Some(it) if it.alternatives.is_empty() => it.verdict.name(),
            Some(it) => it.verdict.name() + "?",
        },
    })
}

/// The narrowest column: of times, and of others.
const LEAST: (usize, usize) = (9, 5);

/// Entries in their columns: text from the left, numbers from the right.
fn padded(entry: impl Fn(&WatchColumn) -> String) -> String {
    let entries = WATCH_COLUMNS.iter().map(|column| {
        let least = if column.name.ends_with("_us") { LEAST.0 } else { LEAST.1 };
        let (text, width) = (entry(column), column.name.len().max(least));
        match column.entry {
            Number(..) | Of(..) => format!("{text:>width$}"),
            Entry::Time => format!("{text:<20}"),
            Entry::Device => format!("{text:<10}"),
            Entry::Verdict => text,
        }
    });
    entries.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}
