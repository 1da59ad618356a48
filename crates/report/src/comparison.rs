//! Builds the report on a comparison: the result, the conditions that differ, then each row.
//!
//! A reader wants one sentence: worse, better, or no difference. It comes first, with the rows that support
//! it. Different conditions come before the tables, because a difference caused by the file's location or by
//! the kernel does not mean the same as one caused by the disk. A row gives the change from A to B with an
//! interval. A reader of twelve intervals takes all of them to be true, so they are computed to be true
//! together. Inconclusive rows are not left out: each reason is stated once, below its table.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number::{self, change, counted};
use crate::story::{Action, Badge, Cell, Section, Story, Tone, joined};
use record::{
    ComparedCell, ComparedKind, ComparedMetric, ComparedRow, ComparedSide, ComparedUnit,
    ComparedVerdict, Comparison, Unit, word,
};
use stats::{Ordered, grouped};

const CONDITIONS: usize = 24;
/// Minimum number of runs of each side for a verdict.
const RUNS_MIN: u32 = 3;
const NAMED: usize = 4;
/// Ratio from which a factor is easier to read than a percentage.
const FACTOR: f64 = 3.0;
/// An interval that exceeds this factor on both sides is not printed.
const UNBOUNDED: f64 = 1_000.0;
const ROWS: usize = 30;
/// Largest number of cells for which all rows fit a screen.
const FEW_CELLS: usize = 4;
/// A ratio whose interval exceeds this factor does not extend the axis.
const FAR: f64 = 16.0;

/// A compared quantity, in table order: title, name within a sentence, unit.
type Metric = (ComparedMetric, &'static str, &'static str, Unit);

const METRICS: [Metric; 10] = [
    (ComparedMetric::RatePerS, "IOPS", "IOPS", Unit::PerSecond),
    (ComparedMetric::CommitsPerS, "Commits per second", "commits per second", Unit::Count),
    (ComparedMetric::LatencyMeanNs, "Mean latency", "mean latency", Unit::Nanos),
    (ComparedMetric::LatencyP99Ns, "99th percentile of the latency", "p99", Unit::Nanos),
    (
        ComparedMetric::CompletionMeanNs,
        "Mean latency from the submission",
        "mean latency from the submission",
        Unit::Nanos,
    ),
    (
        ComparedMetric::CompletionP99Ns,
        "99th percentile of the latency from the submission",
        "p99 from the submission",
        Unit::Nanos,
    ),
    (ComparedMetric::FlushMeanNs, "Mean flush latency", "mean flush latency", Unit::Nanos),
    (ComparedMetric::FlushP99Ns, "99th percentile of the flush latency", "flush p99", Unit::Nanos),
    (ComparedMetric::CpuUsPerIo, "CPU time per request (lower bound)", "CPU time", Unit::Micros),
    (
        ComparedMetric::CpuClocksPerIo,
        "CPU clocks per request (lower bound)",
        "CPU clocks",
        Unit::Count,
    ),
];

fn metric_words(metric: ComparedMetric) -> &'static str {
    METRICS.iter().find(|one| one.0 == metric).map_or("", |one| one.2)
}

fn verdict(verdict: ComparedVerdict) -> (&'static str, Tone) {
    match verdict {
        ComparedVerdict::Better => ("better", Tone::Good),
        ComparedVerdict::Worse => ("WORSE", Tone::Bad),
        ComparedVerdict::Same => ("same", Tone::Plain),
        ComparedVerdict::CannotTell => ("inconclusive", Tone::Faint),
        ComparedVerdict::NotComparable => ("not comparable", Tone::Faint),
    }
}

/// The story of a comparison.
pub fn comparison(comparison: &Comparison) -> Story {
    let subject = format!("{} (A) with {} (B)", comparison.a.given, comparison.b.given);
    let simulated = comparison.a.simulated && comparison.b.simulated;
    let mut story = Story::new("Comparison", subject, simulated).saved(&comparison.id, &[]);
    story.badges.push(result(comparison));
    limit(&mut story, comparison);
    named(&mut story, comparison);
    if let Some(row) = &comparison.overall {
        story.takeaway("all cells together", format!("IOPS {}", summary(row)));
    }
    story.actions.extend(decided_by(comparison).map(|text| Action::new("", text)));
    let others = comparison.conditions.len();
    let others = (others > 0).then(|| {
        let what = counted(others as f64, "other condition");
        format!("{what} differ{}, which may be the reason", if others == 1 { "s" } else { "" })
    });
    story.takeaway("conditions", others.unwrap_or_default());
    differences(&mut story, comparison);
    for metric in &METRICS {
        table(&mut story, comparison, metric);
        story.charts.extend(ratios(comparison, metric));
    }
    without_partner(&mut story, comparison);
    story.list("Notes", "", &comparison.notes);
    story.condition("A", side_line(&comparison.a));
    story.condition("B", side_line(&comparison.b));
    story.written_by(&comparison.halfpower_version);
    story
}

/// `experiment 0192ab34 of /data, where cache=all, 2026-11-22 06:50 UTC; one value per block`.
fn side_line(side: &ComparedSide) -> String {
    let kind = word(side.kind);
    let documents = match side.ids.as_slice() {
        [id] if side.kind != ComparedKind::Trace => format!("{kind} {id}"),
        [_] => kind,
        ids => counted(ids.len() as f64, &kind),
    };
    let arm = joined(&side.arm, " and ", |(axis, level)| format!("{axis}={level}"));
    let mut text = format!("{documents} of {}", side.target);
    text.extend((!arm.is_empty()).then(|| format!(", where {arm}")));
    text.extend(side.simulated.then_some(", SIMULATED"));
    text.extend(side.time.as_deref().map(|time| format!(", {}", number::when(time))));
    text + &format!("; one value per {}", word(side.unit))
}

fn rows(count: usize) -> String {
    counted(count as f64, "row")
}

fn result(comparison: &Comparison) -> Badge {
    let count = |verdict| comparison.count(verdict);
    let (better, worse) = (count(ComparedVerdict::Better), count(ComparedVerdict::Worse));
    let (same, open) = (count(ComparedVerdict::Same), count(ComparedVerdict::CannotTell));
    let (words, tone) = if comparison.is_nothing() {
        ("Nothing to compare: no load is in both".to_owned(), Tone::Bad)
    } else if better + worse + same == 0 {
        (undecided(comparison), Tone::Warn)
    } else if better + worse == 0 {
        let rest = if open > 0 { format!("; {open} inconclusive") } else { String::new() };
        (format!("No difference: {} the same{rest}", rows(same)), Tone::Good)
    } else {
        let parts =
            [(worse, "worse"), (better, "better"), (same, "the same"), (open, "inconclusive")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = joined(parts, ", ", |(count, word)| format!("{word} in {}", rows(*count)));
        let tone = if worse > 0 { Tone::Bad } else { Tone::Good };
        (format!("B is {}{parts}", overall_words(comparison)), tone)
    };
    let share = number::percent(comparison.false_alarm_rate);
    let chance = format!("at most {share} of comparisons would show any difference");
    let because = match comparison.tests {
        0 => String::new(),
        tests => format!("{} tested; if A and B were equal, {chance}.", rows(tests as usize)),
    };
    Badge::new(words, tone, because)
}

/// The answer if no row is decided. With fewer than [`RUNS_MIN`] runs of each side, the spread between runs is
/// unknown, and a difference of any size is neither shown nor excluded.
fn undecided(comparison: &Comparison) -> String {
    let are_runs = [&comparison.a, &comparison.b].iter().all(|it| it.unit == ComparedUnit::Trial);
    let open = comparison.rows().filter(|row| row.verdict == ComparedVerdict::CannotTell);
    match open.map(|row| row.n_a.min(row.n_b)).max().filter(|_| are_runs) {
        Some(1) => "Undecided: one run each cannot tell a difference from the spread between runs"
            .to_owned(),
        Some(most) if most < RUNS_MIN => {
            format!("Undecided: {most} runs each are too few to know the spread between runs")
        }
        _ => "Inconclusive: no detectable difference".to_owned(),
    }
}

/// `93 % slower: `, if the rates of all cells together, or of the only cell, show it.
fn overall_words(comparison: &Comparison) -> String {
    let only = match comparison.cells.as_slice() {
        [cell] => cell.rows.iter().find(|row| row.metric == ComparedMetric::RatePerS),
        _ => None,
    };
    let Some(row) = comparison.overall.as_ref().or(only) else { return String::new() };
    let Some(ratio) = row.ratio else { return String::new() };
    match row.verdict {
        ComparedVerdict::Worse => format!("{} slower: ", number::percent(1.0 - ratio)),
        ComparedVerdict::Better if ratio < FACTOR => {
            format!("{} faster: ", number::percent(ratio - 1.0))
        }
        ComparedVerdict::Better => format!("{} times as fast: ", number::digits(ratio)),
        _ => String::new(),
    }
}

/// How to obtain a decision if nothing is decided.
fn decided_by(comparison: &Comparison) -> Option<String> {
    let decided = [ComparedVerdict::Better, ComparedVerdict::Worse, ComparedVerdict::Same];
    if decided.iter().any(|verdict| comparison.count(*verdict) > 0) {
        return None;
    }
    if comparison.is_nothing() {
        let text = "A and B have no cell in common: measure the same cells on both sides.";
        return Some(text.to_owned());
    }
    if comparison.count(ComparedVerdict::CannotTell) == 0 {
        return None;
    }
    let sides = [&comparison.a, &comparison.b];
    let rows = comparison.cells.iter().flat_map(|cell| &cell.rows);
    let mut open = rows.filter(|row| row.verdict == ComparedVerdict::CannotTell);
    // Each trial is a run.
    let repeated = sides.iter().any(|side| side.unit == ComparedUnit::Run)
        || sides.iter().all(|side| side.unit == ComparedUnit::Trial)
            && open.all(|row| row.n_a.min(row.n_b) >= RUNS_MIN);
    let text = match comparison.a.kind {
        _ if repeated => "Make more runs of each: the runs so far vary too much.",
        ComparedKind::Profile => {
            "Check each disk twice more, alternating between them, then compare the three checks \
             of each: halfpower compare A1,A2,A3 B1,B2,B3"
        }
        ComparedKind::Experiment => {
            "Run more blocks of both experiments: halfpower sweep --blocks N."
        }
        ComparedKind::Trial | ComparedKind::Trace => {
            "Alternate at least three runs of each, then compare all of them: halfpower compare \
             A1,A2,A3 B1,B2,B3"
        }
    };
    Some(text.to_owned())
}

/// Whether B meets the limit that the user set.
fn limit(story: &mut Story, comparison: &Comparison) {
    let Some(limit) = comparison.fail_on_worse_rel.filter(|_| !comparison.is_nothing()) else {
        return;
    };
    let limit = number::percent(limit);
    let failed = comparison.rows().filter(|row| row.fails).count();
    let (passes, tone) = match failed {
        0 => ("Passes: no row is".to_owned(), Tone::Good),
        _ => (format!("FAILS: {}", rows(failed)), Tone::Bad),
    };
    let words = format!("{passes} worse by more than {limit}, beyond the error");
    story.badges.push(Badge::new(words, tone, ""));
}

/// Order of rows and series: what needs attention comes first.
const ORDER: [ComparedVerdict; 5] = [
    ComparedVerdict::Worse,
    ComparedVerdict::Better,
    ComparedVerdict::Same,
    ComparedVerdict::CannotTell,
    ComparedVerdict::NotComparable,
];

fn rows_of(cell: &ComparedCell) -> impl Iterator<Item = (&str, &ComparedRow)> {
    cell.rows.iter().map(|row| (cell.label.as_str(), row))
}

/// How far a row is from no change.
fn size(row: &ComparedRow) -> f64 {
    row.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

/// The rows that changed most, the result for all cells together, and groups of cells.
fn named(story: &mut Story, comparison: &Comparison) {
    for kind in [ComparedVerdict::Worse, ComparedVerdict::Better] {
        let all = comparison.cells.iter().flat_map(rows_of);
        let mut found: Vec<_> = all.filter(|(_, row)| row.verdict == kind).collect();
        found.sort_by_cached_key(|(_, one)| Ordered(-size(one)));
        for (label, row) in found.iter().take(NAMED) {
            story.fact(format!("{} of {}", metric_words(row.metric), short(label)), summary(row));
        }
        if found.len() > NAMED {
            let name = format!("and {} more {}", found.len() - NAMED, verdict(kind).0);
            story.fact(name, "in the tables");
        }
    }
    if let Some(row) = &comparison.overall {
        story.fact("IOPS, all cells", summary(row));
    }
    for group in &comparison.groups {
        story.fact(format!("IOPS, {} {}", group.cells, group.label), summary(&group.row));
    }
}

fn summary(row: &ComparedRow) -> String {
    let interval = interval(row);
    let ratio = number::or_none(row.ratio, |ratio| match interval.starts_with("x ") {
        true => format!("x {}", number::digits(ratio)),
        false => change(ratio),
    });
    let interval = interval.trim_start_matches("x ");
    format!("{ratio} ({interval}): {}", verdict(row.verdict).0)
}

/// Conditions that differ, apart from the measurements.
fn differences(story: &mut Story, comparison: &Comparison) {
    let conditions = &comparison.conditions;
    let remark = match conditions.is_empty() {
        true => "no known difference",
        false => "any of these may be the reason",
    };
    let section = story.section("Conditions that differ", remark);
    for condition in conditions.iter().take(CONDITIONS) {
        section.row(&condition.what, format!("{} → {}", condition.a, condition.b));
    }
    let more = conditions.len().checked_sub(CONDITIONS).filter(|more| *more > 0);
    section.notes(more.map(|more| format!("{more} more in the document")));
}

fn table(story: &mut Story, comparison: &Comparison, &(metric, title, _, unit): &Metric) {
    let pairs =
        comparison.cells.iter().filter(|cell| cell.cell_a.is_some() && cell.cell_b.is_some());
    let found: Vec<(&str, &ComparedRow)> =
        pairs.flat_map(rows_of).filter(|(_, row)| row.metric == metric).collect();
    if found.is_empty() {
        return;
    }
    let value = move |value: Option<f64>| Cell::or_none(value, |value| unit.format(value));
    let remark = "B compared with A; 95 % intervals, for all rows together";
    // No group of cells summarises commits.
    let many = comparison.cells.len() > FEW_CELLS && metric != ComparedMetric::CommitsPerS;
    let section = story.section(title, remark).supporting_if(many);
    section.table(&found, |t| {
        t.left("size x QD, cache", |(label, _)| short(label));
        t.right("A", move |(_, row)| value(row.a)).expendable(1);
        t.right("B", move |(_, row)| value(row.b)).expendable(1);
        t.right("change", |(_, row)| Cell::or_none(row.ratio, change));
        t.left("interval", |(_, row)| interval(row));
        t.left("verdict", |(_, row)| {
            let (words, tone) = verdict(row.verdict);
            Cell::toned(words, tone)
        });
    });
    reasons(section, found.iter().map(|(_, row)| *row));
}

fn without_partner(story: &mut Story, comparison: &Comparison) {
    let lone =
        comparison.cells.iter().filter(|cell| cell.cell_a.is_none() || cell.cell_b.is_none());
    let lone = lone.map(|cell| {
        let reason = cell.rows.iter().find_map(|row| row.reason.clone()).unwrap_or_default();
        format!("{}: {reason}", cell.label)
    });
    let mut lone: Vec<String> = lone.collect();
    if lone.is_empty() {
        return;
    }
    lone.sort();
    let only = |side: fn(&ComparedCell) -> bool| {
        counted(comparison.cells.iter().filter(|cell| side(cell)).count() as f64, "cell")
    };
    let (only_a, only_b) = (only(|cell| cell.cell_b.is_none()), only(|cell| cell.cell_a.is_none()));
    let text = format!("{only_a} only in A, {only_b} only in B.");
    story.section("Not comparable", "cells without a partner").note(text);
    let section = story.section("Cells without a partner", "").supporting();
    lone.iter().for_each(|cell| section.item(cell));
}

/// Why rows are inconclusive, each reason once.
fn reasons<'a>(section: &mut Section, rows: impl Iterator<Item = &'a ComparedRow>) {
    let found = rows.filter_map(|row| Some(((row.reason.as_deref()?, row.verdict), row)));
    for ((reason, found), all) in grouped(found) {
        section.note(format!("{} ({}): {reason}", verdict(found).0, self::rows(all.len())));
    }
}

/// A row per cell, in order of verdict and then of change. Cells without a ratio come last.
fn ratios(comparison: &Comparison, &(metric, _, word, _): &Metric) -> Option<Chart> {
    let all = comparison.overall.iter().map(|row| ("all cells together", row));
    let rows = all.chain(comparison.cells.iter().flat_map(rows_of));
    let mut found: Vec<(&str, &ComparedRow)> =
        rows.filter(|(_, row)| row.metric == metric).collect();
    found.sort_by_cached_key(|(_, row)| {
        let place = ORDER.iter().position(|verdict| *verdict == row.verdict);
        (row.ratio.is_none(), place, Ordered(-size(row)))
    });
    // The rows are sorted, so the first is the largest change that was found.
    let (label, first) = *found.first()?;
    let ratio = number::digits(first.ratio?);
    let (ratio, found_words) = (format!("{ratio} times the value of A"), verdict(first.verdict).0);
    let finding = match first.verdict {
        ComparedVerdict::Worse | ComparedVerdict::Better => {
            format!("The {word} changed most for {label}: {ratio} ({found_words}).")
        }
        _ => format!("No change in the {word} was found; {label} differs most, with {ratio}."),
    };
    let (shown, left_out) = found.split_at(found.len().min(ROWS));
    let series = ORDER.iter().filter_map(|verdict| {
        let rows = shown.iter().enumerate().filter(|(_, (_, row))| row.verdict == *verdict);
        let points = rows.filter_map(|(place, (_, row))| {
            let bare = Point::bare(row.ratio?, place as f64);
            Some(Point { low: row.ratio_low, high: row.ratio_high, ..bare })
        });
        let (name, tone) = self::verdict(*verdict);
        let tone = if tone == Tone::Plain { Tone::Strong } else { tone };
        let series = Series::new(name, Form::Marks, points.collect()).toned(tone);
        (!series.points.is_empty()).then_some(series)
    });
    let series: Vec<Series> = series.collect();
    let names = shown.iter().map(|(label, row)| match row.ratio {
        Some(_) => short(label),
        None => format!("{}: {}", short(label), verdict(row.verdict).0),
    });
    let near = |end: &f64| (FAR.recip()..=FAR).contains(end);
    let ends = shown.iter().flat_map(|(_, row)| [row.ratio_low, row.ratio_high]);
    let values = shown.iter().filter_map(|(_, row)| row.ratio);
    let values = values.chain(ends.flatten().filter(near));
    let (x, y) = (Axis::ratios("B over A", values), Axis::named(names.collect()));
    let mut rules = vec![Rule::upright(1.0, "no change")];
    if found.iter().any(|(_, row)| row.ratio.is_some_and(|ratio| ratio < 0.6)) {
        rules.push(Rule::upright(0.5, "half"));
    }
    let rest = match left_out.len() {
        0 => String::new(),
        more => format!(" The table has {more} more rows, with smaller changes."),
    };
    let errors = format!(
        "Error bars: 95 % intervals for all rows of the comparison together; rows without one are \
         inconclusive. Sorted by verdict, then by change.{rest}"
    );
    let chart = Chart::new(format!("B over A: {word}"), finding, (x, y), series);
    Some(chart.errors(errors).rules(rules))
}

/// A label for a narrow column: `random read 4 KiB x8, all`.
fn short(label: &str) -> String {
    label.replace(", depth ", " x").replace(", cache ", ", ")
}

/// `-14 to -6 %`. The digits of an interval that spans a factor of a thousand both ways mean nothing.
fn interval(row: &ComparedRow) -> String {
    let (Some(low), Some(high)) = (row.ratio_low, row.ratio_high) else {
        return number::NONE.to_owned();
    };
    if low < UNBOUNDED.recip() && high > UNBOUNDED {
        return "not bounded".to_owned();
    }
    if low >= FACTOR || high >= FACTOR || !high.is_finite() {
        return format!("x {} to {}", number::digits(low), number::digits(high));
    }
    let text = change(low);
    format!("{} to {}", text.trim_end_matches(" %"), change(high))
}
