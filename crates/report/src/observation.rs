//! What is said of an observation: where from, when, which devices, and what it cannot answer.
//!
//! A reader wants to know whether this is the right recording before concluding anything from it:
//! the machine, the span of time, the disks and how busy they were. What is missing follows at
//! once, because it decides which questions are worth asking. Figures of a source are as fine as its
//! counters, so that each is drawn with its resolution as the band. Whether the device is slow is the
//! matter of a diagnosis, which is a document of its own.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number::{self, counted, duration};
use crate::story::{Cell, Column, Story, Table, Tone, capital};
use crate::traced;
use record::{Figure, Interval, Observation, ObservedDevice, Unit};

/// Devices in one plot: the busiest.
const DEVICES: usize = 6;
/// Points of a curve, at most.
const POINTS: usize = 400;
/// Devices that are listed; the document has all.
const MOST_DEVICES: usize = 40;
/// Devices without requests that are named.
const MOST_IDLE: usize = 12;

/// The story of an observation.
#[must_use]
pub fn observation(observation: &Observation) -> Story {
    let begin = observation.intervals.iter().map(|i| i.begin_ns).min().unwrap_or(0);
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
    let mut by_requests: Vec<(f64, &str)> = observation
        .devices
        .iter()
        .map(|device| (requests(observation, &device.name), device.name.as_str()))
        .collect();
    by_requests.sort_by(|a, b| b.0.total_cmp(&a.0));
    story.headline = match by_requests.first() {
        Some((requests, name)) if *requests > 0.0 => {
            format!("The busiest device is {name} with {}.", counted(requests.round(), "request"))
        }
        _ => "No requests were seen.".to_owned(),
    };
    story.fact("span", span(observation));
    devices(&mut story, observation);
    traced::traced(&mut story, observation);
    if let Some((_, name)) = by_requests.get(DEVICES) {
        story.left_out.push(format!(
            "The {DEVICES} busiest of {} devices are drawn; {name} and less busy ones are not.",
            by_requests.len()
        ));
    }
    by_requests.truncate(DEVICES);
    let names: Vec<&str> = by_requests.iter().map(|(_, name)| *name).collect();
    for quantity in &QUANTITIES {
        match over_time(observation, &names, quantity, begin) {
            Some(chart) => story.charts.push(chart),
            None => story.left_out.push(format!("Unknown to the source: {}.", quantity.title)),
        }
    }
    story.charts.extend(latency_against_rate(observation, &names));
    let time = observation.time.as_deref().map(number::when);
    story.condition("recorded", time.unwrap_or_default());
    story.condition("version", format!("halfpower {}", observation.halfpower_version));
    story.condition("id", &observation.id);
    story
}

/// The span of time and its intervals.
fn span(observation: &Observation) -> String {
    let intervals = &observation.intervals;
    let begin = intervals.iter().map(|it| it.begin_ns).min().unwrap_or(0);
    let end = intervals.iter().map(|it| it.begin_ns.saturating_add(it.duration_ns)).max();
    let end = end.unwrap_or(begin);
    let mut lengths: Vec<u64> = intervals.iter().map(|it| it.duration_ns).collect();
    lengths.sort_unstable();
    let (Some(shortest), Some(longest)) = (lengths.first(), lengths.last()) else {
        return "no intervals".to_owned();
    };
    let of = if shortest == longest {
        format!("of {}", duration(*shortest))
    } else {
        format!("of {} to {}", duration(*shortest), duration(*longest))
    };
    format!(
        "{} to {} UTC: {}, {} {of} over {}",
        moment(begin),
        moment(end),
        duration(end - begin),
        counted(intervals.len() as f64, "interval"),
        counted(observation.devices.len() as f64, "device"),
    )
}

/// A moment in UTC to the second.
fn moment(ns: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(ns.into()).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Mean of a figure over the intervals that have it, weighted.
fn mean<'a>(
    intervals: impl Iterator<Item = &'a Interval>,
    figure: impl Fn(&Interval) -> Option<(f64, f64)>,
) -> Option<f64> {
    let (sum, weight) = intervals
        .filter_map(figure)
        .fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    (weight > 0.0).then(|| sum / weight)
}

/// A table of devices, the busiest first.
fn devices(story: &mut Story, observation: &Observation) {
    let is_idle = |device: &&ObservedDevice| {
        let mut own = observation.intervals.iter().filter(|it| it.device == device.name);
        own.all(|it| rate(it).map(|rate| rate.value) == Some(0.0))
    };
    let (idle, active): (Vec<&ObservedDevice>, Vec<&ObservedDevice>) =
        observation.devices.iter().partition(is_idle);
    let mut rows: Vec<(f64, Vec<Cell>)> =
        active.into_iter().map(|device| row(device, &observation.intervals)).collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let means = ["iops", "bytes_per_s", "latency_mean_ns", "utilization", "concurrency"];
    let mut columns = vec![
        Column::left("device").flexible(),
        Column::right("intervals"),
        Column::right("with I/O"),
    ];
    columns.extend(means.map(|id| Column::of(id).group("means over time")));
    let mut table = Table::new(columns);
    let left_out = rows.len().saturating_sub(MOST_DEVICES);
    rows.into_iter().take(MOST_DEVICES).for_each(|(_, row)| table.row(row));
    let section = story.section("Devices", "");
    section.table(table);
    if !idle.is_empty() {
        let mut names: Vec<String> =
            idle.iter().take(MOST_IDLE).map(|device| device.name.clone()).collect();
        if idle.len() > MOST_IDLE {
            names.push(format!("{} more", idle.len() - MOST_IDLE));
        }
        section.text(format!("Without any request: {}.", names.join(", ")));
    }
    if left_out > 0 {
        section.note(format!("{left_out} more devices with fewer requests"));
    }
    section.note(
        "latency: mean of the requests completed, at the block layer; QD: queue depth; –: unknown \
         to the source",
    );
}

/// Requests per second, and the row of a device.
fn row(device: &ObservedDevice, intervals: &[Interval]) -> (f64, Vec<Cell>) {
    let own = || intervals.iter().filter(|it| it.device == device.name);
    let over_time = |figure: fn(&Interval) -> Option<Figure>| {
        mean(own(), |it| Some((figure(it)?.value, it.duration_ns as f64)))
    };
    let active = own().filter(|it| rate(it).is_some_and(|rate| rate.value > 0.0)).count();
    let knows_rate = own().any(|it| rate(it).is_some());
    let requests = over_time(rate);
    let mean_latency =
        mean(own(), |it| Some((latency(it)?.value, rate(it)?.value * it.duration_ns as f64)));
    let steps = own().filter_map(latency).map(|it| it.resolution);
    let finest = steps.fold(f64::INFINITY, f64::min);
    let row = vec![
        Cell::toned(&device.name, Tone::Strong),
        number::count(own().count() as f64).into(),
        Cell::or_none(knows_rate.then_some(active as f64), number::count),
        Cell::or_none(requests, number::count),
        Cell::or_none(over_time(throughput), number::rate),
        Cell::or_none(mean_latency, |mean| match finest {
            // A mean of 0 is one that the source could not distinguish from 0.
            step if mean < step => format!("<{}", number::time(step)),
            _ => number::time(mean),
        }),
        Cell::or_none(over_time(|it| it.busy_share), number::percent),
        Cell::or_none(over_time(|it| it.concurrency), number::digits),
    ];
    (requests.unwrap_or(0.0), row)
}

/// A figure that is drawn over time.
struct Quantity {
    title: &'static str,
    unit: Option<Unit>,
    /// Whether the ordinate is logarithmic.
    log: bool,
    of: fn(&Interval) -> Option<Figure>,
}

const QUANTITIES: [Quantity; 5] = [
    Quantity { title: "IOPS", unit: Some(Unit::PerSecond), log: false, of: rate },
    Quantity { title: "throughput", unit: Some(Unit::BytesPerSecond), log: false, of: throughput },
    Quantity { title: "mean latency", unit: Some(Unit::Nanos), log: true, of: latency },
    Quantity { title: "queue depth", unit: None, log: false, of: |i| i.concurrency },
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

fn throughput(interval: &Interval) -> Option<Figure> {
    sum(interval.all.bytes_per_s, interval.read.bytes_per_s, interval.write.bytes_per_s)
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
        title: format!("{} over time", capital(title)),
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

/// Latency of each interval against its rate: what load does to a device.
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
        "{}: intervals with less than the median rate had a latency of {}, those with more {}.",
        first.name,
        number::time(middle(quiet)),
        number::time(middle(busy))
    );
    let points = || series.iter().flat_map(|series| &series.points);
    Some(Chart {
        title: "Latency against IOPS, an interval each".to_owned(),
        finding,
        errors: "Error bars: the smallest step that the source can tell.".to_owned(),
        x: Axis::from_zero("IOPS", Some(Unit::PerSecond), points().map(|point| point.x)),
        y: Axis::decades("mean latency", Some(Unit::Nanos), points().map(|point| point.y)),
        rules: Vec::new(),
        series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Style, terminal};

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn moments_are_dates_of_the_calendar() {
        assert_eq!(moment(0), "1970-01-01 00:00:00");
        assert_eq!(moment(951_782_400 * SECOND_NS), "2000-02-29 00:00:00");
        assert_eq!(moment(1_591_012_801 * SECOND_NS), "2020-06-01 12:00:01");
        assert_eq!(moment(4_107_542_399 * SECOND_NS), "2100-02-28 23:59:59");
    }

    #[test]
    fn the_page_says_what_was_read_and_shows_no_zero_for_what_is_unknown() {
        let mut interval = Interval {
            device: "sd\u{1b}[31ma".into(),
            begin_ns: 1_591_012_801 * SECOND_NS,
            duration_ns: SECOND_NS,
            ..Interval::default()
        };
        interval.all.per_s = Some(Figure::measured(100.0, 0.01));
        let device = ObservedDevice { name: interval.device.clone(), ..ObservedDevice::default() };
        let observed = Observation {
            source: "test".into(),
            devices: vec![device],
            intervals: vec![interval],
            ..Observation::default()
        };
        let text = terminal(&observation(&observed), &Style::default());
        assert!(text.contains("2020-06-01 12:00:01 to 2020-06-01 12:00:02 UTC"), "{text}");
        let row = text.lines().find(|line| line.starts_with("  sd")).unwrap();
        assert!(row.ends_with('–') && row.contains(" 100 ") && !row.contains(" 0"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
