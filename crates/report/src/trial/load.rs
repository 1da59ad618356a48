//! How the load went: arrivals of an open loop, depth, the part that was measured, why it ended,
//! and its course where intervals were asked for.

use crate::number;
use crate::plots::directions;
use crate::story::{Cell, Column, Section, Story, Table};
use record::{
    Arrival, EndedBy, IntervalDirection, IntervalResult, OpenLoop, Trial, format_bytes, quantity,
};

/// Intervals that a page shows; of more, as many from the start as from the end.
const INTERVALS: usize = 40;

/// Arrivals, backlog and lateness of an open loop.
pub(super) fn open_loop(section: &mut Section, trial: &Trial) {
    let Some(open) = &trial.result.open_loop else { return };
    section.row(quantity("offered_iops").title, arrivals_text(trial, open));
    if open.late_max_ns > 0 {
        section.row(quantity("late_mean_ns").title, lateness_text(open));
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
pub(super) fn concurrency(section: &mut Section, trial: &Trial) {
    let result = &trial.result;
    let window = number::time(result.duration_ns.0 as f64);
    let steady = match result.steady {
        Some(true) => format!("steady over {window}"),
        Some(false) => format!("NOT steady over {window}"),
        None => format!("{window} are too short to say whether it was steady"),
    };
    let asked = match trial.workload.arrival {
        Arrival::Closed => format!("{} requested", trial.workload.depth),
        _ => format!("{} allowed", trial.workload.depth),
    };
    let text = format!("{} on average, {asked}; {steady}", number::digits(result.concurrency),);
    section.row(quantity("concurrency").title, text);
    if let Some(warm_up) = &result.warm_up {
        let text = format!(
            "{} cut off: {} requests at {}",
            number::time(warm_up.duration_ns.0 as f64),
            number::count(warm_up.ios as f64),
            number::per_second(warm_up.iops)
        );
        section.row(quantity("warm_up_ns").title, text);
    }
    if let Some(why) = result.ended_by {
        section.row("ended by", ended_text(why));
    }
    if let Some(depth) = result.callback_depth {
        section.row(quantity("callback_depth").title, number::count(f64::from(depth)));
    }
}

fn ended_text(why: EndedBy) -> &'static str {
    match why {
        EndedBy::Bytes => "its bytes: all that were asked for are transferred",
        EndedBy::Passes => "its passes: all that were asked for are made",
        EndedBy::Precision => "its precision: the interval of the rate is as narrow as asked for",
        EndedBy::Failures => "failures: nothing else came back",
        EndedBy::Silence => "silence: the device stopped answering",
        EndedBy::Interrupted => "an interruption: the user or the system asked for an end",
    }
}

/// What was done to caches and data around the run.
pub(super) fn state(section: &mut Section, trial: &Trial) {
    if let Some(cache_dropped) = &trial.cache_dropped {
        let resident = |bytes: Option<record::Bytes>| {
            bytes.map_or("an unknown part".to_owned(), |bytes| format_bytes(bytes.0))
        };
        let text = format!(
            "dropped by {}: {} of the area before, {} after",
            cache_dropped.method.name(),
            resident(cache_dropped.resident_before_bytes),
            resident(cache_dropped.resident_after_bytes)
        );
        section.row("page cache", text);
    }
    if let Some(preconditioning) = &trial.preconditioning {
        let rounds = &preconditioning.round_iops;
        let last: Vec<String> =
            rounds.iter().rev().take(5).rev().map(|rate| number::count(*rate)).collect();
        let agree = if preconditioning.steady { "agree" } else { "do NOT agree" };
        let text = format!(
            "{} written, then {} rounds; the last {agree}: {} IOPS",
            format_bytes(preconditioning.filled_bytes.0),
            rounds.len(),
            last.join(", ")
        );
        section.row(quantity("precondition_filled_bytes").title, text);
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
        section.row("verified", text);
        for block in verify.bad.iter().take(4) {
            section.item(&block.detail);
        }
    }
}

/// The intervals one by one; nothing without them.
pub(super) fn intervals(story: &mut Story, trial: &Trial) {
    let Some(intervals) = trial.result.intervals.as_deref().filter(|them| !them.is_empty()) else {
        return;
    };
    let names: Vec<&str> = directions(trial).map(|(name, _)| name).collect();
    let both = names.len() > 1;
    let mut columns = vec![Column::right("from")];
    for name in &names {
        let mut own = vec![Column::of("iops").gap(3)];
        own.extend((!both).then(|| Column::of("bytes_per_s")));
        own.push(Column::of("latency_mean_ns"));
        own.extend((!both).then(|| Column::of("latency_p50_ns")));
        own.push(Column::of("latency_p99_ns"));
        columns.extend(own.into_iter().map(|column| column.group(format!("{name}s"))));
    }
    columns.push(Column::of("concurrency").gap(3));
    let mut table = Table::new(columns);
    let left_out = intervals.len().saturating_sub(INTERVALS);
    let head = if left_out > 0 { INTERVALS / 2 } else { intervals.len() };
    for interval in &intervals[..head] {
        table.row(interval_row(interval, both));
    }
    if left_out > 0 {
        table.row(vec!["…".into()]);
        for interval in &intervals[head + left_out..] {
            table.row(interval_row(interval, both));
        }
    }
    let section = story.section("Intervals", "");
    section.table(table);
    if left_out > 0 {
        section.note(format!("… {left_out} more: --json or --csv FILE has them all."));
    }
}

fn interval_row(interval: &IntervalResult, both: bool) -> Vec<Cell> {
    let mut row = vec![Cell::from(number::time(interval.begin_ns.0 as f64))];
    for direction in interval.read.iter().chain(&interval.write) {
        row.extend(direction_cells(direction, both));
    }
    row.push(number::digits(interval.concurrency).into());
    row
}

fn direction_cells(direction: &IntervalDirection, both: bool) -> Vec<Cell> {
    let times = direction.latency_ns.as_ref();
    let time = |value: Option<f64>| Cell::or_none(value, number::time);
    let mean = time(times.map(|it| it.mean));
    let p99 = time(times.and_then(|it| it.p99));
    let rate = Cell::from(number::count(direction.iops));
    if both {
        return vec![rate, mean, p99];
    }
    let throughput = Cell::from(number::rate(direction.bytes_per_s));
    vec![rate, throughput, mean, time(times.and_then(|it| it.p50)), p99]
}
