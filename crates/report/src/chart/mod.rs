//! One model of a plot, whoever draws it.
//!
//! Where something is drawn is decided by the axes alone. Rejected: drawing straight from documents
//! (each kind of page had its own error bars, or none), and a general grammar of graphics (a dozen
//! forms are all that the papers use).
//!
//! `axis` places values and writes them, `look` tells series apart, `draw` makes the static SVG,
//! `data` what the script, the table and the CSV take.

mod axis;
mod data;
mod draw;
mod look;
mod shape;

pub use axis::Axis;
pub use data::CSV_HEADER;

pub(crate) use axis::extremes;
pub(crate) use look::{MARKS, page_style};

use crate::page::Tone;

/// One value with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Abscissa; in a chart of rows the value.
    pub x: f64,
    /// Ordinate; in a chart of rows the row, from 0.
    pub y: f64,
    /// Lower end of the interval of the value; `None` where it has none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What else is worth reading at it (`knee`); empty for most.
    pub remark: String,
}

impl Point {
    /// A value without an interval.
    #[must_use]
    pub fn bare(x: f64, y: f64) -> Self {
        Self { x, y, low: None, high: None, remark: String::new() }
    }

    /// A value with an interval from `low` to `high`.
    #[must_use]
    pub fn within(x: f64, y: f64, low: f64, high: f64) -> Self {
        Self { x, y, low: Some(low), high: Some(high), remark: String::new() }
    }

    /// An estimate over an abscissa.
    #[must_use]
    pub fn estimate(x: f64, estimate: &record::Estimate) -> Self {
        Self::within(x, estimate.value, estimate.low, estimate.high)
    }

    /// The same of one that may have no interval, and then has no bar.
    #[must_use]
    pub fn known(x: f64, estimate: &record::Estimate) -> Self {
        let known = estimate.high > estimate.low;
        if known { Self::estimate(x, estimate) } else { Self::bare(x, estimate.value) }
    }

    /// The same with abscissa and ordinate exchanged, for a chart of rows.
    #[must_use]
    pub fn across(self) -> Self {
        Self { x: self.y, y: self.x, ..self }
    }

    /// The same with a remark.
    #[must_use]
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
    /// A line without marks; intervals are a band.
    Trace,
    /// Marks with error bars.
    Marks,
    /// Bars from the left edge, in a chart of rows.
    Bars,
    /// Bars, each from the end of that of the series before it, in a chart of rows; without intervals.
    Stack,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// How they are drawn.
    pub form: Form,
    /// By rising abscissa; in a chart of rows by row.
    pub points: Vec<Point>,
    /// A judgement that gives them its colour; [`Tone::Plain`] where they are told apart by name.
    pub tone: Tone,
}

impl Series {
    /// A series without the points that have no place in any drawing.
    #[must_use]
    pub fn new(name: impl Into<String>, form: Form, points: Vec<Point>) -> Self {
        let points = points.into_iter().filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
        Self { name: name.into(), form, points, tone: Tone::Plain }
    }

    /// Whether its intervals make a band.
    pub(crate) fn has_band(&self) -> bool {
        self.points.iter().filter(|point| point.low.is_some()).count() > 1
    }

    /// The same in the colour of a judgement.
    #[must_use]
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

/// The same of a chart of rows, whose values are abscissas.
pub(crate) fn ends_across(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    points(series).flat_map(|point| [Some(point.x), point.low, point.high]).flatten()
}

/// A straight line across the whole drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Whether it stands upright, at an abscissa.
    pub upright: bool,
    /// Where.
    pub at: f64,
    /// What it is.
    pub name: String,
}

impl Rule {
    /// A level line.
    #[must_use]
    pub fn level(at: f64, name: impl Into<String>) -> Self {
        Self { upright: false, at, name: name.into() }
    }

    /// An upright line.
    #[must_use]
    pub fn upright(at: f64, name: impl Into<String>) -> Self {
        Self { upright: true, at, name: name.into() }
    }
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, a few words.
    pub title: String,
    /// What it says, one sentence from its own data.
    pub finding: String,
    /// What error bars and bands are, and where values have none, why.
    pub errors: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate; with names in a chart of rows.
    pub y: Axis,
    /// The data.
    pub series: Vec<Series>,
    /// The half-power line and others.
    pub rules: Vec<Rule>,
}

impl Chart {
    /// Whether values lie along the abscissa, one row below the other.
    #[must_use]
    pub fn is_rows(&self) -> bool {
        !self.y.names.is_empty()
    }

    /// The chart, unless there is nothing to draw.
    pub(crate) fn unless_empty(self) -> Option<Self> {
        let any = self.series.iter().any(|series| !series.points.is_empty());
        any.then_some(self)
    }
}
