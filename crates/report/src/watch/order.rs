//! The order of the devices on the screen.
//!
//! The one that a reader looks for is the one with the most waiting, and that is known without a
//! profile: the mean number of requests in flight. Utilization was rejected as the first key: on
//! a device that serves many requests at once it is 100 % long before anything waits. Equal figures
//! keep the order of the kernel, so that idle devices do not dance.

use super::WatchRow;
use std::cmp::Ordering;

/// By what devices are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Mean requests in flight, the most first.
    #[default]
    Concurrency,
    /// Requests per second, the most first.
    Rate,
    /// Bytes per second, the most first.
    Throughput,
    /// Latency, the longest first.
    Latency,
    /// Utilization, the most first.
    Busy,
    /// Saturation against the profile, the most first.
    Saturation,
    /// Name.
    Name,
}

/// A sort order, its name in flags and on the screen, and what it sorts by.
type Sort = (SortBy, &'static str, fn(&WatchRow) -> Option<f64>);

/// All, in the order in which a key walks through them.
const SORTS: [Sort; 7] = [
    (SortBy::Concurrency, "queue-depth", |row| row.figure(|interval| interval.concurrency)),
    (SortBy::Rate, "iops", |row| row.figure(|interval| interval.all.per_s)),
    (SortBy::Throughput, "throughput", |row| row.figure(|interval| interval.all.bytes_per_s)),
    (SortBy::Latency, "latency", |row| row.figure(|interval| interval.all.latency_ns)),
    (SortBy::Busy, "busy", |row| row.figure(|interval| interval.busy_share)),
    (SortBy::Saturation, "saturation", |row| Some(row.calibrated?.saturation)),
    (SortBy::Name, "name", |_| None),
];

impl SortBy {
    /// All, in the order in which a key walks through them.
    pub const ALL: [Self; 7] = [
        Self::Concurrency,
        Self::Rate,
        Self::Throughput,
        Self::Latency,
        Self::Busy,
        Self::Saturation,
        Self::Name,
    ];

    /// The one that follows.
    #[must_use]
    pub fn next(self) -> Self {
        SORTS[(self as usize + 1) % SORTS.len()].0
    }

    /// Its name in flags and on the screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        SORTS[self as usize].1
    }

    /// What it sorts by; what is not known comes last.
    fn key(self, row: &WatchRow) -> f64 {
        SORTS[self as usize].2(row).unwrap_or(f64::NEG_INFINITY)
    }
}

/// The places of the rows in the order in which they are shown.
#[must_use]
pub fn watch_order(rows: &[WatchRow], sort: SortBy, reversed: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| {
        let (one, other) = (&rows[a], &rows[b]);
        let by_name = || natural(&one.device.name, &other.device.name);
        let ordering = match sort {
            SortBy::Name => by_name(),
            _ => sort.key(other).total_cmp(&sort.key(one)),
        };
        if reversed { ordering.reverse() } else { ordering }
    });
    order
}

/// Names with their numbers as numbers: `sda2` before `sda10`, `sdz` before `sdaa`.
fn natural(one: &str, other: &str) -> Ordering {
    let split = |name: &str| {
        let letters = name.trim_end_matches(|character: char| character.is_ascii_digit()).len();
        (letters, name[..letters].to_owned(), name[letters..].parse::<u64>().ok())
    };
    split(one).cmp(&split(other))
}
