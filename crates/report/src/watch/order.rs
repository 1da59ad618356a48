//! Orders the devices on the screen.
//!
//! The device of interest usually has the most requests in flight. That is known without a profile,
//! so it is the default sort key. Rejected: utilization as the first key. On a device that serves
//! many requests in parallel it reaches 100 % long before requests wait. Equal figures keep the
//! kernel order, so that idle devices do not jump.

use super::{WatchRow, WatchView};
use crate::diagnosis;
use crate::page::Tone;
use std::cmp::Ordering;

/// Sort key of the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Mean requests in flight, largest first.
    #[default]
    Concurrency,
    /// IOPS, largest first.
    Rate,
    /// Reads per second, largest first.
    Reads,
    /// Writes per second, largest first.
    Writes,
    /// Bytes per second, largest first.
    Throughput,
    /// Latency, longest first.
    Latency,
    /// Latency over the profile's expectation, largest first.
    LatencyRatio,
    /// Utilization, largest first.
    Busy,
    /// Saturation by the profile, largest first.
    Saturation,
    /// Verdict, worst first.
    Verdict,
    /// Name, alphabetically.
    Name,
}

/// A sort key, its name in flags and on the screen, and its value for a row.
type Sort = (SortBy, &'static str, fn(&WatchRow) -> Option<f64>);

/// All sort keys, in the order of their variants.
const SORTS: [Sort; 11] = [
    (SortBy::Concurrency, "queue-depth", |row| row.figure(|interval| interval.concurrency)),
    (SortBy::Rate, "iops", |row| row.figure(|interval| interval.all.per_s)),
    (SortBy::Reads, "reads", |row| row.figure(|interval| interval.read.per_s)),
    (SortBy::Writes, "writes", |row| row.figure(|interval| interval.write.per_s)),
    (SortBy::Throughput, "throughput", |row| row.figure(|interval| interval.all.bytes_per_s)),
    (SortBy::Latency, "latency", |row| row.figure(|interval| interval.all.latency_ns)),
    (SortBy::LatencyRatio, "latency-ratio", |row| Some(row.calibrated?.latency_ratio)),
    (SortBy::Busy, "busy", |row| row.figure(|interval| interval.busy_share)),
    (SortBy::Saturation, "saturation", |row| Some(row.calibrated?.saturation)),
    (SortBy::Verdict, "verdict", |row| Some(badness(row.verdict.as_ref()?.verdict))),
    (SortBy::Name, "name", |_| None),
];

impl SortBy {
    /// All sort keys, in the order in which a key press steps through them.
    pub const ALL: [Self; SORTS.len()] = {
        let mut all = [Self::Name; SORTS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = SORTS[at].0;
            at += 1;
        }
        all
    };

    /// The next sort key.
    #[must_use]
    pub fn next(self) -> Self {
        SORTS[(self as usize + 1) % SORTS.len()].0
    }

    /// Name in flags and on the screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        SORTS[self as usize].1
    }

    /// The sort value; unknown values come last.
    fn key(self, row: &WatchRow) -> f64 {
        SORTS[self as usize].2(row).unwrap_or(f64::NEG_INFINITY)
    }
}

/// Severity of a verdict, from 0.
fn badness(verdict: record::Verdict) -> f64 {
    match diagnosis::told(verdict).1 {
        Tone::Bad => 3.0,
        Tone::Warn => 2.0,
        Tone::Faint => 1.0,
        _ => 0.0,
    }
}

/// Whether a row matches the filter: its name, its model or one of its processes contains the text.
fn is_wanted(row: &WatchRow, text: &str) -> bool {
    let text = text.to_lowercase();
    let model = row.device.facts.as_ref().and_then(|facts| facts.model.as_ref());
    let users = row.interval.iter().flat_map(|interval| interval.processes.iter().flatten());
    let texts = [Some(&row.device.name), model].into_iter().flatten();
    texts.chain(users.map(|user| &user.name)).any(|held| held.to_lowercase().contains(&text))
}

/// Number of past intervals without a request after which a device is idle: half a minute at one per second.
const IDLE_MOMENTS: usize = 30;

/// Whether a device has had no request for a while.
fn is_idle(row: &WatchRow) -> bool {
    let rests = |rate: Option<f64>| rate == Some(0.0);
    let now = row.interval.as_ref().is_some_and(|it| rests(it.all.per_s.map(|it| it.value)));
    now && row.past.iter().rev().take(IDLE_MOMENTS).all(|moment| rests(moment.per_s))
}

/// Indices of the matching rows in display order. Idle devices are left out, unless all are idle or
/// the reader wants to see them.
#[must_use]
pub fn watch_order(rows: &[WatchRow], view: &WatchView) -> Vec<usize> {
    let WatchView { sort, reversed, filter, picked, all, .. } = view;
    let (sort, reversed) = (*sort, *reversed);
    let all = *all || !filter.is_empty() || rows.iter().all(is_idle);
    let is_shown = |row: &WatchRow| {
        let is_picked = picked.as_ref() == Some(&row.device.name);
        is_wanted(row, filter) && (all || is_picked || !is_idle(row))
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|&at| is_shown(&rows[at])).collect();
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

/// Compares names with their numbers as numbers: `sda2` before `sda10`, `sdz` before `sdaa`.
fn natural(one: &str, other: &str) -> Ordering {
    let split = |name: &str| {
        let letters = name.trim_end_matches(|character: char| character.is_ascii_digit()).len();
        (letters, name[..letters].to_owned(), name[letters..].parse::<u64>().ok())
    };
    split(one).cmp(&split(other))
}
