//! The columns of the table: what each shows, how wide it is, and which go first where room lacks.
//!
//! One list holds them all, so that titles, entries, widths and the help cannot disagree. Ranks
//! decide what 80 columns keep: who, how much, how long and why it takes that long, how full. The
//! rest is one key away.

use super::pane::span;
use super::{WatchRow, words};
use crate::number;
use crate::page::{Tone, shortened};
use ratatui::text::Line;
use record::{Figure, Interval, Verdict};

const NEAR_FULL: f64 = 0.9;

pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: usize,
    /// The larger, the sooner it goes where the screen is narrow.
    pub(super) rank: u8,
    pub(super) entry: Entry,
}

pub(super) enum Entry {
    /// A figure, from the right; a dash where it is not known.
    Figure(fn(&WatchRow) -> Option<String>),
    /// The same in a tone of its own.
    Toned(fn(&WatchRow) -> Option<(String, Tone)>),
    /// Text from the left, given the room that there is.
    Text(fn(&WatchRow, usize) -> String),
}

impl Column {
    /// The title, on the side where the entries are.
    pub(super) fn heading(&self) -> Line<'static> {
        let title = Line::from(self.title);
        if matches!(self.entry, Entry::Text(_)) { title } else { title.right_aligned() }
    }

    /// What stands there for a device.
    pub(super) fn cell(&self, row: &WatchRow, width: usize) -> Line<'static> {
        let known = |text: Option<String>| text.unwrap_or_else(|| number::NONE.to_owned());
        let (text, tone) = match self.entry {
            Entry::Figure(of) => (known(of(row)), Tone::Plain),
            Entry::Toned(of) => of(row).unwrap_or((number::NONE.to_owned(), Tone::Plain)),
            Entry::Text(of) => {
                let text = shortened(&crate::escape(&of(row, width)), width);
                return Line::from(text);
            }
        };
        Line::from(span(text, tone)).right_aligned()
    }
}

/// What the figures mean, for the help: a line each, so that all of it fits 80 by 24.
pub(super) const MEANINGS: [(&str, &str); 10] = [
    ("read/s, write/s", "IOPS: requests completed per second, after merging"),
    ("bytes/s", "throughput of both, in powers of 1000"),
    ("latency", "mean time of a request, from start to end in the block layer"),
    ("service, queue", "its split: by the profile, else by S = U/X (overlap is queue)"),
    ("expect", "latency that the profile predicts at this queue depth"),
    ("QD", "queue depth: mean requests in flight"),
    ("busy", "share of time with any; 100 % is not full; ? in doubt"),
    ("sat", "saturation: IOPS over the largest of this mix, by the profile"),
    ("history", "latency of the last intervals, on a scale of its own"),
    ("verdict", "diagnosis of the last 30 s; ? other explanations remain"),
];

pub(super) const COLUMNS: [Column; 20] = [
    text("device", 10, 0, |row, _| row.device.name.clone()),
    figure("read/s", 6, 0, |row| op(row, |i| i.read.per_s, number::count)),
    figure("write/s", 7, 0, |row| op(row, |i| i.write.per_s, number::count)),
    figure("bytes/s", 9, 0, |row| op(row, |i| i.all.bytes_per_s, number::rate)),
    figure("size", 8, 3, |row| op(row, |i| i.all.request_bytes, number::size)),
    figure("r size", 8, 9, |row| op(row, |i| i.read.request_bytes, number::size)),
    figure("w size", 8, 9, |row| op(row, |i| i.write.request_bytes, number::size)),
    figure("merged/s", 8, 12, |row| op(row, |i| i.all.merged_per_s, number::count)),
    toned("latency", 7, 0, latency),
    figure("=service", 8, 0, |row| split(row).map(|(service, _)| number::time(service))),
    figure("+queue", 7, 0, |row| split(row).map(|(_, queue)| number::time(queue))),
    figure("expect", 8, 2, |row| Some(number::time(row.calibrated?.expected_ns.value))),
    figure("r lat", 8, 10, |row| op(row, |i| i.read.latency_ns, number::time)),
    figure("w lat", 8, 10, |row| op(row, |i| i.write.latency_ns, number::time)),
    figure("QD", 5, 0, |row| op(row, |i| i.concurrency, number::digits)),
    figure("QD now", 6, 11, |row| op(row, |i| i.in_flight, number::count)),
    figure("busy", 6, 1, busy),
    toned("sat", 5, 0, saturation),
    text("history", 16, 7, words::past),
    text("verdict", 14, 6, |row, _| words::verdict(row)),
];

const fn text(
    title: &'static str,
    width: usize,
    rank: u8,
    entry: fn(&WatchRow, usize) -> String,
) -> Column {
    Column { title, width, rank, entry: Entry::Text(entry) }
}

const fn figure(
    title: &'static str,
    width: usize,
    rank: u8,
    entry: fn(&WatchRow) -> Option<String>,
) -> Column {
    Column { title, width, rank, entry: Entry::Figure(entry) }
}

const fn toned(
    title: &'static str,
    width: usize,
    rank: u8,
    entry: fn(&WatchRow) -> Option<(String, Tone)>,
) -> Column {
    Column { title, width, rank, entry: Entry::Toned(entry) }
}

fn op(
    row: &WatchRow,
    of: fn(&Interval) -> Option<Figure>,
    format: fn(f64) -> String,
) -> Option<String> {
    Some(format(of(row.interval.as_ref()?)?.value))
}

/// Service and queue time: by the profile where there is one, else by the utilization law.
pub(super) fn split(row: &WatchRow) -> Option<(f64, f64)> {
    let by_law = row.utilization_law.map(|split| (split.service_ns, split.queue_ns));
    let latency_ns = row.interval.as_ref()?.all.latency_ns?.value;
    row.calibrated.map(|split| (latency_ns - split.queue_ns, split.queue_ns)).or(by_law)
}

/// The latency, marked where it is beyond what the profile allows.
fn latency(row: &WatchRow) -> Option<(String, Tone)> {
    let text = op(row, |interval| interval.all.latency_ns, number::time)?;
    let troubled = row.verdict.as_ref().is_some_and(|verdict| {
        matches!(verdict.verdict, Verdict::Slow | Verdict::SlowAndOverloaded)
    });
    Some((text, if troubled { Tone::Warn } else { Tone::Plain }))
}

fn busy(row: &WatchRow) -> Option<String> {
    let text = op(row, |interval| interval.busy_share, number::percent)?;
    Some(if row.device.busy_doubt.is_some() { text + "?" } else { text })
}

/// Saturation, marked from where the rate can hardly grow.
fn saturation(row: &WatchRow) -> Option<(String, Tone)> {
    let share = row.calibrated?.saturation;
    let tone = if share >= NEAR_FULL { Tone::Warn } else { Tone::Plain };
    Some((number::percent(share), tone))
}
