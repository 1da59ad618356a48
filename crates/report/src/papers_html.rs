//! The page of `halfpower papers --html`: each figure as published and as reproduced.
//!
//! The two drawings of a figure stand side by side, on the same ordinate, with one legend below: a
//! reader compares shapes first and numbers after. All rows follow in tables, what they rest on can
//! be unfolded. Rejected: both in one drawing, in which eight curves become sixteen.

use crate::chart::{self, Axis, Form, Series, legend};
use crate::html::{escape_html, page};
use crate::papers::{by_figure, deviation_text};
use papers::{Chart, Class, Paper, Point, Report, Row, Verdict};
use std::fmt::Write;

/// The report as a page that needs nothing else.
#[must_use]
pub fn papers_html(report: &Report) -> String {
    let mut body = String::new();
    summary(&mut body, report);
    for paper in Paper::ALL {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.paper == paper).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(body, "<h2>{}</h2>", escape_html(paper.title()));
        for (figure, rows) in by_figure(&rows) {
            let _ = writeln!(body, "<h3>{}</h3>", escape_html(figure));
            let charts = report.charts.iter().filter(|chart| chart.paper == paper);
            for chart in charts.filter(|chart| chart.figure == figure) {
                draw(&mut body, chart, &rows);
            }
            table(&mut body, &rows);
        }
    }
    page("Published figures, and the same reproduced", &body, "")
}

fn summary(body: &mut String, report: &Report) {
    let _ = writeln!(
        body,
        "<p class=\"answer\">reproduced {} of {}</p>",
        report.reproduced,
        report.rows.len()
    );
    if !report.without.is_empty() {
        let parts = escape_html(&report.without.join(", "));
        let _ = writeln!(body, "<p class=\"bad\">Switched off in every drive: {parts}</p>");
    }
    body.push_str("<div class=\"wide\"><table><tr><th>class</th><th class=\"number\">rows</th>");
    body.push_str("<th class=\"number\">in tolerance</th><th class=\"number\">series</th>");
    body.push_str("<th class=\"number\">in tolerance</th></tr>\n");
    for count in &report.counts {
        let _ = write!(body, "<tr><td>{}</td>", count.class.name());
        for value in [count.rows, count.reproduced, count.series, count.series_reproduced] {
            let _ = write!(body, "<td class=\"number\">{value}</td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n<p>Simulated series by stricter rules:</p><ul>\n");
    for reading in &report.stricter {
        let rule = escape_html(&reading.rule);
        let _ = writeln!(body, "<li>{} of {}: {rule}</li>", reading.reproduced, reading.series);
    }
    let met = if report.met { ("good", "met") } else { ("bad", "not met") };
    let _ = writeln!(
        body,
        "</ul><p>Required: {:.0} % of derived rows and {:.0} % of simulated series: \
         <span class=\"{}\">{}</span>. Fitted rows are shown and never counted.</p>\
         <p class=\"faint\">halfpower {}</p>",
        report.threshold_derived * 100.0,
        report.threshold_simulated * 100.0,
        met.0,
        met.1,
        escape_html(&report.halfpower_version)
    );
}

/// One chart twice, with its legend; nothing where none of it is reproduced.
fn draw(body: &mut String, chart: &Chart, rows: &[&Row]) {
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
    let published = plot("published", &|point| point.published).svg("");
    let reproduced = plot("reproduced", &|point| point.reproduced).svg("");
    let title = escape_html(&chart.title);
    let _ = writeln!(
        body,
        "<h4>{title}</h4><div class=\"pair\"><figure><figcaption>published</figcaption>{published}</figure>\
         <figure><figcaption>reproduced</figcaption>{reproduced}</figure></div>"
    );
    body.push_str(&legend(rows.iter().map(|row| (row.subject.as_str(), Form::Curve))));
}

fn table(body: &mut String, rows: &[&Row]) {
    body.push_str("<div class=\"wide\"><table><tr><th>id</th><th>what</th>");
    body.push_str("<th class=\"number\">published</th><th class=\"number\">reproduced</th>");
    body.push_str("<th class=\"number\">off by</th><th>allowed</th><th>verdict</th></tr>\n");
    for row in rows {
        let text = escape_html;
        let published = format!("{} {}", row.published, row.unit);
        let reproduced = row.reproduced.clone().unwrap_or_default();
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td><td>{}{}</td></tr>",
            text(&row.id),
            text(&row.subject),
            text(&published),
            text(&reproduced),
            text(&deviation_text(row)),
            text(&row.tolerance),
            verdict(row),
            details(row)
        );
    }
    body.push_str("</table></div>\n");
}

fn verdict(row: &Row) -> String {
    let class = match row.verdict {
        Verdict::Reproduced => "good",
        Verdict::Deviates | Verdict::Failed => "bad",
        Verdict::Shown | Verdict::NotReproducible => "faint",
    };
    let name = match row.class {
        Class::Fitted => "shown: fitted",
        _ => row.verdict.name(),
    };
    let reason = escape_html(&row.reason);
    let reason = if reason.is_empty() { String::new() } else { format!("<br>{reason}") };
    format!("<span class=\"{class}\">{name}</span>{reason}")
}

/// What a row rests on.
fn details(row: &Row) -> String {
    if row.method.is_empty() {
        return String::new();
    }
    let mut html = format!("<details><summary>{}", row.class.name());
    let _ = write!(html, "</summary><code>{}</code>", escape_html(&row.method));
    for run in &row.runs {
        let _ = write!(html, "<br><code>{}</code>", escape_html(run));
    }
    html.push_str("</details>");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::tests::example;

    #[test]
    fn a_figure_stands_twice_on_the_same_ordinate() {
        let html = papers_html(&example());
        let drawings: Vec<&str> = html.split("<svg viewBox=\"0 0 420").skip(1).collect();
        assert_eq!(drawings.len(), 2);
        let labels = |drawing: &str| {
            let grid = drawing.split("class=\"grid\"").skip(1);
            grid.map(|part| part.split("</text>").next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(labels(drawings[0]), labels(drawings[1]));
    }

    #[test]
    fn text_of_the_data_becomes_no_markup() {
        let html = papers_html(&example());
        assert!(html.contains("A &amp; B") && html.contains("Disk &lt;b&gt;\\x1b[2J"), "{html}");
        assert!(!html.contains("<b>") && !html.contains('\u{1b}'), "{html}");
    }
}
