//! The static drawing: inline SVG that needs no script.
//!
//! A chart is drawn in a fixed frame that scales with the page; at 400 pixels its text has the size
//! of small print. Every mark tells its values to a pointer that rests on it. The data lie in a
//! nested SVG, which clips at the frame without a reference by name. The page's script draws the
//! same things in the same frame; what it needs to know of it is [`Frame`]. Rejected: a canvas
//! (nothing to read for a screen reader, nothing to print sharply).

use super::look::{colour, dash, mark_at};
use super::{CHART_STYLE, Chart, Form, Point, Rule, Series};
use crate::html::escape_html;
use std::fmt::Write;

/// Width of every drawing, in units of about a pixel.
const WIDTH: f64 = 420.0;
/// Height of one that is not of rows.
const HEIGHT: f64 = 262.0;
/// Height of a row.
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
    /// The frame of a chart.
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

/// A chart with its frame.
struct Drawing<'a> {
    chart: &'a Chart,
    frame: Frame,
}

impl Chart {
    /// The drawing as an SVG element. `attributes` are more of its attributes, which may name no
    /// text from outside.
    #[must_use]
    pub(crate) fn svg(&self, attributes: &str) -> String {
        let drawing = Drawing { chart: self, frame: Frame::of(self) };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"{attributes}>\n",
            drawing.frame.width,
            drawing.frame.height,
            escape_html(&self.spoken())
        );
        drawing.axes(&mut svg);
        drawing.data(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// Height of the lines above the drawing in a file of its own, and of the whole.
    fn file_heights(&self) -> (f64, f64) {
        let lines = wrapped(&self.finding, FILE_LETTERS).len() as f64;
        let head = 30.0 + 14.0 * lines;
        (head, head + Frame::of(self).height + 15.0 * self.named().count() as f64 + 8.0)
    }

    /// Series with a name, which a legend shows, with their places.
    fn named(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty())
    }

    /// Width and height of the file in pixels.
    #[must_use]
    pub fn file_size(&self) -> (u32, u32) {
        let (_, height) = self.file_heights();
        ((WIDTH * 2.0) as u32, (height * 2.0).ceil() as u32)
    }

    /// The drawing as a file of its own, with its title, its sentence and its legend.
    #[must_use]
    pub fn svg_file(&self) -> String {
        let frame = Frame::of(self);
        let finding = wrapped(&self.finding, FILE_LETTERS);
        let (head, height) = self.file_heights();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{}\" height=\"{}\">\n<style>{CHART_STYLE}</style>\n\
             <path d=\"M0 0H{WIDTH}V{height}H0z\" fill=\"#fff\"/>\n\
             <text x=\"8\" y=\"18\" style=\"font-weight:600;font-size:13px\">{}</text>\n",
            WIDTH * 2.0,
            height * 2.0,
            escape_html(&self.title)
        );
        for (line, text) in finding.iter().enumerate() {
            let y = 34.0 + 14.0 * line as f64;
            let _ = writeln!(svg, "<text x=\"8\" y=\"{y}\">{}</text>", escape_html(text));
        }
        let place = format!(" x=\"0\" y=\"{head}\" width=\"{WIDTH}\" height=\"{}\"", frame.height);
        svg.push_str(&self.svg(&place));
        for (line, (index, series)) in self.named().enumerate() {
            let y = head + frame.height + 4.0 + 15.0 * line as f64;
            let mark = mark_at(index, (24.0, y));
            let (colour, dash) = (colour(index), dash(index));
            let _ = writeln!(
                svg,
                "<g class=\"{colour}\"><path class=\"line d{dash}\" d=\"M8 {y}h32\"/>{mark}\
                 <text x=\"48\" y=\"{}\">{}</text></g>",
                y + 4.0,
                escape_html(&series.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Title and finding, for readers who do not see the drawing.
    pub(crate) fn spoken(&self) -> String {
        match self.finding.is_empty() {
            true => self.title.clone(),
            false => format!("{}. {}", self.title, self.finding),
        }
    }

    /// A point in words: `reads, 64 KiB: 118 MB/s (116 MB/s to 120 MB/s), knee`.
    pub(crate) fn told(&self, series: &Series, point: &Point) -> String {
        let (across, value) = if self.is_rows() { (&self.y, &self.x) } else { (&self.x, &self.y) };
        let (at, of) = if self.is_rows() { (point.y, point.x) } else { (point.x, point.y) };
        let mut text = format!("{}: {}", across.label(at), value.value(of));
        if !series.name.is_empty() {
            text = format!("{}, {text}", series.name);
        }
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let _ = write!(text, " ({} to {})", value.value(low), value.value(high));
        }
        if !point.remark.is_empty() {
            let _ = write!(text, ", {}", point.remark);
        }
        text
    }

    /// How far a series' bars lie beside the middle of their rows, and their height, in rows.
    pub(crate) fn bar(&self, series: usize) -> (f64, f64) {
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

    fn place(&self, point: &Point) -> (f64, f64) {
        (self.across(point.x), self.down(point.y))
    }

    fn axes(&self, svg: &mut String) {
        let (chart, frame) = (self.chart, &self.frame);
        let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
        svg.push_str("<g class=\"scales\">");
        for &tick in &chart.y.ticks {
            let y = self.down(tick);
            if !chart.is_rows() {
                let _ = write!(svg, "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>");
            }
            let label = chart.y.label(tick);
            let most = ((LABELS.1 - 8.0) / LETTER) as usize;
            let short = shortened(&label, most);
            let (x, y) = (left - 5.0, y + 4.0);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                escape_html(&short)
            );
        }
        for &tick in &chart.x.ticks {
            let x = self.across(tick);
            let label = chart.x.label(tick);
            let line = if chart.is_rows() {
                format!("<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>")
            } else {
                format!("<path class=\"axis\" d=\"M{x:.1} {bottom}v4\"/>")
            };
            let _ = writeln!(
                svg,
                "{line}<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 15.0,
                escape_html(&label)
            );
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/></g>");
        let (middle, end) = ((left + right) / 2.0, frame.height - 8.0);
        let title = escape_html(&chart.x.title);
        let _ =
            writeln!(svg, "<text x=\"{middle}\" y=\"{end}\" text-anchor=\"middle\">{title}</text>");
        if !chart.y.title.is_empty() {
            let (middle, title) = ((top + bottom) / 2.0, escape_html(&chart.y.title));
            let _ = writeln!(
                svg,
                "<text transform=\"translate(11 {middle}) rotate(-90)\" text-anchor=\"middle\">{title}</text>"
            );
        }
    }

    fn data(&self, svg: &mut String) {
        let frame = &self.frame;
        let (x, y) = (frame.left - MARGIN, frame.top - MARGIN);
        let (width, height) =
            (frame.right - frame.left + 2.0 * MARGIN, frame.bottom - frame.top + 2.0 * MARGIN);
        let _ = writeln!(
            svg,
            "<svg class=\"data\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"{x} {y} {width} {height}\">"
        );
        for (place, rule) in self.chart.rules.iter().enumerate() {
            self.rule(svg, place, rule);
        }
        for (index, series) in self.chart.series.iter().enumerate() {
            let _ = write!(svg, "<g class=\"{}\">", colour(index));
            match series.form {
                Form::Bars => self.bars(svg, index, series),
                Form::Trace => {
                    self.band(svg, series);
                    self.line(svg, index, series);
                }
                Form::Curve => {
                    self.line(svg, index, series);
                    self.errors(svg, series, 0.0);
                    self.marks(svg, index, series);
                }
                Form::Marks => {
                    self.errors(svg, series, 0.0);
                    self.marks(svg, index, series);
                }
            }
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
    }

    fn rule(&self, svg: &mut String, place: usize, rule: &Rule) {
        let frame = &self.frame;
        let name = escape_html(&rule.name);
        if rule.upright {
            let (x, top, bottom) = (self.across(rule.at), frame.top, frame.bottom);
            // To the side with more room.
            let (side, anchor) =
                if x > (frame.left + frame.right) / 2.0 { (-4.0, "end") } else { (4.0, "start") };
            let _ = writeln!(
                svg,
                "<path class=\"half\" d=\"M{x:.1} {top}V{bottom}\"/><text class=\"half\" x=\"{:.1}\" \
                 y=\"{}\" text-anchor=\"{anchor}\">{name}</text>",
                x + side,
                top + 9.0 + 12.0 * place as f64
            );
        } else {
            let (y, left, right) = (self.down(rule.at), frame.left, frame.right);
            // Two lines may lie near each other: their names stand at either end.
            let (x, anchor) =
                if place.is_multiple_of(2) { (right - 3.0, "end") } else { (left + 3.0, "start") };
            let _ = writeln!(
                svg,
                "<path class=\"half\" d=\"M{left} {y:.1}H{right}\"/><text class=\"half\" x=\"{x}\" \
                 y=\"{:.1}\" text-anchor=\"{anchor}\">{name}</text>",
                y - 4.0
            );
        }
    }

    fn line(&self, svg: &mut String, index: usize, series: &Series) {
        if series.points.len() < 2 {
            return;
        }
        let places = series.points.iter().map(|point| self.place(point));
        let places: Vec<String> = places.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = write!(svg, "<path class=\"line d{}\" d=\"M{}\"/>", dash(index), places.join("L"));
    }

    fn band(&self, svg: &mut String, series: &Series) {
        let ends = |end: fn(&Point) -> Option<f64>| {
            let ends = series.points.iter().filter(|point| point.low.is_some());
            let ends = ends.filter_map(move |point| Some((point.x, end(point)?)));
            ends.map(|(x, y)| format!("{:.1} {:.1}", self.across(x), self.down(y)))
                .collect::<Vec<_>>()
        };
        let (low, mut high) = (ends(|point| point.low), ends(|point| point.high));
        if low.len() < 2 || high.len() != low.len() {
            return;
        }
        high.reverse();
        let _ = write!(svg, "<path class=\"band\" d=\"M{}L{}z\"/>", low.join("L"), high.join("L"));
    }

    fn bars(&self, svg: &mut String, index: usize, series: &Series) {
        let (beside, height) = self.chart.bar(index);
        for point in &series.points {
            let (x, left) = (self.across(point.x), self.frame.left);
            let (top, bottom) = (
                self.down(point.y + beside - height / 2.0),
                self.down(point.y + beside + height / 2.0),
            );
            let told = escape_html(&self.chart.told(series, point));
            let _ = write!(
                svg,
                "<g><path class=\"bar\" d=\"M{left} {top:.1}H{:.1}V{bottom:.1}H{left}z\"/>\
                 <title>{told}</title></g>",
                x.max(left)
            );
        }
        self.errors(svg, series, beside);
    }

    fn errors(&self, svg: &mut String, series: &Series, beside: f64) {
        let mut path = String::new();
        for point in &series.points {
            let (Some(low), Some(high)) = (point.low, point.high) else { continue };
            if self.chart.is_rows() {
                let y = self.down(point.y + beside);
                let (low, high) = (self.across(low), self.across(high));
                let _ = write!(
                    path,
                    "M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v6M{high:.1} {:.1}v6",
                    y - 3.0,
                    y - 3.0
                );
            } else {
                let x = self.across(point.x);
                let (low, high) = (self.down(low), self.down(high));
                let _ = write!(
                    path,
                    "M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h5M{:.1} {high:.1}h5",
                    x - 2.5,
                    x - 2.5
                );
            }
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"error\" d=\"{path}\"/>");
        }
    }

    fn marks(&self, svg: &mut String, index: usize, series: &Series) {
        let tooltips = series.points.len() <= TOOLTIPS_MAX;
        for point in &series.points {
            let mark = mark_at(index, self.place(point));
            if tooltips {
                let told = escape_html(&self.chart.told(series, point));
                let _ = writeln!(svg, "<g>{mark}<title>{told}</title></g>");
            } else {
                svg.push_str(&mark);
            }
        }
    }
}

/// Text of at most so many letters, with an ellipsis where it is cut.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Text in lines of at most so many letters, broken at spaces.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, rows};

    #[test]
    fn axes_carry_their_titles_and_all_text_is_escaped() {
        for svg in [example().svg(""), example().svg_file()] {
            assert!(svg.contains(">size (KiB)<") && svg.contains(">rate<"), "{svg}");
            assert!(svg.contains("a&lt;0, 64: 8.70/s (7.83/s to 9.57/s)"), "{svg}");
            assert!(svg.contains("half &lt;of&gt; it"), "{svg}");
            for hostile in ["a<0", "<script", "</script", "<b>", "\u{202e}"] {
                assert!(!svg.contains(hostile), "{hostile}: {svg}");
            }
        }
    }

    #[test]
    fn every_form_is_drawn_with_its_interval() {
        let svg = example().svg("");
        assert_eq!(svg.matches("class=\"band\"").count(), 1);
        assert_eq!(svg.matches("class=\"error\"").count(), 2);
        assert_eq!(svg.matches("class=\"half\"").count(), 4);
        // Two curves, the one with marks and the band's.
        assert_eq!(svg.matches("class=\"line").count(), 2);
        let svg = rows().svg("");
        assert_eq!(svg.matches("class=\"bar\"").count(), 3);
        assert!(svg.contains("memory &lt;x&gt;"), "{svg}");
    }

    #[test]
    fn a_file_of_its_own_names_its_namespace_and_nothing_from_elsewhere() {
        let svg = example().svg_file();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        let rest = svg.replacen("http://www.w3.org/2000/svg", "", 1);
        for outside in ["http", "src=", "href", "url(", "@import"] {
            assert!(!rest.contains(outside), "{outside}");
        }
    }

    #[test]
    fn bars_of_a_row_lie_side_by_side_within_it() {
        let mut chart = rows();
        let second = chart.series[0].clone();
        chart.series.push(second);
        let (first, height) = chart.bar(0);
        let (other, _) = chart.bar(2);
        assert!((other - first - height).abs() < 1e-12 && height * 2.0 <= 1.0);
        assert_eq!(chart.bar(1), (0.0, 0.0));
    }
}
