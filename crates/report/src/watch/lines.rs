//! One line per device and interval, for scripts and logs.
//!
//! The columns are a contract: their names, order and units do not change, new ones come at the
//! end, and what is not known is `-`. Numbers are plain, in the unit of the column's name, so that
//! `awk` can count columns and a person can still read them. Names from outside are escaped and
//! their blanks become underscores. Rejected: the screen's own columns, which change with its
//! width.

use super::{WatchRow, columns};
use record::{Figure, Interval};

/// The columns, in order: name with its unit, least width, what it is.
pub const WATCH_COLUMNS: [(&str, usize, &str); 22] = [
    ("time", 20, "end of the interval, RFC 3339 in UTC"),
    ("device", 10, "kernel name"),
    ("seconds", 7, "length of the interval"),
    ("read_per_s", 10, "reads completed per second, after merging"),
    ("write_per_s", 11, "writes completed per second"),
    ("read_kb_per_s", 13, "bytes read per second, in thousands"),
    ("write_kb_per_s", 14, "bytes written per second, in thousands"),
    ("read_kib", 8, "mean size of a read, in KiB"),
    ("write_kib", 9, "mean size of a write, in KiB"),
    ("merged_per_s", 12, "requests merged into others per second"),
    (
        "latency_us",
        11,
        "mean response time of reads and writes, from start to end in the block layer",
    ),
    ("read_us", 9, "mean response time of reads"),
    ("write_us", 9, "mean response time of writes"),
    ("law_service_us", 14, "service time by the utilization law, S = U/X"),
    ("law_queue_us", 12, "response time less that"),
    ("alone_us", 9, "time of a lone request of this mix, by the profile"),
    ("queue_us", 9, "response time less that"),
    ("expected_us", 11, "response time that the profile promises at this concurrency"),
    ("concurrency", 11, "mean requests in progress"),
    ("busy", 5, "share of the time with a request in progress, 0 to 1"),
    ("saturation", 10, "rate as a share of the most of this mix by the profile, 0 to 1"),
    ("verdict", 7, "what is the matter; `?` behind it where other explanations are open"),
];

/// The line of the column names.
#[must_use]
pub fn watch_header() -> String {
    padded(WATCH_COLUMNS.iter().map(|(name, ..)| (*name).to_owned()))
}

/// The line of one device; `time` is the end of its interval.
#[must_use]
pub fn watch_line(row: &WatchRow, time: &str) -> String {
    let figure = |of: fn(&Interval) -> Option<Figure>, factor: f64, places: usize| {
        let value = row.interval.as_ref().and_then(of).map(|figure| figure.value * factor);
        plain(value, places)
    };
    let us = |value: Option<f64>| plain(value.map(|value| value / 1e3), 1);
    let seconds = row.interval.as_ref().map(|interval| interval.duration_ns as f64 / 1e9);
    let latency_ns = row.interval.as_ref().and_then(|i| i.all.latency_ns).map(|r| r.value);
    let alone = columns::split(row).filter(|_| row.calibrated.is_some());
    let verdict = row.verdict.as_ref().map_or_else(
        || "-".to_owned(),
        |verdict| {
            let open = if verdict.alternatives.is_empty() { "" } else { "?" };
            verdict.verdict.name() + open
        },
    );
    padded(
        [
            time.to_owned(),
            crate::escape(&row.device.name).replace(char::is_whitespace, "_"),
            plain(seconds, 3),
            figure(|i| i.read.per_s, 1.0, 1),
            figure(|i| i.write.per_s, 1.0, 1),
            figure(|i| i.read.bytes_per_s, 1e-3, 1),
            figure(|i| i.write.bytes_per_s, 1e-3, 1),
            figure(|i| i.read.request_bytes, 1.0 / 1024.0, 1),
            figure(|i| i.write.request_bytes, 1.0 / 1024.0, 1),
            figure(|i| i.all.merged_per_s, 1.0, 1),
            us(latency_ns),
            figure(|i| i.read.latency_ns, 1e-3, 1),
            figure(|i| i.write.latency_ns, 1e-3, 1),
            us(row.utilization_law.map(|split| split.service_ns)),
            us(row.utilization_law.map(|split| split.queue_ns)),
            us(alone.map(|(alone, _)| alone)),
            us(alone.map(|(_, queue)| queue)),
            us(row.calibrated.map(|split| split.expected_ns.value)),
            figure(|i| i.concurrency, 1.0, 3),
            figure(|i| i.busy_share, 1.0, 3),
            plain(row.calibrated.map(|split| split.saturation), 3),
            verdict,
        ]
        .into_iter(),
    )
}

fn plain(value: Option<f64>, places: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.places$}"),
        _ => "-".to_owned(),
    }
}

/// Entries in their columns: names from the left, numbers from the right.
fn padded(entries: impl Iterator<Item = String>) -> String {
    let mut line = String::new();
    for ((index, (_, width, _)), entry) in WATCH_COLUMNS.iter().enumerate().zip(entries) {
        let left = index < 2 || index + 1 == WATCH_COLUMNS.len();
        let gap = if index > 0 { " " } else { "" };
        line.push_str(gap);
        line.push_str(&if left { format!("{entry:<width$}") } else { format!("{entry:>width$}") });
    }
    line.truncate(line.trim_end().len());
    line
}
