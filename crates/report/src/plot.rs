//! Plots as inline SVG: curves with markers on linear or logarithmic axes.
//!
//! A plot is drawn in a fixed frame that scales with the page; at 400 pixels its text has the size
//! of small print. Curves differ by colour, marker and dash, so that the plot can be read without
//! colours, and every marker tells its values to a pointer that rests on it. Ordinates begin at
//! zero, because a reader compares heights. Rejected: labels at the ends of curves (they overlap
//! where curves meet, and these do), a script for tooltips.

use crate::html::escape_html;
use crate::number;
use std::fmt::Write;

/// The frame and the room inside it, in units of about a pixel.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 236.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
/// Colours, markers and dashes before they repeat.
const COLOURS: usize = 6;
const MARKERS: usize = 5;
/// Most labels at an axis.
const TICKS_MAX: usize = 9;

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Title with its unit.
    pub(crate) title: String,
    /// Whether it is logarithmic.
    pub(crate) log: bool,
    /// From, to.
    pub(crate) range: (f64, f64),
    /// Where it has labels.
    pub(crate) ticks: Vec<f64>,
}

/// A curve.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// What it is.
    pub(crate) name: String,
    /// Its place in the legend, which decides how it looks.
    pub(crate) index: usize,
    /// By rising abscissa.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// What it shows, for readers who do not see it.
    pub(crate) title: String,
    /// Abscissa.
    pub(crate) x: Axis,
    /// Ordinate.
    pub(crate) y: Axis,
    /// Curves.
    pub(crate) curves: Vec<Curve>,
}

impl Axis {
    /// From zero to a round number above the largest value.
    pub(crate) fn from_zero(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let step = round_step(if largest > 0.0 { largest } else { 1.0 } / 5.0);
        let count = (largest / step).ceil().max(1.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
        let range = (0.0, count as f64 * step);
        Self { title: title.to_owned(), log: false, range, ticks }
    }

    /// Over the values, labelled at values, of which some are left out where there are many.
    pub(crate) fn over(title: &str, log: bool, values: &[f64]) -> Self {
        let mut ticks: Vec<f64> =
            values.iter().copied().filter(|value| value.is_finite()).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let range = (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(1.0));
        if !log {
            let step = round_step((range.1 - range.0).max(1e-9) / 5.0);
            let from = (range.0 / step).ceil() as i64;
            let to = (range.1 / step).floor() as i64;
            ticks = (from..=to).map(|at| at as f64 * step).collect();
        }
        let every = ticks.len().div_ceil(TICKS_MAX).max(1);
        let ticks = ticks.into_iter().step_by(every).collect();
        Self { title: title.to_owned(), log: log && range.0 > 0.0, range, ticks }
    }

    /// Where a value lies, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).log2() } else { value };
        let (low, high) = (scale(self.range.0), scale(self.range.1));
        if high > low { (scale(value) - low) / (high - low) } else { 0.5 }
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powi(least.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(power)
}

impl Plot {
    /// The plot as an SVG element.
    pub(crate) fn svg(&self) -> String {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape_html(&self.title)
        );
        self.axes(&mut svg);
        for curve in &self.curves {
            self.curve(&mut svg, curve);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT);
        let down = HEIGHT - BOTTOM - self.y.share(y) * (HEIGHT - TOP - BOTTOM);
        (across, down)
    }

    fn axes(&self, svg: &mut String) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for &tick in &self.y.ticks {
            let (_, y) = self.place((self.x.range.0, tick));
            let _ = write!(svg, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>");
            let (x, y, label) = (LEFT - 5.0, y + 4.0, tick_label(tick));
            let _ =
                writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{label}</text>");
        }
        for &tick in &self.x.ticks {
            let (x, _) = self.place((tick, 0.0));
            let _ = write!(svg, "<path class=\"axis\" d=\"M{x:.1} {bottom}v4\"/>");
            let (y, label) = (bottom + 15.0, tick_label(tick));
            let _ =
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let (middle, end) = ((LEFT + right) / 2.0, HEIGHT - 8.0);
        let title = escape_html(&self.x.title);
        let _ =
            writeln!(svg, "<text x=\"{middle}\" y=\"{end}\" text-anchor=\"middle\">{title}</text>");
        let (middle, title) = ((TOP + bottom) / 2.0, escape_html(&self.y.title));
        let _ = writeln!(
            svg,
            "<text transform=\"translate(11 {middle}) rotate(-90)\" text-anchor=\"middle\">{title}</text>"
        );
    }

    fn curve(&self, svg: &mut String, curve: &Curve) {
        let places: Vec<(f64, f64)> = curve.points.iter().map(|&point| self.place(point)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let look = look(curve.index);
        if path.len() > 1 {
            let _ = writeln!(svg, "<path d=\"M{}\" {look}/>", path.join("L"));
        }
        for (&(x, y), &(at, value)) in places.iter().zip(&curve.points) {
            let name = escape_html(&curve.name);
            let (at, value) = (number::digits(at), number::digits(value));
            let marker = marker(curve.index, x, y);
            let _ = writeln!(svg, "<g>{marker}<title>{name}, {at}: {value}</title></g>");
        }
    }
}

/// A round number without the zeros that say nothing.
fn tick_label(value: f64) -> String {
    let label = number::digits(value);
    match label.contains('.') {
        true => label.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => label,
    }
}

/// A legend of named curves, as HTML.
pub(crate) fn legend<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut html = String::from("<ul class=\"legend\">\n");
    for (index, name) in names.enumerate() {
        let (look, marker) = (look(index), marker(index, 17.0, 6.0));
        let name = escape_html(name);
        let _ = writeln!(
            html,
            "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path d=\"M1 6H33\" {look}/>{marker}\
             </svg> {name}</li>"
        );
    }
    html.push_str("</ul>\n");
    html
}

/// Colour and dash of a line.
fn look(index: usize) -> String {
    let dash = ["", "6 3", "2 2.5", "8 3 2 3", "4 4"][(index + index / COLOURS) % 5];
    let colour = index % COLOURS;
    format!(
        "style=\"fill:none;stroke:var(--s{colour});stroke-width:1.6;stroke-dasharray:{}\"",
        if dash.is_empty() { "none" } else { dash }
    )
}

/// Circle, square, triangle, diamond or cross around a place.
fn marker(index: usize, x: f64, y: f64) -> String {
    let colour = format!("var(--s{})", index % COLOURS);
    let filled = format!("style=\"fill:{colour};stroke:{colour}\"");
    match (index + index / COLOURS) % MARKERS {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" {filled}/>"),
        1 => format!("<path d=\"M{:.1} {:.1}h5.4v5.4h-5.4z\" {filled}/>", x - 2.7, y - 2.7),
        2 => format!("<path d=\"M{x:.1} {:.1}l3.4 6h-6.8z\" {filled}/>", y - 3.6),
        3 => format!("<path d=\"M{x:.1} {:.1}l3.6 3.8l-3.6 3.8l-3.6 -3.8z\" {filled}/>", y - 3.8),
        _ => format!(
            "<path d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\" style=\"fill:none;stroke:{colour};stroke-width:1.8\"/>",
            x - 3.0,
            y - 3.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        let curve = |index, top| Curve {
            name: format!("a<{index}"),
            index,
            points: vec![(2.0, 1.0), (64.0, top)],
        };
        Plot {
            title: "\"x\"".to_owned(),
            x: Axis::over("size (KiB)", true, &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
            y: Axis::from_zero("rate (MiB/s)", [1.0, 8.7].into_iter()),
            curves: vec![curve(0, 8.7), curve(1, 4.0)],
        }
    }

    #[test]
    fn ordinates_begin_at_zero_and_end_at_a_round_number() {
        let plot = plot();
        assert_eq!(plot.y.range, (0.0, 10.0));
        assert_eq!(plot.y.ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis::from_zero("", [0.0].into_iter()).range, (0.0, 0.2));
    }

    #[test]
    fn labels_of_axes_have_no_idle_zeros() {
        assert_eq!([0.0, 2.0, 0.2, 192.0, 20.0].map(tick_label), ["0", "2", "0.2", "192", "20"]);
    }

    #[test]
    fn a_logarithmic_axis_gives_each_doubling_the_same_room() {
        let x = plot().x;
        let room = |from: f64| x.share(from * 2.0) - x.share(from);
        assert!((room(2.0) - room(32.0)).abs() < 1e-12);
        assert_eq!((x.share(2.0), x.share(64.0)), (0.0, 1.0));
    }

    #[test]
    fn axes_carry_their_units_and_text_is_escaped() {
        let svg = plot().svg();
        assert!(svg.contains(">size (KiB)<") && svg.contains(">rate (MiB/s)<"), "{svg}");
        assert!(svg.contains("a&lt;1, 64.0: 4.00") && !svg.contains("a<1"), "{svg}");
        assert!(svg.contains("aria-label=\"&quot;x&quot;\""), "{svg}");
    }

    #[test]
    fn no_two_of_the_first_curves_look_alike() {
        let looks: std::collections::BTreeSet<String> =
            (0..12).map(|index| look(index) + &marker(index, 0.0, 0.0)).collect();
        assert_eq!(looks.len(), 12);
        assert!(legend(["a", "b"].into_iter()).matches("<li>").count() == 2);
    }
}
