//! Reports the load: arrivals of an open loop, depth, the measured part, why it ended, and its
//! course if the user requested intervals.

use crate::plots::directions;
use crate::story::{Cell, Columns, Section, Story, joined, number};
use record::{
    Arrival, EndedBy, IntervalDirection, IntervalResult, OpKind, OpenLoop, Trial, format_bytes,
    quantity,
};

/// Largest number of intervals shown; of more, as many from the start as from the end.
const INTERVALS: usize = 40;

/// Arrivals, backlog and lateness of an open loop.
pub(super) fn open_loop(section: &mut Section, trial: &Trial) {
    let Some(open) = &trial.result.open_loop else { return };
    section.row(quantity("offered_iops").title, arrivals_text(trial, open));
    let late = (open.late_max_ns > 0).then(|| lateness_text(open));
    section.rows(quantity("late_mean_ns").title, late);
}

fn arrivals_text(trial: &Trial, open: &OpenLoop) -> String {
    let [most, end] = [open.backlog_max, open.backlog_end].map(|it| number::count(it as f64));
    let waited = match (open.backlog_max, open.backlog_end) {
        (0, _) => "none waited for a free slot".to_owned(),
        (_, 0) => format!("up to {most} waited for a slot, none at the end"),
        _ => format!("up to {most} waited for a slot, {end} still at the end"),
    };
    let [arrived, completed] = [open.offered_iops, trial.iops()].map(number::per_second);
    format!("{arrived} arrived, {completed} completed; {waited}")
}

fn lateness_text(open: &OpenLoop) -> String {
    let time = number::time;
    let mut text = format!("{} on average", time(open.late_mean_ns));
    text.extend(open.late_p99_ns.map(|p99| format!(", p99 {}", time(p99))));
    text.push_str(&format!(", at most {}", time(open.late_max_ns as f64)));
    let own = open.pacer_late_mean_ns.filter(|own| *own > 0.0).map(time);
    text.extend(own.map(|own| format!("; {own} caused by halfpower itself while a slot was free")));
    let spin = (open.spin_ms > 0.0).then(|| time(open.spin_ms * 1e6));
    text.extend(spin.map(|spin| format!("; {spin} of polling, not in the CPU cost")));
    text
}

/// Depth, length, steadiness, why it ended.
pub(super) fn concurrency(section: &mut Section, trial: &Trial) {
    let result = &trial.result;
    let window = number::time(result.duration_ns.0 as f64);
    let steady = match result.steady {
        Some(true) => format!("steady over {window}"),
        Some(false) => format!("NOT steady over {window}"),
        None if trial.measured_by.is_some() => {
            format!("{window}; unknown whether steady: fio's file has no course over time")
        }
        None => format!("{window} is too short to show whether it was steady"),
    };
    let asked = match trial.workload.arrival {
        _ if !trial.workload.options_known() => "requested depth unknown".to_owned(),
        Arrival::Closed => format!("{} requested", trial.workload.depth),
        _ => format!("{} allowed", trial.workload.depth),
    };
    let mean = trial.mean_depth().map_or_else(
        || "mean unknown, because fio measured no latency".to_owned(),
        |depth| format!("{} on average", number::digits(depth)),
    );
    section.row(quantity("concurrency").title, format!("{mean}, {asked}; {steady}"));
    if let Some(warm_up) = &result.warm_up {
        let (length, count) = (warm_up.duration_ns.0 as f64, warm_up.ios as f64);
        let (length, count) = (number::time(length), number::count(count));
        let rate = number::per_second(warm_up.iops);
        let text = format!("{length} excluded: {count} requests at {rate}");
        section.row(quantity("warm_up_ns").title, text);
    }
    section.rows("ended by", result.ended_by.map(ended_text));
    let depth = result.callback_depth.map(|depth| number::count(f64::from(depth)));
    section.rows(quantity("callback_depth").title, depth);
}

fn ended_text(why: EndedBy) -> &'static str {
    match why {
        EndedBy::Bytes => "its bytes: all requested bytes are transferred",
        EndedBy::Recording => "its recording: all its requests are issued",
        EndedBy::Rebuilt => "the rebuild: the failed target is restored",
        EndedBy::Passes => "its passes: all requested passes are done",
        EndedBy::Precision => "its precision: the error bar of the rate is as narrow as requested",
        EndedBy::Failures => "failures: no other request completed",
        EndedBy::Silence => "silence: the device stopped answering",
        EndedBy::Interrupted => "an interruption by the user or the system",
    }
}

/// Changes to caches and data before and after the run.
pub(super) fn state(section: &mut Section, trial: &Trial) {
    if let Some(cache_dropped) = &trial.cache_dropped {
        let resident = [cache_dropped.resident_before_bytes, cache_dropped.resident_after_bytes];
        let [before, after] = resident
            .map(|bytes| bytes.map_or("an unknown part".to_owned(), |bytes| format_bytes(bytes.0)));
        let method = cache_dropped.method.name();
        let text =
            format!("dropped by {method}: {before} of the area cached before, {after} after");
        section.row("page cache", text);
    }
    if let Some(preconditioning) = &trial.preconditioning {
        let rounds = &preconditioning.round_iops;
        let last = rounds.iter().skip(rounds.len().saturating_sub(5));
        let last = joined(last, ", ", |rate| number::count(*rate));
        let agree = if preconditioning.steady { "agree" } else { "do NOT agree" };
        let (filled, rounds) = (format_bytes(preconditioning.filled_bytes.0), rounds.len());
        let last = format!("the last rounds {agree}: {last} IOPS");
        let text = format!("{filled} written, then {rounds} rounds; {last}");
        section.row(quantity("precondition_filled_bytes").title, text);
    }
    if let Some(verify) = &trial.result.verify {
        let kinds = [
            (verify.lost, "lost"),
            (verify.misplaced, "misplaced"),
            (verify.torn, "torn"),
            (verify.stale, "stale"),
        ];
        let bad = kinds.iter().filter(|(count, _)| *count > 0);
        let bad =
            joined(bad, ", ", |(count, kind)| format!("{} {kind}", number::count(*count as f64)));
        let good = number::count(verify.good as f64);
        let text = match bad.is_empty() {
            true => format!("{good} blocks read back, all as written"),
            false => format!("{good} blocks as written; {bad}"),
        };
        section.row("verified", text);
        for block in verify.bad.iter().take(4) {
            section.item(&block.detail);
        }
    }
}

pub(super) fn intervals(story: &mut Story, trial: &Trial) {
    let intervals = trial.result.intervals.as_deref().unwrap_or_default();
    if intervals.is_empty() {
        return;
    }
    let left_out = intervals.len().saturating_sub(INTERVALS);
    let head = if left_out > 0 { INTERVALS / 2 } else { intervals.len() };
    let mut rows: Vec<Option<&IntervalResult>> = intervals[..head].iter().map(Some).collect();
    if left_out > 0 {
        rows.push(None);
        rows.extend(intervals[head + left_out..].iter().map(Some));
    }
    let both = directions(trial).count() > 1;
    let section = story.section("Intervals", "").supporting();
    section.table(rows, |t| {
        t.right("from", |row| match row {
            Some(interval) => number::time(interval.begin_ns.0 as f64),
            None => "…".to_owned(),
        });
        directions(trial).for_each(|(op, _)| direction_columns(t, op, both));
        t.group("");
        let depth = |interval: &IntervalResult| number::digits(interval.concurrency);
        t.titled("concurrency", |row| Cell::or_empty(*row, depth)).gap(3);
    });
    let more = format!("… {left_out} more: --json or --csv FILE contains all of them.");
    section.notes((left_out > 0).then_some(more));
}

type ValueOf = fn(&IntervalDirection) -> Option<f64>;

/// The columns of a direction; fewer if both directions are shown.
fn direction_columns(t: &mut Columns<'_, Option<&IntervalResult>>, op: OpKind, both: bool) {
    let values: [(&str, bool, ValueOf); 5] = [
        ("iops", true, |it| Some(it.iops)),
        ("bytes_per_s", false, |it| Some(it.bytes_per_s)),
        ("latency_mean_ns", true, |it| it.latency_ns.as_ref().map(|times| times.mean)),
        ("latency_p50_ns", false, |it| it.latency_ns.as_ref()?.p50),
        ("latency_p99_ns", true, |it| it.latency_ns.as_ref()?.p99),
    ];
    t.group(op.plural());
    for (id, _, value) in values.into_iter().filter(|(_, always, _)| *always || !both) {
        t.titled(id, |row| {
            let own = row.and_then(|interval| match op {
                OpKind::Read => interval.read.as_ref(),
                OpKind::Write => interval.write.as_ref(),
            });
            let format = |value| quantity(id).unit.format_titled(value);
            Cell::or_empty(own, |own| number::or_none(value(own), format))
        })
        .gap(if id == "iops" { 3 } else { 2 });
    }
}
