//! Loads the papers as data: the published values, the simulated runs, and how each row is computed.
//!
//! Each paper has its published files as transcribed (claims, one CSV per chart) and four tables of ours:
//!
//! - `charts.csv`: file, figure, title and axes of a chart
//! - `series.csv`: short name of a published series, its chart, and the peak its half-power point refers to
//! - `cases.csv`: a simulated run with a hole for x, the points at which it is a curve, its metric
//! - `rows.csv`: class, expression, tolerance and reason of each claim and series; `value` if words state a
//!   number; `fitted_at` are the points of a held-out series that a parameter was fitted on
//!
//! A claim or series without a line in `rows.csv`, or a line without a claim or series, is a defect that a
//! test finds. So the published values fix the number of rows. Cases never see published values:
//! `evaluator` gives them only their own text.

use crate::papers::csv;
use crate::papers::expression::Expression;
use crate::papers::quote::Quote;
use crate::papers::row::{Chart, Class, Paper, Point, Row, Verdict};
use crate::papers::tolerance::{SINGLE, Tolerance};
use stats::Ordered;
use std::collections::BTreeMap;

/// The files of one paper, as stored in `data/`.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// The paper.
    pub paper: Paper,
    /// Claims: id, section, subject, conditions, metric, value, unit, kind.
    pub claims: &'static str,
    /// Charts by name: x value, series, value, unit.
    pub charts: &'static [(&'static str, &'static str)],
    /// Table of charts.
    pub chart_table: &'static str,
    /// Table of series.
    pub series_table: &'static str,
    /// Table of cases.
    pub cases: &'static str,
    /// Table of rows.
    pub rows: &'static str,
}

/// One claim or series, and how it is reproduced and judged.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its row in the report, not yet reproduced or judged. A claim has no points.
    pub row: Row,
    /// The printed claim; [`Quote::Text`] for a series.
    pub quote: Quote,
    /// The peak that the half-power point of a series refers to, in the unit of the series.
    pub peak: Option<f64>,
    /// The expressions that compute its values.
    pub values: Vec<Expression>,
    /// The allowed deviation.
    pub tolerance: Tolerance,
}

impl Entry {
    /// Whether it is a series, with points.
    #[must_use]
    pub fn is_series(&self) -> bool {
        !self.row.points.is_empty()
    }
}

/// A simulated run, possibly with a hole for x.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its target, with `{...}` for each expression of x.
    pub target: String,
    /// Its flags, with the same holes.
    pub flags: String,
    /// The x values at which it is a curve; empty if it has no hole.
    pub points: Vec<f64>,
    /// The metric that is read unless an expression names another.
    pub metric: String,
    /// Whether parts of a drive can be switched off in it.
    pub drive: bool,
}

/// A published curve that formulae may use: points of x and value.
pub type Input = Vec<(f64, f64)>;

/// Series by chart and name: unit and points.
type Published = BTreeMap<(String, String), (String, Input)>;

/// One paper.
#[derive(Clone, Debug)]
pub struct Library {
    /// The paper.
    pub paper: Paper,
    /// Claims, then series, in the order of their files.
    pub entries: Vec<Entry>,
    /// Charts in the order of their table.
    pub charts: Vec<Chart>,
    /// Simulated runs by name.
    pub cases: BTreeMap<String, Case>,
    /// Published curves and claims by name, for derived rows.
    pub inputs: BTreeMap<String, Input>,
}

/// An error in a data file. The files are part of the program, so this is a bug in halfpower.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{paper}: {what}; this is a bug in halfpower's own data")]
pub struct DataError {
    /// Name of the paper.
    pub paper: &'static str,
    /// Description of the error.
    pub what: String,
}

/// A line of `rows.csv`.
struct Treatment {
    /// The row, with the fields that the line defines.
    row: Row,
    values: Vec<Expression>,
    value: String,
    fitted_at: Vec<f64>,
    tolerance: Option<Tolerance>,
}

/// Tolerance of a derived series: the published points have ten digits, but come from three separate
/// measurements.
const DERIVED_SERIES: Tolerance = Tolerance::Share(0.001);

impl Treatment {
    /// The tolerance of the line, or that of its class.
    fn tolerance(&self, derived: Tolerance, others: Tolerance) -> Tolerance {
        let of_class = if self.row.class == Class::Derived { derived } else { others };
        self.tolerance.unwrap_or(of_class)
    }
}

impl Library {
    /// Loads the files of a paper.
    ///
    /// # Errors
    /// Names the file and the error.
    pub fn load(files: &Files) -> Result<Self, DataError> {
        Self::read(files).map_err(|what| DataError { paper: files.paper.name(), what })
    }

    fn read(files: &Files) -> Result<Self, String> {
        let mut treatments = treatments(files)?;
        let mut library = Self {
            paper: files.paper,
            entries: Vec::new(),
            charts: charts(files)?,
            cases: cases(files.cases)?,
            inputs: BTreeMap::new(),
        };
        for record in csv::records("claims", files.claims)? {
            let id = record.get("id").to_owned();
            let treatment =
                treatments.remove(&id).ok_or(format!("rows.csv does not contain {id}"))?;
            let published = record.get("value").to_owned();
            let stated = if treatment.value.is_empty() { &published } else { &treatment.value };
            let quote = Quote::parse(stated);
            let numbers = quote.numbers();
            let input = numbers.iter().enumerate().map(|(at, &value)| (at as f64 + 1.0, value));
            library.inputs.insert(id, input.collect());
            let parts = [record.get("subject"), record.get("conditions"), record.get("metric")];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let tolerance = treatment.tolerance(Tolerance::Rounding, Tolerance::Share(SINGLE));
            let row = Row {
                figure: record.get("section").to_owned(),
                subject: parts.join(", "),
                unit: record.get("unit").to_owned(),
                published,
                ..treatment.row
            };
            let values = treatment.values;
            library.entries.push(Entry { row, quote, peak: None, values, tolerance });
        }
        library.add_series(files, &mut treatments)?;
        match treatments.keys().next() {
            Some(id) => Err(format!("rows.csv has {id}, which is neither a claim nor a series")),
            None => Ok(library),
        }
    }

    fn add_series(
        &mut self,
        files: &Files,
        treatments: &mut BTreeMap<String, Treatment>,
    ) -> Result<(), String> {
        let mut published = published_series(files)?;
        for record in csv::records("series.csv", files.series_table)? {
            let (id, chart) = (record.get("name").to_owned(), record.get("chart"));
            let key = (chart.to_owned(), record.get("series").to_owned());
            let (unit, input) = published.remove(&key).ok_or(format!("there is no {key:?}"))?;
            let treatment =
                treatments.remove(&id).ok_or(format!("rows.csv does not contain {id}"))?;
            let about = self.charts.iter().find(|known| known.name == chart);
            let figure =
                about.ok_or(format!("charts.csv does not contain {chart}"))?.figure.clone();
            let peak = match record.get("peak") {
                "" => None,
                text => Some(text.parse().map_err(|_| format!("{id}: {text:?} is not a peak"))?),
            };
            let point = |&(x, value): &(f64, f64)| Point {
                x: Some(x),
                published: value.is_finite().then_some(value),
                reproduced: None,
                fitted: treatment.fitted_at.contains(&x),
            };
            if (treatment.row.class == Class::HeldOut) != input.iter().any(|&it| point(&it).fitted)
                || treatment.fitted_at.iter().any(|x| input.iter().all(|point| point.0 != *x))
            {
                return Err(format!("{id}: a held-out series needs its own points in fitted_at"));
            }
            let tolerance = treatment.tolerance(DERIVED_SERIES, Tolerance::Curve);
            let row = Row {
                figure,
                chart: Some(chart.to_owned()),
                subject: record.get("series").to_owned(),
                unit,
                points: input.iter().map(point).collect(),
                ..treatment.row
            };
            let values = treatment.values;
            self.entries.push(Entry { row, quote: Quote::Text, peak, values, tolerance });
            self.inputs.insert(id, input);
        }
        match published.keys().next() {
            Some(key) => Err(format!("series.csv does not contain {key:?}")),
            None => Ok(()),
        }
    }
}

fn treatments(files: &Files) -> Result<BTreeMap<String, Treatment>, String> {
    let mut treatments = BTreeMap::new();
    for record in csv::records("rows.csv", files.rows)? {
        let id = record.get("id").to_owned();
        let says = |what: &str| format!("rows.csv, {id}: {what}");
        let class = Class::ALL.into_iter().find(|class| class.name() == record.get("class"));
        let class = class.ok_or(says("unknown class"))?;
        let method = record.get("expression").to_owned();
        let values = match method.as_str() {
            "" => Vec::new(),
            text => {
                let several: Result<_, _> = text.split(';').map(Expression::parse).collect();
                several.map_err(|error| says(&error.to_string()))?
            }
        };
        let tolerance = match record.get("tolerance") {
            "" => None,
            text => {
                let parsed = Tolerance::parse(text, files.paper.sizes());
                Some(parsed.ok_or(says("unknown tolerance"))?)
            }
        };
        let reason = record.get("reason").to_owned();
        let untried = matches!(class, Class::OwnComputation | Class::NotTestable);
        if class != Class::Repeated && untried != values.is_empty() {
            return Err(says(
                "a reproduced row needs an expression, and other rows must not have \
                             one",
            ));
        }
        if (untried || class == Class::Repeated) && reason.is_empty() {
            return Err(says("the reason is missing"));
        }
        let fitted_at = record.get("fitted_at").split_whitespace().map(str::parse);
        let fitted_at: Vec<f64> =
            fitted_at.collect::<Result<_, _>>().map_err(|_| says("fitted_at is not a list"))?;
        let row = Row {
            id: id.clone(),
            paper: files.paper,
            figure: String::new(),
            chart: None,
            subject: String::new(),
            unit: String::new(),
            class,
            published: String::new(),
            reproduced: None,
            points: Vec::new(),
            deviation: None,
            deviation_max: None,
            tolerance: String::new(),
            verdict: Verdict::NotTried,
            reason,
            method,
            runs: Vec::new(),
        };
        let value = record.get("value").to_owned();
        let treatment = Treatment { row, values, value, fitted_at, tolerance };
        if treatments.insert(id.clone(), treatment).is_some() {
            return Err(says("duplicate row"));
        }
    }
    Ok(treatments)
}

fn charts(files: &Files) -> Result<Vec<Chart>, String> {
    let records = csv::records("charts.csv", files.chart_table)?;
    let chart = |record: &csv::Record| Chart {
        name: record.get("chart").to_owned(),
        paper: files.paper,
        figure: record.get("figure").to_owned(),
        title: record.get("title").to_owned(),
        x_title: record.get("x_title").to_owned(),
        x_log: record.get("x_scale") == "log",
        y_title: record.get("y_title").to_owned(),
    };
    Ok(records.iter().map(chart).collect())
}

fn cases(text: &str) -> Result<BTreeMap<String, Case>, String> {
    let mut cases = BTreeMap::new();
    for record in csv::records("cases.csv", text)? {
        let name = record.get("name").to_owned();
        let points = record.get("points").split_whitespace().map(str::parse);
        let points = points
            .collect::<Result<Vec<f64>, _>>()
            .map_err(|error| format!("cases.csv, {name}: {error}"))?;
        let case = Case {
            target: record.get("target").to_owned(),
            flags: record.get("flags").to_owned(),
            points,
            metric: record.get("metric").to_owned(),
            drive: record.get("drive") != "no",
        };
        if cases.insert(name.clone(), case).is_some() {
            return Err(format!("cases.csv has {name} twice"));
        }
    }
    Ok(cases)
}

/// Every series of every chart file, by chart and name: its unit and points.
fn published_series(files: &Files) -> Result<Published, String> {
    let mut series = Published::new();
    for (chart, text) in files.charts {
        let abscissa = csv::titles(text).into_iter().next().unwrap_or_default();
        for record in csv::records(chart, text)? {
            let number = |title: &str| {
                let text = record.get(title);
                // A drawing without numbers is drawn again, but not compared with anything.
                if text.is_empty() && title == "value" {
                    return Ok(f64::NAN);
                }
                text.parse::<f64>().map_err(|_| format!("{chart}, line {}: {text:?}", record.line))
            };
            let key = ((*chart).to_owned(), record.get("series").to_owned());
            let entry = series.entry(key).or_insert((record.get("unit").to_owned(), Vec::new()));
            entry.1.push((number(&abscissa)?, number("value")?));
        }
    }
    for (_, points) in series.values_mut() {
        points.sort_by_cached_key(|one| Ordered(one.0));
    }
    Ok(series)
}
