//! How series are told apart: colour, mark and dash, and the legend.
//!
//! Any two of the first dozen differ in at least two of the three, so that a drawing can be read
//! without colours. The marks are path strings around a place, so that the static drawing, the
//! legend and the page's script draw the same ones. Colours are those of Okabe and Ito, darkened or
//! lightened until each has a contrast of at least 3 to the page. Rejected: labels at the ends of
//! curves (they overlap where curves meet, and these do).

use super::draw::Shape;
use super::{Chart, Form};
use askama::Template;

pub(crate) const COLOURS: usize = 6;

/// Marks: circle, square, triangle, diamond, cross, as paths from their centre.
pub(crate) const MARKS: [&str; 5] = [
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.6 3.8l-3.6 3.8l-3.6-3.8z",
    "m-3-3l6 6m0-6l-6 6",
];

/// Colours and strokes of all drawings: in the page's style, and in that of a drawing by itself.
pub(crate) const CHART_STYLE: &str = "\
:root{--page:#fff;--ink:#1a1a1a;--faint:#5c5c5c;--rule:#d4d4d4;--half:#8a6d00;\
--s0:#0065a3;--s1:#b84a00;--s2:#00795a;--s3:#a04488;--s4:#7a5a00;--s5:#4f4f4f}\
.c0{color:var(--s0)}.c1{color:var(--s1)}.c2{color:var(--s2)}.c3{color:var(--s3)}.c4{color:var(--s4)}.c5{color:var(--s5)}\
svg text{fill:var(--ink);font:11px system-ui,sans-serif}\
.axis{stroke:var(--faint);fill:none}.grid{stroke:var(--rule);fill:none}\
.line{fill:none;stroke:currentColor;stroke-width:1.6}.error{fill:none;stroke:currentColor;stroke-width:1.1}\
.mark{fill:currentColor;stroke:currentColor;stroke-width:1}.m4{fill:none;stroke-width:1.8}\
.band{fill:currentColor;fill-opacity:.2;stroke:none}.bar{fill:currentColor;fill-opacity:.75;stroke:currentColor}\
.half{stroke:var(--half);stroke-width:1.4;stroke-dasharray:7 3;fill:none}\
svg text.half{stroke:var(--page);stroke-width:3;stroke-dasharray:none;paint-order:stroke;fill:var(--half)}\
.d1{stroke-dasharray:6 3}.d2{stroke-dasharray:2 2.5}.d3{stroke-dasharray:8 3 2 3}.d4{stroke-dasharray:4 4}";

pub(super) fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

/// The number of a series' mark, and of its dash in the style.
fn look(index: usize) -> usize {
    (index + index / COLOURS) % MARKS.len()
}

pub(super) fn line(index: usize, path: String) -> Shape {
    Shape::path(format!("line d{}", look(index)), path)
}

pub(super) fn mark_at(index: usize, (x, y): (f64, f64)) -> Shape {
    let mark = look(index);
    Shape::path(format!("mark m{mark}"), format!("M{x:.1} {y:.1}{}", MARKS[mark]))
}

/// [`CHART_STYLE`] with its colours in place of their names, which only browsers resolve: for a file
/// that any program may draw, always light.
pub(super) fn file_style() -> String {
    let (names, rest) = CHART_STYLE.split_once('}').unwrap_or_default();
    let names = names.trim_start_matches(":root{").split(';');
    names.filter_map(|name| name.split_once(':')).fold(rest.to_owned(), |style, (name, colour)| {
        style.replace(&format!("var({name})"), colour)
    })
}

/// A series as it stands in a legend: 34 by 12 units, drawn as in the chart.
pub(super) struct Sample<'a> {
    pub(super) class: String,
    pub(super) name: &'a str,
    pub(super) shapes: Vec<Shape>,
}

impl<'a> Sample<'a> {
    pub(super) fn of(chart: &'a Chart) -> Vec<Self> {
        let samples = chart.series.iter().enumerate().map(|(index, series)| {
            let line = || line(index, "M1 6H33".to_owned());
            let mark = || mark_at(index, (17.0, 6.0));
            let area = |class, d: &str| Shape::path(class, d.to_owned());
            let shapes = match series.form {
                Form::Curve => vec![line(), mark()],
                Form::Trace => vec![area("band", "M1 1H33V11H1z"), line()],
                Form::Marks => vec![mark()],
                Form::Bars => vec![area("bar", "M1 2H33V10H1z")],
            };
            Self { class: colour(index), name: &series.name, shapes }
        });
        samples.collect()
    }
}

#[derive(Template)]
#[template(path = "legend.html")]
struct Legend<'a> {
    samples: Vec<Sample<'a>>,
}

impl Chart {
    pub(crate) fn legend(&self) -> String {
        Legend { samples: Sample::of(self) }.to_string()
    }
}
