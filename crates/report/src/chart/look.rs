//! Distinguishes series by colour, mark and dash, and draws the legend.
//!
//! Series whose names differ only by a number (queue depths, request sizes, latency ranges) are ordered, and
//! the drawing shows that: they get the steps of a ramp from light to dark, with one ramp for each group of
//! names (`direct, iodepth 8` and `buffered, iodepth 8`). All others get a colour each. Any two of the first
//! dozen also differ in mark or dash, so that a drawing can be read without colours. The marks are path
//! strings relative to a position, so that the static drawing, the legend and the page's script draw the same
//! ones. The colours were found by search: each has a contrast of at least 3 to the page, and any two of
//! eight are at least 0.11 apart in OKLab, for normal vision and for readers without red or green vision
//! (Machado and others 2009). Rejected: labels at the ends of curves (they overlap where curves meet, and
//! these do), and names of rules within the drawing (they cover the data).

use super::shape::Shape;
use super::{Chart, Form, Series};
use crate::page::Tone;
use askama::Template;
use stats::grouped;

/// Number of colours of unordered series.
const COLOURS: usize = 8;
/// Number of ramps of ordered series, each from the smallest: the first, of many hues, is for a single group;
/// several groups get one hue each. On a dark page the ramps run from dim to bright.
const RAMPS: usize = 4;
/// Number of steps of a ramp.
const STEPS: usize = 8;
/// The colours by name, for a light and for a dark page: of the page and of verdicts, of unordered series, and
/// of the steps of the ramps. Their line ends are left out.
const LIGHT: &str = include_str!("../html/light.css");
const DARK: &str = include_str!("../html/dark.css");
/// CSS classes of the series' colours, and strokes of all drawings.
const CLASSES: &str = include_str!("../html/drawing.css");

/// Marks: circle, square, triangle, diamond, cross, as paths relative to their centre.
pub(crate) const MARKS: [&str; 5] = [
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.6 3.8l-3.6 3.8l-3.6-3.8z",
    "m-3-3l6 6m0-6l-6 6",
];

/// The look of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// CSS class of its colour.
    pub(super) class: String,
    /// Index of its mark.
    pub(super) mark: usize,
    /// Index of its dash.
    pub(super) dash: usize,
}

impl Look {
    pub(super) fn line(&self, path: String) -> Shape {
        Shape::path(format!("line d{}", self.dash), path)
    }

    pub(super) fn mark_at(&self, (x, y): (f64, f64)) -> Shape {
        let mark = self.mark;
        Shape::path(format!("mark m{mark}"), format!("M{x:.1} {y:.1}{}", MARKS[mark]))
    }
}

/// The looks of series in the same drawing.
pub(super) fn looks(series: &[Series]) -> Vec<Look> {
    let ordered = ordered(series);
    let looks = series.iter().enumerate().map(|(index, one)| {
        let look = (index + index / COLOURS) % MARKS.len();
        let toned = |class: &str| Look { class: class.to_owned(), mark: look, dash: look };
        match (one.tone, &ordered) {
            (Tone::Good, _) => toned("tg"),
            (Tone::Bad, _) => toned("tb"),
            (Tone::Warn, _) => toned("tw"),
            (Tone::Faint, _) => toned("tn"),
            (Tone::Strong | Tone::Picked, _) => toned("tp"),
            (Tone::Plain, Some(steps)) => {
                let Step { ramp, step, place, group } = steps[index];
                Look { class: format!("r{ramp}{step}"), mark: place % MARKS.len(), dash: group }
            }
            (Tone::Plain, None) => toned(&format!("c{}", index % COLOURS)),
        }
    });
    looks.collect()
}

/// The position of a series in an order.
#[derive(Clone, Copy, Debug)]
struct Step {
    ramp: usize,
    step: usize,
    /// Rank within its group, from the smallest.
    place: usize,
    group: usize,
}

/// The step of each series on its colour ramp, or `None` if the series have no order. They have one if every group
/// has at least three names that differ in one number, and if there is a ramp for each group.
fn ordered(series: &[Series]) -> Option<Vec<Step>> {
    let names: Vec<(String, Vec<f64>)> = series.iter().map(|one| numbered(&one.name)).collect();
    let groups = grouped(names.iter().enumerate().map(|(index, (form, all))| (form, (index, all))));
    let ramps = if groups.len() == 1 { 1 } else { RAMPS - 1 };
    if groups.len() > ramps {
        return None;
    }
    let mut steps = Vec::new();
    for (group, (_, members)) in groups.iter().enumerate() {
        let mut differ = (0..members[0].1.len())
            .filter(|at| members.iter().any(|(_, all)| all[*at] != members[0].1[*at]));
        let at = differ.next().filter(|_| differ.next().is_none())?;
        let mut sorted: Vec<(usize, f64)> =
            members.iter().map(|(index, all)| (*index, all[at])).collect();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let distinct = sorted.windows(2).all(|pair| pair[0].1 < pair[1].1);
        if !distinct || !(3..=STEPS).contains(&sorted.len()) {
            return None;
        }
        let last = sorted.len() - 1;
        steps.extend(sorted.iter().enumerate().map(|(place, (index, _))| {
            let ramp = group + usize::from(groups.len() > 1);
            (*index, Step { ramp, step: place * (STEPS - 1) / last, place, group })
        }));
    }
    steps.sort_by_key(|(index, _)| *index);
    Some(steps.into_iter().map(|(_, step)| step).collect())
}

/// Units of the numbers in names, so that `64 KiB` and `1 MiB` are comparable.
const UNITS: [(&str, f64); 15] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("B", 1.0),
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("ns", 1e-9),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
];

/// A name without its numbers and units, and the numbers.
fn numbered(name: &str) -> (String, Vec<f64>) {
    let ends = [' ', ',', ':'];
    let factor = |unit: &str| UNITS.iter().find(|(name, _)| *name == unit).map(|(_, f)| *f);
    let (mut form, mut numbers) = (String::new(), Vec::new());
    let mut words = name.split_inclusive(ends).peekable();
    while let Some(word) = words.next() {
        let bare = word.trim_end_matches(ends);
        let digits = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
        let (number, unit) = bare.split_at(digits);
        let known = if unit.is_empty() { Some(1.0) } else { factor(unit) };
        let (Ok(number), Some(mut times)) = (number.parse::<f64>(), known) else {
            form.push_str(word);
            continue;
        };
        // The unit may be a separate word.
        let next = words.peek().and_then(|word| factor(word.trim_end_matches(ends)));
        let mut end = &word[bare.len()..];
        if let Some(next) = next.filter(|_| unit.is_empty()) {
            let unit = words.next().unwrap_or_default();
            (times, end) = (next, &unit[unit.trim_end_matches(ends).len()..]);
        }
        numbers.push(number * times);
        form.push('#');
        form.push_str(end);
    }
    (form, numbers)
}

/// Colours and strokes of all drawings, as page style. The reader's choice of a scheme on the page
/// overrides that of the system.
pub(crate) fn page_style() -> String {
    let [light, dark, classes] = [LIGHT, DARK, CLASSES].map(|css| css.replace('\n', ""));
    format!(
        ":root{{color-scheme:light;{light}}}\
         @media screen{{:root:has(#dark:checked){{color-scheme:dark;{dark}}}}}\
         @media screen and (prefers-color-scheme:dark){{\
         :root:not(:has(#light:checked)){{color-scheme:dark;{dark}}}}}{classes}"
    )
}

/// The same with colour values in place of names, which only browsers resolve: for files that any
/// program may draw, always light.
pub(super) fn file_style() -> String {
    let names = LIGHT.trim_end().split(';').filter_map(|name| name.trim().split_once(':'));
    names.fold(CLASSES.replace('\n', ""), |style, (name, colour)| {
        style.replace(&format!("var({name})"), colour)
    })
}

/// An entry of the legend: a series, drawn as in the chart in 34 by 12 units, or a rule with its letter.
pub(super) struct Sample {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) shapes: Vec<Shape>,
    pub(super) is_rule: bool,
}

impl Sample {
    /// The series, if there are several or their colour is a judgement, and the rules.
    pub(super) fn of(chart: &Chart) -> Vec<Self> {
        let told = chart.series.len() > 1 || chart.series.iter().any(|it| it.tone != Tone::Plain);
        let series = chart.series.iter().zip(looks(&chart.series)).filter(|_| told);
        let series = series.map(|(series, look)| {
            let line = || look.line("M1 6H33".to_owned());
            let mark = || look.mark_at((17.0, 6.0));
            let area = |class, d: &str| Shape::path(class, d.to_owned());
            let shapes = match series.form {
                Form::Curve => vec![line(), mark()],
                Form::Trace if !series.has_band() => vec![line()],
                Form::Trace => vec![area("band", "M1 1H33V11H1z"), line()],
                Form::Marks => vec![mark()],
                Form::Bars | Form::Stack => vec![area("bar", "M1 2H33V10H1z")],
            };
            Self { class: look.class, name: series.name.clone(), shapes, is_rule: false }
        });
        let rules = chart.rules.iter().enumerate().map(|(place, rule)| {
            let axis = if rule.upright { &chart.x } else { &chart.y };
            let value = axis.label(rule.at);
            let name = match rule.name.as_str() {
                "" => format!("{}: {value}", rule_letter(place)),
                name => format!("{}: {name}, {value}", rule_letter(place)),
            };
            let shapes = vec![Shape::path("half", "M1 6H33".to_owned())];
            Self { class: "rules".to_owned(), name, shapes, is_rule: true }
        });
        series.chain(rules).collect()
    }
}

/// The letter that links a rule in the drawing with its name in the legend.
pub(super) fn rule_letter(place: usize) -> char {
    char::from(b'a' + (place % 26) as u8)
}

#[derive(Template)]
#[template(path = "legend.html")]
struct Legend {
    samples: Vec<Sample>,
}

impl Chart {
    pub(crate) fn legend(&self) -> String {
        let samples = Sample::of(self);
        if samples.is_empty() { String::new() } else { Legend { samples }.to_string() }
    }
}
