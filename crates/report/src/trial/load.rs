//! How the load went: arrivals of an open loop, depth, the part that was measured, why it ended,
//! and its course where intervals were asked for.

use super::{VALUES, directions};
use crate::number;
use crate::page::{Page, Tone};
use crate::table::{Column, Entry, Table};
use record::{
    Arrival, EndedBy, IntervalDirection, IntervalResult, OpenLoop, Trial, format_bytes, quantity,
};

/// Intervals that a page shows; of more, as many from the start as from the end.
const INTERVALS: usize = 40;

/// Arrivals, backlog and lateness of an open loop.
pub(super) fn open_loop_lines(page: &mut Page, trial: &Trial) {
    let Some(open) = &trial.result.open_loop else { return };
    page.labelled(quantity("offered_iops").title, VALUES, &arrivals_text(trial, open));
    if open.late_max_ns > 0 {
        page.labelled(quantity("late_mean_ns").title, VALUES, &lateness_text(open));
    }
}

fn arrivals_text(trial: &Trial, open: &OpenLoop) -> String {
    let done: f64 = directions(trial).map(|(_, direction)| direction.iops).sum();
    let waited = match (open.backlog_max, open.backlog_end) {
        (0, _) => "none waited for a free slot".to_owned(),
        (most, 0) => {
            format!("up to {} waited for a slot, none at the end", number::count(most as f64))
        }
        (most, end) => format!(
            "up to {} waited for a slot, {} still at the end",
            number::count(most as f64),
            number::count(end as f64)
        ),
    };
    format!(
        "{} arrived, {} completed; {waited}",
        number::per_second(open.offered_iops),
        number::per_second(done)
    )
}

fn lateness_text(open: &OpenLoop) -> String {
    let p99 = open.late_p99_ns.map_or(String::new(), |p99| format!(", p99 {}", number::time(p99)));
    let own = open.pacer_late_mean_ns.filter(|own| *own > 0.0).map_or(String::new(), |own| {
        format!("; {} where a slot was free, the pacer's own", number::time(own))
    });
    let spin = if open.spin_ms > 0.0 {
        format!("; {} of polling, not in the CPU cost", number::time(open.spin_ms * 1e6))
    } else {
        String::new()
    };
    format!(
        "{} on average{p99}, {} at most{own}{spin}",
        number::time(open.late_mean_ns),
        number::time(open.late_max_ns as f64),
    )
}

/// Depth, length, steadiness, why it ended.
pub(super) fn concurrency_line(page: &mut Page, trial: &Trial) {
    let result = &trial.result;
    let window = number::time(result.duration_ns.0 as f64);
    let steady = match result.steady {
        Some(true) => format!("steady over {window}"),
        Some(false) => format!("NOT steady over {window}"),
        None => format!("{window} are too short to tell whether it was steady"),
    };
    let asked = match trial.workload.arrival {
        Arrival::Closed => format!("{} asked for", trial.workload.depth),
        _ => format!("{} allowed", trial.workload.depth),
    };
    let text = format!(
        "{} requests in progress on average, {asked}; {steady}",
        number::digits(result.concurrency),
    );
    page.labelled(quantity("concurrency").title, VALUES, &text);
    if let Some(warm_up) = &result.warm_up {
        let text = format!(
            "{} cut off: {} requests at {}",
            number::time(warm_up.duration_ns.0 as f64),
            number::count(warm_up.ios as f64),
            number::per_second(warm_up.iops)
        );
        page.labelled(quantity("warm_up_ns").title, VALUES, &text);
    }
    if let Some(why) = result.ended_by {
        page.labelled("ended by", VALUES, ended_text(why));
    }
    if let Some(depth) = result.callback_depth {
        page.labelled(quantity("callback_depth").title, VALUES, &number::count(f64::from(depth)));
    }
}

fn ended_text(why: EndedBy) -> &'static str {
    match why {
        EndedBy::Bytes => "its bytes: all that were asked for are transferred",
        EndedBy::Passes => "its passes: all that were asked for are made",
        EndedBy::Precision => "its precision: the interval of the rate is as narrow as asked for",
        EndedBy::Failures => "failures: nothing else came back",
        EndedBy::Silence => "silence: the device stopped answering",
    }
}

/// What was done to caches and data around the run.
pub(super) fn state_lines(page: &mut Page, trial: &Trial) {
    if let Some(cache_dropped) = &trial.cache_dropped {
        let resident = |bytes: Option<record::Bytes>| {
            bytes.map_or("an unknown part".to_owned(), |bytes| format_bytes(bytes.0))
        };
        let text = format!(
            "page cache dropped by {}: {} of the area before, {} after",
            cache_dropped.method.name(),
            resident(cache_dropped.resident_before_bytes),
            resident(cache_dropped.resident_after_bytes)
        );
        page.labelled("page cache", VALUES, &text);
    }
    if let Some(preconditioning) = &trial.preconditioning {
        let rounds = &preconditioning.round_iops;
        let last: Vec<String> =
            rounds.iter().rev().take(5).rev().map(|rate| number::count(*rate)).collect();
        let agree = if preconditioning.steady { "agree" } else { "do NOT agree" };
        let text = format!(
            "{} written, then {} rounds; the last {agree}: {}/s",
            format_bytes(preconditioning.filled_bytes.0),
            rounds.len(),
            last.join(", ")
        );
        page.labelled(quantity("precondition_filled_bytes").title, VALUES, &text);
    }
    if let Some(verify) = &trial.result.verify {
        let kinds = [
            (verify.lost, "lost"),
            (verify.misplaced, "misplaced"),
            (verify.torn, "torn"),
            (verify.stale, "stale"),
        ];
        let bad: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{} {kind}", number::count(*count as f64)))
            .collect();
        let good = number::count(verify.good as f64);
        let text = if bad.is_empty() {
            format!("{good} blocks read back, all as written")
        } else {
            format!("{good} blocks as written; {}", bad.join(", "))
        };
        page.labelled("verified", VALUES, &text);
        for block in verify.bad.iter().take(4) {
            page.paragraph(VALUES, &block.detail, Tone::Plain);
        }
    }
}

/// The intervals one by one; nothing without them.
pub(super) fn interval_table(page: &mut Page, trial: &Trial) {
    let Some(intervals) = trial.result.intervals.as_deref().filter(|them| !them.is_empty()) else {
        return;
    };
    page.heading("Intervals", "");
    let names: Vec<&str> = directions(trial).map(|(name, _)| name).collect();
    let numbers = if names.len() > 1 { 3 } else { 5 };
    let mut columns = vec![Column::right(2)];
    for _ in &names {
        columns.push(Column::right(3));
        columns.extend(vec![Column::right(2); numbers - 1]);
    }
    columns.push(Column::right(3));
    let mut table = Table::new(columns);
    let mut titles = vec!["from".to_owned()];
    for name in &names {
        titles.push((*name).to_owned());
        let rest: &[&str] =
            if numbers == 5 { &["throughput", "mean", "p50", "p99"] } else { &["mean", "p99"] };
        titles.extend(rest.iter().map(|title| (*title).to_owned()));
    }
    titles.push("in progress".to_owned());
    table.titles(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let left_out = intervals.len().saturating_sub(INTERVALS);
    let head = if left_out > 0 { INTERVALS / 2 } else { intervals.len() };
    for interval in &intervals[..head] {
        table.row(interval_row(interval, numbers));
    }
    if left_out > 0 {
        table.row(vec![Entry::text("…")]);
        for interval in &intervals[head + left_out..] {
            table.row(interval_row(interval, numbers));
        }
    }
    table.print(page);
    if left_out > 0 {
        let note = format!("… {left_out} more: --json or --csv FILE has them all.");
        page.paragraph(2, &note, Tone::Faint);
    }
}

fn interval_row(interval: &IntervalResult, numbers: usize) -> Vec<Entry> {
    let mut row = vec![Entry::text(number::time(interval.begin_ns.0 as f64))];
    for direction in interval.read.iter().chain(&interval.write) {
        row.extend(direction_entries(direction, numbers));
    }
    row.push(Entry::text(number::digits(interval.concurrency)));
    row
}

fn direction_entries(direction: &IntervalDirection, numbers: usize) -> Vec<Entry> {
    let times = direction.latency_ns.as_ref();
    let time = |value: Option<f64>| Entry::text(value.map_or(number::NONE.into(), number::time));
    let (mean, p50, p99) =
        (times.map(|it| it.mean), times.and_then(|it| it.p50), times.and_then(|it| it.p99));
    let rate = Entry::text(number::per_second(direction.iops));
    if numbers == 5 {
        let throughput = Entry::text(number::rate(direction.bytes_per_s));
        vec![rate, throughput, time(mean), time(p50), time(p99)]
    } else {
        vec![rate, time(mean), time(p99)]
    }
}
