//! Plots a set: curves over an abscissa, a map over two rates, or rows if no axis is numeric.
//!
//! The half-power line is half of the largest throughput or rate in the plot. An experiment knows
//! no advertised peak, so the measured maximum is used, and is labelled as such.

use super::arrange::{self, Abscissa, Along, Meaning, Plot};
use super::{Set, SetCell};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series, Values, ends, xs, ys};
use crate::plots::distribution;
use crate::story::{capital, number, prefix};
use record::{Estimate, HistogramSnapshot, Unit};
use stats::Ordered;

/// Largest number of plots; the number of the others is stated.
const CHARTS: usize = 24;
const ROWS: usize = 24;
/// Largest number of clauses in a sentence; the others are counted.
const CLAUSES: usize = 4;
const DISTRIBUTIONS: usize = 6;

/// The quantity that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Throughput,
    Rate,
    Latency,
    CostPerRequest,
    CostPerMib,
}

impl Measure {
    /// Title, unit, and whether its axis is logarithmic.
    fn about(self) -> (&'static str, Unit, bool) {
        match self {
            Self::Throughput => ("throughput", Unit::BytesPerSecond, false),
            Self::Rate => ("I/O rate", Unit::PerSecond, false),
            Self::Latency => ("mean latency", Unit::Nanos, true),
            Self::CostPerRequest => ("CPU time per request", Unit::Nanos, false),
            Self::CostPerMib => ("CPU time per MiB", Unit::Nanos, true),
        }
    }

    fn title(self) -> &'static str {
        self.about().0
    }

    /// Whether more is better, so that half of the maximum is a goal.
    fn is_rate(self) -> bool {
        matches!(self, Self::Throughput | Self::Rate)
    }

    fn of(self, cell: &SetCell<'_>) -> Option<Estimate> {
        match self {
            Self::Throughput => Some(cell.results.bytes_per_s),
            Self::Rate => Some(cell.results.iops),
            Self::Latency => Some(cell.results.latency_ns),
            Self::CostPerRequest => cell.results.cpu_us_per_io.map(|cost| cost.scaled(1e3)),
            Self::CostPerMib => {
                let per_request = cell.results.bytes_per_s.value / cell.results.iops.value;
                let factor = 1e3 * f64::from(1 << 20) / per_request;
                let sound = factor.is_finite() && factor > 0.0;
                cell.results.cpu_us_per_io.filter(|_| sound).map(|cost| cost.scaled(factor))
            }
        }
    }

    fn written(self, value: f64) -> String {
        self.about().1.format(value)
    }

    fn axis(self, values: impl Iterator<Item = f64>) -> Axis {
        let (title, unit, log) = self.about();
        match log {
            true => Axis::decades(title, Some(unit), values),
            false => Axis::from_zero(title, Some(unit), values),
        }
    }
}

/// All plots of a set, and notes on those left out.
pub(super) fn charts(set: &Set<'_>) -> (Vec<Chart>, Vec<String>) {
    let mut charts = Vec::new();
    let mut curves_left = 0;
    let abscissae = arrange::abscissae(set);
    for abscissa in &abscissae {
        let (plots, left) = arrange::arrange(set, abscissa);
        curves_left += left;
        for measure in measures(abscissa.meaning) {
            charts.extend(plots.iter().filter_map(|plot| plane(set, abscissa, plot, *measure)));
        }
    }
    if abscissae.is_empty() && set.cells.len() > 1 {
        let all = [Measure::Throughput, Measure::Rate, Measure::Latency, Measure::CostPerRequest];
        charts.extend(all.into_iter().filter_map(|measure| rows(set, measure)));
    }
    charts.extend(distributions(set, &abscissae));
    let mut left_out = Vec::new();
    let too_many = charts.len().saturating_sub(CHARTS);
    charts.truncate(CHARTS);
    if curves_left + too_many > 0 {
        left_out.push(format!(
            "Too much to plot: {too_many} plots and {curves_left} curves are omitted; the table of \
             cells has all values."
        ));
    }
    (charts, left_out)
}

fn measures(meaning: Meaning) -> &'static [Measure] {
    match meaning {
        Meaning::Size => &[Measure::Throughput, Measure::CostPerMib, Measure::CostPerRequest],
        Meaning::Depth => &[Measure::Rate, Measure::Latency],
        Meaning::Rate => &[Measure::Latency],
        Meaning::Targets | Meaning::Place => &[Measure::Throughput],
        Meaning::Plain => &[Measure::Throughput, Measure::Latency],
    }
}

/// The abscissa, and its name in a title.
fn x_axis<'s>(set: &'s Set<'_>, abscissa: &Abscissa, values: impl Values) -> (Axis, &'s str) {
    let (bytes, rate) = (Some(Unit::Bytes), Some(Unit::PerSecond));
    let name = set.axes[abscissa.axis].as_str();
    match abscissa.meaning {
        Meaning::Size => (Axis::at_values("request size", bytes, true, values), "request size"),
        Meaning::Depth => (Axis::at_values("queue depth", None, true, values), "queue depth"),
        Meaning::Rate => (Axis::from_zero("arrivals per second", rate, values), "arrivals"),
        Meaning::Targets => {
            (Axis::at_values("targets at work", None, false, values), "number of targets")
        }
        Meaning::Place => (Axis::over("position", bytes, values), "position"),
        Meaning::Plain => (Axis::over(name, None, values), name),
    }
}

fn plane(set: &Set<'_>, abscissa: &Abscissa, plot: &Plot<'_>, measure: Measure) -> Option<Chart> {
    let series = plot.curves.iter().map(|curve| {
        let cells = curve.cells.iter();
        let points = cells.filter_map(|(x, cell)| Some(Point::known(*x, &measure.of(cell)?)));
        Series::new(&curve.name, Form::Curve, points.collect())
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let most = ys(&series).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let (x, x_words) = x_axis(set, abscissa, xs(&series));
    let half = Rule::level(most / 2.0, "half-power line: half of the measured maximum");
    let finding = match (abscissa.meaning, measure) {
        (Meaning::Size, Measure::Throughput) => reached(&series, &x, measure, most),
        _ if measure.is_rate() => gained(&series, &x, measure, most),
        _ => changed(&series, &x, measure),
    };
    let of = if plot.name.is_empty() { String::new() } else { format!(" ({})", plot.name) };
    let errors = match measure {
        Measure::CostPerRequest | Measure::CostPerMib => {
            format!("{} CPU time charged to halfpower: a lower bound.", set.errors)
        }
        Measure::Throughput | Measure::Rate | Measure::Latency => set.errors.clone(),
    };
    let title = format!("{} against {x_words}{of}", capital(measure.title()));
    let chart = Chart::new(title, finding, (x, measure.axis(ends(&series))), series);
    Some(chart.errors(errors).rules(measure.is_rate().then_some(half)))
}

/// The smallest size from which each curve stays above half of the maximum.
fn reached(series: &[Series], x: &Axis, measure: Measure, most: f64) -> String {
    let from = |series: &Series| {
        let below = series.points.iter().rposition(|point| point.y < most / 2.0);
        series.points.get(below.map_or(0, |place| place + 1)).map(|point| point.x)
    };
    let mut reaching: Vec<(f64, &str)> =
        series.iter().filter_map(|s| Some((from(s)?, s.name.as_str()))).collect();
    reaching.sort_by_cached_key(|one| Ordered(one.0));
    // A curve with a single size shows nothing about larger ones.
    let curves = series.iter().filter(|series| series.points.len() > 1 || from(series).is_some());
    let curves = curves.count();
    let never = curves - reaching.len();
    let clause = |(size, name): &(f64, &str)| format!("{name} from {}", x.label(*size));
    let mut clauses: Vec<String> = reaching.iter().take(CLAUSES).map(clause).collect();
    if reaching.len() > CLAUSES {
        clauses.push(format!("{} more from larger sizes", reaching.len() - CLAUSES));
    }
    if never > 0 {
        clauses.push(format!("not by {never} of {curves} curves"));
    }
    let (half, most) = (measure.written(most / 2.0), measure.written(most));
    let from: Vec<f64> = reaching.iter().map(|(size, _)| *size).collect();
    let alike = from.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    let clauses = clauses.join("; ");
    let reached = match from.first() {
        // One sentence covers all curves that begin at the same size.
        Some(size) if alike && never == 0 => format!("at {} and above", x.label(*size)),
        _ => format!("by {}", clauses.trim_start()),
    };
    format!("Half of the maximum ({half} of {most}) is reached {reached}.")
}

/// The maximum, and its gain over the start of its curve.
fn gained(series: &[Series], x: &Axis, measure: Measure, most: f64) -> String {
    let best = series.iter().find_map(|series| {
        let place = series.points.iter().position(|point| point.y >= most)?;
        Some((series, place))
    });
    let Some((best, place)) = best else { return String::new() };
    let (first, top) = (&best.points[0], &best.points[place]);
    let half = best.points.iter().find(|point| point.y >= most / 2.0);
    let at = |value: f64| format!("{} {}", x.title, x.label(value));
    let half = half.filter(|half| half.x > first.x);
    let half = half.map(|point| format!("; half the maximum is reached at {}", x.label(point.x)));
    let times = number::digits(top.y / first.y);
    let gain = match place {
        0 => "where its curve begins".to_owned(),
        _ => format!("{times} times the value at {}", x.label(first.x)),
    };
    let (name, half) = (prefix(&best.name), half.unwrap_or_default());
    let (most, at) = (measure.written(most), at(top.x));
    capital(&format!("{name}the maximum is {most} at {at}, {gain}{half}."))
}

/// The curve that changes most from its first to its last value.
fn changed(series: &[Series], x: &Axis, measure: Measure) -> String {
    let changes = series.iter().filter(|series| series.points.len() > 1).filter_map(|series| {
        let (first, last) = (series.points.first()?, series.points.last()?);
        let ratio = last.y / first.y;
        (ratio.is_finite() && ratio > 0.0).then_some((ratio, &series.name, first, last))
    });
    let strongest = changes.max_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()));
    let Some((ratio, name, first, last)) = strongest else { return String::new() };
    let apart = |a: &Point, b: &Point| match (a.low, a.high, b.low, b.high) {
        (Some(al), Some(ah), Some(bl), Some(bh)) => al > bh || bl > ah,
        _ => true,
    };
    let is_more = ratio >= 1.0;
    let times = number::digits(if is_more { ratio } else { 1.0 / ratio });
    let words =
        if is_more { format!("{times} times as much") } else { format!("1/{times} as much") };
    let sure = if apart(first, last) { "" } else { ", equal within the error bars" };
    let name = prefix(name);
    let [from, to] =
        [first, last].map(|p| format!("{} at {} {}", measure.written(p.y), x.title, x.label(p.x)));
    capital(&format!("{name}{from}, {to}: {words}{sure}."))
}

/// Cells as rows, if no axis is numeric.
fn rows(set: &Set<'_>, measure: Measure) -> Option<Chart> {
    let axes = set.all_axes();
    let mut found: Vec<(String, Estimate)> = set
        .cells
        .iter()
        .filter_map(|cell| Some((arrange::name(set, cell, &axes), measure.of(cell)?)))
        .collect();
    found.truncate(ROWS);
    let by = |a: &&(String, Estimate), b: &&(String, Estimate)| a.1.value.total_cmp(&b.1.value);
    let ((top, most), (bottom, least)) = (found.iter().max_by(by)?, found.iter().min_by(by)?);
    let [largest, smallest] = [most, least].map(|estimate| measure.written(estimate.value));
    let times = number::digits(most.value / least.value);
    let apart = most.low > least.high;
    let doubt = if apart { "" } else { "; equal within the error bars" };
    let finding = match found.len() {
        1 => format!("{top}: {largest}."),
        _ => format!(
            "{top} has the maximum, {largest}, {times} times that of {bottom} ({smallest}){doubt}."
        ),
    };
    let points =
        found.iter().enumerate().map(|(row, (_, it))| Point::known(row as f64, it).across());
    let ends = found.iter().map(|(_, estimate)| estimate.high.max(estimate.value));
    let half = Rule::upright(most.value / 2.0, "half of the maximum");
    let x = Axis::from_zero(measure.title(), Some(measure.about().1), ends);
    let y = Axis::named(found.iter().map(|(name, _)| name.clone()).collect());
    let series = vec![Series::new("", Form::Bars, points.collect())];
    let chart = Chart::new(capital(measure.title()), capital(&finding), (x, y), series);
    Some(chart.errors(&set.errors).rules(measure.is_rate().then_some(half)))
}

/// The distributions along the first curve, or those of the first cells.
fn distributions(set: &Set<'_>, abscissae: &[Abscissa]) -> Option<Chart> {
    let axes = set.all_axes();
    let plots = abscissae.first().map(|abscissa| arrange::arrange(set, abscissa).0);
    let longest =
        plots.iter().flatten().flat_map(|plot| &plot.curves).max_by_key(|c| c.cells.len());
    let cells: Vec<&SetCell<'_>> = match longest {
        Some(Along { cells, .. }) => cells.iter().map(|(_, cell)| *cell).collect(),
        None => set.cells.iter().collect(),
    };
    let every = cells.len().div_ceil(DISTRIBUTIONS).max(1);
    let named = cells.into_iter().step_by(every).map(|cell| {
        let all = HistogramSnapshot::default();
        let merged = cell.trials.iter().fold(all, |all, trial| all.merged(&trial.histogram()));
        (arrange::name_or_op(set, cell, &axes), merged)
    });
    let named: Vec<(String, HistogramSnapshot)> = named.collect();
    let named: Vec<_> = named.iter().map(|(name, merged)| (name.clone(), merged)).collect();
    distribution(&named)
}
