//! Builds the report of `halfpower papers`: the result, then every published value next to its reproduction.
//!
//! The counts come first, followed by failures and their causes, because a sceptical reader begins there.
//! After that there is one line per row, grouped by paper and figure, because a reader looks up a figure.
//! Values that are not attempted are listed by reason, with all their ids together: a hundred lines saying
//! "an input" would hide the ten that matter. The plots of a figure come in pairs, published and reproduced,
//! with the same ordinate, because a reader compares shapes first and numbers later. Rejected: both in one
//! plot, in which eight curves become sixteen.

use crate::chart::{self, Axis, Form, Series};
use crate::story::{Badge, Cell, Section, Story, Tone, number};
use model::papers::tolerance::{CURVE_MAX, CURVE_MEDIAN};
use model::papers::{Chart, Class, ClassCount, Paper, Point, Report, Row, Verdict};
use stats::grouped;
use std::collections::BTreeMap;

/// The tolerances, for readers of this page alone; the details state them row by row.
const ALLOWED: &str = "values: within 15 % or the printed decimals; sizes: within one step of the \
                       paper's axis; series: within 15 % in the median and 40 % at each point, \
                       with half to double the published rise or fall, and curves that are 10 % \
                       apart in the paper do not cross; formulae: to the printed digits";

/// Largest number of rows that fits a screen with the summary above them.
const FEW_ROWS: usize = 16;

/// The story of a report. If there are few rows, the short page shows all of them.
pub fn papers(report: &Report) -> Story {
    let mut story = Story::new("Papers", "published figures next to the reproduced ones", false);
    summary(&mut story, report);
    story.charts.extend(verdicts(report));
    // Only the verdicts: below them are pairs, published and reproduced.
    story.lead = 1;
    failures(&mut story, report);
    for paper in Paper::ALL {
        let rows = report.rows.iter().filter(|row| row.paper == paper);
        for (figure, rows) in grouped(rows.map(|row| (row.figure.as_str(), row))) {
            let section = story.section(format!("{}, {figure}", paper.title()), "");
            tell_figure(section.supporting_if(report.rows.len() > FEW_ROWS), &rows);
            let charts = report.charts.iter().filter(|chart| chart.paper == paper);
            for chart in charts.filter(|chart| chart.figure == figure) {
                draw(&mut story, chart, &rows);
            }
        }
    }
    let details = story.fold("How each row was computed");
    for row in report.rows.iter().filter(|row| !row.method.is_empty()) {
        let runs: String = row.runs.iter().map(|run| format!("; {run}")).collect();
        let text = format!("{}: {} (allowed: {}){runs}", row.subject, row.method, row.tolerance);
        details.row(&row.id, text);
    }
    story.condition("version", format!("halfpower {}", report.halfpower_version));
    story
}

fn tell_figure(section: &mut Section, rows: &[&Row]) {
    let tried = || rows.iter().filter(|row| row.verdict != Verdict::NotTried);
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
        let words = |row: &Row| match row.class {
            Class::Fitted | Class::Repeated => format!("shown: {}", row.class.name()),
            Class::HeldOut => format!("{}, held out", row.verdict.name()),
            _ => row.verdict.name().to_owned(),
        };
        t.left("", |row| Cell::toned(words(row), tone(row.verdict)));
    });
    for row in tried().filter(|row| row.verdict.fails()) {
        section.row(&row.id, &row.reason);
    }
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::NotTried) {
        reasons.entry((row.class.name(), &row.reason)).or_default().push(&row.id);
    }
    for ((class, reason), ids) in reasons {
        section.note(format!("{class}: {reason} ({})", ids.join(" ")));
    }
}

/// The deviation of a row: a claim with its sign, a series by its median and its worst point.
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
        Verdict::Shown | Verdict::NotTried => Tone::Faint,
    }
}

fn summary(story: &mut Story, report: &Report) {
    let (good, all) = (report.reproduced, report.testable);
    let words =
        format!("{good} of {all} testable published measurements reproduced without being fitted");
    let tone = if report.met { Tone::Good } else { Tone::Bad };
    let of = |class: Class| report.counts.iter().find(|count| count.class == class);
    let sum = |classes: &[Class], number: fn(&ClassCount) -> usize| -> usize {
        classes.iter().filter_map(|&class| of(class)).map(number).sum()
    };
    let judged: Vec<Class> = Class::ALL.into_iter().filter(|class| class.is_judged()).collect();
    let (good, all) = (sum(&judged, |it| it.series_reproduced), sum(&judged, |it| it.series));
    let met = match report.met {
        _ if all == 0 => "none is judged",
        true => "met",
        false => "not met",
    };
    let least = number::percent(report.threshold_series);
    let goal = format!(
        "Goal, set before the runs: {least} of the distinct series. Result: {good} of {all}, {met}."
    );
    let mut badge = Badge::new(words, tone, goal);
    badge.answers = conclusions(report);
    story.badges.push(badge);
    if !report.without.is_empty() {
        let text = format!("{} switched off: not a valid run", report.without.join(", "));
        story.fact("physics", text);
    }
    for machine in &report.machines {
        story.fact("machine", format!("{machine}: described by the user, not by the papers"));
    }
    for (class, what) in [
        (Class::Simulated, "no parameter was fitted to them"),
        (Class::HeldOut, "judged only at sizes to which no parameter was fitted"),
    ] {
        if let Some(count) = of(class) {
            let (series, values) = (count.series, count.rows - count.series);
            let good = count.series_reproduced;
            let single = format!(" and {} of {values} single values", count.reproduced - good);
            let single = if values == 0 { String::new() } else { single };
            story.fact(class.name(), format!("{good} of {series} series{single}: {what}"));
        }
    }
    let near = |row: &&Row| {
        row.chart.is_some()
            && row.class.is_judged()
            && row.deviation.is_some_and(|median| median <= CURVE_MEDIAN)
            && row.deviation_max.is_some_and(|max| max <= CURVE_MAX)
    };
    let near = report.rows.iter().filter(near).count();
    story.fact("by height alone", format!("{near} of {all} series, ignoring order and slope"));
    let fitted = sum(&[Class::Fitted], |it| it.rows);
    story.fact("fitted", format!("{fitted} shown but not counted as reproduced"));
    let fails = report.rows.iter().filter(|row| row.verdict.fails()).count();
    story.fact("fail", format!("{fails}, listed below with the cause, if known"));
    let derived = [Class::Derived];
    let formulae = (sum(&derived, |it| it.reproduced), sum(&derived, |it| it.rows));
    let text = format!("{} of {} reproduce the printed digits", formulae.0, formulae.1);
    story.fact("formulae of the papers", text);
    for class in [Class::Repeated, Class::OwnComputation, Class::NotTestable] {
        let rows = sum(&[class], |it| it.rows);
        if rows > 0 {
            story.fact(class.name(), format!("{rows}, not counted, each with its reason"));
        }
    }
    story.fact("allowed", ALLOWED);
}

/// The conclusions: what is reproduced best, what fails most, and how to view either.
fn conclusions(report: &Report) -> Vec<(String, String)> {
    let series = || report.rows.iter().filter(|row| row.chart.is_some() && row.class.is_judged());
    let mut off: Vec<f64> = series().filter_map(|row| row.deviation).collect();
    off.sort_by(f64::total_cmp);
    let middle = off.get(off.len() / 2).map(|median| {
        let reproduced = series().filter(|row| row.verdict == Verdict::Reproduced).count();
        let (all, median) = (off.len(), number::percent(*median));
        let half = format!("half of them are within {median} of the published curve");
        format!("{reproduced} of {all} series; {half} (median over its points).")
    });
    let failing: Vec<&Row> = report.rows.iter().filter(|row| row.verdict.fails()).collect();
    let causes = grouped(failing.iter().map(|row| (row.reason.as_str(), *row)));
    let most = causes.into_iter().max_by_key(|(_, rows)| rows.len());
    let fails = most.map(|(reason, rows)| {
        let (first, count) = (rows[0], rows.len());
        format!("{} of {} have one reason: {}: {reason}", count, failing.len(), first.figure)
    });
    let known = failing.iter().filter_map(|row| Some((*row, row.deviation?)));
    let worst = known.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let worst = worst.map(|(row, _)| {
        format!("{}, {}: off by {} ({})", row.figure, row.subject, deviation_text(row), row.id)
    });
    let named = [("reproduced", middle), ("fails most often", fails), ("farthest off", worst)];
    named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

/// The number of reproduced rows for each paper; for a single paper, by figure.
fn verdicts(report: &Report) -> Option<chart::Chart> {
    let papers: Vec<Paper> = Paper::ALL
        .into_iter()
        .filter(|paper| report.rows.iter().any(|row| row.paper == *paper))
        .collect();
    let of = |row: &Row| match papers.as_slice() {
        [_] => row.figure.clone(),
        _ => row.paper.title().to_owned(),
    };
    const SHOWN: [(Verdict, &str); 3] = [
        (Verdict::Reproduced, "reproduced"),
        (Verdict::Deviates, "deviates"),
        (Verdict::Failed, "failed"),
    ];
    let judged = report.rows.iter().filter(|row| row.class.is_judged());
    let judged = judged.filter(|row| SHOWN.iter().any(|(verdict, _)| *verdict == row.verdict));
    let rows = grouped(judged.map(|row| (of(row), row)));
    let series = SHOWN.map(|(verdict, name)| {
        let points = rows.iter().enumerate().map(|(place, (_, rows))| {
            let count = rows.iter().filter(|row| row.verdict == verdict).count();
            chart::Point::bare(count as f64, place as f64)
        });
        Series::new(name, Form::Stack, points.collect()).toned(tone(verdict))
    });
    let mut series = series.to_vec();
    series.retain(|series| series.points.iter().any(|point| point.x > 0.0));
    let whole = rows.iter().map(|(_, rows)| rows.len() as f64);
    let best = rows.iter().map(|(name, rows)| {
        let good = rows.iter().filter(|row| row.verdict == Verdict::Reproduced).count();
        (name, good, rows.len())
    });
    let best = best.max_by_key(|(_, good, all)| good * 1000 / all)?;
    let finding =
        format!("{}: {} of {} are reproduced, the largest share.", best.0, best.1, best.2);
    let x = Axis::from_zero("rows", None, whole);
    let y = Axis::named(rows.iter().map(|(name, _)| name.clone()).collect());
    chart::Chart::new("Judged rows by verdict", finding, (x, y), series)
        .errors("Bars count rows; a row is one value, or one series of a chart in the paper.")
        .unless_empty()
}

/// All failures in one list: a sceptical reader begins here.
fn failures(story: &mut Story, report: &Report) {
    let failing = |row: &&Row| row.verdict.fails();
    if !report.rows.iter().any(|row| failing(&row)) {
        return;
    }
    let section = story.section("What fails", "").supporting_if(report.rows.len() > FEW_ROWS);
    section.table(report.rows.iter().filter(failing), |t| {
        t.left("id", |row| row.id.clone());
        t.left("figure or section", |row| row.figure.clone()).flexible().expendable(1);
        t.left("what", |row| row.subject.clone()).flexible().expendable(2);
        t.right("off by", |row| deviation_text(row));
    });
    // A cause common to several rows is stated once, after their ids.
    let causes = report.rows.iter().filter(failing).map(|row| (row.reason.as_str(), row));
    for (reason, rows) in grouped(causes) {
        match rows.as_slice() {
            [row] => section.row(&row.id, reason),
            _ => {
                let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
                section.note(format!("{reason} ({})", ids.join(" ")));
            }
        }
    }
}

/// One chart twice, published and reproduced; nothing if no part of it is reproduced.
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
        let (title, axes) = (format!("{}, {what}", chart.title), (x.clone(), y.clone()));
        story.charts.push(chart::Chart::new(title, "", axes, series.collect()));
    }
}
