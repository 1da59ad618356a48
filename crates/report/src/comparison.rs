//! A comparison as a page: what it comes to, what differs in the conditions, then row by row.
//!
//! Who compares wants one sentence: worse, better, or nothing to see. It comes first, with the rows
//! that it rests on. The conditions that differ come before the tables, because a difference of the
//! file's place or of the kernel is read otherwise than a difference of the disk. A row gives the
//! change from A to B with an interval; a reader who sees twelve intervals takes all of them for
//! true, so they are such that all of them are. What cannot be told is said once for each reason,
//! under its table, and not left out.

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, number};
use record::{
    ComparedCondition, ComparedKind, ComparedMetric, ComparedRow, ComparedSide, ComparedUnit,
    ComparedVerdict, Comparison,
};

/// Conditions that are printed; the document has all.
const CONDITIONS: usize = 24;
/// Rows that are named in the result.
const NAMED: usize = 4;
/// A ratio from which a factor is easier to read than a percentage.
const FACTOR: f64 = 3.0;
/// An interval that reaches so many times to either side is not written out.
const UNBOUNDED: f64 = 1_000.0;
/// Columns of the names of conditions.
const NAMES: usize = 20;

/// A comparison.
#[must_use]
pub fn comparison_text(comparison: &Comparison, style: &Style) -> String {
    let mut page = Page::new(style);
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let lead = vec![Span::new(format!("{name}: "), Tone::Strong)];
        page.hanging(lead, &side_line(side), Tone::Plain);
    }
    page.blank();
    result(&mut page, comparison);
    conditions(&mut page, &comparison.conditions);
    for metric in METRICS {
        table(&mut page, comparison, metric);
    }
    without_partner(&mut page, comparison);
    if !comparison.notes.is_empty() {
        page.heading("Notes", "");
    }
    for note in &comparison.notes {
        page.paragraph(2, note, Tone::Plain);
    }
    page.finish()
}

/// The tables, in their order.
const METRICS: [ComparedMetric; 5] = [
    ComparedMetric::RatePerS,
    ComparedMetric::ResponseMeanNs,
    ComparedMetric::ResponseP99Ns,
    ComparedMetric::CpuUsPerIo,
    ComparedMetric::CpuClocksPerIo,
];

fn title(metric: ComparedMetric) -> &'static str {
    match metric {
        ComparedMetric::RatePerS => "I/O rate",
        ComparedMetric::ResponseMeanNs => "Mean response time",
        ComparedMetric::ResponseP99Ns => "99th percentile of the response time",
        ComparedMetric::CpuUsPerIo => "Processor time per request, at least",
        ComparedMetric::CpuClocksPerIo => "Processor clocks per request, at least",
    }
}

/// The same within a sentence.
fn word(metric: ComparedMetric) -> &'static str {
    match metric {
        ComparedMetric::RatePerS => "rate",
        ComparedMetric::ResponseMeanNs => "response time",
        ComparedMetric::ResponseP99Ns => "p99",
        ComparedMetric::CpuUsPerIo => "CPU time",
        ComparedMetric::CpuClocksPerIo => "CPU clocks",
    }
}

fn value(metric: ComparedMetric, value: Option<f64>) -> String {
    value.map_or(number::NONE.to_owned(), |value| match metric {
        ComparedMetric::RatePerS => number::per_second(value),
        ComparedMetric::ResponseMeanNs | ComparedMetric::ResponseP99Ns => number::time(value),
        ComparedMetric::CpuUsPerIo => number::time(value * 1e3),
        ComparedMetric::CpuClocksPerIo => number::count(value),
    })
}

/// `experiment 0192ab34 of /data (cache=all), 2026-11-22 06:50 UTC, by blocks`.
fn side_line(side: &ComparedSide) -> String {
    let kind = match side.kind {
        ComparedKind::Trial => "trial",
        ComparedKind::Experiment => "experiment",
        ComparedKind::Profile => "profile",
        ComparedKind::Trace => "trace",
    };
    let documents = match side.ids.as_slice() {
        [id] if side.kind != ComparedKind::Trace => format!("{kind} {id}"),
        [_] => kind.to_owned(),
        ids => format!("{} {kind}s", ids.len()),
    };
    let arm: Vec<String> = side.arm.iter().map(|(axis, level)| format!("{axis}={level}")).collect();
    let mut text = format!("{documents} of {}", side.target);
    if !arm.is_empty() {
        text.push_str(&format!(", where {}", arm.join(" and ")));
    }
    if side.simulated {
        text.push_str(", SIMULATED");
    }
    if let Some(time) = &side.time {
        text.push_str(&format!(", {}", number::when(time)));
    }
    let observed = match side.unit {
        ComparedUnit::Block => "block",
        ComparedUnit::Visit => "visit",
        ComparedUnit::Run => "run",
        ComparedUnit::Trial => "trial",
    };
    text + &format!("; one value a {observed}")
}

/// What it comes to.
fn result(page: &mut Page, comparison: &Comparison) {
    let tested = comparison.tests;
    let [better, worse, same, open] = [
        ComparedVerdict::Better,
        ComparedVerdict::Worse,
        ComparedVerdict::Same,
        ComparedVerdict::CannotTell,
    ]
    .map(|verdict| comparison.count(verdict));
    let (text, tone) = if better + worse + same == 0 {
        ("nothing can be told from these data".to_owned(), Tone::Warn)
    } else if better + worse == 0 {
        let rest = if open > 0 { format!("; {open} cannot be told") } else { String::new() };
        (format!("no difference: {} the same{rest}", rows(same)), Tone::Good)
    } else {
        let parts = [(worse, "worse"), (better, "better"), (same, "the same"), (open, "not told")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{word} in {}", rows(*count)))
            .collect();
        let tone = if worse > 0 { Tone::Bad } else { Tone::Good };
        (format!("B is {}", parts.join(", ")), tone)
    };
    page.hanging(vec![Span::new("Result: ", Tone::Strong)], &text, tone);
    for verdict in [ComparedVerdict::Worse, ComparedVerdict::Better] {
        named(page, comparison, verdict);
    }
    if let Some(row) = &comparison.overall {
        let (verdict, tone) = verdict(row.verdict);
        let text = format!(
            "rate {} ({}): {verdict}",
            row.ratio.map_or(number::NONE.to_owned(), change),
            interval(row)
        );
        page.hanging(vec![Span::plain("  all cells  ")], &text, tone);
    }
    for group in &comparison.groups {
        let (verdict, tone) = verdict(group.row.verdict);
        let text = format!(
            "rate {} ({}): {verdict}",
            group.row.ratio.map_or(number::NONE.to_owned(), change),
            interval(&group.row)
        );
        let lead = format!("  {} {}  ", group.cells, group.label);
        page.hanging(vec![Span::plain(lead)], &text, tone);
    }
    if let Some(limit) = comparison.fail_on_worse_rel {
        let limit = number::percent_text(limit);
        let failed = comparison.rows().filter(|row| row.fails).count();
        let (text, tone) = if failed > 0 {
            (
                format!("FAILS: {} established to be worse by more than {limit}", rows(failed)),
                Tone::Bad,
            )
        } else {
            (format!("Passes: no row is established to be worse by more than {limit}"), Tone::Good)
        };
        page.paragraph(2, &text, tone);
    }
    if tested > 0 {
        let text = format!(
            "{} tested; a difference is called one where chance alone would show one anywhere in \
             the table in at most {} of comparisons.",
            rows(tested as usize),
            number::percent_text(comparison.false_alarm_rate),
        );
        page.paragraph(2, &text, Tone::Faint);
    }
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// The rows of a verdict, those that changed most first.
fn named(page: &mut Page, comparison: &Comparison, verdict: ComparedVerdict) {
    let all = comparison.cells.iter().flat_map(|cell| cell.rows.iter().map(move |row| (cell, row)));
    let mut found: Vec<_> = all.filter(|(_, row)| row.verdict == verdict).collect();
    let size = |row: &ComparedRow| row.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    found.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
    let (label, tone) = match verdict {
        ComparedVerdict::Worse => ("worse", Tone::Bad),
        _ => ("better", Tone::Good),
    };
    for (cell, row) in found.iter().take(NAMED) {
        let text = format!(
            "{}: {} {} ({})",
            cell.label,
            word(row.metric),
            row.ratio.map_or(number::NONE.to_owned(), change),
            interval(row),
        );
        let lead = vec![Span::plain("  "), Span::new(format!("{label:<9}  "), tone)];
        page.hanging(lead, &text, Tone::Plain);
    }
    if found.len() > NAMED {
        let text = format!("and {} more, below", found.len() - NAMED);
        page.paragraph(13, &text, Tone::Faint);
    }
}

/// What differs besides what was measured.
fn conditions(page: &mut Page, conditions: &[ComparedCondition]) {
    if conditions.is_empty() {
        return page.heading("Conditions", "no difference is known");
    }
    page.heading("Conditions that differ", "any of them may be the reason");
    for condition in conditions.iter().take(CONDITIONS) {
        let text = |value: &Option<String>| value.clone().unwrap_or("not known".to_owned());
        let lead = Span::plain(format!("  {:<1$}", condition.what, NAMES - 2));
        let (a, b) = (text(&condition.a), text(&condition.b));
        page.hanging(vec![lead], &format!("{a} → {b}"), Tone::Plain);
    }
    if conditions.len() > CONDITIONS {
        let text = format!("and {} more, in the document", conditions.len() - CONDITIONS);
        page.paragraph(2, &text, Tone::Faint);
    }
}

/// All rows of one quantity.
fn table(page: &mut Page, comparison: &Comparison, metric: ComparedMetric) {
    let pairs =
        comparison.cells.iter().filter(|cell| cell.cell_a.is_some() && cell.cell_b.is_some());
    let found: Vec<(&str, &ComparedRow)> = pairs
        .flat_map(|cell| cell.rows.iter().map(|row| (cell.label.as_str(), row)))
        .filter(|(_, row)| row.metric == metric)
        .collect();
    if found.is_empty() {
        return;
    }
    let remark = "B against A; intervals hold for all rows together (95 %)";
    page.heading(title(metric), remark);
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2).expendable(1),
        Column::right(2).expendable(1),
        Column::right(2),
        Column::left(2),
        Column::left(2),
    ]);
    table.titles(&["size x depth, cache", "A", "B", "change", "interval", "verdict"]);
    for (label, row) in &found {
        let (verdict, tone) = verdict(row.verdict);
        table.row(vec![
            Entry::text(short(label)),
            Entry::text(value(metric, row.a)),
            Entry::text(value(metric, row.b)),
            Entry::text(row.ratio.map_or(number::NONE.to_owned(), change)),
            Entry::text(interval(row)),
            Entry::toned(verdict, tone),
        ]);
    }
    table.print(page);
    reasons(page, found.iter().map(|(_, row)| *row));
}

/// Cells that one side alone has.
fn without_partner(page: &mut Page, comparison: &Comparison) {
    let lone: Vec<_> = comparison
        .cells
        .iter()
        .filter(|cell| cell.cell_a.is_none() || cell.cell_b.is_none())
        .collect();
    if lone.is_empty() {
        return;
    }
    page.heading("Not comparable", "cells without a partner");
    for cell in lone {
        let reason = cell.rows.iter().find_map(|row| row.reason.clone()).unwrap_or_default();
        page.paragraph(2, &format!("{}: {reason}", cell.label), Tone::Plain);
    }
}

/// Why rows are not told, each reason once.
fn reasons<'a>(page: &mut Page, rows: impl Iterator<Item = &'a ComparedRow>) {
    let mut found: Vec<(&str, ComparedVerdict, usize)> = Vec::new();
    for row in rows {
        let Some(reason) = row.reason.as_deref() else { continue };
        let same = |other: &&mut (&str, ComparedVerdict, usize)| {
            other.0 == reason && other.1 == row.verdict
        };
        match found.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => found.push((reason, row.verdict, 1)),
        }
    }
    for (reason, found, count) in found {
        let (word, _) = verdict(found);
        page.paragraph(4, &format!("{word} ({}): {reason}", self::rows(count)), Tone::Faint);
    }
}

fn verdict(verdict: ComparedVerdict) -> (&'static str, Tone) {
    match verdict {
        ComparedVerdict::Better => ("better", Tone::Good),
        ComparedVerdict::Worse => ("WORSE", Tone::Bad),
        ComparedVerdict::Same => ("same", Tone::Plain),
        ComparedVerdict::CannotTell => ("cannot tell", Tone::Faint),
        ComparedVerdict::NotComparable => ("–", Tone::Faint),
    }
}

/// A label for a narrow column: `random read 4 KiB x8, all`.
fn short(label: &str) -> String {
    label.replace(", depth ", " x").replace(", cache ", ", ")
}

/// `-12 %`, `+0.4 %`, `x 4.2`.
fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return number::NONE.to_owned();
    }
    if ratio >= FACTOR {
        return format!("x {}", number::digits(ratio));
    }
    let percent = (ratio - 1.0) * 100.0;
    let text =
        if percent.abs() < 9.95 { format!("{percent:+.1}") } else { format!("{percent:+.0}") };
    let nothing = text.trim_start_matches(['+', '-']).chars().all(|c| c == '0' || c == '.');
    format!("{} %", if nothing { "0" } else { &text })
}

fn interval(row: &ComparedRow) -> String {
    match (row.ratio_low, row.ratio_high) {
        (Some(low), Some(high)) => between(low, high),
        _ => number::NONE.to_owned(),
    }
}

/// `-14 to -6 %`; what may lie a thousand times off to either side says nothing by its digits.
fn between(low: f64, high: f64) -> String {
    if low < UNBOUNDED.recip() && high > UNBOUNDED {
        return "not bounded".to_owned();
    }
    if low >= FACTOR || high >= FACTOR || !high.is_finite() {
        return format!("x {} to {}", number::digits(low), number::digits(high));
    }
    let text = change(low);
    format!("{} to {}", text.trim_end_matches(" %"), change(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_their_sign_and_large_ones_are_factors() {
        let written = [0.9, 1.004, 0.99999, 1.12, 2.999, 4.2, f64::NAN].map(change);
        assert_eq!(written, ["-10 %", "+0.4 %", "0 %", "+12 %", "+200 %", "x 4.20", "–"]);
    }

    #[test]
    fn an_interval_is_written_out_where_its_ends_say_something() {
        assert_eq!(between(0.86, 0.94), "-14 to -6.0 %");
        assert_eq!(between(0.5, 4.2), "x 0.500 to 4.20");
        assert_eq!(between(1e-8, 8.6e13), "not bounded");
    }
}
