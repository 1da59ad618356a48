//! The static drawing: inline SVG that needs no script.
//!
//! A chart is drawn in a fixed frame that scales with the page; at 400 pixels its text has the size
//! of small print. Here a chart becomes paths and texts at their places; the templates write them,
//! and escape all text. Every mark tells its values to a pointer that rests on it. The data lie in a
//! nested SVG, which clips at the frame without a reference by name. The page's script draws the
//! same things in the same frame; what it needs to know of it is [`Frame`]. Rejected: a canvas
//! (nothing to read for a screen reader, nothing to print sharply).

use super::look::{Sample, colour, file_style, line, mark_at};
use super::{Chart, Form, Point, Rule, Series};
use crate::page::{shortened, wrap};
use askama::Template;

/// Width of every drawing, in units of about a pixel.
const WIDTH: f64 = 420.0;
/// Height of one that is not of rows.
const HEIGHT: f64 = 262.0;
const ROW: f64 = 30.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 22.0;
const BOTTOM: f64 = 40.0;
/// Width of a letter in labels, on average.
const LETTER: f64 = 6.1;
/// Room for the labels of the ordinate, from and to.
const LABELS: (f64, f64) = (34.0, 150.0);
/// What is drawn beyond the frame, so that marks at its edge are whole.
const MARGIN: f64 = 6.0;
/// Share of a row that its bars fill.
const BARS: f64 = 0.7;
/// Curves with more points have no tooltips in the static drawing.
const TOOLTIPS_MAX: usize = 80;
/// Letters of a line of the sentence in a file of its own.
const FILE_LETTERS: usize = 68;

/// A path, or a text where it has none.
#[derive(Default, Template)]
#[template(path = "shape.svg")]
pub(crate) struct Shape {
    class: String,
    path: String,
    /// Attributes of a text.
    place: String,
    anchor: &'static str,
    /// Of a path, what is shown to a pointer that rests on it.
    text: String,
}

impl Shape {
    pub(super) fn path(class: impl Into<String>, path: String) -> Self {
        Self { class: class.into(), path, ..Self::default() }
    }

    pub(super) fn tip(self, text: String) -> Self {
        Self { text, ..self }
    }

    fn text(class: &str, (x, y): (f64, f64), anchor: &'static str, text: &str) -> Self {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\"");
        let (class, text) = (class.to_owned(), text.to_owned());
        Self { class, place, anchor, text, path: String::new() }
    }
}

/// Where the data lie within a drawing.
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
        let labels = (longest.unwrap_or(0) as f64 * LETTER + 8.0).clamp(LABELS.0, LABELS.1);
        let title = if chart.y.title.is_empty() { 0.0 } else { 16.0 };
        let height = match chart.is_rows() {
            true => TOP + BOTTOM + ROW * chart.y.names.len() as f64,
            false => HEIGHT,
        };
        Self {
            width: WIDTH,
            height,
            left: (labels + title).round(),
            right: WIDTH - RIGHT,
            top: TOP,
            bottom: height - BOTTOM,
        }
    }
}

struct Drawing<'a> {
    chart: &'a Chart,
    frame: Frame,
}

#[derive(Template)]
#[template(path = "chart.svg")]
struct ChartSvg<'a> {
    frame: Frame,
    label: String,
    attributes: &'a str,
    scales: Vec<Shape>,
    /// Attributes of the nested drawing that clips.
    data: String,
    /// Shapes of each series, the rules first, with their class.
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
    legend: Vec<(f64, Sample<'a>)>,
}

impl Chart {
    /// The drawing as an SVG element. `attributes` are more of its attributes, which may name no
    /// text from outside.
    #[must_use]
    pub(crate) fn svg(&self, attributes: &str) -> String {
        let drawing = Drawing { chart: self, frame: Frame::of(self) };
        let frame = drawing.frame;
        let (x, y) = (frame.left - MARGIN, frame.top - MARGIN);
        let width = frame.right - frame.left + 2.0 * MARGIN;
        let height = frame.bottom - frame.top + 2.0 * MARGIN;
        let rules = self.rules.iter().enumerate();
        let rules = rules.flat_map(|(place, rule)| drawing.rule(place, rule)).collect();
        let series = self.series.iter().enumerate();
        let series = series.map(|(index, series)| (colour(index), drawing.series(index, series)));
        let svg = ChartSvg {
            frame,
            label: self.spoken(),
            attributes,
            scales: drawing.scales(),
            data: format!(
                "x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 viewBox=\"{x} {y} {width} {height}\""
            ),
            layers: [("rules".to_owned(), rules)].into_iter().chain(series).collect(),
        };
        svg.to_string()
    }

    /// The drawing as a file of its own, with its title, its sentence and its legend.
    #[must_use]
    pub fn svg_file(&self) -> String {
        let finding = wrap(&self.finding, FILE_LETTERS, FILE_LETTERS);
        let head = 30.0 + 14.0 * finding.len() as f64;
        let frame = Frame::of(self);
        let end = head + frame.height;
        let legend = Sample::of(self).into_iter().filter(|sample| !sample.name.is_empty());
        let legend = legend.enumerate().map(|(line, sample)| (end + 15.0 * line as f64, sample));
        let legend: Vec<(f64, Sample<'_>)> = legend.collect();
        let place = format!(" x=\"0\" y=\"{head}\" width=\"{WIDTH}\" height=\"{}\"", frame.height);
        let file = FileSvg {
            chart: self,
            width: WIDTH,
            height: end + 15.0 * legend.len() as f64 + 8.0,
            style: file_style(),
            finding: finding
                .into_iter()
                .enumerate()
                .map(|(line, text)| (34.0 + 14.0 * line as f64, text))
                .collect(),
            drawing: self.svg(&place),
            legend,
        };
        crate::page::escape_lines(&file.to_string())
    }

    /// Title and finding, for readers who do not see the drawing.
    pub(crate) fn spoken(&self) -> String {
        match self.finding.is_empty() {
            true => self.title.clone(),
            false => format!("{}. {}", self.title, self.finding),
        }
    }

    /// A point in words: `reads, 64 KiB: 118 MB/s (116 MB/s to 120 MB/s), knee`.
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

    /// How far a series' bars lie beside the middle of their rows, and their height, in rows.
    #[must_use]
    pub fn bar(&self, series: usize) -> (f64, f64) {
        let bars: Vec<usize> =
            (0..self.series.len()).filter(|index| self.series[*index].form == Form::Bars).collect();
        let Some(place) = bars.iter().position(|index| *index == series) else {
            return (0.0, 0.0);
        };
        let height = BARS / bars.len() as f64;
        ((place as f64 - (bars.len() as f64 - 1.0) / 2.0) * height, height)
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
        for &tick in &chart.y.ticks {
            let y = self.down(tick);
            if !chart.is_rows() {
                shapes.push(Shape::path("grid", format!("M{left} {y:.1}H{right}")));
            }
            let label = shortened(&chart.y.label(tick), ((LABELS.1 - 8.0) / LETTER) as usize);
            shapes.push(Shape::text("", (left - 5.0, y + 4.0), "end", &label));
        }
        for &tick in &chart.x.ticks {
            let x = self.across(tick);
            shapes.push(match chart.is_rows() {
                true => Shape::path("grid", format!("M{x:.1} {top}V{bottom}")),
                false => Shape::path("axis", format!("M{x:.1} {bottom}v4")),
            });
            shapes.push(Shape::text("", (x, bottom + 15.0), "middle", &chart.x.label(tick)));
        }
        shapes.push(Shape::path("axis", format!("M{left} {top}V{bottom}H{right}")));
        let below = ((left + right) / 2.0, height - 8.0);
        shapes.push(Shape::text("", below, "middle", &chart.x.title));
        let place = format!("transform=\"translate(11 {}) rotate(-90)\"", (top + bottom) / 2.0);
        let title = Shape::text("", (0.0, 0.0), "middle", &chart.y.title);
        shapes.push(Shape { place, ..title });
        shapes
    }

    fn rule(&self, place: usize, rule: &Rule) -> [Shape; 2] {
        let Frame { left, right, top, bottom, .. } = self.frame;
        if rule.upright {
            let x = self.across(rule.at);
            // To the side with more room.
            let (side, anchor) =
                if x > (left + right) / 2.0 { (-4.0, "end") } else { (4.0, "start") };
            let at = (x + side, top + 9.0 + 12.0 * place as f64);
            let line = Shape::path("half", format!("M{x:.1} {top}V{bottom}"));
            [line, Shape::text("half", at, anchor, &rule.name)]
        } else {
            let y = self.down(rule.at);
            // Two lines may lie near each other: their names stand at either end.
            let (x, anchor) =
                if place.is_multiple_of(2) { (right - 3.0, "end") } else { (left + 3.0, "start") };
            let line = Shape::path("half", format!("M{left} {y:.1}H{right}"));
            [line, Shape::text("half", (x, y - 4.0), anchor, &rule.name)]
        }
    }

    fn series(&self, index: usize, series: &Series) -> Vec<Shape> {
        let mut shapes = Vec::new();
        if series.form == Form::Trace {
            shapes.extend(self.band(series));
        }
        if matches!(series.form, Form::Trace | Form::Curve) && series.points.len() > 1 {
            let path = self.line(series.points.iter().map(|point| (point.x, point.y)));
            shapes.push(line(index, format!("M{path}")));
        }
        let (beside, height) = self.chart.bar(index);
        if series.form == Form::Bars {
            shapes.extend(series.points.iter().map(|point| {
                let (x, left) = (self.across(point.x), self.frame.left);
                let end = |side: f64| self.down(point.y + beside + side * height / 2.0);
                let path =
                    format!("M{left} {:.1}H{:.1}V{:.1}H{left}z", end(-1.0), x.max(left), end(1.0));
                Shape::path("bar", path).tip(self.chart.told(series, point))
            }));
        }
        if series.form != Form::Trace {
            shapes.extend(self.errors(series, beside));
        }
        if matches!(series.form, Form::Curve | Form::Marks) {
            let tooltips = series.points.len() <= TOOLTIPS_MAX;
            shapes.extend(series.points.iter().map(|point| {
                let tip = tooltips.then(|| self.chart.told(series, point));
                let place = (self.across(point.x), self.down(point.y));
                mark_at(index, place).tip(tip.unwrap_or_default())
            }));
        }
        shapes
    }

    fn line(&self, values: impl Iterator<Item = (f64, f64)>) -> String {
        let places = values.map(|(x, y)| format!("{:.1} {:.1}", self.across(x), self.down(y)));
        places.collect::<Vec<_>>().join("L")
    }

    fn band(&self, series: &Series) -> Option<Shape> {
        let ends = series.points.iter();
        let ends = ends.filter_map(|point| Some((point.x, point.low?, point.high?)));
        let ends: Vec<(f64, f64, f64)> = ends.collect();
        let low = self.line(ends.iter().map(|&(x, low, _)| (x, low)));
        let high = self.line(ends.iter().rev().map(|&(x, _, high)| (x, high)));
        (ends.len() > 1).then(|| Shape::path("band", format!("M{low}L{high}z")))
    }

    fn errors(&self, series: &Series, beside: f64) -> Option<Shape> {
        let bars = series.points.iter().filter_map(|point| {
            let (low, high) = (point.low?, point.high?);
            Some(if self.chart.is_rows() {
                let y = self.down(point.y + beside);
                let (low, high, top) = (self.across(low), self.across(high), y - 3.0);
                format!("M{low:.1} {y:.1}H{high:.1}M{low:.1} {top:.1}v6M{high:.1} {top:.1}v6")
            } else {
                let x = self.across(point.x);
                let (low, high, left) = (self.down(low), self.down(high), x - 2.5);
                format!("M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h5M{left:.1} {high:.1}h5")
            })
        });
        let path: String = bars.collect();
        (!path.is_empty()).then(|| Shape::path("error", path))
    }
}
