//! Builds the report on a trial, the document of `halfpower run`.
//!
//! The rate with its interval comes first, then the distribution of latencies, then what determines whether
//! the numbers are reliable: errors, the queue depth reached, CPU time, the device's own counters, the limit
//! of the load generator. A part that was not measured keeps its place and gives the reason.

mod array;
mod asked;
mod clients;
mod command;
mod components;
mod cost;
mod jobs;
mod load;

use crate::number::{self, counted};
use crate::plots::{distribution, latency_over_time, rate_over_time};
use crate::story::{Fact, Section, Story, Tone, joined, sentence, told};
use crate::target;
use record::{
    BUCKETS, DirectionResult, HistogramSnapshot, TimeSummary, Trial, bucket_high, bucket_low,
    quantity,
};

pub(crate) use asked::{sizes, workload_text};
pub(crate) use command::{command, zones};

/// Name of the requests without bytes.
const FLUSHES: &str = "flushes";
/// Heights of a sparkline's columns, from lowest to highest.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Width of a sparkline next to its name and labels, in columns.
const SPARK_COLUMNS: usize = 44;

/// The story of a trial.
pub fn trial(trial: &Trial) -> Story {
    let names = target::summaries(&trial.targets);
    let target = if names.is_empty() { "no target" } else { &names };
    let subject = format!("{} on {target}", workload_text(&trial.workload));
    let jobs = jobs_of(trial);
    let mut findings = jobs::findings(trial, &jobs);
    findings.extend(clients::findings(trial));
    let mut story = Story::new("Trial", subject, trial.simulated).saved(&trial.id, &findings);
    let together = trial.together();
    // The combined result if it is known, otherwise that of the first job.
    let shown = together.as_ref().unwrap_or(trial);
    story.headline = match (&together, jobs.as_slice()) {
        (None, several @ [_, _, ..]) => {
            let said = |(name, job): &(String, Trial)| format!("{name}: {}", headline(job));
            several.iter().map(said).collect::<Vec<_>>().join(" ")
        }
        _ => headline(shown),
    };
    if jobs.len() < 2 || together.is_some() {
        story.measured_line(&line(shown));
        facts(&mut story, shown);
    }
    clients::section(&mut story, trial);
    if jobs.len() > 1 {
        jobs::section(&mut story, trial, &jobs);
    }
    latencies(&mut story, &jobs);
    array::array(&mut story, trial);
    let section = story.section("How it ran", "");
    load::open_loop(section, trial);
    load::concurrency(section, shown);
    load::state(section, trial);
    let components = Some(&trial.result.components).filter(|all| !all.is_empty());
    section.rows("components", components.map(|all| components::text(all)));
    processors_and_device(story.section("CPUs and device", "").supporting(), trial);
    load::intervals(&mut story, trial);
    let several = jobs.len() > 1;
    let mut named: Vec<(String, &HistogramSnapshot)> = Vec::new();
    for (job, trial) in &jobs {
        named.extend(
            trial
                .kinds()
                .map(|(_, kind, result)| (kind_name(several, job, kind), &result.histogram)),
        );
    }
    story.charts.extend(distribution(&named));
    let job_name = |job: &String| if several { job.clone() } else { String::new() };
    let lines: Vec<(String, &Trial)> =
        jobs.iter().map(|(job, trial)| (job_name(job), trial)).collect();
    story.charts.extend(rate_over_time(&lines));
    story.charts.extend(latency_over_time(&lines));
    story.charts.extend(components::chart(&trial.result.components));
    target::conditions_of_trial(&mut story, &trial.targets, trial);
    story.condition("cell", &trial.cell);
    story.commands.extend(clients::command(trial));
    story
}

/// The name of a kind of requests, with its job if there are several.
fn kind_name(several: bool, job: &str, kind: &str) -> String {
    if several { format!("{job} {kind}") } else { kind.to_owned() }
}

/// Each job with its name, as a separate trial.
pub(crate) fn jobs_of(trial: &Trial) -> Vec<(String, Trial)> {
    let named = trial.workload.all().zip(0..);
    named.filter_map(|(job, index)| Some((job.label(index), trial.job(index)?))).collect()
}

fn headline(trial: &Trial) -> String {
    let said = trial.kinds().map(|(_, name, kind)| answer(name, kind, &rate(name, kind)));
    sentence(said, "Nothing was measured.")
}

/// `reads 202 IOPS ±4 % at 19.8 ms`, for each kind.
fn line(trial: &Trial) -> String {
    joined(trial.kinds(), "; ", |(_, name, kind)| answer(name, kind, &rate_within(name, kind)))
}

fn answer(name: &str, kind: &DirectionResult, rate: &str) -> String {
    let latency = kind.latency_ns.as_ref();
    let latency = latency.map(|times| format!(" at {}", number::time(times.mean)));
    format!("{name} {rate}{}", latency.unwrap_or_default())
}

/// The rate with its interval.
fn rate_within(name: &str, kind: &DirectionResult) -> String {
    number::with_half_width(rate(name, kind), kind.iops_ci95_rel)
}

/// The rate: flushes are not counted as IOPS.
fn rate(name: &str, kind: &DirectionResult) -> String {
    match name {
        FLUSHES => format!("{}/s", number::count(kind.iops)),
        _ => number::per_second(kind.iops),
    }
}

fn facts(story: &mut Story, trial: &Trial) {
    for (one, of, kind) in trial.kinds() {
        story.fact_of(of, quantity("iops").title, rate_within(of, kind));
        if of != FLUSHES {
            let throughput = number::both_rates(kind.bytes_per_s);
            story.fact_of(of, quantity("bytes_per_s").title, throughput);
        }
        if let Some(times) = &kind.latency_ns {
            let mean = number::with_half_width(number::time(times.mean), times.mean_ci95_rel);
            story.fact_of(of, quantity("latency_mean_ns").title, mean);
        }
        let (value, tone) = match failures(one, kind) {
            Some(failed) => (failed, Tone::Bad),
            None if of == FLUSHES => ("none".to_owned(), Tone::Plain),
            None => ("none, no short transfers".to_owned(), Tone::Plain),
        };
        let name = quantity("errors").title.to_owned();
        story.facts.push(Fact { name, of: of.to_owned(), value, tone });
    }
}

/// Failed and short requests of a direction.
fn failures(one: &str, direction: &DirectionResult) -> Option<String> {
    let requests = |count: u64| counted(count as f64, one);
    let kinds = direction.error_kinds.iter().map(|kind| {
        format!("{} failed: {} (errno {})", requests(kind.count), kind.message, kind.errno)
    });
    let mut parts: Vec<String> = kinds.collect();
    let counts = direction.error_kinds.iter().map(|kind| kind.count);
    let named = counts.fold(0, u64::saturating_add);
    let others = direction.errors.saturating_sub(named);
    parts.extend((others > 0).then(|| format!("{} failed", requests(others))));
    let short = direction.short;
    parts.extend((short > 0).then(|| format!("{} short, not counted", requests(short))));
    (!parts.is_empty()).then(|| parts.join("; "))
}

type TimeOf = fn(&TimeSummary) -> Option<f64>;

/// The quantities of a distribution that are shown.
const TIMES: [(&str, TimeOf); 7] = [
    ("latency_min_ns", |times| Some(times.min as f64)),
    ("latency_p50_ns", |times| times.p50),
    ("latency_p90_ns", |times| times.p90),
    ("latency_p99_ns", |times| times.p99),
    ("latency_p99_9_ns", |times| times.p99_9),
    ("latency_p99_99_ns", |times| times.p99_99),
    ("latency_max_ns", |times| Some(times.max as f64)),
];

fn latencies(story: &mut Story, jobs: &[(String, Trial)]) {
    let name = |job: &str, kind: &str| kind_name(jobs.len() > 1, job, kind);
    let mut rows: Vec<(String, &TimeSummary)> = Vec::new();
    for (job, trial) in jobs {
        for (_, kind, direction) in trial.kinds() {
            rows.extend(direction.latency_ns.as_ref().map(|times| (name(job, kind), times)));
            // In a closed loop a request arrives when it is submitted, so both are the same.
            if direction.completion_ns != direction.latency_ns {
                let times = direction.completion_ns.as_ref();
                let kind = format!("{kind}, completion");
                rows.extend(times.map(|times| (name(job, &kind), times)));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    let absent = rows.iter().any(|(_, times)| TIMES.iter().any(|(_, of)| of(times).is_none()));
    let section = story.section("Latency", "");
    section.table(rows, |t| {
        t.left("", |row| row.0.clone());
        for (id, of) in TIMES {
            t.of(id, |row| of(row.1)).expendable(u8::from(id == TIMES[0].0));
        }
    });
    for (job, trial) in jobs {
        for (_, kind, result) in trial.kinds() {
            let drawn = sparkline(&result.histogram, SPARK_COLUMNS);
            section.row(&name(job, kind), drawn.unwrap_or_default());
        }
    }
    if absent {
        let imported = jobs.iter().any(|(_, trial)| trial.measured_by.is_some());
        section.note(match imported {
            true => "–: not in fio's file, or fewer than ten requests took longer.",
            false => "–: fewer than ten requests took longer, too few for a percentile.",
        });
    }
}

/// A histogram in `columns` characters, labelled at its ends. Each height is the share of requests
/// in that column relative to the fullest one, and any request is visible. The axis is that of the
/// buckets, which is logarithmic above 128 ns. A column without requests is a special space, which
/// no view treats as a word separator. `None` for an empty histogram.
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
    let drawn: String = counts.iter().map(|&count| height(count as f64 / most)).collect();
    let drawn = drawn.replace(' ', "\u{a0}");
    let ends = [bucket_low(low), bucket_high(high)].map(|nanos| number::time(nanos as f64));
    Some(format!("{} {drawn} {}", ends[0], ends[1]))
}

/// The character of a sparkline for a share of the highest one; a space for zero.
pub(crate) fn height(share: f64) -> char {
    if share > 0.0 { HEIGHTS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1] } else { ' ' }
}

fn processors_and_device(section: &mut Section, trial: &Trial) {
    let per_request = told(&trial.cpu, cost::per_request_text);
    section.row(quantity("cpu_lower_us_per_io").title, per_request);
    section.row("CPU time", trial.cpu.value().map(cost::total_text).unwrap_or_default());
    let window_ns = trial.result.duration_ns.0 as f64;
    let counters = told(&trial.device_counters, |device| cost::device_text(device, window_ns));
    section.row("device counters", counters);
    let per_job = trial.iops() / f64::from(trial.workload.numjobs.max(1));
    let harness = told(&trial.harness, |harness| cost::harness_text(harness, per_job));
    section.row(quantity("ceiling_iops").title, harness);
    let batching = trial.harness.value().and_then(|harness| harness.batching.as_ref());
    section.row("batching", batching.map(cost::batching_text).unwrap_or_default());
}
