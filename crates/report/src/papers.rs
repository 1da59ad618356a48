//! What `halfpower papers` prints: the answer, then every published value beside its reproduction.
//!
//! One line per row, grouped by paper and figure, because a reader comes with a figure in hand. What
//! deviates says why in the line below. What is not tried is told by reason, its ids together: a
//! hundred lines saying "an input" would bury the ten that matter. Rejected: deviating rows first
//! (they are found by their word, and a figure torn apart cannot be judged).

use crate::Style;
use crate::number;
use crate::page::{Page, Span, Tone, escape};
use crate::table::{Column, Entry, Table};
use papers::{Class, Paper, Report, Row, Verdict};
use std::collections::BTreeMap;

/// Columns of a published or reproduced value; longer ones are cut.
const VALUE: usize = 16;
/// Columns between columns.
const GAP: usize = 2;
/// Fewest columns of a subject; with less it is left out, since the id of a series names it, too.
const SUBJECT_MIN: usize = 14;
/// What a row may be off by, for those who read the page alone; `--verbose` says it row by row.
const ALLOWED: &str = "derived: the printed digits, series 0.1 %; simulated: 15 %, series 15 % in the \
                       median and 40 % at a point";
/// Columns of labels in the summary.
const LABEL: usize = 22;

/// The report as a page; `verbose` adds the expression and the runs of every row.
#[must_use]
pub fn papers_text(report: &Report, verbose: bool, style: &Style) -> String {
    let mut page = Page::new(style);
    for paper in Paper::ALL {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.paper == paper).collect();
        if rows.is_empty() {
            continue;
        }
        page.blank();
        page.line(vec![Span::new(paper.title(), Tone::Strong)]);
        for (figure, rows) in by_figure(&rows) {
            print_figure(&mut page, figure, &rows, verbose);
        }
    }
    summary(&mut page, report);
    page.finish()
}

/// Rows by figure or section, in the order of their first.
pub(crate) fn by_figure<'a>(rows: &[&'a Row]) -> Vec<(&'a str, Vec<&'a Row>)> {
    let mut figures: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match figures.iter_mut().find(|(figure, _)| *figure == row.figure) {
            Some((_, rows)) => rows.push(row),
            None => figures.push((&row.figure, vec![row])),
        }
    }
    figures
}

fn print_figure(page: &mut Page, figure: &str, rows: &[&Row], verbose: bool) {
    page.heading(figure, "");
    let tried: Vec<&&Row> = rows.iter().filter(|row| row.class != Class::NotReproducible).collect();
    if !tried.is_empty() {
        print_table(page, &tried);
    }
    for row in &tried {
        if matches!(row.verdict, Verdict::Deviates | Verdict::Failed) {
            let lead = vec![Span::plain("  "), Span::new(format!("{}: ", row.id), Tone::Warn)];
            page.hanging(lead, &row.reason, Tone::Plain);
        }
        if verbose {
            let text =
                format!("{}, {}: {} (allowed: {})", row.id, row.subject, row.method, row.tolerance);
            page.paragraph(4, &text, Tone::Faint);
            for run in &row.runs {
                page.paragraph(6, run, Tone::Faint);
            }
        }
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.class == Class::NotReproducible) {
        reasons.entry(&row.reason).or_default().push(&row.id);
    }
    for (reason, ids) in reasons {
        let text = format!("not reproducible: {reason} ({})", ids.join(" "));
        page.paragraph(2, &text, Tone::Faint);
    }
}

/// The rows that were tried. The subject gets what room the other columns leave.
fn print_table(page: &mut Page, rows: &[&&Row]) {
    let lines = rows.iter().map(|row| {
        let reproduced = row.reproduced.as_deref().unwrap_or(number::NONE);
        [
            row.id.clone(),
            published_text(row),
            short(reproduced, VALUE),
            deviation_text(row),
            row.verdict.name().to_owned(),
        ]
    });
    let lines: Vec<[String; 5]> = lines.collect();
    let titles = ["id", "published", "reproduced", "off by", ""];
    let width = |column: usize| {
        let texts = lines.iter().map(|line| line[column].chars().count());
        GAP + texts.chain([titles[column].len()]).max().unwrap_or(0)
    };
    let used: usize = (0..titles.len()).map(width).sum();
    let room = page.width().saturating_sub(used + GAP);
    let named = room >= SUBJECT_MIN;
    let mut columns = vec![Column::left(GAP)];
    columns.extend(named.then(|| Column::left(GAP)));
    columns.extend((0..3).map(|_| Column::right(GAP)));
    columns.push(Column::left(GAP));
    let mut table = Table::new(columns);
    let mut heads = titles.to_vec();
    if named {
        heads.insert(1, "what");
    }
    table.titles(&heads);
    for (line, row) in lines.into_iter().zip(rows) {
        let [id, published, reproduced, deviation, verdict] = line;
        let mut entries = vec![Entry::text(id)];
        entries.extend(named.then(|| Entry::text(short(&row.subject, room))));
        entries.extend([published, reproduced, deviation].map(Entry::text));
        entries.push(Entry::toned(verdict, tone(row.verdict)));
        table.row(entries);
    }
    table.print(page);
}

/// The printed value of a claim with its unit, the range of a series without.
fn published_text(row: &Row) -> String {
    if row.chart.is_some() || row.unit.is_empty() {
        return short(&row.published, VALUE);
    }
    short(&format!("{} {}", row.published, row.unit), VALUE)
}

/// How far off a row is: a claim with its sign, a series by its median and its worst point.
pub(crate) fn deviation_text(row: &Row) -> String {
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    match (row.deviation, row.deviation_max) {
        (Some(median), Some(max)) if row.chart.is_some() => {
            format!("{} ({})", percent(median), percent(max))
        }
        (Some(deviation), _) => format!("{:+.0}%", deviation * 100.0 + 0.0),
        _ => String::new(),
    }
}

/// The text in at most `width` columns, as it will stand on the page.
fn short(text: &str, width: usize) -> String {
    let text = escape(text);
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::Deviates => Tone::Warn,
        Verdict::Failed => Tone::Bad,
        Verdict::Shown | Verdict::NotReproducible => Tone::Faint,
    }
}

fn summary(page: &mut Page, report: &Report) {
    page.heading("Summary", "");
    if !report.without.is_empty() {
        let text = format!("{} switched off: not an honest run", report.without.join(", "));
        page.labelled("physics", LABEL, &text);
    }
    for count in &report.counts {
        let text = match count.class {
            Class::Derived | Class::Simulated => format!(
                "{} of {} reproduced, {} of {} series",
                count.reproduced, count.rows, count.series_reproduced, count.series
            ),
            Class::Fitted => format!("{} shown, not counted", count.rows),
            Class::NotReproducible => format!("{}, each with its reason", count.rows),
        };
        page.labelled(count.class.name(), LABEL, &text);
    }
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let required = format!(
        "{} of derived rows and {} of simulated series: {}",
        percent(report.threshold_derived),
        percent(report.threshold_simulated),
        if report.met { "met" } else { "not met" }
    );
    page.labelled("required", LABEL, &required);
    for reading in &report.stricter {
        let text = format!("{} of {}: {}", reading.reproduced, reading.series, reading.rule);
        page.labelled("simulated, stricter", LABEL, &text);
    }
    page.labelled("allowed", LABEL, ALLOWED);
    let text = format!("reproduced {} of {}", report.reproduced, report.rows.len());
    page.line(vec![Span::new(text, Tone::Strong)]);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use papers::{Chart, ClassCount, PAPERS_SCHEMA, Point};

    /// A report of one series, one claim and two rows that were not tried.
    pub(crate) fn example() -> Report {
        let points = [(2.0, 1.0, 1.1), (64.0, 8.0, 4.0)].map(|(x, published, reproduced)| Point {
            x: Some(x),
            published: Some(published),
            reproduced: Some(reproduced),
        });
        let series = Row {
            id: "fig1.a".to_owned(),
            paper: Paper::Riedel,
            figure: "Figure 1".to_owned(),
            chart: Some("fig1".to_owned()),
            subject: "Disk <b>\u{1b}[2J of a very long name that fits no column at all".to_owned(),
            unit: "MB/s".to_owned(),
            class: Class::Simulated,
            published: "1.00 .. 8.00".to_owned(),
            reproduced: Some("1.10 .. 4.00".to_owned()),
            points: points.to_vec(),
            deviation: Some(0.3),
            deviation_max: Some(0.5),
            tolerance: "median 15%, max 40%".to_owned(),
            verdict: Verdict::Deviates,
            reason: "median 30%; max 50%".to_owned(),
            method: "a[x]".to_owned(),
            runs: vec!["halfpower run sim:a --bs 2k".to_owned()],
        };
        let claim = Row {
            id: "R1".to_owned(),
            chart: None,
            subject: "a claim".to_owned(),
            class: Class::Derived,
            verdict: Verdict::Reproduced,
            reason: String::new(),
            deviation: Some(-0.004),
            ..series.clone()
        };
        let not_tried = |id: &str| Row {
            id: id.to_owned(),
            class: Class::NotReproducible,
            verdict: Verdict::NotReproducible,
            reason: "an input".to_owned(),
            reproduced: None,
            points: Vec::new(),
            ..claim.clone()
        };
        let rows = vec![series, claim.clone(), not_tried("R2"), not_tried("R3")];
        let counts = Class::ALL.map(|class| ClassCount {
            class,
            rows: rows.iter().filter(|row| row.class == class).count(),
            series: 0,
            reproduced: 0,
            series_reproduced: 0,
        });
        Report {
            schema: PAPERS_SCHEMA.to_owned(),
            halfpower_version: "0".to_owned(),
            without: vec!["seek".to_owned()],
            rows,
            charts: vec![Chart {
                name: "fig1".to_owned(),
                paper: Paper::Riedel,
                figure: "Figure 1".to_owned(),
                title: "A & B".to_owned(),
                x_title: "size (KiB)".to_owned(),
                x_log: true,
                y_title: "rate (MiB/s)".to_owned(),
            }],
            counts: counts.to_vec(),
            stricter: vec![papers::Reading {
                rule: "a stricter rule".to_owned(),
                series: 2,
                reproduced: 1,
            }],
            reproduced: 1,
            met: false,
            threshold_derived: 1.0,
            threshold_simulated: 0.9,
        }
    }

    #[test]
    fn every_line_fits_and_no_verdict_is_cut() {
        let text = papers_text(&example(), true, &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = |id: &str| text.lines().find(|line| line.trim().starts_with(id)).unwrap();
        assert!(line("fig1.a").ends_with("30% (50%)  deviates"), "{text}");
        assert!(line("R1").ends_with("-0%  reproduced"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn what_is_not_tried_is_told_by_reason_with_its_ids_together() {
        let text = papers_text(&example(), false, &Style::default());
        assert!(text.contains("not reproducible: an input (R2 R3)"), "{text}");
        assert!(text.contains("fig1.a: median 30%; max 50%"), "{text}");
        assert!(!text.contains("halfpower run"), "{text}");
    }

    #[test]
    fn the_summary_says_what_was_switched_off_and_ends_with_the_answer() {
        let text = papers_text(&example(), false, &Style::default());
        assert!(text.contains("seek switched off"), "{text}");
        assert!(text.ends_with("reproduced 1 of 4\n"), "{text}");
    }
}
