//! What `halfpower run` prints: one trial.
//!
//! The rate with its interval comes first, then the distribution of response times, then what
//! decides whether the numbers can be believed: errors, the depth that was reached, processor
//! time, the device's own counters, the limit of the load generator. A part that was not measured
//! keeps its place and says why.

mod asked;
mod command;
mod components;
mod cost;
mod load;
mod story;

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, profile, target};
use record::{
    BUCKETS, DirectionResult, HistogramSnapshot, Measured, TimeSummary, Trial, bucket_high,
    bucket_low, quantity,
};

pub(crate) use asked::workload_text;
pub(crate) use command::command;
pub(crate) use story::story;

/// Column at which the values of labelled lines begin.
const VALUES: usize = 19;
/// Heights of a sparkline's columns, from "some" to "most".
pub(crate) const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One trial, answer first.
#[must_use]
pub fn trial_text(trial: &Trial, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new("Trial: ", Tone::Strong)];
    if trial.simulated {
        lead.push(Span::new("SIMULATED, ", Tone::Warn));
    }
    page.hanging(lead, &workload_text(&trial.workload), Tone::Plain);
    for target in &trial.targets {
        page.paragraph(7, &target::summary(target), Tone::Plain);
    }
    if trial.targets.is_empty() {
        page.paragraph(7, "no target", Tone::Plain);
    }
    finding::print_verdict(&mut page, &trial.findings);
    page.blank();
    headline(&mut page, trial);
    page.blank();
    latency_table(&mut page, trial);
    page.blank();
    errors_line(&mut page, trial);
    load::open_loop_lines(&mut page, trial);
    load::concurrency_line(&mut page, trial);
    load::state_lines(&mut page, trial);
    part(&mut page, quantity("cpu_lower_us_per_io").title, &trial.cpu, cost::per_request_text);
    if let Some(cpu) = trial.cpu.value() {
        page.labelled("CPU time", VALUES, &cost::total_text(cpu));
    }
    part(&mut page, "device counters", &trial.device_counters, |device| {
        cost::device_text(device, trial.result.duration_ns.0 as f64)
    });
    if !trial.result.components.is_empty() {
        page.labelled("components", VALUES, &components::text(&trial.result.components));
    }
    let jobs = f64::from(trial.workload.numjobs.max(1));
    let per_job = trial.iops() / jobs;
    part(&mut page, quantity("ceiling_iops").title, &trial.harness, |harness| {
        cost::harness_text(harness, per_job)
    });
    let harness = trial.harness.value();
    if let Some(batching) = harness.and_then(|harness| harness.batching.as_ref()) {
        page.labelled("batching", VALUES, &cost::batching_text(batching));
    }
    load::interval_table(&mut page, trial);
    if !trial.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &trial.findings);
    }
    page.blank();
    conditions(&mut page, trial);
    page.finish()
}

/// Both directions with their names, as far as they were asked for.
pub(crate) fn directions(trial: &Trial) -> impl Iterator<Item = (&'static str, &DirectionResult)> {
    let result = &trial.result;
    let both = [("read", result.read.as_ref()), ("write", result.write.as_ref())];
    both.into_iter().filter_map(|(name, direction)| direction.map(|direction| (name, direction)))
}

fn headline(page: &mut Page, trial: &Trial) {
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::left(0),
        Column::right(3),
        Column::left(3),
        Column::right(1),
        Column::left(0),
    ]);
    for (name, direction) in directions(trial) {
        let (mean, interval) = match &direction.latency_ns {
            Some(times) => (number::time(times.mean), number::interval_text(times.mean_ci95_rel)),
            None => (number::NONE.to_owned(), String::new()),
        };
        table.row(vec![
            Entry::toned(name, Tone::Strong),
            Entry::toned(number::per_second(direction.iops), Tone::Strong),
            Entry::text(number::interval_text(direction.iops_ci95_rel)),
            Entry::toned(number::rate(direction.bytes_per_s), Tone::Strong),
            Entry::text(quantity("latency_mean_ns").title),
            Entry::toned(mean, Tone::Strong),
            Entry::text(interval),
        ]);
    }
    table.print(page);
    if directions(trial).next().is_none() {
        page.paragraph(2, "Nothing was measured.", Tone::Plain);
    }
}

fn latency_table(page: &mut Page, trial: &Trial) {
    let titles = [
        "latency_min_ns",
        "response_p50_ns",
        "response_p90_ns",
        "response_p99_ns",
        "response_p99_9_ns",
        "response_p99_99_ns",
        "latency_max_ns",
    ];
    let mut columns = [vec![Column::left(2)], vec![Column::right(2); 7]].concat();
    columns[1] = Column::right(2).expendable(1);
    let mut table = Table::new(columns);
    let titles: Vec<&str> = titles.iter().map(|id| quantity(id).title).collect();
    table.titles(&[vec!["latency"], titles].concat());
    let mut absent = false;
    let mut any = false;
    let entry = |value: &Option<f64>| Entry::text(value.map_or(number::NONE.into(), number::time));
    for (name, direction) in directions(trial) {
        let from_arrival = direction.latency_ns.as_ref().map(|times| (name.to_owned(), times));
        // In a closed loop a request arrives when it is submitted: both are the same.
        let from_submission = (direction.completion_ns != direction.latency_ns)
            .then_some(direction.completion_ns.as_ref())
            .flatten()
            .map(|times| ("completion".to_owned(), times));
        for (label, times) in [from_arrival, from_submission].into_iter().flatten() {
            any = true;
            let columns = percentiles(times);
            absent |= columns.iter().any(Option::is_none);
            table.row([vec![Entry::text(label)], columns.iter().map(entry).collect()].concat());
        }
    }
    if !any {
        return;
    }
    table.print(page);
    for (name, direction) in directions(trial) {
        if let Some(line) = sparkline(&direction.histogram, page.width().saturating_sub(36)) {
            page.line(vec![Span::plain(format!("  {name:<5} shape  {line}"))]);
        }
    }
    if absent {
        let note = "–: fewer than ten requests took longer, too few to say.";
        page.paragraph(2, note, Tone::Faint);
    }
}

fn percentiles(times: &TimeSummary) -> [Option<f64>; 7] {
    [
        Some(times.min as f64),
        times.p50,
        times.p90,
        times.p99,
        times.p99_9,
        times.p99_99,
        Some(times.max as f64),
    ]
}

/// The distribution over `columns` characters, its ends labelled: each height is the share of
/// requests in that column against the fullest one, and any request at all shows. The axis is the
/// buckets' own, which is logarithmic above 128 ns. `None` for an empty histogram.
pub(crate) fn sparkline(histogram: &HistogramSnapshot, columns: usize) -> Option<String> {
    let last_bucket = |index: u32| (index as usize).min(BUCKETS - 1);
    let present = || {
        let buckets = histogram.buckets.iter().filter(|bucket| bucket.1 > 0);
        buckets.map(|&(index, count)| (last_bucket(index), count))
    };
    let low = present().map(|bucket| bucket.0).min()?;
    let high = present().map(|bucket| bucket.0).max()?;
    let mut counts = vec![0u64; columns.max(1)];
    for (index, count) in present() {
        let column = (index - low) * counts.len() / (high - low + 1);
        counts[column] = counts[column].saturating_add(count);
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let glyph = |count: &u64| match *count {
        0 => ' ',
        count => HEIGHTS[((count as f64 / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    let drawn: String = counts.iter().map(glyph).collect();
    let ends = [bucket_low(low), bucket_high(high)].map(|nanos| number::time(nanos as f64));
    Some(format!("{} {drawn} {}", ends[0], ends[1]))
}

fn errors_line(page: &mut Page, trial: &Trial) {
    let mut parts = Vec::new();
    for (name, direction) in directions(trial) {
        for kind in &direction.error_kinds {
            parts.push(format!(
                "{} {name}s failed: {} (errno {})",
                number::count(kind.count as f64),
                kind.message,
                kind.errno
            ));
        }
        let counts = direction.error_kinds.iter().map(|kind| kind.count);
        let named = counts.fold(0, u64::saturating_add);
        if direction.errors > named {
            let rest = number::count((direction.errors - named) as f64);
            parts.push(format!("{rest} {name}s failed"));
        }
        if direction.short > 0 {
            let short = number::count(direction.short as f64);
            parts.push(format!("{short} {name}s were short, not counted"));
        }
    }
    let title = quantity("errors").title;
    if parts.is_empty() {
        page.labelled(title, VALUES, "none, no short transfers");
    } else {
        let lead = vec![Span::new(format!("  {title:<0$}", VALUES - 2), Tone::Bad)];
        page.hanging(lead, &parts.join("; "), Tone::Plain);
    }
}

/// A part of the trial, or why it is missing.
fn part<T>(page: &mut Page, label: &str, part: &Measured<T>, text: impl Fn(&T) -> String) {
    let text = match part {
        Measured::Value(value) => text(value),
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
    };
    page.labelled(label, VALUES, &text);
}

fn conditions(page: &mut Page, trial: &Trial) {
    let mut parts = profile::environment_parts(trial.environment.as_ref());
    parts.push(format!("seed {}", trial.seed));
    parts.extend(trial.time.as_deref().map(number::when));
    parts.push(format!("halfpower {}", trial.halfpower_version));
    if trial.simulated {
        parts.insert(0, "SIMULATED in virtual time".to_owned());
    }
    page.labelled("conditions", VALUES, &parts.join("; "));
    page.labelled("trial", VALUES, &trial.id);
    page.labelled("cell", VALUES, &trial.cell);
}
