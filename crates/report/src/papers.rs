//! What is said of `halfpower papers`: the answer, then every published value beside its reproduction.
//!
//! One line per row, grouped by paper and figure, because a reader comes with a figure in hand. What
//! deviates says why below its table. What is not tried is listed by reason, its ids together: a
//! hundred lines saying "an input" would bury the ten that matter. The plots of a figure come in
//! pairs, published and reproduced, on the same ordinate: a reader compares shapes first and numbers
//! after. Rejected: deviating rows first (they are found by their word, and a figure torn apart cannot
//! be judged), and both in one plot, in which eight curves become sixteen.

use crate::chart::{self, Axis, Form, Series};
use crate::number;
use crate::story::{Badge, Cell, Column, Story, Table, Tone};
use papers::{Chart, Class, Paper, Point, Report, Row, Verdict};
use std::collections::BTreeMap;

/// What a row may be off by, for those who read the page alone; the details say it row by row.
const ALLOWED: &str = "derived: the printed digits, series 0.1 %; simulated: 15 %, series 15 % in the \
                       median and 40 % at a point";

/// The story of a report; `verbose` unfolds the expression and the runs of every row.
#[must_use]
pub fn papers(report: &Report, verbose: bool) -> Story {
    let mut story = Story {
        kind: "Papers".to_owned(),
        subject: "published figures, and the same reproduced".to_owned(),
        ..Story::default()
    };
    summary(&mut story, report);
    for paper in Paper::ALL {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.paper == paper).collect();
        if rows.is_empty() {
            continue;
        }
        for (figure, rows) in by_figure(&rows) {
            tell_figure(&mut story, &format!("{}, {figure}", paper.title()), &rows);
            let charts = report.charts.iter().filter(|chart| chart.paper == paper);
            for chart in charts.filter(|chart| chart.figure == figure) {
                draw(&mut story, chart, &rows);
            }
        }
    }
    let details = story.fold("How each row was computed");
    details.fold = !verbose;
    for row in report.rows.iter().filter(|row| !row.method.is_empty()) {
        let runs: String = row.runs.iter().map(|run| format!("; {run}")).collect();
        let text = format!("{}: {} (allowed: {}){runs}", row.subject, row.method, row.tolerance);
        details.row(&row.id, text);
    }
    story.condition("version", format!("halfpower {}", report.halfpower_version));
    story
}

/// Rows by figure or section, in the order of their first.
fn by_figure<'a>(rows: &[&'a Row]) -> Vec<(&'a str, Vec<&'a Row>)> {
    let mut figures: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match figures.iter_mut().find(|(figure, _)| *figure == row.figure) {
            Some((_, rows)) => rows.push(row),
            None => figures.push((&row.figure, vec![row])),
        }
    }
    figures
}

fn tell_figure(story: &mut Story, title: &str, rows: &[&Row]) {
    let section = story.section(title, "");
    let mut table = Table::new(vec![
        Column::left("id"),
        Column::left("what").flexible().expendable(1),
        Column::right("published").flexible(),
        Column::right("reproduced").flexible(),
        Column::right("off by"),
        Column::left(""),
    ]);
    let tried = || rows.iter().filter(|row| row.class != Class::NotReproducible);
    for row in tried() {
        let published = match row.chart.is_some() || row.unit.is_empty() {
            true => row.published.clone(),
            false => format!("{} {}", row.published, row.unit),
        };
        let verdict = match row.class {
            Class::Fitted => "shown: fitted",
            _ => row.verdict.name(),
        };
        table.row(vec![
            row.id.as_str().into(),
            row.subject.as_str().into(),
            published.into(),
            Cell::or_none(row.reproduced.clone(), |text| text),
            deviation_text(row).into(),
            Cell::toned(verdict, tone(row.verdict)),
        ]);
    }
    section.table(table);
    for row in tried().filter(|row| matches!(row.verdict, Verdict::Deviates | Verdict::Failed)) {
        section.row(&row.id, &row.reason);
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.class == Class::NotReproducible) {
        reasons.entry(&row.reason).or_default().push(&row.id);
    }
    for (reason, ids) in reasons {
        section.note(format!("not reproducible: {reason} ({})", ids.join(" ")));
    }
}

/// How far off a row is: a claim with its sign, a series by its median and its worst point.
fn deviation_text(row: &Row) -> String {
    match (row.deviation, row.deviation_max) {
        (Some(median), Some(max)) if row.chart.is_some() => {
            format!("{} ({})", number::percent(median), number::percent(max))
        }
        (Some(deviation), _) => number::change(1.0 + deviation),
        _ => String::new(),
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::Deviates => Tone::Warn,
        Verdict::Failed => Tone::Bad,
        Verdict::Shown | Verdict::NotReproducible => Tone::Faint,
    }
}

fn summary(story: &mut Story, report: &Report) {
    let required = format!(
        "Required: {} of derived rows and {} of simulated series: {}.",
        number::percent(report.threshold_derived),
        number::percent(report.threshold_simulated),
        if report.met { "met" } else { "not met" }
    );
    story.badges.push(Badge {
        words: format!("reproduced {} of {}", report.reproduced, report.rows.len()),
        tone: if report.met { Tone::Good } else { Tone::Bad },
        because: required,
        ..Badge::default()
    });
    if !report.without.is_empty() {
        let text = format!("{} switched off: not an honest run", report.without.join(", "));
        story.fact("physics", text);
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
        story.fact(count.class.name(), text);
    }
    for reading in &report.stricter {
        let text = format!("{} of {}: {}", reading.reproduced, reading.series, reading.rule);
        story.fact("simulated, stricter", text);
    }
    story.fact("allowed", ALLOWED);
}

/// One chart twice, published and reproduced; nothing where none of it is reproduced.
fn draw(story: &mut Story, chart: &Chart, rows: &[&Row]) {
    let rows: Vec<&&Row> =
        rows.iter().filter(|row| row.chart.as_deref() == Some(&chart.name)).collect();
    let points = || rows.iter().flat_map(|row| &row.points);
    if !points().any(|point| point.reproduced.is_some()) {
        return;
    }
    let values = points().flat_map(|point| [point.published, point.reproduced]).flatten();
    let across: Vec<f64> = points().filter_map(|point| point.x).collect();
    let y = Axis::from_zero(&chart.y_title, None, values);
    let x = Axis::at_values(&chart.x_title, None, chart.x_log, &across);
    let plot = |what: &str, value: &dyn Fn(&Point) -> Option<f64>| chart::Chart {
        title: format!("{}, {what}", chart.title),
        finding: String::new(),
        errors: String::new(),
        x: x.clone(),
        y: y.clone(),
        series: rows
            .iter()
            .map(|row| {
                let points = row.points.iter();
                let points =
                    points.filter_map(|point| Some(chart::Point::bare(point.x?, value(point)?)));
                Series::new(&row.subject, Form::Curve, points.collect())
            })
            .collect(),
        rules: Vec::new(),
    };
    story.charts.push(plot("published", &|point| point.published));
    story.charts.push(plot("reproduced", &|point| point.reproduced));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Style, terminal};
    use papers::{Chart, ClassCount, PAPERS_SCHEMA, Point};

    /// A report of one series, one claim and two rows that were not tried.
    fn example() -> Report {
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
        let text = terminal(&papers(&example(), true), &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = |id: &str| text.lines().find(|line| line.trim().starts_with(id)).unwrap();
        assert!(line("fig1.a").ends_with("30 % (50 %)  deviates"), "{text}");
        assert!(line("R1").ends_with("-0.4 %  reproduced"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn what_is_not_tried_is_told_by_reason_with_its_ids_together() {
        let text = terminal(&papers(&example(), false), &Style::default());
        assert!(text.contains("not reproducible: an input (R2 R3)"), "{text}");
        assert!(text.contains("fig1.a  median 30%; max 50%"), "{text}");
        assert!(!text.contains("halfpower run"), "{text}");
    }

    #[test]
    fn the_page_opens_with_the_answer_and_says_what_was_switched_off() {
        let text = terminal(&papers(&example(), false), &Style::default());
        assert!(text.contains("seek switched off"), "{text}");
        assert!(text.lines().nth(2).unwrap().contains("reproduced 1 of 4"), "{text}");
    }

    #[test]
    fn a_figure_stands_twice_on_the_same_ordinate() {
        let charts = papers(&example(), false).charts;
        assert_eq!(charts.len(), 2);
        assert_eq!(charts[0].y, charts[1].y);
        assert_ne!(charts[0].series, charts[1].series);
    }
}
