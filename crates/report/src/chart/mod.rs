//! One model of a plot, whoever draws it.
//!
//! A [`Chart`] is data: axes, series with error bars, lines such as the half-power line, and the
//! sentence that a reader should take away. The static drawing, the drawing of the page's script,
//! the table for readers who do not see either, the CSV and the summary in Markdown are all made of
//! it, so that none of them can show something else. Where something is drawn is decided by the
//! axes alone. Rejected: drawing straight from documents (each kind of page had its own error
//! bars, or none), and a general grammar of graphics (a dozen forms are all that the papers use).
//!
//! `axis` places values and writes them, `look` tells series apart, `draw` makes the static SVG,
//! `data` what the script, the table and the CSV take.

mod axis;
mod data;
mod draw;
mod look;

pub use axis::Axis;

pub(crate) use data::CSV_HEADER;
pub(crate) use look::{CHART_STYLE, COLOURS, DASHES, MARKS};

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
}

impl Series {
    /// A series without the points that have no place in any drawing.
    #[must_use]
    pub fn new(name: impl Into<String>, form: Form, points: Vec<Point>) -> Self {
        let points = points.into_iter().filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
        Self { name: name.into(), form, points }
    }
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

    /// Whether there is anything to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::Unit;

    /// A chart with every form that is not of rows, and hostile names.
    pub(crate) fn example() -> Chart {
        let points = |top: f64| {
            vec![
                Point::within(2.0, 1.0, 0.8, 1.2),
                Point::within(64.0, top, top * 0.9, top * 1.1).remark("</script> \u{202e}"),
            ]
        };
        Chart {
            title: "\"x\" & <b>".to_owned(),
            finding: "It rises <script>alert(1)</script>.".to_owned(),
            errors: "bars: 95 %".to_owned(),
            x: Axis::at_values("size (KiB)", None, true, &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
            y: Axis::from_zero("rate", Some(Unit::PerSecond), [1.0, 8.7].into_iter()),
            series: vec![
                Series::new("a<0", Form::Curve, points(8.7)),
                Series::new("a<1", Form::Trace, points(4.0)),
                Series::new("a<2", Form::Marks, points(2.0)),
            ],
            rules: vec![Rule::level(4.35, "half <of> it"), Rule::upright(8.0, "8")],
        }
    }

    /// A chart of rows.
    pub(crate) fn rows() -> Chart {
        let names = ["memory <x>", "bus", "disk"].map(str::to_owned).to_vec();
        let bars =
            (0..3).map(|row| Point::within(f64::from(3 - row), f64::from(row), 0.5, 3.5)).collect();
        let marks = (0..3).map(|row| Point::bare(f64::from(4 - row), f64::from(row))).collect();
        Chart {
            title: "path".to_owned(),
            finding: "The disk binds.".to_owned(),
            errors: String::new(),
            x: Axis::from_zero("rate", Some(Unit::BytesPerSecond), [4.0].into_iter()),
            y: Axis::named(names),
            series: vec![
                Series::new("measured", Form::Bars, bars),
                Series::new("advertised", Form::Marks, marks),
            ],
            rules: Vec::new(),
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_not_drawn() {
        let points = vec![Point::bare(1.0, f64::NAN), Point::bare(2.0, 3.0)];
        assert_eq!(Series::new("", Form::Curve, points).points.len(), 1);
    }
}
