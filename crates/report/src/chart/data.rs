//! A chart as data: JSON for the page's script, a table for readers, rows of CSV.
//!
//! Numbers are cut to seven digits, which is more than any of them is known to and halves the page.
//! The page makes the JSON safe for its `<script>` element. CSV is tidy: a row per value, so that one
//! file holds charts of any kind and every tool can filter it.

use super::draw::Frame;
use super::{Axis, Chart, Form, Point};
use askama::Template;
use record::Unit;
use serde_json::{Value, json};

/// The names of the columns of [`Chart::csv`].
pub(crate) const CSV_HEADER: &str = "document,chart,series,x,x_is,value,value_is,low,high,remark\n";
/// Rows of a series in the page's tables; longer ones are thinned.
const TABLE_ROWS: usize = 64;

impl Form {
    fn letter(self) -> &'static str {
        match self {
            Self::Curve => "c",
            Self::Trace => "t",
            Self::Marks => "m",
            Self::Bars => "b",
        }
    }
}

/// A number for the script.
fn number(value: f64) -> Value {
    // Integers stay short: 65536 and not 65536.0.
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return json!(value as i64);
    }
    format!("{value:.6e}").parse::<f64>().ok().filter(|value| value.is_finite()).into()
}

/// How the script writes values of a unit.
fn unit(unit: Option<Unit>) -> &'static str {
    match unit {
        None => "",
        Some(Unit::Nanos) => "ns",
        Some(Unit::Bytes) => "B",
        Some(Unit::BytesPerSecond) => "B/s",
        Some(Unit::PerSecond) => "/s",
        Some(Unit::Count | Unit::Ratio) => "n",
        Some(Unit::Share) => "%",
        Some(Unit::Micros) => "us",
        Some(Unit::Millis) => "ms",
    }
}

/// The unit in words, for CSV: of stored values, not of printed ones.
fn stored(axis: &Axis) -> String {
    let unit = match axis.unit {
        None | Some(Unit::Count | Unit::Ratio) => "",
        Some(Unit::Nanos) => " [ns]",
        Some(Unit::Bytes) => " [bytes]",
        Some(Unit::BytesPerSecond) => " [bytes/s]",
        Some(Unit::PerSecond) => " [1/s]",
        Some(Unit::Share) => " [share]",
        Some(Unit::Micros) => " [us]",
        Some(Unit::Millis) => " [ms]",
    };
    format!("{}{unit}", axis.title)
}

fn axis(axis: &Axis) -> Value {
    json!({
        "t": axis.title,
        "u": unit(axis.unit),
        "l": axis.log,
        "r": [number(axis.range.0), number(axis.range.1)],
        "k": axis.ticks.iter().map(|tick| number(*tick)).collect::<Vec<_>>(),
        "n": axis.names,
    })
}

impl Chart {
    /// What the page's script draws.
    pub(crate) fn data(&self) -> Value {
        let frame = Frame::of(self);
        let series: Vec<Value> = self
            .series
            .iter()
            .enumerate()
            .map(|(index, series)| {
                let points: Vec<Value> = series
                    .points
                    .iter()
                    .map(|point| {
                        let mut parts = vec![number(point.x), number(point.y)];
                        if let (Some(low), Some(high)) = (point.low, point.high) {
                            parts.extend([number(low), number(high)]);
                        }
                        if !point.remark.is_empty() {
                            parts.resize(4, Value::Null);
                            parts.push(point.remark.as_str().into());
                        }
                        parts.into()
                    })
                    .collect();
                let (beside, height) = self.bar(index);
                json!({
                    "n": series.name,
                    "f": series.form.letter(),
                    "b": [number(beside), number(height)],
                    "p": points,
                })
            })
            .collect();
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|rule| json!([rule.upright, number(rule.at), rule.name]))
            .collect();
        json!({
            "t": self.title,
            "f": [frame.width, frame.height, frame.left, frame.right, frame.top, frame.bottom],
            "x": axis(&self.x),
            "y": axis(&self.y),
            "s": series,
            "r": rules,
        })
    }

    /// The axis along which values lie, and that of the values: of rows the other way round.
    pub(super) fn axes(&self) -> (&Axis, &Axis) {
        if self.is_rows() { (&self.y, &self.x) } else { (&self.x, &self.y) }
    }

    /// A point by these axes.
    pub(super) fn at_and_value(&self, point: &Point) -> (f64, f64) {
        if self.is_rows() { (point.y, point.x) } else { (point.x, point.y) }
    }

    /// The same as a table, for readers who do not see the drawing.
    pub(crate) fn table(&self) -> String {
        let every = |points: usize| points.div_ceil(TABLE_ROWS).max(1);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let rows = self.series.iter().flat_map(|series| {
            let shown = series.points.iter().step_by(every(series.points.len()));
            shown.map(|point| {
                let (at, value) = self.at_and_value(point);
                Row { series: &series.name, at, value, point }
            })
        });
        let (across, value) = self.axes();
        let table = Table {
            title: &self.title,
            across,
            value,
            intervals: points().any(|point| point.low.is_some()),
            remarks: points().any(|point| !point.remark.is_empty()),
            rows: rows.collect(),
            thinned: self.series.iter().any(|series| every(series.points.len()) > 1),
        };
        table.to_string()
    }

    /// A row of CSV per value, of the document of this name.
    pub(crate) fn csv(&self, document: &str) -> String {
        let (across, value) = self.axes();
        let points = self.series.iter().flat_map(|series| {
            series.points.iter().map(move |point| (series, point, self.at_and_value(point)))
        });
        let lines = points.map(|(series, point, (at, of))| {
            let at = if self.is_rows() { across.label(at) } else { at.to_string() };
            let end = |end: Option<f64>| end.map_or(String::new(), |end| end.to_string());
            let fields = [
                document,
                &self.title,
                &series.name,
                &at,
                &stored(across),
                &of.to_string(),
                &stored(value),
                &end(point.low),
                &end(point.high),
                &point.remark,
            ];
            fields.map(csv_field).join(",") + "\n"
        });
        lines.collect()
    }
}

#[derive(Template)]
#[template(path = "table.html")]
struct Table<'a> {
    title: &'a str,
    across: &'a Axis,
    value: &'a Axis,
    /// Whether any value has one.
    intervals: bool,
    remarks: bool,
    rows: Vec<Row<'a>>,
    /// Whether rows were left out.
    thinned: bool,
}

struct Row<'a> {
    series: &'a str,
    at: f64,
    value: f64,
    point: &'a Point,
}

impl Table<'_> {
    /// An end of an interval; empty where there is none.
    fn end(&self, end: Option<f64>) -> String {
        end.map_or(String::new(), |end| self.value.value(end))
    }
}

/// A field of CSV (RFC 4180). What a spreadsheet would take for a formula is led by an apostrophe.
fn csv_field(text: &str) -> String {
    let text = crate::escape(text);
    let formula = text.starts_with(['=', '+', '@', '-', '\t']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, rows};
    use super::*;

    #[test]
    fn the_scripts_data_hold_every_point_with_its_interval_and_no_steering_characters() {
        let data = example().data();
        assert_eq!(data["s"].as_array().unwrap().len(), 3);
        assert_eq!(data["s"][0]["p"][0], json!([2, 1, 0.8, 1.2]));
        assert_eq!(data["s"][0]["p"][1][4], "</script> \u{202e}");
        assert_eq!(data["r"][0], json!([false, 4.35, "half <of> it"]));
        assert_eq!(data["x"]["l"], true);
    }

    #[test]
    fn the_table_has_a_row_per_value_and_escapes_all_text() {
        let table = example().table();
        assert_eq!(table.matches("<tr>").count(), 7, "{table}");
        assert!(!table.contains("</script") && !table.contains("a<0"), "{table}");
        let table = rows().table();
        assert!(table.contains("<td class=\"number\">memory &#60;x&#62;</td>"), "{table}");
    }

    #[test]
    fn csv_has_a_row_per_value_and_no_field_that_a_spreadsheet_would_run() {
        let csv = rows().csv("=cmd()");
        assert_eq!(csv.lines().count(), 6);
        let columns = CSV_HEADER.split(',').count();
        for line in csv.lines() {
            assert_eq!(line.split(',').count(), columns, "{line}");
            assert!(line.starts_with("'=cmd(),path,"), "{line}");
        }
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_field("-1.5"), "-1.5");
    }

    #[test]
    fn a_long_series_is_thinned_in_the_table_and_whole_in_the_csv() {
        let mut chart = example();
        let points = (0..1000).map(|at| Point::bare(f64::from(at + 2), 1.0));
        chart.series[1].points = points.collect();
        assert!(chart.table().matches("<tr>").count() < 80);
        assert!(chart.table().contains("--csv"));
        assert_eq!(chart.csv("").lines().count(), 1004);
    }
}
