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
use crate::page::Tone;
use crate::story::{Badge, Cell, Story};
use papers::{Chart, Class, Paper, Point, Report, Row, Verdict};
use stats::grouped;
use std::collections::BTreeMap;

/// What a row may be off by, for those who read the page alone; the details say it row by row.
const ALLOWED: &str = "derived: the printed digits, series 0.1 %; simulated: 15 %, series 15 % in the \
                       median and 40 % at a point";

/// The story of a report; `verbose` unfolds the expression and the runs of every row.
#[must_use]
pub fn papers(report: &Report, verbose: bool) -> Story {
    let mut story = Story::new("Papers", "published figures, and the same reproduced", false);
    summary(&mut story, report);
    for paper in Paper::ALL {
        let rows = report.rows.iter().filter(|row| row.paper == paper);
        for (figure, rows) in grouped(rows.map(|row| (row.figure.as_str(), row))) {
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

fn tell_figure(story: &mut Story, title: &str, rows: &[&Row]) {
    let section = story.section(title, "");
    let tried = || rows.iter().filter(|row| row.class != Class::NotReproducible);
    section.table(tried(), |t| {
        t.left("id", |row| row.id.clone());
        t.left("what", |row| row.subject.clone()).flexible().expendable(1);
        t.right("published", |row| match row.chart.is_some() || row.unit.is_empty() {
            true => row.published.clone(),
            false => format!("{} {}", row.published, row.unit),
        })
        .flexible();
        t.right("reproduced", |row| Cell::or_none(row.reproduced.clone(), |text| text)).flexible();
        t.right("off by", |row| deviation_text(row));
        t.left("", |row| match row.class {
            Class::Fitted => Cell::toned("shown: fitted", tone(row.verdict)),
            _ => Cell::toned(row.verdict.name(), tone(row.verdict)),
        });
    });
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
    let words = format!("reproduced {} of {}", report.reproduced, report.rows.len());
    let tone = if report.met { Tone::Good } else { Tone::Bad };
    story.badges.push(Badge::new(words, tone, required));
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
    let across = points().filter_map(|point| point.x);
    let y = Axis::from_zero(&chart.y_title, None, values);
    let x = Axis::at_values(&chart.x_title, None, chart.x_log, across);
    type ValueOf = fn(&Point) -> Option<f64>;
    let both: [(&str, ValueOf); 2] =
        [("published", |point| point.published), ("reproduced", |point| point.reproduced)];
    for (what, value) in both {
        let series = rows.iter().map(|row| {
            let bare = |point: &Point| Some(chart::Point::bare(point.x?, value(point)?));
            let points = row.points.iter().filter_map(bare);
            Series::new(&row.subject, Form::Curve, points.collect())
        });
        story.charts.push(chart::Chart {
            title: format!("{}, {what}", chart.title),
            finding: String::new(),
            errors: String::new(),
            x: x.clone(),
            y: y.clone(),
            series: series.collect(),
            rules: Vec::new(),
        });
    }
}
