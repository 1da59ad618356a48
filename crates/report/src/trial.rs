//! What `halfpower run` prints: one trial.
//!
//! The rate with its interval comes first, then the distribution of response times, then what
//! decides whether the numbers can be believed: errors, the depth that was reached, processor
//! time, the device's own counters, the limit of the load generator. A part that was not measured
//! keeps its place and says why.

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, profile, target};
use record::{
    BUCKETS, CpuCost, CpuSplit, DeviceCounters, DirectionResult, Harness, HistogramSnapshot,
    Measured, TimeSummary, Trial, Workload, bucket_high, bucket_low, format_bytes, quantity,
};

/// Column at which the values of labelled lines begin.
const VALUES: usize = 19;
/// Heights of a sparkline's columns, from "some" to "most".
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One trial, answer first.
#[must_use]
pub fn trial_text(trial: &Trial, style: &Style) -> String {
    let mut page = Page::new(style);
    let subject: Vec<String> = trial.targets.iter().map(target::summary).collect();
    let subject = if subject.is_empty() { "no target".into() } else { subject.join("; ") };
    let mut lead = vec![Span::new("Trial: ", Tone::Strong)];
    if trial.simulated {
        lead.push(Span::new("SIMULATED, ", Tone::Warn));
    }
    page.hanging(lead, &workload_text(&trial.workload), Tone::Plain);
    page.paragraph(7, &subject, Tone::Plain);
    finding::print_verdict(&mut page, &trial.findings);
    page.blank();
    headline(&mut page, trial);
    page.blank();
    response_table(&mut page, trial);
    page.blank();
    errors_line(&mut page, trial);
    concurrency_line(&mut page, trial);
    part(&mut page, quantity("cpu_lower_us_per_io").title, &trial.cpu, cpu_text);
    part(&mut page, "device counters", &trial.device_counters, |device| {
        device_text(device, trial.result.duration_ns.0 as f64)
    });
    let jobs = f64::from(trial.workload.numjobs.max(1));
    let per_job = total_iops(trial) / jobs;
    part(&mut page, quantity("ceiling_iops").title, &trial.harness, |harness| {
        harness_text(harness, per_job)
    });
    if !trial.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &trial.findings);
    }
    page.blank();
    conditions(&mut page, trial);
    page.finish()
}

/// A workload in words: `random read, 4 KiB, depth 32 (32 x 1 job), cache device, io_uring`.
fn workload_text(workload: &Workload) -> String {
    let operation = match workload.read_percent {
        100.. => "read".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read, {} % write", 100 - percent),
    };
    let sizes: Vec<String> = match workload.bs.as_slice() {
        [only] => vec![format_bytes(only.bytes.0)],
        many => {
            let share =
                |s: &record::SizeShare| format!("{} {} %", format_bytes(s.bytes.0), s.percent);
            many.iter().map(share).collect()
        }
    };
    let jobs = match workload.numjobs {
        0 | 1 => String::new(),
        jobs => format!(" ({} in each of {jobs} jobs)", workload.iodepth),
    };
    let area = match workload.hit_bytes {
        Some(hit) => format!(", area re-read {}", format_bytes(hit.0)),
        None => String::new(),
    };
    format!(
        "{} {operation} of {}{area}, depth {}{jobs}, cache {} ({}), {}",
        workload.pattern.name(),
        sizes.join(" + "),
        workload.depth,
        workload.cache.name(),
        workload.cache.letter(),
        workload.engine.name(),
    )
}

/// Both directions with their names, as far as they were asked for.
fn directions(trial: &Trial) -> impl Iterator<Item = (&'static str, &DirectionResult)> {
    let result = &trial.result;
    let both = [("read", result.read.as_ref()), ("write", result.write.as_ref())];
    both.into_iter().filter_map(|(name, direction)| direction.map(|direction| (name, direction)))
}

fn total_iops(trial: &Trial) -> f64 {
    directions(trial).map(|(_, direction)| direction.iops).sum()
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
        let (mean, interval) = match &direction.response_ns {
            Some(times) => (number::time(times.mean), number::interval_text(times.mean_ci95_rel)),
            None => (number::NONE.to_owned(), String::new()),
        };
        table.row(vec![
            Entry::toned(name, Tone::Strong),
            Entry::toned(number::per_second(direction.iops), Tone::Strong),
            Entry::text(number::interval_text(direction.iops_ci95_rel)),
            Entry::toned(number::rate(direction.bytes_per_s), Tone::Strong),
            Entry::text(quantity("response_mean_ns").title),
            Entry::toned(mean, Tone::Strong),
            Entry::text(interval),
        ]);
    }
    table.print(page);
    if directions(trial).next().is_none() {
        page.paragraph(2, "Nothing was measured.", Tone::Plain);
    }
}

fn response_table(page: &mut Page, trial: &Trial) {
    let titles = [
        "response_min_ns",
        "response_p50_ns",
        "response_p90_ns",
        "response_p99_ns",
        "response_p99_9_ns",
        "response_p99_99_ns",
        "response_max_ns",
    ];
    let mut table = Table::new([vec![Column::left(2)], vec![Column::right(2); 7]].concat());
    let titles: Vec<&str> = titles.iter().map(|id| quantity(id).title).collect();
    table.titles(&[vec!["response"], titles].concat());
    let mut absent = false;
    let mut any = false;
    for (name, direction) in directions(trial) {
        let Some(times) = &direction.response_ns else { continue };
        any = true;
        let columns = percentiles(times);
        absent |= columns.iter().any(Option::is_none);
        let entry =
            |value: &Option<f64>| Entry::text(value.map_or(number::NONE.into(), number::time));
        table.row([vec![Entry::text(name)], columns.iter().map(entry).collect()].concat());
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
fn sparkline(histogram: &HistogramSnapshot, columns: usize) -> Option<String> {
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

fn concurrency_line(page: &mut Page, trial: &Trial) {
    let window = number::time(trial.result.duration_ns.0 as f64);
    let steady = match trial.result.steady {
        Some(true) => format!("steady over {window}"),
        Some(false) => format!("NOT steady over {window}"),
        None => format!("{window} are too short to tell whether it was steady"),
    };
    let text = format!(
        "{} requests in progress on average, {} asked for; {steady}",
        number::digits(trial.result.concurrency),
        trial.workload.depth
    );
    page.labelled(quantity("concurrency").title, VALUES, &text);
}

/// A part of the trial, or why it is missing.
fn part<T>(page: &mut Page, label: &str, part: &Measured<T>, text: impl Fn(&T) -> String) {
    let text = match part {
        Measured::Value(value) => text(value),
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
    };
    page.labelled(label, VALUES, &text);
}

fn cpu_text(cpu: &CpuCost) -> String {
    let millis = |value: f64| number::time(value * 1e6);
    let mut first = match cpu.lower_us_per_io {
        Some(micros) => format!("{} at least", number::time(micros * 1e3)),
        None => "none completed".to_owned(),
    };
    if let Some(upper) = cpu.upper_us_per_io {
        let method = cpu.upper_method.as_deref().unwrap_or("method not recorded");
        first.push_str(&format!(", {} at most ({method})", number::time(upper * 1e3)));
    }
    if let Some(per_mib) = cpu.ms_per_mib {
        first.push_str(&format!("; {} per MiB", millis(per_mib)));
    }
    let split = match cpu.split {
        CpuSplit::Sampled => "split sampled",
        CpuSplit::Exact => "split exact",
    };
    let mut text = format!(
        "{first}; user {}, system {} ({split}), of it kernel workers {}",
        millis(cpu.user_ms),
        millis(cpu.system_ms),
        millis(cpu.workers_ms)
    );
    if let Some(steal) = cpu.steal_ms {
        text.push_str(&format!("; stolen by the host {}", millis(steal)));
    }
    text
}

fn device_text(device: &DeviceCounters, window_ns: f64) -> String {
    let ratio = |value: Option<f64>| value.map_or(number::NONE.into(), number::digits);
    let size = device.mean_request_bytes.filter(|size| size.is_finite());
    let size = size.map_or(String::new(), |size| {
        format!(" of {}", number::in_unit(record::Unit::Bytes, size))
    });
    let splits = match device.splits {
        Some(splits) => format!("{} splits", number::count(splits as f64)),
        None => "splits unknown".to_owned(),
    };
    format!(
        "{} saw {} requests{size}: {} of our requests, {} of our bytes; {} merges, {splits}; busy \
         {}, {} in progress on average",
        device.device,
        number::count(device.ios as f64),
        ratio(device.ratio_ios),
        ratio(device.ratio_bytes),
        number::count(device.merges as f64),
        number::percent_text(device.busy_ms * 1e6 / window_ns),
        number::digits(device.concurrency),
    )
}

fn harness_text(harness: &Harness, iops_per_job: f64) -> String {
    let factor = harness.ceiling_iops / iops_per_job;
    let factor = if factor.is_finite() && iops_per_job > 0.0 {
        format!(", {} times what a job did here", number::count(factor))
    } else {
        String::new()
    };
    let mut text = format!(
        "{} per job{factor}; clock {}, {} a reading",
        number::per_second(harness.ceiling_iops),
        harness.clock,
        number::time(harness.clock_cost_ns)
    );
    if !harness.engine_features.is_empty() {
        text.push_str(&format!("; {}", harness.engine_features.join(", ")));
    }
    text
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
