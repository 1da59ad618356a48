//! Formats what the screen states in words: totals, the system, limits, the verdict, the past.

use super::{PastMoment, WatchData, WatchRow, WatchVerdict, WatchView};
use crate::diagnosis;
use crate::number::{self, counted};
use crate::page::{Span, Tone};
use crate::target::limit_rate;
use crate::trial::height;
use record::{Confidence, Context, Figure, Interval, IoGroup, Verdict, format_bytes, io_groups};

/// Shares of time from which pressure and steal are highlighted.
const MARKED_PRESSURE: f64 = 0.1;
const MARKED_STEAL: f64 = 0.05;

/// Number of devices and their total load. Requests to a device that is built of others, or a part
/// of one, are counted on those others.
pub(super) fn totals(data: &WatchData, view: &WatchView) -> Vec<Span> {
    let repeats = |row: &&WatchRow| {
        let device = &row.device;
        let shown = |name: &String| data.rows.iter().any(|row| row.device.name == *name);
        device.built_of.iter().any(shown) || device.partition_of.iter().any(shown)
    };
    let own: Vec<&WatchRow> = data.rows.iter().filter(|row| !repeats(row)).collect();
    let sum = |of: fn(&Interval) -> Option<Figure>| -> f64 {
        own.iter().filter_map(|row| row.figure(of)).sum()
    };
    let devices = counted(data.rows.len() as f64, "device");
    let hidden = match data.hidden {
        0 => String::new(),
        count => format!(" ({count} hidden: a)"),
    };
    let repeated = match data.rows.len() - own.len() {
        0 => String::new(),
        count => format!(", {count} repeat others"),
    };
    let turned = if view.reversed { ", reversed" } else { "" };
    let iops = number::per_second(sum(|interval| interval.all.per_s));
    let rate = view.rate(sum(|interval| interval.all.bytes_per_s));
    let by = format!("; by {}{turned}", view.sort.name());
    // The figures come last, so that a narrow line drops them first.
    let parts = [iops, format!(", {rate}"), by, format!("; {devices}"), repeated, hidden];
    parts.into_iter().map(Span::plain).collect()
}

/// The spans that fit a line, each complete except for the first: a truncated number would be wrong.
pub(super) fn fitting(spans: Vec<Span>, columns: usize) -> Vec<Span> {
    let mut used = 0;
    let fits = |(place, span): &(usize, Span)| {
        used += span.width();
        *place == 0 || used <= columns
    };
    spans.into_iter().enumerate().take_while(fits).map(|(_, span)| span).collect()
}

pub(super) fn surroundings(context: &Context) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut add = |text: String, tone: Tone| {
        let text = if spans.is_empty() { text } else { format!("; {text}") };
        spans.push(Span::new(text, tone));
    };
    match (context.io_some_share, context.io_full_share) {
        (Some(some), full) => {
            let all = full.map(|full| format!(", full {}", number::percent(round(full))));
            let tone = if some >= MARKED_PRESSURE { Tone::Warn } else { Tone::Plain };
            let some = number::percent(round(some));
            add(format!("I/O pressure: some {some}{}", all.unwrap_or_default()), tone);
        }
        (None, _) => add("I/O pressure unknown".to_owned(), Tone::Faint),
    }
    if let Some(bytes) = context.memory_available_bytes {
        add(format!("{} can be cached", format_bytes(bytes)), Tone::Plain);
    }
    if let Some(bytes) = context.dirty_bytes {
        let writing = context.writeback_bytes.filter(|bytes| *bytes > 0);
        let writing = writing.map(|bytes| format!(" + {} in writeback", format_bytes(bytes)));
        add(format!("dirty {}{}", format_bytes(bytes), writing.unwrap_or_default()), Tone::Plain);
    }
    if let Some(steal) = context.steal_share.filter(|steal| *steal >= 0.005) {
        let tone = if steal >= MARKED_STEAL { Tone::Warn } else { Tone::Plain };
        add(format!("steal {}", number::percent(round(steal))), tone);
    }
    spans
}

/// Rounds to hundredths: more digits would only flicker.
fn round(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

/// Control-group limits on the devices shown, a sentence each.
pub(super) fn limits(data: &WatchData) -> Vec<String> {
    let limits = data.context.cgroup_limits.iter().filter_map(|limit| {
        let limited = |row: &&WatchRow| {
            row.device.facts.as_ref().is_some_and(|facts| facts.major_minor == limit.major_minor)
        };
        let device = &data.rows.iter().find(limited)?.device.name;
        let (group, op, rate) = (&limit.group, limit.limited.op().plural(), limit_rate(limit));
        Some(format!("control group {group} is limited to {rate} of {op} on {device}"))
    });
    limits.collect()
}

/// The verdict in as few words as fit a column, and its tone.
pub(super) fn verdict(row: &WatchRow, width: usize) -> (String, Tone) {
    let Some(verdict) = &row.verdict else { return (number::NONE.to_owned(), Tone::Faint) };
    let (words, tone) = diagnosis::told(verdict.verdict);
    let words = match verdict.verdict {
        _ if words.len() < width => words,
        Verdict::SlowAndOverloaded => "slow+overl",
        Verdict::NotEnoughEvidence => "unknown",
        Verdict::NotTheDisk => "not disk",
        _ => words,
    };
    (format!("{words}{}", open(verdict)), tone)
}

/// The group with most requests, and its share.
pub(super) fn process(row: &WatchRow, width: usize) -> String {
    let all = users(row);
    let Some(first) = all.first() else { return number::NONE.to_owned() };
    let whole: f64 = all.iter().map(IoGroup::requests_per_s).sum();
    let share = first.requests_per_s() / whole.max(1e-9);
    let share = format!(" {}", number::percent(round(share)));
    let room = width.saturating_sub(share.chars().count());
    crate::page::shortened(&crate::escape(&first.program), room) + &share
}

/// The users of a device in its last interval, those with most requests first; empty if unknown.
pub(super) fn users(row: &WatchRow) -> Vec<IoGroup> {
    let known = |interval: &Interval| {
        let processes = interval.processes.as_ref()?;
        let mut groups = io_groups(processes, interval.duration_ns as f64 / 1e9);
        groups.retain(|group| group.requests_per_s() > 0.0);
        Some(groups)
    };
    row.interval.as_ref().and_then(known).unwrap_or_default()
}

/// The mark after a verdict that is not certain.
pub(super) fn open(verdict: &WatchVerdict) -> &'static str {
    if verdict.confidence == Confidence::Certain { "" } else { "?" }
}

/// Past latency as a sparkline of at most `width` columns, the latest last.
pub(super) fn past(row: &WatchRow, width: usize) -> String {
    sparkline(&row.past, width, |moment| moment.latency_ns)
}

/// A past figure from zero to its maximum; a space if unknown.
pub(super) fn sparkline(
    past: &[PastMoment],
    width: usize,
    of: impl Fn(&PastMoment) -> Option<f64>,
) -> String {
    let shown = &past[past.len().saturating_sub(width)..];
    let largest = shown.iter().filter_map(&of).fold(0.0, f64::max);
    // Zero is a known value and gets the lowest column.
    let known = |moment: &PastMoment| of(moment).filter(|value| value.is_finite());
    let column = |value: f64| height((value / largest).max(f64::MIN_POSITIVE));
    let bars: String = shown.iter().map(|it| known(it).map_or(' ', column)).collect();
    format!("{bars:>width$}")
}
