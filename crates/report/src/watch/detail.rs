//! Draws the details of the selected device: the verdict in words, its evidence, its past, its curve.
//!
//! The same sections are used for the pane below the table and for the whole screen. Sections that do not fit
//! are dropped from the end, so they are in order of importance. The two ways to split a latency are shown
//! one above the other with their names, because they disagree on parallel devices, and a reader who sees
//! only one of them trusts it.

use super::{PastMoment, WatchData, WatchRow, WatchView, curve, words};
use crate::chart::extremes;
use crate::page::{Page, Span, Tone};
use crate::story::{Cell, Table, bracketed, doubt};
use crate::traced::{self, op_of};
use crate::view::table;
use crate::{diagnosis, issuers, number};
use ratatui::layout::Rect;
use record::{Figure, Interval, OpInterval, OpKind, Traced, format_bytes};

const LABEL: usize = 11;
/// Columns reserved for the scale next to a sparkline.
const SCALE: usize = 36;

pub(super) fn pane(area: Rect, data: &WatchData, view: &WatchView, row: &WatchRow) -> Page {
    let whole = view.detail;
    let mut built = Page::of_screen(area.width.into());
    let pane = &mut built;
    title(pane, row);
    // On the whole screen the figures and the users come before the actions, so that a small screen has them.
    verdict(pane, row);
    if !whole {
        advice(pane, row);
    }
    if let Some(interval) = &row.interval {
        split(pane, data, row, interval);
        if whole {
            operations(pane, view, interval);
            users(pane, row);
        } else {
            sizes(pane, interval);
            issuers_line(pane, row);
        }
    }
    past(pane, row);
    if whole {
        advice(pane, row);
    }
    let left = usize::from(area.height).saturating_sub(pane.lines().len());
    if let Some(profile) = &data.profile
        && left > curve::height(row, profile)
    {
        pane.blank();
        curve::print(pane, row, profile);
    }
    if whole {
        let interval = row.interval.as_ref();
        if interval.is_some_and(|interval| interval.processes.is_none()) {
            let text =
                "processes are not counted here: this requires root and a Linux kernel with BPF";
            pane.hanging(vec![label("process")], text, Tone::Faint);
        }
        if let Some(traced) = interval.and_then(|interval| interval.traced.as_deref()) {
            pane.blank();
            tracer(pane, traced);
        }
        facts(pane, row);
        for note in &data.notes {
            pane.hanging(vec![label("note")], note, Tone::Faint);
        }
    }
    built
}

/// Adds texts after a label, if there are any.
fn labelled(pane: &mut Page, name: &str, parts: &[String]) {
    if !parts.is_empty() {
        pane.hanging(vec![label(name)], &parts.join(", "), Tone::Plain);
    }
}

fn label(text: &str) -> Span {
    Span::new(format!("  {text:<0$}", LABEL - 2), Tone::Faint)
}

fn title(pane: &mut Page, row: &WatchRow) {
    let device = &row.device;
    let mut what: Vec<String> = Vec::new();
    if let Some(facts) = &device.facts {
        what.extend(facts.model.clone());
        what.extend((facts.size_bytes.0 > 0).then(|| format_bytes(facts.size_bytes.0)));
    }
    what.extend(device.partition_of.iter().map(|disk| format!("a partition of {disk}")));
    if !device.built_of.is_empty() {
        what.push(format!("built of {}", device.built_of.join(", ")));
    }
    what.extend(row.profile.iter().map(|profile| format!("profile {profile}")));
    let what = if what.is_empty() { String::new() } else { format!("  {}", what.join("; ")) };
    pane.line(vec![Span::new(&device.name, Tone::Strong), Span::plain(what)]);
}

/// Adds the verdict and its time span.
fn verdict(pane: &mut Page, row: &WatchRow) {
    if let Some(verdict) = &row.verdict {
        let (name, tone) = diagnosis::told(verdict.verdict);
        let time = format!("last {}", number::time(verdict.observed_ns as f64));
        let sure = bracketed(doubt(verdict.confidence).into_iter().chain([time]), ", ");
        let lead = Span::new(format!("  {name}{sure}: "), tone);
        // A long name would leave no space for the sentence.
        if lead.width() + 40 <= pane.width() {
            pane.flowing(vec![lead], 4, &verdict.claim, Tone::Plain);
        } else {
            pane.line(vec![lead]);
            pane.paragraph(2, &verdict.claim, Tone::Plain);
        }
    }
}

/// Adds alternatives and actions, or what a profile would add if there is none.
fn advice(pane: &mut Page, row: &WatchRow) {
    if let Some(verdict) = &row.verdict {
        for alternative in &verdict.alternatives {
            pane.hanging(vec![label("or else")], alternative, Tone::Plain);
        }
        for advice in verdict.advice.iter().take(2) {
            pane.hanging(vec![label("try")], advice, Tone::Plain);
        }
    }
    if let Some(unused) = &row.unused_profile {
        pane.paragraph(2, unused, Tone::Faint);
    } else if row.profile.is_none() {
        let (name, command) = (&row.device.name, &row.profile_command);
        let gain = "adds the expected latency and makes the verdict more certain";
        let text = format!("No profile of {name} is saved. A profile {gain}: {command}");
        pane.paragraph(2, &text, Tone::Faint);
    }
}

fn split(pane: &mut Page, data: &WatchData, row: &WatchRow, interval: &Interval) {
    let Some(latency) = interval.all.latency_ns else {
        let text = if interval.all.per_s.is_none() {
            "the kernel keeps no counters for this device"
        } else {
            "no requests in this interval"
        };
        return pane.line(vec![label("latency"), Span::plain(text)]);
    };
    let mut lines: Vec<String> = Vec::new();
    if let Some(split) = row.calibrated.filter(|_| latency.value > 0.0) {
        let alone = split.unloaded_ns.min(latency.value);
        let [alone, queue] = [alone, split.queue_ns].map(number::time);
        lines.push(format!("{alone} at QD 1 + {queue} queued, by the profile"));
    }
    if let Some(split) = row.utilization_law {
        let doubt = if row.device.busy_doubt.is_some() { ", busy time unreliable" } else { "" };
        let [service, queue] = [split.service_ns, split.queue_ns].map(number::time);
        let busy = number::percent(split.utilization);
        lines.push(format!("{service} service + {queue} queued, by S = U/X (U {busy}{doubt})"));
    }
    let total = number::latency(latency);
    let blank = " ".repeat(total.chars().count());
    if lines.is_empty() {
        lines.push("no split: too little busy time".to_owned());
    }
    for (index, line) in lines.iter().enumerate() {
        // The time span of the figures, if a label has space for it.
        let window = format!("in {}", data.interval);
        let (name, total) = match index {
            0 => ("latency", &total),
            _ => (window.as_str(), &blank),
        };
        let lead = vec![label(name), Span::new(format!("{total} = "), Tone::Strong)];
        let behind = if lines.len() == 1 { format!(", {window}") } else { String::new() };
        pane.hanging(lead, &format!("{line}{behind}"), Tone::Plain);
    }
    if let Some(split) = row.calibrated {
        let expected = number::with_interval(&split.expected_ns, number::time);
        let (share, max) = (number::percent(split.saturation), number::per_second(split.max_iops));
        let text = format!("predicts {expected}; load is {share} of the max {max} for this mix");
        pane.hanging(vec![label("profile")], &text, Tone::Plain);
    }
}

fn sizes(pane: &mut Page, interval: &Interval) {
    let part = |name: &str, op: &OpInterval| {
        let bytes = op.request_bytes?;
        let merged = op.merged_per_s.filter(|merged| merged.value > 0.0);
        let merged = merged.map(|merged| format!(" ({}/s merged)", number::count(merged.value)));
        Some(format!("{name} of {}{}", number::size(bytes.value), merged.unwrap_or_default()))
    };
    let both = [part("reads", &interval.read), part("writes", &interval.write)];
    let mut parts: Vec<String> = both.into_iter().flatten().collect();
    if let (true, Some(text)) = (parts.is_empty(), part("requests", &interval.all)) {
        parts.push(text);
    }
    parts.extend(others(interval));
    labelled(pane, "sizes", &parts);
}

fn others(interval: &Interval) -> Vec<String> {
    let some = |figure: Option<Figure>, name: &str| {
        let rate = figure.map(|figure| figure.value).filter(|rate| *rate > 0.0)?;
        Some(format!("{}/s {name}", number::count(rate)))
    };
    let others =
        [some(interval.discards_per_s, "discards"), some(interval.flushes_per_s, "flushes")];
    others.into_iter().flatten().collect()
}

fn operations(pane: &mut Page, view: &WatchView, interval: &Interval) {
    let rate = |value: f64| view.rate(value);
    let show = |figure: Option<Figure>, format: &dyn Fn(f64) -> String| {
        Cell::or_none(figure, |figure| format(figure.value))
    };
    let resolution = |figure: Figure| match figure.resolution {
        step if step > 0.0 => number::time(step),
        _ => "exactly".to_owned(),
    };
    let all = [("reads", interval.read), ("writes", interval.write), ("both", interval.all)];
    let table = Table::of(all, |t| {
        t.left("", |(name, _)| *name);
        t.right("IOPS", |(_, op)| show(op.per_s, &number::count)).gap(3);
        t.right("bytes/s", |(_, op)| show(op.bytes_per_s, &rate)).gap(3);
        t.right("size", |(_, op)| show(op.request_bytes, &number::size)).gap(3);
        t.right("merged/s", |(_, op)| show(op.merged_per_s, &number::count)).gap(3);
        t.right("latency", |(_, op)| Cell::or_none(op.latency_ns, number::latency)).gap(3);
        t.right("resolution", |(_, op)| Cell::or_none(op.latency_ns, resolution)).gap(3);
    });
    table::print(&table, pane);
    let depth = interval.concurrency.map(|it| format!("queue depth {}", number::digits(it.value)));
    let now = interval.in_flight.map(|it| format!("{} in flight now", number::count(it.value)));
    let busy = interval.busy_share.map(|it| format!("busy {}", number::percent(it.value)));
    let mut parts: Vec<String> = [depth, now, busy].into_iter().flatten().collect();
    parts.extend(others(interval));
    labelled(pane, "device", &parts);
}

/// Adds rate and latency of the past, each from zero to its maximum.
fn past(pane: &mut Page, row: &WatchRow) {
    let width = pane.width().saturating_sub(LABEL + SCALE).max(8);
    type FigureOf = fn(&PastMoment) -> Option<f64>;
    type Format = fn(f64) -> String;
    let figures: [(&str, FigureOf, Format); 3] = [
        ("IOPS", |moment| moment.per_s, number::count),
        ("latency", |moment| moment.latency_ns, number::time),
        ("expected", |moment| moment.expected_ns, number::time),
    ];
    for (name, of, format) in figures {
        let shown = &row.past[row.past.len().saturating_sub(width)..];
        let (least, most) = extremes(shown.iter().filter_map(of));
        if most > 0.0 {
            let line = words::sparkline(&row.past, width, of);
            let scale = format!("  from {} to {}", format(least), format(most));
            pane.line(vec![label(name), Span::plain(line), Span::new(scale, Tone::Faint)]);
        }
    }
}

fn tracer(pane: &mut Page, traced: &Traced) {
    pane.line(vec![Span::new("  From the tracer, single requests", Tone::Strong)]);
    let row = |op| traced::Row { device: String::new(), op, traced: op_of(traced, op).clone() };
    table::print(&Table::of(OpKind::ALL.map(row), traced::columns), pane);
    for op in OpKind::ALL {
        let (width, of) = (pane.width().saturating_sub(LABEL + SCALE).max(8), op_of(traced, op));
        for (part, histogram) in [("queued", &of.queue_ns), ("in device", &of.device_ns)] {
            if let Some(line) = crate::trial::sparkline(histogram, width) {
                let lead = Span::new(format!("  {:<6} {part:<10}", op.plural()), Tone::Faint);
                pane.line(vec![lead, Span::plain(line)]);
            }
        }
    }
    if traced.lost > 0 {
        let text = format!("{} events were lost: the figures are too low", traced.lost);
        pane.line(vec![label(""), Span::new(text, Tone::Warn)]);
    }
}

/// Adds the first users of the device in the interval.
fn issuers_line(pane: &mut Page, row: &WatchRow) {
    let all = words::users(row);
    let told = all.iter().take(2).map(|group| match group.figures(&all).as_str() {
        "" => group.label(),
        figures => format!("{}: {figures}", group.label()),
    });
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        pane.hanging(vec![label("process")], &told.join("; "), Tone::Plain);
    }
}

/// Adds all known users of the device in the interval.
fn users(pane: &mut Page, row: &WatchRow) {
    let groups = words::users(row);
    if !groups.is_empty() {
        pane.line(vec![Span::new("  Who uses it", Tone::Strong)]);
        table::print(&Table::of(issuers::rows("", groups), issuers::columns), pane);
    }
}

fn facts(pane: &mut Page, row: &WatchRow) {
    let Some(facts) = &row.device.facts else { return };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(facts.link.clone().or_else(|| facts.driver.clone()));
    parts.extend(facts.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.extend(facts.nr_requests.map(|count| format!("{count} requests in its queue")));
    parts.extend(facts.write_cache.clone());
    parts.extend(facts.read_ahead_bytes.map(|bytes| format!("read-ahead {}", format_bytes(bytes))));
    labelled(pane, "settings", &parts);
    for layer in &facts.layers {
        pane.hanging(vec![label("layer")], layer, Tone::Plain);
    }
    if let Some(doubt) = &row.device.busy_doubt {
        pane.hanging(vec![label("busy time")], &format!("unreliable: {doubt}"), Tone::Plain);
    }
}
