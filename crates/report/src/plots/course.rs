//! Plots rate and latency over the course of a run.
//!
//! A run has a thousand slices, and a drawing has space for a quarter of them. Neighbouring slices are
//! averaged, and a band shows their minimum and maximum, so that a stall in one slice remains visible.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, extremes, points, xs};
use crate::story::{capital, number, prefix};
use record::{Trial, Unit};
use stats::Ordered;
use std::collections::BTreeMap;

const POINTS: usize = 256;
const BANDS: &str = "Bands: minimum and maximum of the intervals in a point.";

/// Averages neighbouring points if there are more than `most`: mean, minimum and maximum.
pub(crate) fn thinned(points: Vec<Point>, most: usize) -> Vec<Point> {
    let together = points.len().div_ceil(most).max(1);
    if together == 1 {
        return points;
    }
    let chunk = |chunk: &[Point]| {
        let mean = |of: fn(&Point) -> f64| chunk.iter().map(of).sum::<f64>() / chunk.len() as f64;
        let ends = chunk.iter().flat_map(|point| [point.low, point.high]).flatten();
        let (low, high) = extremes(ends);
        Point::within(mean(|point| point.x), mean(|point| point.y), low, high)
    };
    points.chunks(together).map(chunk).collect()
}

/// The values of named trials' slices, each at the middle of its time. Slices without a value are left out.
fn slices(named: &[(String, &Trial)], values: fn(&Trial) -> Vec<Option<f64>>) -> Vec<Series> {
    let series = named.iter().map(|(name, trial)| {
        let step = trial.result.series.interval_ns.0 as f64;
        let slices = values(trial).into_iter().enumerate().filter_map(|(place, value)| {
            let value = value.filter(|value| value.is_finite())?;
            Some(Point::within((place as f64 + 0.5) * step, value, value, value))
        });
        Series::new(name, Form::Trace, thinned(slices.collect(), POINTS))
    });
    series.filter(|series| series.points.len() > 1).collect()
}

fn over_time(title: &str, finding: &str, y: Axis, series: Vec<Series>) -> Chart {
    let x = Axis::over("time", Some(Unit::Nanos), xs(&series).chain([0.0]));
    Chart::new(title, capital(finding), (x, y), series).errors(BANDS)
}

/// The rate over time, with a line at half of its mean.
pub(crate) fn rate_over_time(named: &[(String, &Trial)]) -> Option<Chart> {
    let series = slices(named, |trial| {
        let seconds = trial.result.series.interval_ns.as_secs_f64();
        trial.result.series.ios.iter().map(|ios| Some(*ios as f64 / seconds)).collect()
    });
    let (name, trial) = named.first()?;
    let (first, mean) = (series.first()?, trial.iops());
    let below = first.points.iter().filter(|point| point.y < mean / 2.0).count();
    let steady = match trial.result.steady {
        Some(true) => "; it was steady",
        Some(false) => "; it was NOT steady",
        None => "",
    };
    let share = number::percent(below as f64 / first.points.len() as f64);
    let low = match below {
        0 => "never below half of that".to_owned(),
        _ => format!("below half of that for {share} of the time"),
    };
    let (name, rate) = (prefix(name), number::per_second(mean));
    let finding = format!("{name}the rate was {rate} on average and {low}{steady}.");
    let half = (named.len() == 1).then(|| Rule::level(mean / 2.0, "half of the mean"));
    let highs = points(&series).filter_map(|point| point.high);
    let y = Axis::from_zero("I/O rate", Some(Unit::PerSecond), highs);
    Some(over_time("I/O rate over time", &finding, y, series).rules(half))
}

/// The mean latency over time.
pub(crate) fn latency_over_time(named: &[(String, &Trial)]) -> Option<Chart> {
    let series = slices(named, |trial| trial.result.series.latency_mean_ns.clone());
    let first = series.first()?;
    let median = stats::median(first.points.iter().map(|point| point.y).collect());
    let high = |point: &Point| point.high.unwrap_or(point.y);
    let worst = first.points.iter().max_by(|a, b| high(a).total_cmp(&high(b)))?;
    let [longest, usual, after] = [high(worst), median, worst.x].map(number::time);
    let (name, times) = (prefix(&first.name), number::digits(high(worst) / median));
    let times = format!("{times} times the usual {usual}");
    let finding = format!(
        "{name}requests took longest {after} after the start: {longest} on average, {times}."
    );
    let y = Axis::decades("mean latency", Some(Unit::Nanos), ends(&series));
    Some(over_time("Latency over time", &finding, y, series))
}

/// The point of a trial relative to the mean of its cell, and the series that it belongs to. The
/// interval comes from within the trial. `place` is its position in time, from 1.
pub(crate) fn visit(
    place: usize,
    trial: &Trial,
    cell_iops: f64,
    what: &str,
) -> (&'static str, Point) {
    let (ratio, half) = (trial.iops() / cell_iops, super::rate_interval(trial));
    let point = Point {
        low: half.map(|half| ratio * (1.0 - half)),
        high: half.map(|half| ratio * (1.0 + half)),
        ..Point::bare(place as f64, ratio).remark(what)
    };
    (super::op_word(&trial.workload), point)
}

/// Fewest visits for a plot of their course.
const VISITS: usize = 4;
/// Largest number of visits with error bars: hundreds of bars would hide the marks.
const BARS_MAX: usize = 120;
/// A visit within this share of its cell's mean counts as near it.
const NEAR: f64 = 0.1;

/// The drift of the level between trials, each relative to the mean of its own cell.
pub(crate) fn visits(mut visits: Vec<(&'static str, Point)>) -> Option<Chart> {
    visits.retain(|(_, visit)| visit.y.is_finite());
    visits.sort_by_cached_key(|(_, visit)| Ordered(visit.x));
    if visits.len() < VISITS {
        return None;
    }
    let ratios: Vec<f64> = visits.iter().map(|(_, visit)| visit.y).collect();
    let (early, late) = ratios.split_at(ratios.len() / 2);
    let level = |part: &[f64]| stats::median(part.to_vec());
    let near = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= NEAR).count();
    let (all, late) = (visits.len(), number::percent(level(late) / level(early)));
    let finding = format!(
        "{near} of {all} trials were within 10 % of the mean of their cell; the rates in the second \
         half were {late} of those in the first."
    );
    let x = Axis::over("trial", None, visits.iter().map(|(_, visit)| visit.x));
    let bars = visits.len() <= BARS_MAX;
    let mut by_series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for (series, visit) in visits {
        let visit = if bars { visit } else { Point { low: None, high: None, ..visit } };
        by_series.entry(series).or_default().push(visit);
    }
    let errors = match bars {
        true => {
            "Error bars: 95 % interval within the trial; the scatter shows the variation between \
             trials."
        }
        false => {
            "The scatter shows the error. With this many trials, individual error bars are not drawn."
        }
    };
    let y =
        Axis::from_zero("rate over the mean of its cell", None, ratios.into_iter().chain([1.0]));
    let series = by_series.into_iter().map(|(name, all)| Series::new(name, Form::Marks, all));
    let title = "Trials in order of time, relative to the mean of their cell";
    let rules = [Rule::level(0.5, "half of the mean"), Rule::level(1.0, "")];
    Some(Chart::new(title, finding, (x, y), series.collect()).errors(errors).rules(rules))
}
