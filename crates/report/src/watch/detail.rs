//! What is said of the picked device: the verdict in words, its evidence, its past, its curve.
//!
//! The same sections serve the pane below the table and the whole screen; what does not fit is left
//! out from below, so the order is that of importance. The two ways to split a latency stand
//! one above the other, each with its name, because they disagree on parallel devices and a reader
//! who sees only one takes it for the truth.

use super::columns::size;
use super::pane::{Pane, span};
use super::{WatchData, WatchRow, curve, words};
use crate::diagnosis::{verdict_tone, verdict_words};
use crate::number;
use crate::page::Tone;
use ratatui::layout::Rect;
use ratatui::text::Span;
use record::{Calibrated, Confidence, Interval, OpInterval, Traced, TracedOp, format_bytes};

/// Columns of the labels.
const LABEL: usize = 11;
/// Columns beside a sparkline for its scale.
const SCALE: usize = 36;

/// The device; `whole` is with all that is known of it.
pub(super) fn pane(area: Rect, data: &WatchData, row: &WatchRow, whole: bool) -> Pane {
    let mut built = Pane::new(area);
    let pane = &mut built;
    title(pane, row);
    verdict(pane, row);
    if let Some(interval) = &row.interval {
        split(pane, row, interval);
        if whole {
            operations(pane, interval);
        } else {
            sizes(pane, interval);
        }
    }
    past(pane, row);
    if let Some(profile) = &data.profile
        && pane.left() > curve::height(row, profile)
    {
        pane.blank();
        curve::print(pane, row, profile);
    }
    if whole {
        if let Some(traced) = row.interval.as_ref().and_then(|interval| interval.traced.as_ref()) {
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

fn label(text: &str) -> Span<'static> {
    span(format!("  {text:<0$}", LABEL - 2), Tone::Faint)
}

/// Name, what it is, and its profile.
fn title(pane: &mut Pane, row: &WatchRow) {
    let device = &row.device;
    let mut what: Vec<String> = Vec::new();
    if let Some(facts) = &device.facts {
        what.extend(facts.model.clone());
        if facts.size_bytes.0 > 0 {
            what.push(format_bytes(facts.size_bytes.0));
        }
    }
    what.extend(device.partition_of.iter().map(|disk| format!("a part of {disk}")));
    if !device.built_of.is_empty() {
        what.push(format!("built of {}", device.built_of.join(", ")));
    }
    what.extend(row.profile.iter().map(|profile| format!("profile {profile}")));
    let what = if what.is_empty() { String::new() } else { format!("  {}", what.join("; ")) };
    pane.line(vec![span(&device.name, Tone::Strong), span(what, Tone::Plain)]);
}

/// What is the matter; or what a profile would add, where there is none.
fn verdict(pane: &mut Pane, row: &WatchRow) {
    if let Some(verdict) = &row.verdict {
        let sure = match verdict.confidence {
            Confidence::Certain => "",
            Confidence::Likely => " (likely)",
            Confidence::Possible => " (possible)",
        };
        let name = verdict_words(verdict.verdict);
        let lead = vec![span(format!("  {name}{sure}: "), verdict_tone(verdict.verdict))];
        let indent = lead.iter().map(Span::width).sum::<usize>();
        // A long name would leave no room for the sentence.
        if indent + 40 <= pane.width {
            pane.hanging(lead, &verdict.claim, Tone::Plain);
        } else {
            pane.line(lead);
            pane.hanging(vec![span("  ", Tone::Plain)], &verdict.claim, Tone::Plain);
        }
        for alternative in &verdict.alternatives {
            pane.hanging(vec![label("or else")], alternative, Tone::Plain);
        }
        for advice in verdict.advice.iter().take(2) {
            pane.hanging(vec![label("try")], advice, Tone::Plain);
        }
    }
    if row.profile.is_none() {
        let text = format!(
            "No profile of {} is saved. A profile adds the expected latency at this load, the \
             saturation, and whether the disk is slow, overloaded or not the problem. To make one: \
             {}",
            row.device.name, row.profile_command
        );
        pane.hanging(vec![span("  ", Tone::Plain)], &text, Tone::Faint);
    }
}

/// The latency, split in both ways.
fn split(pane: &mut Pane, row: &WatchRow, interval: &Interval) {
    let Some(latency) = interval.all.latency_ns else {
        let text = if interval.all.per_s.is_none() {
            "the kernel keeps no counters for this device"
        } else {
            "no requests in this interval"
        };
        return pane.line(vec![label("latency"), span(text, Tone::Plain)]);
    };
    let mut lines: Vec<String> = Vec::new();
    if let Some(split) = row.calibrated {
        lines.push(format!(
            "{} at QD1 + {} queued, by the profile",
            number::time(split.unloaded_ns.min(latency.value)),
            number::time(split.queue_ns)
        ));
    }
    if let Some(split) = row.utilization_law {
        let doubt = if row.device.busy_doubt.is_some() { ", busy time in doubt" } else { "" };
        lines.push(format!(
            "{} service + {} queued, by S = U/X (U {}{doubt})",
            number::time(split.service_ns),
            number::time(split.queue_ns),
            number::percent(split.utilization)
        ));
    }
    let total = number::time(latency.value);
    let blank = " ".repeat(total.chars().count());
    if lines.is_empty() {
        lines.push("not split: too little busy time was counted".to_owned());
    }
    for (index, line) in lines.iter().enumerate() {
        let (name, total) = if index == 0 { ("latency", &total) } else { ("", &blank) };
        let lead = vec![label(name), span(format!("{total} = "), Tone::Strong)];
        pane.hanging(lead, line, Tone::Plain);
    }
    if let Some(split) = row.calibrated {
        pane.hanging(vec![label("profile")], &promise(&split), Tone::Plain);
    }
}

/// What the profile promises for this load.
fn promise(split: &Calibrated) -> String {
    format!(
        "expects {} {}; load is {} of the max {} for this mix",
        number::time(split.expected_ns.value),
        number::interval(number::relative(&split.expected_ns)),
        number::percent(split.saturation),
        number::per_second(split.max_iops)
    )
}

/// Mean sizes in one line.
fn sizes(pane: &mut Pane, interval: &Interval) {
    let part = |name: &str, op: &OpInterval| {
        let bytes = op.request_bytes?;
        let merged = op.merged_per_s.filter(|merged| merged.value > 0.0);
        let merged = merged.map(|merged| format!(" ({}/s merged)", number::count(merged.value)));
        Some(format!("{name} of {}{}", size(bytes.value), merged.unwrap_or_default()))
    };
    let both = [part("reads", &interval.read), part("writes", &interval.write)];
    let mut parts: Vec<String> = both.into_iter().flatten().collect();
    if let (true, Some(text)) = (parts.is_empty(), part("requests", &interval.all)) {
        parts.push(text);
    }
    parts.extend(others(interval));
    if !parts.is_empty() {
        pane.hanging(vec![label("sizes")], &parts.join(", "), Tone::Plain);
    }
}

/// Discards and flushes.
fn others(interval: &Interval) -> Vec<String> {
    let some = |figure: Option<record::Figure>, name: &str| {
        let rate = figure.map(|figure| figure.value).filter(|rate| *rate > 0.0)?;
        Some(format!("{}/s {name}", number::count(rate)))
    };
    let others =
        [some(interval.discards_per_s, "discards"), some(interval.flushes_per_s, "flushes")];
    others.into_iter().flatten().collect()
}

/// A table of the operations.
fn operations(pane: &mut Pane, interval: &Interval) {
    pane.blank();
    let title = "             IOPS      bytes/s       size  merged/s    latency  resolution";
    pane.line(vec![span(title, Tone::Faint)]);
    let all = [("reads", interval.read), ("writes", interval.write), ("both", interval.all)];
    for (name, op) in all {
        let show = |figure: Option<record::Figure>, format: fn(f64) -> String| {
            number::or_none(figure, |figure| format(figure.value))
        };
        let step = op.latency_ns.map_or_else(
            || number::NONE.to_owned(),
            |figure| match figure.resolution {
                step if step > 0.0 => number::time(step),
                _ => "exactly".to_owned(),
            },
        );
        pane.line(vec![span(
            format!(
                "  {name:<6} {:>8} {:>12} {:>10} {:>9} {:>10} {step:>11}",
                show(op.per_s, number::count),
                show(op.bytes_per_s, number::rate),
                show(op.request_bytes, size),
                show(op.merged_per_s, number::count),
                show(op.latency_ns, number::time),
            ),
            Tone::Plain,
        )]);
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(interval.concurrency.map(|l| format!("queue depth {}", number::digits(l.value))));
    parts.extend(
        interval.in_flight.map(|now| format!("{} in flight now", number::count(now.value))),
    );
    parts.extend(interval.busy_share.map(|busy| format!("busy {}", number::percent(busy.value))));
    parts.extend(others(interval));
    pane.hanging(vec![label("device")], &parts.join(", "), Tone::Plain);
    pane.blank();
}

/// Rate and latency of the past, each from zero to its largest.
fn past(pane: &mut Pane, row: &WatchRow) {
    let width = pane.width.saturating_sub(LABEL + SCALE).max(8);
    type Figure = fn(&super::PastMoment) -> Option<f64>;
    type Format = fn(f64) -> String;
    let figures: [(&str, Figure, Format); 3] = [
        ("IOPS", |moment| moment.per_s, number::count),
        ("latency", |moment| moment.latency_ns, number::time),
        ("expected", |moment| moment.expected_ns, number::time),
    ];
    for (name, of, format) in figures {
        let shown = &row.past[row.past.len().saturating_sub(width)..];
        let values: Vec<f64> = shown.iter().filter_map(of).collect();
        let Some(most) = values.iter().copied().reduce(f64::max).filter(|most| *most > 0.0) else {
            continue;
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let line = words::sparkline(&row.past, width, of);
        let scale = format!("  from {} to {}", format(least), format(most));
        pane.line(vec![label(name), span(line, Tone::Plain), span(scale, Tone::Faint)]);
    }
}

/// What the tracer saw.
fn tracer(pane: &mut Pane, traced: &Traced) {
    pane.line(vec![span("  From the tracer, single requests", Tone::Strong)]);
    let title =
        "                   requests   queued p50       p99   device p50       p99  sequential";
    pane.line(vec![span(title, Tone::Faint)]);
    for (name, op) in [("reads", &traced.read), ("writes", &traced.write)] {
        pane.line(vec![span(traced_line(name, op), Tone::Plain)]);
    }
    for (name, op) in [("reads", &traced.read), ("writes", &traced.write)] {
        let width = pane.width.saturating_sub(LABEL + SCALE).max(8);
        for (part, histogram) in [("queued", &op.queue_ns), ("in device", &op.device_ns)] {
            if let Some(line) = crate::trial::sparkline(histogram, width) {
                let lead = span(format!("  {name:<6} {part:<10}"), Tone::Faint);
                pane.line(vec![lead, span(line, Tone::Plain)]);
            }
        }
    }
    if traced.lost > 0 {
        let text = format!("{} events were lost: the figures are low", traced.lost);
        pane.line(vec![label(""), span(text, Tone::Warn)]);
    }
    for (id, name, requests) in traced.processes.iter().take(5) {
        let text = format!("{name} ({id}) {requests} requests");
        pane.line(vec![label("process"), span(text, Tone::Plain)]);
    }
}

fn traced_line(name: &str, op: &TracedOp) -> String {
    let at = |histogram: &record::HistogramSnapshot, share: f64| {
        number::or_none(histogram.percentile(share), number::time)
    };
    format!(
        "  {name:<12} {:>12} {:>12} {:>9} {:>12} {:>9} {:>11}",
        op.device_ns.count(),
        at(&op.queue_ns, 0.5),
        at(&op.queue_ns, 0.99),
        at(&op.device_ns, 0.5),
        at(&op.device_ns, 0.99),
        number::or_none(op.sequential_share, number::percent),
    )
}

/// What sysfs says of it.
fn facts(pane: &mut Pane, row: &WatchRow) {
    let Some(facts) = &row.device.facts else { return };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(facts.link.clone().or_else(|| facts.driver.clone()));
    parts.extend(facts.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.extend(facts.nr_requests.map(|count| format!("{count} requests in its queue")));
    parts.extend(facts.write_cache.clone());
    parts.extend(facts.read_ahead_bytes.map(|bytes| format!("read-ahead {}", format_bytes(bytes))));
    if !parts.is_empty() {
        pane.hanging(vec![label("settings")], &parts.join(", "), Tone::Plain);
    }
    for layer in &facts.layers {
        pane.hanging(vec![label("layer")], layer, Tone::Plain);
    }
    if let Some(doubt) = &row.device.busy_doubt {
        pane.hanging(vec![label("busy time")], &format!("in doubt: {doubt}"), Tone::Plain);
    }
}
