//! Plots the distribution of latency: the share of requests that took longer.
//!
//! Both axes are logarithmic, so that the median, the 99th and the 99.99th percentile get the same
//! space, and a second mode appears as a shelf. The curve ends where fewer than ten requests are
//! beyond it, because these have no significance. Rejected: a density (its look depends on the bin
//! width), and percentiles as bars (the values in between are lost).

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ys};
use crate::story::{bracketed, number};
use record::{HistogramSnapshot, NORMAL_95, Unit, bucket_high, bucket_low};

/// Fewest requests beyond the end of a curve.
const BEYOND: f64 = 10.0;
/// Least factor between neighbouring points in share or in time.
const STEP: f64 = 1.04;
/// Share at which a curve begins to determine the abscissa.
const FASTEST: f64 = 0.999;
/// Largest number of medians in the sentence of a plot.
const HALVES: usize = 3;

/// The curve of a histogram: for each time the share of requests that took longer.
fn curve(histogram: &HistogramSnapshot) -> Vec<Point> {
    let total = histogram.count() as f64;
    let mut points: Vec<Point> = Vec::new();
    let mut beyond = total;
    for &(bucket, count) in histogram.buckets.iter().filter(|bucket| bucket.1 > 0) {
        if points.is_empty() && total > 0.0 {
            let fastest = bucket_low(bucket as usize).max(1) as f64;
            points.push(Point::within(fastest, 1.0, 1.0, 1.0));
        }
        beyond -= count as f64;
        if beyond < BEYOND {
            break;
        }
        let share = beyond / total;
        let time = bucket_high(bucket as usize) as f64;
        let far = points.last().is_none_or(|last| last.y / share > STEP || time / last.x > 2.0);
        if far {
            let half = NORMAL_95 * (share * (1.0 - share) / total).sqrt();
            let (low, high) = ((share - half).max(0.5 / total), (share + half).min(1.0));
            points.push(Point::within(time, share, low, high));
        }
    }
    points
}

/// Trims a curve to the start of its axis. The share at the start is the one at the last time before it.
fn from_edge(series: Series, x: &Axis) -> Series {
    let before = series.points.iter().take_while(|point| point.x < x.range.0).count();
    let mut points = series.points;
    points.drain(..before.saturating_sub(1));
    if let Some(first) = points.first_mut() {
        first.x = first.x.max(x.range.0);
    }
    Series { points, ..series }
}

/// Named histograms in one plot; `None` if none of them has a curve.
pub(crate) fn distribution(named: &[(String, &HistogramSnapshot)]) -> Option<Chart> {
    let series: Vec<Series> = named
        .iter()
        .map(|(name, histogram)| Series::new(name, Form::Trace, curve(histogram)))
        .filter(|series| series.points.len() > 1)
        .collect();
    let (name, first) = named.iter().find(|(_, histogram)| histogram.percentile(0.5).is_some())?;
    if series.is_empty() {
        return None;
    }
    let median = first.percentile(0.5)?;
    let tail = [(0.9999, "one in 10,000"), (0.999, "one in 1,000"), (0.99, "one in 100")];
    let tail = tail.into_iter().find_map(|(p, words)| {
        let time = first.percentile(p)?;
        let times = number::digits(time / median);
        Some(format!(", {words} longer than {} ({times} times the median)", number::time(time)))
    });
    let tail = tail.unwrap_or_default();
    let halves = named.iter().filter_map(|(name, histogram)| {
        let median = number::time(histogram.percentile(0.5)?);
        let told = named.len() > 1 && !name.is_empty();
        Some(format!("{median}{}", bracketed(told.then(|| name.clone()), "")))
    });
    let halves: Vec<String> = halves.take(HALVES).collect();
    let of =
        if tail.is_empty() || halves.len() < 2 { String::new() } else { format!("; of {name}") };
    let tail = if of.is_empty() { tail } else { tail.replacen(',', "", 1) };
    let what = if named.len() == 1 && !name.is_empty() { name } else { "requests" };
    let finding = format!("Half of the {what} take less than {}{of}{tail}.", halves.join(" or "));
    // The fastest few in a thousand would take up decades of the axis, so it begins where they end.
    let slower = series.iter().flat_map(|series| {
        let from = series.points.iter().position(|point| point.y <= FASTEST);
        &series.points[from.unwrap_or(series.points.len()).saturating_sub(1)..]
    });
    let x = Axis::decades("latency", Some(Unit::Nanos), slower.map(|point| point.x));
    let series: Vec<Series> = series.into_iter().map(|series| from_edge(series, &x)).collect();
    let y = Axis::decades("share of requests that took longer", Some(Unit::Share), ys(&series));
    let mut rules = vec![Rule::level(0.5, "median"), Rule::level(0.01, "99th percentile")];
    rules.retain(|rule| ys(&series).any(|y| y <= rule.at));
    let errors = "Bands: 95 %, assuming independent requests; otherwise they are too narrow. Times are \
                  accurate to 0.8 %. Curves end where fewer than ten requests took longer.";
    let chart = Chart::new("Distribution of latency", finding, (x, y), series);
    Some(chart.errors(errors).rules(rules))
}
