//! Builds the report from the papers: reproduces every row, then judges it.
//!
//! There are two passes, first all values, then all verdicts, because a curve is also judged by its order
//! among the other curves of its chart. A row that cannot be reproduced fails with a reason. It is never
//! omitted: the number of rows is that of the published values.

use crate::papers::evaluator::{Evaluator, Runs};
use crate::papers::library::{Entry, Library};
use crate::papers::quote::Quote;
use crate::papers::row::{Class, ClassCount, PAPERS_SCHEMA, Point, Report, Row, Verdict};
use crate::papers::run_line::{RunLine, Switch};
use crate::papers::tolerance::{
    CURVE_MAX, CURVE_MEDIAN, SLOPE_RATIO, Tolerance, claim_holds, deviations, half_power_distance,
    out_of_order, slope_ratio,
};
use crate::papers::{Choice, Papers, metric};
use record::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum share of derived rows that must be reproduced.
const THRESHOLD_DERIVED: f64 = 1.0;
/// Minimum share of simulated and held-out series that must be reproduced. It was set before the runs that
/// it judges.
const THRESHOLD_SERIES: f64 = 0.9;

impl Papers {
    /// The runs that a report needs, each once, in the order of their text.
    #[must_use]
    pub fn plan(&self, choice: &Choice) -> Vec<RunLine> {
        let mut lines = Vec::new();
        for library in &self.libraries {
            for entry in in_wanted_charts(library, choice) {
                lines.extend(needed(library, entry, &choice.without));
            }
        }
        lines.sort();
        lines.dedup();
        lines
    }

    /// Whether the choice matches any row.
    #[must_use]
    pub fn has(&self, choice: &Choice) -> bool {
        let mut entries = self.libraries.iter().flat_map(|library| &library.entries);
        entries.any(|entry| is_wanted(entry, choice))
    }

    /// Reproduces and judges the chosen rows. `run` executes a run and is called once per run. Its error
    /// becomes the reason of the rows that need the run.
    pub fn evaluate(
        &self,
        choice: &Choice,
        version: &str,
        run: &mut dyn FnMut(&RunLine) -> Result<Trial, String>,
    ) -> Report {
        let mut known: BTreeMap<RunLine, Result<Trial, String>> = BTreeMap::new();
        let mut runs = |line: &RunLine, name: &str| {
            let trial = known.entry(line.clone()).or_insert_with(|| run(line));
            metric::read(trial.as_ref().map_err(Clone::clone)?, name)
        };
        report(&self.libraries, &mut runs, choice, version)
    }
}

/// Whether a row is chosen by its id, figure, chart or paper.
fn is_wanted(entry: &Entry, choice: &Choice) -> bool {
    let row = &entry.row;
    let of = |word: &String| {
        let names = [&row.id, &row.figure, row.paper.name()];
        names.iter().any(|name| name.eq_ignore_ascii_case(word)) || row.chart.as_ref() == Some(word)
    };
    choice.only.is_empty() || choice.only.iter().any(of)
}

/// The rows that are wanted or belong to the chart of a wanted row.
fn in_wanted_charts<'a>(library: &'a Library, choice: &Choice) -> Vec<&'a Entry> {
    let entries = || library.entries.iter();
    let wanted: Vec<&Entry> = entries().filter(|entry| is_wanted(entry, choice)).collect();
    let charts: BTreeSet<&String> =
        wanted.iter().filter_map(|entry| entry.row.chart.as_ref()).collect();
    let in_chart = |entry: &Entry| entry.row.chart.as_ref().is_some_and(|it| charts.contains(it));
    entries().filter(|entry| is_wanted(entry, choice) || in_chart(entry)).collect()
}

/// The runs behind a row, in the order of need, possibly with duplicates.
fn needed(library: &Library, entry: &Entry, without: &[Switch]) -> Vec<RunLine> {
    let mut lines = Vec::new();
    let mut note = |line: &RunLine, _: &str| {
        lines.push(line.clone());
        Ok(1.0)
    };
    // An error in the expression is reported when its row is evaluated.
    let _ = values(library, entry, &mut note, without);
    lines
}

/// The reproduced values of a row: one per point of a series, or one per expression.
fn values(
    library: &Library,
    entry: &Entry,
    runs: &mut Runs<'_>,
    without: &[Switch],
) -> Result<Vec<f64>, String> {
    let inputs = entry.row.class == Class::Derived;
    let mut evaluator = Evaluator { library, runs, without, inputs };
    // Evaluate all of them, so that every run is collected even if one fails.
    let values: Vec<Result<f64, String>> = match (entry.is_series(), entry.values.as_slice()) {
        (true, [value]) => {
            entry.row.points.iter().map(|point| evaluator.value(value, point.x)).collect()
        }
        (true, _) => return Err("a series needs exactly one expression".to_owned()),
        (false, values) => values.iter().map(|of| evaluator.value(of, None)).collect(),
    };
    let found = values.into_iter().collect::<Result<Vec<_>, _>>()?;
    match found.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("the value is {value}")),
        None => Ok(found),
    }
}

fn report(libraries: &[Library], runs: &mut Runs<'_>, choice: &Choice, version: &str) -> Report {
    let mut rows = Vec::new();
    let mut charts = Vec::new();
    for library in libraries {
        let chosen = in_wanted_charts(library, choice);
        let mut judged: Vec<Row> =
            chosen.iter().map(|entry| reproduced(library, entry, runs, &choice.without)).collect();
        let orders = orders(&judged);
        for (row, entry) in judged.iter_mut().zip(&chosen) {
            judge(row, entry, orders.get(&row.id));
        }
        let wanted = judged.into_iter().zip(chosen);
        let wanted = wanted.filter(|(_, entry)| is_wanted(entry, choice)).map(|(row, _)| row);
        let before = rows.len();
        rows.extend(wanted);
        let drawn =
            |name: &str| rows[before..].iter().any(|row: &Row| row.chart.as_deref() == Some(name));
        charts.extend(library.charts.iter().filter(|chart| drawn(&chart.name)).cloned());
    }
    let counts = counts(&rows);
    let testable = || counts.iter().filter(|count| count.class.is_testable());
    Report {
        schema: PAPERS_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        without: choice.without.iter().map(|switch| switch.name().to_owned()).collect(),
        machines: choice.machines.clone(),
        met: met(&counts),
        testable: testable().map(|count| count.rows).sum(),
        reproduced: testable().map(|count| count.reproduced).sum(),
        rows,
        charts,
        counts,
        threshold_derived: THRESHOLD_DERIVED,
        threshold_series: THRESHOLD_SERIES,
    }
}

/// A row with its values, not yet judged.
fn reproduced(library: &Library, entry: &Entry, runs: &mut Runs<'_>, without: &[Switch]) -> Row {
    let mut row = entry.row.clone();
    if entry.is_series() {
        row.published = range(row.points.iter().filter_map(|point| point.published));
    }
    if entry.values.is_empty() {
        return row;
    }
    row.tolerance = entry.tolerance.to_string();
    row.runs = needed(library, entry, without).iter().map(ToString::to_string).collect();
    row.runs.dedup();
    match values(library, entry, runs, without) {
        Err(why) => {
            row.verdict = Verdict::Failed;
            row.reason = why;
        }
        Ok(found) if entry.is_series() => {
            for (point, value) in row.points.iter_mut().zip(found) {
                point.reproduced = Some(value);
            }
            row.reproduced = Some(range(row.points.iter().filter_map(|point| point.reproduced)));
        }
        Ok(found) => {
            let texts: Vec<String> = found.iter().map(|&value| digits(value)).collect();
            row.reproduced = Some(texts.join(" / "));
            let published = compared(&entry.quote, &found);
            row.points = found
                .iter()
                .zip(published)
                .map(|(&value, published)| Point {
                    x: None,
                    published,
                    reproduced: Some(value),
                    fitted: false,
                })
                .collect();
        }
    }
    row
}

/// The value that each value of a claim is compared with. For a range: the nearer end, or the value itself
/// if it is inside.
fn compared(quote: &Quote, values: &[f64]) -> Vec<Option<f64>> {
    match quote {
        Quote::Values(printed) => {
            (0..values.len()).map(|at| printed.get(at).map(|printed| printed.value)).collect()
        }
        Quote::MoreThan(bound) | Quote::AtMost(bound) => vec![Some(bound.value); values.len()],
        Quote::Between(low, high) => {
            values.iter().map(|value| Some(value.max(low.value).min(high.value))).collect()
        }
        Quote::Text => vec![None; values.len()],
    }
}

fn range(values: impl Iterator<Item = f64>) -> String {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return "not printed".to_owned();
    }
    format!("{}..{}", digits(low), digits(high))
}

/// Three significant digits, or the whole number.
fn digits(value: f64) -> String {
    let size = libm::fabs(value);
    let decimals = match size {
        _ if size >= 100.0 || size == 0.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ if size >= 0.01 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// By series: the curves that change order with it, and at which points.
fn orders(rows: &[Row]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.chart.is_some()) {
        for alternative in rows.iter().filter(|it| it.chart == row.chart && it.id != row.id) {
            for x in out_of_order(&row.points, &alternative.points) {
                let text = format!("{} at {x}", alternative.subject);
                found.entry(row.id.clone()).or_default().push(text);
            }
        }
    }
    found
}

fn judge(row: &mut Row, entry: &Entry, out_of_order: Option<&Vec<String>>) {
    if matches!(row.verdict, Verdict::Failed) || entry.values.is_empty() {
        return;
    }
    let sizes = deviations(&row.points);
    row.deviation_max = sizes.map(|(_, max)| max);
    row.deviation = match row.points.as_slice() {
        [point] => point.deviation(),
        _ => sizes.map(|(median, _)| median),
    };
    let problem = if entry.is_series() {
        series_problem(row, entry, out_of_order)
    } else {
        claim_problem(row, entry)
    };
    row.verdict = match (&problem, row.class) {
        (_, Class::Fitted | Class::Repeated) => Verdict::Shown,
        (None, _) => Verdict::Reproduced,
        (Some(_), _) => Verdict::Deviates,
    };
    if let Some(problem) = problem {
        let remark =
            if row.reason.is_empty() { String::new() } else { format!("; {}", row.reason) };
        row.reason = format!("{problem}{remark}");
    }
}

fn claim_problem(row: &Row, entry: &Entry) -> Option<String> {
    let values: Vec<f64> = row.points.iter().filter_map(|point| point.reproduced).collect();
    match claim_holds(&entry.quote, &values, entry.tolerance) {
        Some(true) => None,
        Some(false) => Some(format!("not within {}", entry.tolerance)),
        None => Some("the paper's text gives no number".to_owned()),
    }
}

fn series_problem(row: &Row, entry: &Entry, order: Option<&Vec<String>>) -> Option<String> {
    let Some((median, max)) = deviations(&row.points) else {
        let printed = row.points.iter().all(|point| point.published.is_some());
        let why = if printed { "a published point is zero" } else { "the paper prints no values" };
        return Some(why.to_owned());
    };
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    match entry.tolerance {
        Tolerance::Curve => {
            let mut problems = Vec::new();
            if median > CURVE_MEDIAN {
                problems.push(format!("median {}", percent(median)));
            }
            if max > CURVE_MAX {
                problems.push(format!("max {}", percent(max)));
            }
            if let Some(order) = order {
                problems.push(format!("order differs from {}", order.join(", ")));
            }
            let ratio = slope_ratio(&row.points);
            let out = |ratio: f64| !(1.0 / SLOPE_RATIO..=SLOPE_RATIO).contains(&ratio);
            if let Some(ratio) = ratio.filter(|&ratio| out(ratio)) {
                problems
                    .push(format!("the rise or fall is {} of the published one", percent(ratio)));
            }
            let distance = entry.peak.map(|peak| half_power_distance(&row.points, peak / 2.0));
            if let Some(distance) = distance.filter(|&distance| distance > 1) {
                problems.push(format!("half-power point off by {distance} sizes"));
            }
            (!problems.is_empty()).then(|| problems.join("; "))
        }
        Tolerance::Share(share) if max <= share => None,
        _ => Some(format!("max {:.2}%", max * 100.0)),
    }
}

fn counts(rows: &[Row]) -> Vec<ClassCount> {
    Class::ALL
        .into_iter()
        .map(|class| {
            let of: Vec<&Row> = rows.iter().filter(|row| row.class == class).collect();
            let good = |row: &&&Row| row.verdict == Verdict::Reproduced;
            let series = |row: &&&Row| row.chart.is_some();
            ClassCount {
                class,
                rows: of.len(),
                series: of.iter().filter(series).count(),
                reproduced: of.iter().filter(good).count(),
                series_reproduced: of.iter().filter(|row| good(row) && series(row)).count(),
            }
        })
        .collect()
}

/// Whether the thresholds are met.
fn met(counts: &[ClassCount]) -> bool {
    // A class without judged rows meets its threshold.
    let share = |good: usize, all: usize| if all == 0 { 1.0 } else { good as f64 / all as f64 };
    let of = |which: fn(Class) -> bool, number: fn(&ClassCount) -> usize| {
        counts.iter().filter(|count| which(count.class)).map(number).sum()
    };
    let derived: fn(Class) -> bool = |class| class == Class::Derived;
    let judged: fn(Class) -> bool = Class::is_judged;
    share(of(derived, |it| it.reproduced), of(derived, |it| it.rows)) >= THRESHOLD_DERIVED
        && share(of(judged, |it| it.series_reproduced), of(judged, |it| it.series))
            >= THRESHOLD_SERIES
}
