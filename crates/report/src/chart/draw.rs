//! Draws a chart as inline SVG that needs no script.
//!
//! The frame is fixed and as wide as the text of a page. This module turns the chart into paths and
//! positioned texts; the templates write them and escape all text. Each mark shows its values as a
//! tooltip. The data are in a nested SVG, which clips at the frame without a reference by name.
//! There is no text among the data: rules have letters at the edge, which the legend explains.
//! Points are on their ticks; only series whose error bars would hide each other are shifted, by a few
//! pixels. The page's script draws the same chart as wide as the reader's window, with the help of
//! [`Frame`]. Rejected: a canvas (screen readers cannot read it, and it does not print sharply).

use super::look::{Look, Sample, file_style, looks, rule_letter};
use super::shape::Shape;
use super::{Axis, Chart, Form, Point, Rule, Series};
use crate::page::wrap;
use askama::Template;
use stats::Ordered;
use std::collections::{BTreeMap, BTreeSet};

/// Width of every drawing, in units of about a pixel.
const WIDTH: f64 = 760.0;
/// Height of a drawing that is not a row chart.
const HEIGHT: f64 = 340.0;
/// Height of a line of text.
const LINE: f64 = 13.0;
/// Height of a row with one line of text: in charts with few rows, and with many.
const ROW: [f64; 2] = [34.0, 26.0];
/// Largest number of rows that counts as few.
const FEW_ROWS: usize = 8;
/// Space above the data: for the title of the ordinate, and for the letters of vertical rules.
const TOP: f64 = 26.0;
const LETTERS: f64 = 12.0;
/// Space for half of the last label, and for the letters of horizontal rules.
const RIGHT: f64 = 34.0;
const BOTTOM: f64 = 48.0;
/// Mean width of a letter in labels.
const LETTER: f64 = 6.5;
/// Smallest and largest space for the labels of the ordinate.
const LABELS: (f64, f64) = (34.0, 300.0);
/// Least distance between the letters of two rules.
const APART: f64 = 13.0;
/// Margin drawn beyond the frame, so that marks at its edge are complete.
const MARGIN: f64 = 6.0;
/// Share of a row that its bars fill.
const BARS: f64 = 0.7;
/// Distance between the first and the last of the series whose error bars would hide each other.
const DODGE: f64 = 4.0;
/// Curves with more points have no tooltips in the static drawing.
const TOOLTIPS_MAX: usize = 80;
/// Characters per line of the conclusion in a separate file.
const FILE_LETTERS: usize = 118;

/// Position of the data within a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn of(chart: &Chart) -> Self {
        let longest = chart.y.ticks.iter().map(|tick| chart.y.label(*tick).chars().count()).max();
        let left = (longest.unwrap_or(0) as f64 * LETTER + 10.0).clamp(LABELS.0, LABELS.1).round();
        let upright = chart.rules.iter().any(|rule| rule.upright);
        let titled = if chart.y.title.is_empty() { 8.0 } else { TOP };
        let top = titled + if upright { LETTERS } else { 0.0 };
        let height = match chart.is_rows() {
            true => {
                let labels = chart.y.names.iter().map(|name| row_label(name, left).len());
                let lines = labels.max().unwrap_or(1).max(1) as f64;
                let row = ROW[usize::from(chart.y.names.len() > FEW_ROWS)];
                top + BOTTOM + (row + LINE * (lines - 1.0)) * chart.y.names.len() as f64
            }
            false => HEIGHT,
        };
        Self { width: WIDTH, height, left, right: WIDTH - RIGHT, top, bottom: height - BOTTOM }
    }
}

/// The lines of a row's label in the given space.
fn row_label(name: &str, room: f64) -> Vec<String> {
    let letters = ((room - 8.0) / LETTER) as usize;
    wrap(name, letters, letters)
}

/// The labels of an axis that fit, each with its position. If neighbours would touch, only every
/// second, third and so on is kept.
fn fitting(axis: &Axis, place: impl Fn(f64) -> f64, level: bool) -> Vec<(f64, String)> {
    let labels = axis.ticks.iter().map(|&tick| (place(tick), axis.label(tick)));
    let labels: Vec<(f64, String)> = labels.collect();
    let half = |label: &str| match level {
        true => label.chars().count() as f64 * LETTER / 2.0 + 4.0,
        false => LINE / 2.0 + 1.0,
    };
    let free = |every: usize| {
        let shown: Vec<&(f64, String)> = labels.iter().step_by(every).collect();
        shown.windows(2).all(|p| (p[1].0 - p[0].0).abs() >= half(&p[0].1) + half(&p[1].1))
    };
    let every = (1..labels.len().max(2)).find(|every| free(*every)).unwrap_or(labels.len());
    labels.into_iter().step_by(every.max(1)).collect()
}

struct Drawing<'a> {
    chart: &'a Chart,
    frame: Frame,
    looks: Vec<Look>,
    /// Shift of each series along the abscissa.
    dodges: Vec<f64>,
}

#[derive(Template)]
#[template(path = "chart.svg")]
struct ChartSvg<'a> {
    frame: Frame,
    label: String,
    attributes: &'a str,
    scales: Vec<Shape>,
    /// Attributes of the nested drawing that clips the data.
    data: String,
    /// Shapes with their class: the rules first, then each series.
    layers: Vec<(String, Vec<Shape>)>,
}

#[derive(Template)]
#[template(path = "file.svg")]
struct FileSvg<'a> {
    chart: &'a Chart,
    width: f64,
    height: f64,
    style: String,
    finding: Vec<(f64, String)>,
    drawing: String,
    legend: Vec<(f64, Sample)>,
}

impl Chart {
    /// The drawing as an SVG element. `attributes` are added to it and must not contain text from outside.
    #[must_use]
    pub(crate) fn svg(&self, attributes: &str) -> String {
        let frame = Frame::of(self);
        let drawing =
            Drawing { chart: self, frame, looks: looks(&self.series), dodges: self.dodges() };
        let (x, y) = (frame.left - MARGIN, frame.top - MARGIN);
        let width = frame.right - frame.left + 2.0 * MARGIN;
        let height = frame.bottom - frame.top + 2.0 * MARGIN;
        let view = format!("viewBox=\"{x} {y} {width} {height}\"");
        let rules = self.rules.iter().filter_map(|rule| drawing.rule(rule)).collect();
        let series = self.series.iter().enumerate();
        let series = series.map(|(index, series)| {
            (drawing.looks[index].class.clone(), drawing.series(index, series))
        });
        let mut scales = drawing.scales();
        scales.extend(drawing.letters());
        let svg = ChartSvg {
            frame,
            label: self.spoken(),
            attributes,
            scales,
            data: format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {view}"),
            layers: [("rules".to_owned(), rules)].into_iter().chain(series).collect(),
        };
        svg.to_string()
    }

    /// The drawing as a separate file, with title, conclusion and legend.
    #[must_use]
    pub fn svg_file(&self) -> String {
        let finding = wrap(&self.finding, FILE_LETTERS, FILE_LETTERS);
        let head = 30.0 + 14.0 * finding.len() as f64;
        let frame = Frame::of(self);
        let end = head + frame.height;
        let legend = Sample::of(self).into_iter().filter(|sample| !sample.name.is_empty());
        let legend = legend.enumerate().map(|(line, sample)| (end + 15.0 * line as f64, sample));
        let legend: Vec<(f64, Sample)> = legend.collect();
        let lines = finding.into_iter().enumerate();
        let lines = lines.map(|(line, text)| (34.0 + 14.0 * line as f64, text));
        let place = format!(" x=\"0\" y=\"{head}\" width=\"{WIDTH}\" height=\"{}\"", frame.height);
        let file = FileSvg {
            chart: self,
            width: WIDTH,
            height: end + 15.0 * legend.len() as f64 + 8.0,
            style: file_style(),
            finding: lines.collect(),
            drawing: self.svg(&place),
            legend,
        };
        crate::page::escape_lines(&file.to_string())
    }

    /// Title and conclusion, for readers who cannot see the drawing.
    pub(crate) fn spoken(&self) -> String {
        match self.finding.is_empty() {
            true => self.title.clone(),
            false => format!("{}. {}", self.title, self.finding),
        }
    }

    /// A point as text: `reads, 64 KiB: 118 MB/s (116 MB/s to 120 MB/s), knee`.
    fn told(&self, series: &Series, point: &Point) -> String {
        let (across, value) = self.axes();
        let (at, of) = self.at_and_value(point);
        let mut text = format!("{}: {}", across.label(at), value.value(of));
        if let (Some(low), Some(high)) = (point.low, point.high) {
            text += &format!(" ({} to {})", value.value(low), value.value(high));
        }
        let parts = [series.name.as_str(), &text, &point.remark];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Offset of a series' bars from the middle of their rows, and their height, both in rows.
    #[must_use]
    pub fn bar(&self, series: usize) -> (f64, f64) {
        let form = self.series[series].form;
        if form == Form::Stack {
            return (0.0, BARS);
        }
        let bars: Vec<usize> =
            (0..self.series.len()).filter(|index| self.series[*index].form == Form::Bars).collect();
        let Some(place) = bars.iter().position(|index| *index == series) else {
            return (0.0, 0.0);
        };
        let height = BARS / bars.len() as f64;
        ((place as f64 - (bars.len() as f64 - 1.0) / 2.0) * height, height)
    }

    /// Shift of each series along the abscissa, in units of the drawing. It is zero, so that points are on
    /// their ticks, except for series whose error bars would hide each other, and in a row chart.
    #[must_use]
    pub fn dodges(&self) -> Vec<f64> {
        let mut bars_at: BTreeMap<u64, Vec<(usize, f64, f64)>> = BTreeMap::new();
        let marked = |series: &Series| matches!(series.form, Form::Curve | Form::Marks);
        let series = self.series.iter().enumerate();
        for (index, series) in series.filter(|(_, it)| marked(it) && !self.is_rows()) {
            for point in &series.points {
                if let (Some(low), Some(high)) = (point.low, point.high) {
                    bars_at.entry(point.x.to_bits()).or_default().push((index, low, high));
                }
            }
        }
        let mut hidden = BTreeSet::new();
        for bars in bars_at.values() {
            for &(index, low, high) in bars {
                let overlaps = |other: &(usize, f64, f64)| {
                    other.0 != index && other.1 <= high && low <= other.2
                };
                hidden.extend(bars.iter().any(overlaps).then_some(index));
            }
        }
        let mut dodges = vec![0.0; self.series.len()];
        let most = hidden.len().saturating_sub(1).max(1) as f64;
        for (place, index) in hidden.into_iter().enumerate() {
            dodges[index] = DODGE * (place as f64 / most - 0.5);
        }
        dodges
    }

    /// Start of a stacked bar of this row: the end of the previous series' bars.
    #[must_use]
    pub fn base(&self, series: usize, row: f64) -> f64 {
        let before = self.series[..series].iter().filter(|series| series.form == Form::Stack);
        let points = before.flat_map(|series| series.points.iter().filter(|point| point.y == row));
        points.map(|point| point.x).sum()
    }
}

impl Drawing<'_> {
    fn across(&self, x: f64) -> f64 {
        self.frame.left + self.chart.x.share(x) * (self.frame.right - self.frame.left)
    }

    fn down(&self, y: f64) -> f64 {
        self.frame.bottom - self.chart.y.share(y) * (self.frame.bottom - self.frame.top)
    }

    fn scales(&self) -> Vec<Shape> {
        let (chart, Frame { left, right, top, bottom, height, .. }) = (self.chart, self.frame);
        let mut shapes = Vec::new();
        if chart.is_rows() {
            for (row, name) in chart.y.names.iter().enumerate() {
                let lines = row_label(name, left);
                let first = self.down(row as f64) + 4.0 - LINE * (lines.len() as f64 - 1.0) / 2.0;
                shapes.extend(lines.iter().enumerate().map(|(line, text)| {
                    Shape::text("", (left - 6.0, first + LINE * line as f64), "end", text)
                }));
            }
        } else {
            for (y, label) in fitting(&chart.y, |tick| self.down(tick), false) {
                shapes.push(Shape::path("grid", format!("M{left} {y:.1}H{right}")));
                shapes.push(Shape::text("", (left - 6.0, y + 4.0), "end", &label));
            }
        }
        for (x, label) in fitting(&chart.x, |tick| self.across(tick), true) {
            shapes.push(Shape::path("grid", format!("M{x:.1} {top}V{bottom}")));
            shapes.push(Shape::path("axis", format!("M{x:.1} {bottom}v4")));
            shapes.push(Shape::text("", (x, bottom + 19.0), "middle", &label));
        }
        shapes.push(Shape::path("axis", format!("M{left} {top}V{bottom}H{right}")));
        let below = ((left + right) / 2.0, height - 9.0);
        shapes.push(Shape::text("title", below, "middle", &chart.x.title));
        shapes.push(Shape::text("title", (2.0, 11.0), "start", &chart.y.title));
        shapes
    }

    /// The letters of the rules, at the edge and not overlapping.
    fn letters(&self) -> Vec<Shape> {
        let Frame { right, top, .. } = self.frame;
        let mut shapes = Vec::new();
        for upright in [true, false] {
            let rules = self.chart.rules.iter().enumerate();
            let rules = rules.filter(|(_, rule)| rule.upright == upright && self.is_within(rule));
            let place =
                |rule: &Rule| if upright { self.across(rule.at) } else { self.down(rule.at) };
            let mut places: Vec<(f64, usize)> =
                rules.map(|(index, rule)| (place(rule), index)).collect();
            places.sort_by_cached_key(|one| Ordered(one.0));
            let mut last = f64::NEG_INFINITY;
            for (place, index) in places {
                let place = place.max(last + APART);
                last = place;
                let letter = rule_letter(index).to_string();
                shapes.push(match upright {
                    true => Shape::text("half", (place, top - 4.0), "middle", &letter),
                    false => Shape::text("half", (right + 8.0, place + 4.0), "start", &letter),
                });
            }
        }
        shapes
    }

    fn is_within(&self, rule: &Rule) -> bool {
        let axis = if rule.upright { &self.chart.x } else { &self.chart.y };
        (0.0..=1.0).contains(&axis.share(rule.at))
    }

    fn rule(&self, rule: &Rule) -> Option<Shape> {
        let Frame { left, right, top, bottom, .. } = self.frame;
        let path = match rule.upright {
            true => format!("M{:.1} {top}V{bottom}", self.across(rule.at)),
            false => format!("M{left} {:.1}H{right}", self.down(rule.at)),
        };
        self.is_within(rule).then(|| Shape::path("half", path))
    }

    fn series(&self, index: usize, series: &Series) -> Vec<Shape> {
        let (look, aside) = (&self.looks[index], self.dodges[index]);
        let place = |point: &Point| (self.across(point.x) + aside, self.down(point.y));
        let mut shapes = Vec::new();
        if series.form == Form::Trace {
            shapes.extend(self.band(series));
        }
        if matches!(series.form, Form::Trace | Form::Curve) && series.points.len() > 1 {
            let path = path(series.points.iter().map(place));
            shapes.push(look.line(format!("M{path}")));
        }
        let (beside, height) = self.chart.bar(index);
        if matches!(series.form, Form::Bars | Form::Stack) {
            shapes.extend(series.points.iter().map(|point| {
                let base = self.chart.base(index, point.y);
                let (base, to) = match series.form {
                    Form::Stack => (base, base + point.x),
                    _ => (self.chart.x.range.0, point.x),
                };
                let from = self.across(base).max(self.frame.left);
                let to = self.across(to).max(from);
                let end = |side: f64| self.down(point.y + beside + side * height / 2.0);
                let [high, low] = [-1.0, 1.0].map(end);
                let path = format!("M{from:.1} {high:.1}H{to:.1}V{low:.1}H{from:.1}z");
                Shape::path("bar", path).tip(self.chart.told(series, point))
            }));
        }
        if !matches!(series.form, Form::Trace | Form::Stack) {
            shapes.extend(self.errors(series, beside, aside));
        }
        if matches!(series.form, Form::Curve | Form::Marks) {
            let tooltips = series.points.len() <= TOOLTIPS_MAX;
            shapes.extend(series.points.iter().map(|point| {
                let tip = tooltips.then(|| self.chart.told(series, point));
                look.mark_at(place(point)).tip(tip.unwrap_or_default())
            }));
        }
        shapes
    }

    /// Position of an interval's end, limited to the edge, and whether it is within the drawing.
    fn end(&self, value: f64) -> (f64, bool) {
        let (place, from, to) = match self.chart.is_rows() {
            true => (self.across(value), self.frame.left, self.frame.right),
            false => (self.down(value), self.frame.top, self.frame.bottom),
        };
        let limited = if place.is_nan() { to } else { place.clamp(from, to) };
        (limited, limited == place)
    }

    fn band(&self, series: &Series) -> Option<Shape> {
        let ends = series.points.iter();
        let ends = ends.filter_map(|point| Some((self.across(point.x), point.low?, point.high?)));
        let ends: Vec<(f64, f64, f64)> = ends.collect();
        let low = path(ends.iter().map(|&(x, low, _)| (x, self.end(low).0)));
        let high = path(ends.iter().rev().map(|&(x, _, high)| (x, self.end(high).0)));
        (ends.len() > 1).then(|| Shape::path("band", format!("M{low}L{high}z")))
    }

    /// Error bars. A bar that leaves the drawing has no cap there.
    fn errors(&self, series: &Series, beside: f64, aside: f64) -> Option<Shape> {
        let bars = series.points.iter().filter_map(|point| {
            let ends = [self.end(point.low?), self.end(point.high?)];
            let [(low, _), (high, _)] = ends;
            let caps = ends.iter().filter(|(_, inside)| *inside);
            Some(if self.chart.is_rows() {
                let y = self.down(point.y + beside);
                let caps = caps.map(|(x, _)| format!("M{x:.1} {:.1}v6", y - 3.0));
                format!("M{low:.1} {y:.1}H{high:.1}{}", caps.collect::<String>())
            } else {
                let x = self.across(point.x) + aside;
                let caps = caps.map(|(y, _)| format!("M{:.1} {y:.1}h5", x - 2.5));
                format!("M{x:.1} {low:.1}V{high:.1}{}", caps.collect::<String>())
            })
        });
        let path: String = bars.collect();
        (!path.is_empty()).then(|| Shape::path("error", path))
    }
}

fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let places = places.map(|(x, y)| format!("{x:.1} {y:.1}"));
    places.collect::<Vec<_>>().join("L")
}
