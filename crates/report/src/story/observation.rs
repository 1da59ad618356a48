//! What a report says of an observation: counters over time, without a verdict.
//!
//! Figures of a source are as fine as its counters, so that each is drawn with its resolution as
//! the band. What a source does not tell is said and not drawn. Whether the device is slow is the
//! matter of a diagnosis, which is a document of its own.

use super::{Sheet, Story};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use record::{Figure, Interval, Observation, Unit};

/// Devices in one plot: the busiest.
const DEVICES: usize = 6;
/// Points of a curve, at most.
const POINTS: usize = 400;

/// A figure that is drawn over time.
struct Quantity {
    title: &'static str,
    unit: Option<Unit>,
    /// Whether the ordinate is logarithmic.
    log: bool,
    of: fn(&Interval) -> Option<Figure>,
}

const QUANTITIES: [Quantity; 5] = [
    Quantity { title: "I/O rate", unit: Some(Unit::PerSecond), log: false, of: rate },
    Quantity {
        title: "throughput",
        unit: Some(Unit::BytesPerSecond),
        log: false,
        of: |interval| {
            sum(interval.all.bytes_per_s, interval.read.bytes_per_s, interval.write.bytes_per_s)
        },
    },
    Quantity { title: "mean response time", unit: Some(Unit::Nanos), log: true, of: latency },
    Quantity { title: "mean requests in progress", unit: None, log: false, of: |i| i.concurrency },
    Quantity {
        title: "share of time busy",
        unit: Some(Unit::Share),
        log: false,
        of: |i| i.busy_share,
    },
];

fn sum(all: Option<Figure>, read: Option<Figure>, write: Option<Figure>) -> Option<Figure> {
    all.or_else(|| match (read, write) {
        (Some(read), Some(write)) => {
            Some(Figure::derived(read.value + write.value, read.resolution + write.resolution))
        }
        (one, other) => one.or(other),
    })
}

fn rate(interval: &Interval) -> Option<Figure> {
    sum(interval.all.per_s, interval.read.per_s, interval.write.per_s)
}

fn latency(interval: &Interval) -> Option<Figure> {
    interval.all.latency_ns.or_else(|| {
        let (read, write) = (&interval.read, &interval.write);
        match (read.latency_ns.zip(read.per_s), write.latency_ns.zip(write.per_s)) {
            (Some((a, n)), Some((b, m))) => {
                let mean = (a.value * n.value + b.value * m.value) / (n.value + m.value);
                Some(Figure::derived(mean, a.resolution.max(b.resolution)))
            }
            (Some((only, _)), None) | (None, Some((only, _))) => Some(only),
            (None, None) => None,
        }
    })
}

/// The story of an observation.
pub(super) fn story(observation: &Observation) -> Story {
    let begin = observation.intervals.iter().map(|i| i.begin_ns).min().unwrap_or(0);
    let end = observation.intervals.iter().map(|i| i.begin_ns + i.duration_ns).max().unwrap_or(0);
    let mut story = Story {
        kind: "Observation".to_owned(),
        subject: match &observation.host {
            Some(host) => format!("{} of {host}", observation.source),
            None => observation.source.clone(),
        },
        id: observation.id.clone(),
        simulated: observation.source == "simulated",
        findings: observation.findings.clone(),
        ..Story::default()
    };
    let mut devices: Vec<(f64, &str)> = observation
        .devices
        .iter()
        .map(|device| (requests(observation, &device.name), device.name.as_str()))
        .collect();
    devices.sort_by(|a, b| b.0.total_cmp(&a.0));
    story.headline = match devices.first() {
        Some((requests, name)) if *requests > 0.0 => format!(
            "{} devices over {}; the busiest is {name} with {} requests.",
            devices.len(),
            number::time((end - begin) as f64),
            number::count(*requests)
        ),
        _ => "No requests were seen.".to_owned(),
    };
    for (_, name) in devices.iter().skip(DEVICES).take(1) {
        story.left_out.push(format!(
            "The {DEVICES} busiest of {} devices are drawn; {name} and less busy ones are not.",
            devices.len()
        ));
    }
    devices.truncate(DEVICES);
    let names: Vec<&str> = devices.iter().map(|(_, name)| *name).collect();
    for quantity in &QUANTITIES {
        match over_time(observation, &names, quantity, begin) {
            Some(chart) => story.charts.push(chart),
            None => story.left_out.push(format!("The source does not tell: {}.", quantity.title)),
        }
    }
    story.charts.extend(latency_against_rate(observation, &names));
    story.sheets.push(sheet(observation));
    story.condition("source", observation.source.clone());
    story.condition("host", observation.host.clone().unwrap_or_default());
    story.condition("taken", observation.time.as_deref().map(number::when).unwrap_or_default());
    story.condition("intervals", observation.intervals.len().to_string());
    story.condition("version", format!("halfpower {}", observation.halfpower_version));
    story.condition("id", observation.id.clone());
    story
}

/// Requests of a device over all intervals.
fn requests(observation: &Observation, device: &str) -> f64 {
    let own = observation.intervals.iter().filter(|interval| interval.device == device);
    own.filter_map(|i| Some(rate(i)?.value * i.duration_ns as f64 / 1e9)).sum()
}

fn over_time(
    observation: &Observation,
    devices: &[&str],
    quantity: &Quantity,
    begin: u64,
) -> Option<Chart> {
    let of_device = |device: &&str| {
        let own = observation.intervals.iter().filter(|interval| interval.device == *device);
        let points: Vec<Point> = own
            .filter_map(|interval| {
                let figure = (quantity.of)(interval)?;
                let middle = (interval.begin_ns - begin) as f64 + interval.duration_ns as f64 / 2.0;
                let half = figure.resolution / 2.0;
                let low = (figure.value - half).max(0.0);
                Some(Point::within(middle, figure.value, low, figure.value + half))
            })
            .collect();
        Series::new(*device, Form::Trace, thinned(points))
    };
    let series: Vec<Series> =
        devices.iter().map(of_device).filter(|series| series.points.len() > 1).collect();
    let first = series.first()?;
    let most = first.points.iter().max_by(|a, b| a.y.total_cmp(&b.y))?;
    let usual = stats::median(first.points.iter().map(|point| point.y).collect());
    let write = |value: f64| match quantity.unit {
        Some(unit) => number::in_unit(unit, value),
        None => number::digits(value),
    };
    let finding = format!(
        "{}: {} at most, {} after the beginning; the median of its intervals is {}.",
        first.name,
        write(most.y),
        number::time(most.x),
        write(usual)
    );
    let points = || series.iter().flat_map(|series| &series.points);
    let title = quantity.title;
    let y = match quantity.log {
        true => Axis::decades(title, quantity.unit, points().map(|point| point.y)),
        false => Axis::from_zero(title, quantity.unit, points().filter_map(|point| point.high)),
    };
    let rules = match quantity.log || series.len() > 1 {
        true => Vec::new(),
        false => vec![Rule::level(most.y / 2.0, "half of the most seen")],
    };
    Some(Chart {
        title: format!("{} over time", crate::profile::capital(title)),
        finding,
        errors:
            "Bands: the smallest step that the source can tell, or the range of intervals that a \
                 point stands for; a counter has no other error."
                .to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), points().map(|point| point.x).chain([0.0])),
        y,
        rules,
        series,
    })
}

/// Neighbours taken together where there are many: mean, least and largest.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let together = points.len().div_ceil(POINTS).max(1);
    if together == 1 {
        return points;
    }
    let chunk = |chunk: &[Point]| {
        let count = chunk.len() as f64;
        let mean = |of: fn(&Point) -> f64| chunk.iter().map(of).sum::<f64>() / count;
        let low = chunk.iter().filter_map(|p| p.low).fold(f64::INFINITY, f64::min);
        let high = chunk.iter().filter_map(|p| p.high).fold(f64::NEG_INFINITY, f64::max);
        Point::within(mean(|p| p.x), mean(|p| p.y), low, high)
    };
    points.chunks(together).map(chunk).collect()
}

/// Response time of each interval against its rate: what load does to a device.
fn latency_against_rate(observation: &Observation, devices: &[&str]) -> Option<Chart> {
    let of_device = |device: &&str| {
        let own = observation.intervals.iter().filter(|interval| interval.device == *device);
        let points = own.filter_map(|interval| {
            let (rate, latency) = (rate(interval)?, latency(interval)?);
            let half = latency.resolution / 2.0;
            let (low, high) = (latency.value - half, latency.value + half);
            Some(Point::within(rate.value, latency.value, low.max(0.0), high))
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let every = points.len().div_ceil(POINTS).max(1);
        Series::new(*device, Form::Marks, points.into_iter().step_by(every).collect())
    };
    let series: Vec<Series> =
        devices.iter().map(of_device).filter(|series| series.points.len() > 3).collect();
    let first = series.first()?;
    let (quiet, busy) = first.points.split_at(first.points.len() / 2);
    let middle = |part: &[Point]| stats::median(part.iter().map(|point| point.y).collect());
    let finding = format!(
        "{}: intervals with less than the median rate had a response time of {}, those with more {}.",
        first.name,
        number::time(middle(quiet)),
        number::time(middle(busy))
    );
    let points = || series.iter().flat_map(|series| &series.points);
    Some(Chart {
        title: "Response time against rate, an interval each".to_owned(),
        finding,
        errors: "Error bars: the smallest step that the source can tell.".to_owned(),
        x: Axis::from_zero("I/O rate", Some(Unit::PerSecond), points().map(|point| point.x)),
        y: Axis::decades("mean response time", Some(Unit::Nanos), points().map(|point| point.y)),
        rules: Vec::new(),
        series,
    })
}

/// The devices with their means over time.
fn sheet(observation: &Observation) -> Sheet {
    let columns = ["device", "requests", "largest rate", "largest response", "largest share busy"];
    let rows = observation.devices.iter().map(|device| {
        let own = || observation.intervals.iter().filter(|i| i.device == device.name);
        let most = |of: fn(&Interval) -> Option<Figure>| {
            own().filter_map(of).map(|figure| figure.value).reduce(f64::max)
        };
        let or_none = |value: Option<f64>, write: fn(f64) -> String| {
            value.map_or(number::NONE.to_owned(), write)
        };
        vec![
            device.name.clone(),
            number::count(requests(observation, &device.name)),
            or_none(most(rate), number::per_second),
            or_none(most(latency), number::time),
            or_none(most(|interval| interval.busy_share), number::percent_text),
        ]
    });
    Sheet {
        title: "Devices".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
