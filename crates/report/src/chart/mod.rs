//! Defines one model of a plot for all renderers.
//!
//! The axes alone determine where data are drawn. Rejected: drawing straight from documents (each
//! kind of page had its own error bars, or none), and a general grammar of graphics (the papers use
//! only a dozen forms).
//!
//! `axis` places and formats values, `look` distinguishes series, `draw` makes the static SVG, and
//! `data` makes the data for the script, the table and the CSV.

mod axis;
mod data;
mod draw;
mod look;
mod shape;

pub use axis::{Axis, Values};
pub use data::CSV_HEADER;

pub(crate) use axis::extremes;
pub(crate) use look::{MARKS, page_style};

use crate::page::Tone;

/// One value with its interval.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Point {
    /// Abscissa; in a row chart the value.
    pub x: f64,
    /// Ordinate; in a row chart the row index, from 0.
    pub y: f64,
    /// Lower end of the value's interval; `None` without one.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// A remark on the point (`knee`); usually empty.
    pub remark: String,
}

impl Point {
    /// A value without an interval.
    pub fn bare(x: f64, y: f64) -> Self {
        Self { x, y, low: None, high: None, remark: String::new() }
    }

    /// A value with an interval from `low` to `high`.
    pub fn within(x: f64, y: f64, low: f64, high: f64) -> Self {
        Self { x, y, low: Some(low), high: Some(high), remark: String::new() }
    }

    /// An estimate over an abscissa.
    pub fn estimate(x: f64, estimate: &record::Estimate) -> Self {
        Self::within(x, estimate.value, estimate.low, estimate.high)
    }

    /// An estimate with an interval if it has one, otherwise without an error bar.
    pub fn known(x: f64, estimate: &record::Estimate) -> Self {
        let known = estimate.high > estimate.low;
        if known { Self::estimate(x, estimate) } else { Self::bare(x, estimate.value) }
    }

    /// Exchanges abscissa and ordinate, for a row chart.
    pub fn across(self) -> Self {
        Self { x: self.y, y: self.x, ..self }
    }

    /// Adds a remark.
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line through marks with error bars.
    Curve,
    /// A line without marks; the intervals form a band.
    Trace,
    /// Marks with error bars.
    Marks,
    /// Bars from the left edge, in a row chart.
    Bars,
    /// Stacked bars without intervals, in a row chart: each begins at the end of the previous series.
    Stack,
}

/// A series of related values.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// How they are drawn.
    pub form: Form,
    /// The points in order of abscissa; in a row chart in order of row.
    pub points: Vec<Point>,
    /// The tone that determines its colour; [`Tone::Plain`] if series are distinguished by name.
    pub tone: Tone,
}

impl Series {
    /// Creates a series. Points that are not finite are dropped.
    pub fn new(name: impl Into<String>, form: Form, points: Vec<Point>) -> Self {
        let points = points.into_iter().filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
        Self { name: name.into(), form, points, tone: Tone::Plain }
    }

    /// Whether its intervals form a band.
    pub(crate) fn has_band(&self) -> bool {
        self.points.iter().filter(|point| point.low.is_some()).count() > 1
    }

    /// Sets the tone.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

pub(crate) fn points(series: &[Series]) -> impl Iterator<Item = &Point> + Clone {
    series.iter().flat_map(|series| &series.points)
}

pub(crate) fn xs(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    points(series).map(|point| point.x)
}

pub(crate) fn ys(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    points(series).map(|point| point.y)
}

/// Their values and the ends of their intervals.
pub(crate) fn ends(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    points(series).flat_map(|point| [Some(point.y), point.low, point.high]).flatten()
}

/// The same for a row chart, whose values are abscissas.
pub(crate) fn ends_across(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    points(series).flat_map(|point| [Some(point.x), point.low, point.high]).flatten()
}

/// A straight line across the whole drawing.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Rule {
    /// Whether it is vertical, at an abscissa.
    pub upright: bool,
    /// Its position, in axis values.
    pub at: f64,
    /// Its meaning, for the legend.
    pub name: String,
}

impl Rule {
    /// A horizontal line.
    pub fn level(at: f64, name: impl Into<String>) -> Self {
        Self { upright: false, at, name: name.into() }
    }

    /// A vertical line.
    pub fn upright(at: f64, name: impl Into<String>) -> Self {
        Self { upright: true, at, name: name.into() }
    }
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Chart {
    /// Short title.
    pub title: String,
    /// The conclusion, in one sentence from its own data.
    pub finding: String,
    /// What error bars and bands mean, and why some values have none.
    pub errors: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate; it has names in a row chart.
    pub y: Axis,
    /// The data.
    pub series: Vec<Series>,
    /// Reference lines, such as the half-power line.
    pub rules: Vec<Rule>,
}

impl Chart {
    /// A plot without reference lines whose values have no error bars.
    pub(crate) fn new(
        title: impl Into<String>,
        finding: impl Into<String>,
        (x, y): (Axis, Axis),
        series: Vec<Series>,
    ) -> Self {
        let (title, finding) = (title.into(), finding.into());
        Self { title, finding, errors: String::new(), x, y, series, rules: Vec::new() }
    }

    /// Sets what error bars and bands mean.
    pub(crate) fn errors(self, errors: impl Into<String>) -> Self {
        Self { errors: errors.into(), ..self }
    }

    /// Adds reference lines.
    pub(crate) fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Whether it is a row chart: values along the abscissa, one row per name.
    #[must_use]
    pub fn is_rows(&self) -> bool {
        !self.y.names.is_empty()
    }

    /// The chart without empty series, or `None` if there is nothing to draw.
    pub(crate) fn unless_empty(mut self) -> Option<Self> {
        self.series.retain(|series| !series.points.is_empty());
        (!self.series.is_empty()).then_some(self)
    }
}
