//! Rate and latency over the course of a run.
//!
//! A run has a thousand slices, a drawing has room for a quarter of them: neighbours are taken
//! together, and the band shows the least and the largest of them, so that a stall of one slice is
//! not averaged away.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use record::{Trial, Unit};

/// Points of a curve, at most.
const POINTS: usize = 256;
/// What the bands are.
const BANDS: &str = "Bands: least and largest of the slices that a point stands for.";

/// The slices of a trial, taken together: middle in nanoseconds, mean, least, largest.
fn thinned(trial: &Trial, values: &[Option<f64>]) -> Vec<Point> {
    let step = trial.result.series.interval_ns.0 as f64;
    let together = values.len().div_ceil(POINTS).max(1);
    let chunks = values.chunks(together).enumerate();
    let points = chunks.filter_map(|(place, chunk)| {
        let known: Vec<f64> = chunk.iter().flatten().copied().filter(|v| v.is_finite()).collect();
        let middle = (place * together) as f64 + chunk.len() as f64 / 2.0;
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let (low, high) = known
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        mean.is_finite().then(|| Point::within(middle * step, mean, low, high))
    });
    points.collect()
}

fn rates(trial: &Trial) -> Vec<Option<f64>> {
    let seconds = trial.result.series.interval_ns.as_secs_f64();
    trial.result.series.ios.iter().map(|ios| Some(*ios as f64 / seconds)).collect()
}

/// The rate over time, with half of its mean.
pub(crate) fn rate_over_time(named: &[(String, &Trial)]) -> Option<Chart> {
    let series: Vec<Series> = named
        .iter()
        .map(|(name, trial)| Series::new(name, Form::Trace, thinned(trial, &rates(trial))))
        .filter(|series| series.points.len() > 1)
        .collect();
    let (name, trial) = named.first()?;
    let (first, mean) = (series.first()?, trial.iops());
    let below = first.points.iter().filter(|point| point.y < mean / 2.0).count();
    let share = below as f64 / first.points.len() as f64;
    let steady = match trial.result.steady {
        Some(true) => "; it held still",
        Some(false) => "; it did not hold still",
        None => "",
    };
    let finding = format!(
        "{}{} on average; {} of the time it was below half of that{steady}.",
        if name.is_empty() { String::new() } else { format!("{name}: ") },
        number::per_second(mean),
        number::percent(share),
    );
    let rules = if named.len() == 1 {
        vec![Rule::level(mean / 2.0, "half of the mean")]
    } else {
        Vec::new()
    };
    let points = || series.iter().flat_map(|series| &series.points);
    Some(Chart {
        title: "I/O rate over time".to_owned(),
        finding,
        errors: BANDS.to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), points().map(|point| point.x).chain([0.0])),
        y: Axis::from_zero("I/O rate", Some(Unit::PerSecond), points().filter_map(|p| p.high)),
        rules,
        series,
    })
}

/// The mean latency over time.
pub(crate) fn latency_over_time(named: &[(String, &Trial)]) -> Option<Chart> {
    let series: Vec<Series> = named
        .iter()
        .map(|(name, trial)| {
            Series::new(name, Form::Trace, thinned(trial, &trial.result.series.latency_mean_ns))
        })
        .filter(|series| series.points.len() > 1)
        .collect();
    let first = series.first()?;
    let median = stats::median(first.points.iter().map(|point| point.y).collect());
    let worst = first
        .points
        .iter()
        .max_by(|a, b| a.high.partial_cmp(&b.high).unwrap_or(std::cmp::Ordering::Equal))?;
    let (high, at) = (worst.high.unwrap_or(worst.y), worst.x);
    let name = if first.name.is_empty() { String::new() } else { format!("{}: ", first.name) };
    let finding = format!(
        "{name}the worst slice took {} on average, {} times the usual one ({}), {} after the start.",
        number::time(high),
        number::digits(high / median),
        number::time(median),
        number::time(at)
    );
    let points = || series.iter().flat_map(|series| &series.points);
    let ends = points().flat_map(|point| [point.low, point.high]).flatten().collect::<Vec<f64>>();
    Some(Chart {
        title: "Latency over time".to_owned(),
        finding: crate::story::capital(&finding),
        errors: BANDS.to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), points().map(|point| point.x).chain([0.0])),
        y: Axis::decades("mean latency", Some(Unit::Nanos), ends.into_iter()),
        rules: Vec::new(),
        series,
    })
}

/// A trial beside the mean of its cell.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// Its place in the order of time, from 1.
    pub(crate) place: usize,
    /// Its rate over the mean of its cell.
    pub(crate) ratio: f64,
    /// Relative half-width of the interval within it.
    pub(crate) within: Option<f64>,
    /// What it was.
    pub(crate) what: String,
    /// The series that it belongs to.
    pub(crate) series: &'static str,
}

/// Visits from which on their course is drawn.
const VISITS: usize = 4;
/// Visits up to which each has its error bar.
const BARS_MAX: usize = 120;
/// A visit within this share of its cell's mean is near it.
const NEAR: f64 = 0.1;

/// How the level moved between trials, each against the mean of its own cell.
pub(crate) fn visits(mut visits: Vec<Visit>) -> Option<Chart> {
    visits.retain(|visit| visit.ratio.is_finite());
    visits.sort_by_key(|visit| visit.place);
    if visits.len() < VISITS {
        return None;
    }
    let ratios = || visits.iter().map(|visit| visit.ratio);
    let (early, late) = visits.split_at(visits.len() / 2);
    let level = |part: &[Visit]| stats::median(part.iter().map(|visit| visit.ratio).collect());
    let near = ratios().filter(|ratio| (ratio - 1.0).abs() <= NEAR).count();
    let finding = format!(
        "{near} of {} trials were within 10 % of the mean of their cell; the second half ran at {} of \
         the first.",
        visits.len(),
        number::percent(level(late) / level(early))
    );
    let mut names: Vec<&str> = visits.iter().map(|visit| visit.series).collect();
    names.sort_unstable();
    names.dedup();
    // Hundreds of bars beside each other hide the marks.
    let bars = visits.len() <= BARS_MAX;
    let of = |name: &str| {
        let own = visits.iter().filter(|visit| visit.series == name);
        let points = own.map(|visit| Point {
            low: visit.within.filter(|_| bars).map(|half| visit.ratio * (1.0 - half)),
            high: visit.within.filter(|_| bars).map(|half| visit.ratio * (1.0 + half)),
            ..Point::bare(visit.place as f64, visit.ratio).remark(&visit.what)
        });
        Series::new(name, Form::Marks, points.collect())
    };
    Some(Chart {
        title: "Trials in order of time, each against the mean of its cell".to_owned(),
        finding,
        errors: if bars {
            "Error bars: 95 % interval within the trial; what moves between trials is the scatter."
        } else {
            "The scatter is the error; intervals within so many trials are not drawn."
        }
        .to_owned(),
        x: Axis::over("trial", None, visits.iter().map(|visit| visit.place as f64)),
        y: Axis::from_zero("rate over the mean of its cell", None, ratios().chain([1.0])),
        rules: vec![Rule::level(0.5, "half of the mean"), Rule::level(1.0, "")],
        series: names.into_iter().map(of).collect(),
    })
}
