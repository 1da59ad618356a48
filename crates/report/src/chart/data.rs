//! Converts a chart to data: JSON for the page's script, a table for readers, rows of CSV.
//!
//! Numbers are rounded to seven digits, which exceeds the accuracy of all of them and halves the
//! page. The page makes the JSON safe for its `<script>` element. CSV is tidy: one row per value,
//! so that a file can hold charts of any kind and every tool can filter it.

use super::draw::Frame;
use super::look::looks;
use super::{Axis, Chart, Point, Rule, points};
use crate::page::csv_field;
use askama::Template;
use serde_json::{Value, json};

/// The header line of [`csv`](fn@crate::csv).
pub const CSV_HEADER: &str = "document,chart,series,x,x_is,value,value_is,low,high,remark";
/// The letter of each [`Form`](super::Form).
const FORMS: [&str; 5] = ["c", "t", "m", "b", "s"];
/// Largest number of rows per series in the page's tables; longer series are thinned.
const TABLE_ROWS: usize = 64;

fn number(value: f64) -> Value {
    // Integers stay short: 65536 instead of 65536.0.
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return json!(value as i64);
    }
    format!("{value:.6e}").parse::<f64>().ok().filter(|value| value.is_finite()).into()
}

/// The title with the unit of stored values, not of printed ones.
fn stored(axis: &Axis) -> String {
    format!("{}{}", axis.title, axis.unit.map_or("", |unit| unit.stored().1))
}

/// A point: abscissa, ordinate, ends of the interval, remark.
fn parts(point: &Point) -> Value {
    let mut parts = vec![number(point.x), number(point.y)];
    if let (Some(low), Some(high)) = (point.low, point.high) {
        parts.extend([number(low), number(high)]);
    }
    if !point.remark.is_empty() {
        parts.resize(4, Value::Null);
        parts.push(point.remark.as_str().into());
    }
    parts.into()
}

fn axis(axis: &Axis) -> Value {
    json!({
        "t": axis.title,
        "u": axis.unit.map_or("", |unit| unit.stored().2),
        "l": axis.log,
        "r": [number(axis.range.0), number(axis.range.1)],
        "k": axis.ticks.iter().map(|tick| number(*tick)).collect::<Vec<_>>(),
        "n": axis.names,
    })
}

impl Chart {
    /// The data for the page's script.
    #[must_use]
    pub fn data(&self) -> Value {
        let frame = Frame::of(self);
        let (looks, dodges) = (looks(&self.series), self.dodges());
        let series = self.series.iter().enumerate().map(|(index, series)| {
            let (beside, height) = self.bar(index);
            let look = &looks[index];
            json!({
                "n": series.name,
                "f": FORMS[series.form as usize],
                "c": [look.class, look.mark, look.dash],
                "b": [number(beside), number(height)],
                "k": number(dodges[index]),
                "p": series.points.iter().map(parts).collect::<Vec<Value>>(),
            })
        });
        let series: Vec<Value> = series.collect();
        let rule = |rule: &Rule| json!([rule.upright, number(rule.at), rule.name]);
        let rules: Vec<Value> = self.rules.iter().map(rule).collect();
        json!({
            "t": self.title,
            "f": [frame.width, frame.height, frame.left, frame.right, frame.top, frame.bottom],
            "x": axis(&self.x),
            "y": axis(&self.y),
            "s": series,
            "r": rules,
        })
    }

    /// The axis of positions and the axis of values; in a row chart they are exchanged.
    pub(super) fn axes(&self) -> (&Axis, &Axis) {
        if self.is_rows() { (&self.y, &self.x) } else { (&self.x, &self.y) }
    }

    pub(super) fn at_and_value(&self, point: &Point) -> (f64, f64) {
        if self.is_rows() { (point.y, point.x) } else { (point.x, point.y) }
    }

    /// The chart as a table, for readers who cannot see the drawing.
    pub(crate) fn table(&self) -> String {
        let (across, value) = self.axes();
        let intervals = points(&self.series).any(|point| point.low.is_some());
        let every = |points: usize| points.div_ceil(TABLE_ROWS).max(1);
        let rows = self.series.iter().flat_map(|series| {
            let shown = series.points.iter().step_by(every(series.points.len()));
            shown.map(|point| {
                let (at, of) = self.at_and_value(point);
                let end = |end: Option<f64>| end.map_or(String::new(), |end| value.value(end));
                let mut numbers = vec![across.label(at), value.value(of)];
                numbers.extend([point.low, point.high].into_iter().filter(|_| intervals).map(end));
                (series.name.as_str(), numbers, point.remark.as_str())
            })
        });
        let table = Table {
            title: &self.title,
            across: &across.title,
            value: &value.title,
            intervals,
            remarks: points(&self.series).any(|point| !point.remark.is_empty()),
            rows: rows.collect(),
            thinned: self.series.iter().any(|series| every(series.points.len()) > 1),
        };
        table.to_string()
    }

    /// A row of CSV per value, for the document with this name.
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
    across: &'a str,
    value: &'a str,
    intervals: bool,
    remarks: bool,
    /// Series, numbers and remark of each row.
    rows: Vec<(&'a str, Vec<String>, &'a str)>,
    /// Whether rows were left out.
    thinned: bool,
}
