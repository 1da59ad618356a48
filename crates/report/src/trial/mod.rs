//! What is said of a trial, the document of `halfpower run`.
//!
//! The rate with its interval comes first, then the distribution of latencies, then what decides
//! whether the numbers can be believed: errors, the queue depth that was reached, processor time, the
//! device's own counters, the limit of the load generator. A part that was not measured keeps its
//! place and says why.

mod asked;
mod command;
mod components;
mod cost;
mod load;

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number::counted;
use crate::plots::{directions, distribution, latency_over_time, rate_over_time};
use crate::story::{Cell, Column, Fact, Section, Story, Table, Tone, sentence};
use crate::{number, target};
use record::{
    BUCKETS, ComponentUse, HistogramSnapshot, Measured, TimeSummary, Trial, Unit, bucket_high,
    bucket_low, quantity,
};

pub(crate) use asked::workload_text;
pub(crate) use command::command;

/// Heights of a sparkline's columns, from "some" to "most".
pub(crate) const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a sparkline beside its name and its ends.
const SPARK_COLUMNS: usize = 44;
/// Share of time in use from which on a component is taken for the one that binds.
const BINDING: f64 = 0.9;

/// The story of a trial.
#[must_use]
pub fn trial(trial: &Trial) -> Story {
    let names: Vec<String> = trial.targets.iter().map(target::summary).collect();
    let target = if names.is_empty() { "no target".to_owned() } else { names.join(" and ") };
    let mut story = Story {
        kind: "Trial".to_owned(),
        subject: format!("{} on {target}", workload_text(&trial.workload)),
        id: trial.id.clone(),
        simulated: trial.simulated,
        headline: headline(trial),
        findings: trial.findings.clone(),
        ..Story::default()
    };
    facts(&mut story, trial);
    latencies(&mut story, trial);
    let section = story.section("How it ran", "");
    load::open_loop(section, trial);
    load::concurrency(section, trial);
    load::state(section, trial);
    processors_and_device(section, trial);
    load::intervals(&mut story, trial);
    let named: Vec<(String, &HistogramSnapshot)> = directions(trial)
        .map(|(name, direction)| (format!("{name}s"), &direction.histogram))
        .collect();
    story.charts.extend(distribution(&named));
    let alone = [(String::new(), trial)];
    story.charts.extend(rate_over_time(&alone));
    story.charts.extend(latency_over_time(&alone));
    story.charts.extend(busy_parts(&trial.result.components));
    let about = (trial.halfpower_version.as_str(), trial.time.as_deref(), trial.seed);
    target::conditions(&mut story, &trial.targets, trial.environment.as_ref(), about);
    story.condition("cell", &trial.cell);
    story.commands.push(command(trial));
    story
}

fn headline(trial: &Trial) -> String {
    let said: Vec<String> = directions(trial)
        .map(|(name, direction)| {
            let rate = number::per_second(direction.iops);
            let latency = direction.latency_ns.as_ref();
            let latency = latency.map(|times| format!(" at {}", number::time(times.mean)));
            format!("{name}s {rate}{}", latency.unwrap_or_default())
        })
        .collect();
    match said.is_empty() {
        true => "Nothing was measured.".to_owned(),
        false => sentence(&said),
    }
}

fn facts(story: &mut Story, trial: &Trial) {
    for (name, direction) in directions(trial) {
        let of = format!("{name}s");
        let rate = number::per_second(direction.iops);
        let interval = number::interval_text(direction.iops_ci95_rel);
        story.fact_of(&of, quantity("iops").title, rate + &interval);
        let throughput = number::both_rates(direction.bytes_per_s);
        story.fact_of(&of, quantity("bytes_per_s").title, throughput);
        if let Some(times) = &direction.latency_ns {
            let interval = number::interval_text(times.mean_ci95_rel);
            let mean = number::time(times.mean) + &interval;
            story.fact_of(&of, quantity("latency_mean_ns").title, mean);
        }
        let (name, value, tone) = match failures(name, trial) {
            Some(failed) => (quantity("errors").title, failed, Tone::Bad),
            None => (quantity("errors").title, "none, no short transfers".to_owned(), Tone::Plain),
        };
        story.facts.push(Fact { name: name.to_owned(), of, value, tone });
    }
}

/// Requests of a direction that failed or were short.
fn failures(of: &str, trial: &Trial) -> Option<String> {
    let (_, direction) = directions(trial).find(|(name, _)| *name == of)?;
    let mut parts = Vec::new();
    for kind in &direction.error_kinds {
        let failed = counted(kind.count as f64, of);
        parts.push(format!("{failed} failed: {} (errno {})", kind.message, kind.errno));
    }
    let counts = direction.error_kinds.iter().map(|kind| kind.count);
    let named = counts.fold(0, u64::saturating_add);
    if direction.errors > named {
        parts.push(format!("{} failed", counted((direction.errors - named) as f64, of)));
    }
    if direction.short > 0 {
        parts.push(format!("{} short, not counted", counted(direction.short as f64, of)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn latencies(story: &mut Story, trial: &Trial) {
    let ids = ["min", "p50", "p90", "p99", "p99_9", "p99_99", "max"];
    let mut columns = vec![Column::left("")];
    columns.extend(ids.map(|id| Column::of(&format!("latency_{id}_ns"))));
    columns[1].expendable = 1;
    let mut table = Table::new(columns);
    let mut absent = false;
    for (name, direction) in directions(trial) {
        let from_arrival = direction.latency_ns.as_ref().map(|times| (format!("{name}s"), times));
        // In a closed loop a request arrives when it is submitted: both are the same.
        let from_submission = (direction.completion_ns != direction.latency_ns)
            .then_some(direction.completion_ns.as_ref())
            .flatten()
            .map(|times| ("completion".to_owned(), times));
        for (label, times) in [from_arrival, from_submission].into_iter().flatten() {
            let values = percentiles(times);
            absent |= values.iter().any(Option::is_none);
            let cells = values.iter().map(|value| Cell::or_none(*value, number::time));
            table.row(std::iter::once(Cell::from(label)).chain(cells).collect());
        }
    }
    if table.rows.is_empty() {
        return;
    }
    let section = story.section("Latency", "");
    section.table(table);
    for (name, direction) in directions(trial) {
        if let Some(line) = sparkline(&direction.histogram, SPARK_COLUMNS) {
            section.row(&format!("{name}s"), line);
        }
    }
    if absent {
        section.note("–: fewer than ten requests took longer, too few to say.");
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

/// A part of the trial, or why it is missing.
fn part<T>(section: &mut Section, label: &str, part: &Measured<T>, text: impl Fn(&T) -> String) {
    section.row(
        label,
        match part {
            Measured::Value(value) => text(value),
            Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
        },
    );
}

fn processors_and_device(section: &mut Section, trial: &Trial) {
    let per_request = quantity("cpu_lower_us_per_io").title;
    part(section, per_request, &trial.cpu, cost::per_request_text);
    if let Some(cpu) = trial.cpu.value() {
        section.row("CPU time", cost::total_text(cpu));
    }
    part(section, "device counters", &trial.device_counters, |device| {
        cost::device_text(device, trial.result.duration_ns.0 as f64)
    });
    if !trial.result.components.is_empty() {
        section.row("components", components::text(&trial.result.components));
    }
    let per_job = trial.iops() / f64::from(trial.workload.numjobs.max(1));
    part(section, quantity("ceiling_iops").title, &trial.harness, |harness| {
        cost::harness_text(harness, per_job)
    });
    let harness = trial.harness.value();
    if let Some(batching) = harness.and_then(|harness| harness.batching.as_ref()) {
        section.row("batching", cost::batching_text(batching));
    }
}

/// How busy the parts of a simulated machine were.
fn busy_parts(components: &[ComponentUse]) -> Option<Chart> {
    let busiest = components.iter().max_by(|a, b| a.busy_share.total_cmp(&b.busy_share))?;
    let verdict = if busiest.busy_share >= BINDING { "it binds" } else { "nothing binds alone" };
    let points = components
        .iter()
        .enumerate()
        .map(|(row, component)| {
            let phases: Vec<String> = component
                .phases
                .iter()
                .map(|phase| format!("{} {}", phase.name, number::percent(phase.share)))
                .collect();
            Point::bare(component.busy_share, row as f64).remark(phases.join(", "))
        })
        .collect();
    Some(Chart {
        title: "How busy the parts of the path were".to_owned(),
        finding: format!(
            "{} was busy {} of the time: {verdict}.",
            busiest.name,
            number::percent(busiest.busy_share)
        ),
        errors: "Counted by the simulator, without error.".to_owned(),
        x: Axis::from_zero("share of time in use", Some(Unit::Share), [1.0].into_iter()),
        y: Axis::named(components.iter().map(|component| component.name.clone()).collect()),
        series: vec![Series::new("", Form::Bars, points)],
        rules: vec![Rule::upright(0.5, "half of the time")],
    })
}
