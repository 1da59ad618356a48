//! Builds the report on an observation: its source, its time, its devices, and what it cannot answer.
//!
//! A reader first wants to know whether this is the right recording: the machine, the time span, the disks
//! and their load. Missing data follow at once, because they determine which questions can be answered. The
//! resolution of a figure is that of the source's counters, so each is drawn with its resolution as a band.
//! Whether a device is slow is decided by a diagnosis, which is a separate document.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, points, xs, ys};
use crate::issuers::issuers;
use crate::number::{self, counted, duration};
use crate::plots::thinned;
use crate::story::{Cell, Story, capital, named};
use crate::traced::traced;
use record::{DATES_FROM_NS, Figure, Interval, Observation, ObservedDevice, Unit};
use stats::{Ordered, weighted_mean};

/// Largest number of devices in a plot: the busiest.
const DEVICES: usize = 6;
const POINTS: usize = 400;
/// Largest number of listed devices; the document has all.
const MOST_DEVICES: usize = 40;
/// Largest number of named devices without requests.
pub(crate) const IDLE_MAX: usize = 12;

/// The story of an observation.
pub fn observation(observation: &Observation) -> Story {
    let begin = observation.first_ns().unwrap_or(0);
    let host = observation.host.as_ref().map(|host| format!(" of {host}"));
    let subject = format!("{}{}", observation.source, host.unwrap_or_default());
    let mut story = Story::new("Observation", subject, observation.source == "simulated")
        .saved(&observation.id, &observation.findings);
    let names = observation.devices.iter().map(|device| device.name.as_str());
    let mut by_requests: Vec<(f64, &str)> =
        names.map(|name| (requests(observation, name), name)).collect();
    by_requests.sort_by_cached_key(|one| Ordered(-one.0));
    story.headline = match by_requests.first() {
        Some((requests, name)) if *requests > 0.0 => {
            format!("The busiest device is {name} with {}.", counted(requests.round(), "request"))
        }
        _ if observation.intervals.iter().all(|it| it.all.per_s.is_none()) => {
            "The number of requests is unknown: the source does not report it.".to_owned()
        }
        _ => "No requests were seen.".to_owned(),
    };
    story.fact("span", span(observation));
    devices(&mut story, observation);
    issuers(&mut story, observation);
    traced(&mut story, observation);
    if let Some((_, name)) = by_requests.get(DEVICES) {
        let all = by_requests.len();
        let text = format!("are plotted; {name} and less busy ones are not.");
        story.left_out.push(format!("The {DEVICES} busiest of {all} devices {text}"));
    }
    by_requests.truncate(DEVICES);
    let names: Vec<&str> = by_requests.iter().map(|(_, name)| *name).collect();
    for quantity in &QUANTITIES {
        match over_time(observation, &names, quantity, begin) {
            Some(chart) => story.charts.push(chart),
            None => story.left_out.push(format!("Not reported by the source: {}.", quantity.0)),
        }
    }
    story.charts.extend(latency_against_rate(observation, &names));
    story.condition(
        "recorded",
        match &observation.time {
            Some(time) => number::when(time),
            None if story.simulated => String::new(),
            None => {
                "unknown: the source has no dates, so no diagnosis uses it as an earlier recording"
                    .to_owned()
            }
        },
    );
    story.written_by(&observation.halfpower_version);
    story
}

fn span(observation: &Observation) -> String {
    let intervals = &observation.intervals;
    let begin = observation.first_ns().unwrap_or(0);
    let end = intervals.iter().map(|it| it.begin_ns.saturating_add(it.duration_ns)).max();
    let end = end.unwrap_or(begin);
    let lengths = || intervals.iter().map(|it| it.duration_ns);
    let (Some(shortest), Some(longest)) = (lengths().min(), lengths().max()) else {
        return "no intervals".to_owned();
    };
    let mut of = format!("of {}", duration(shortest));
    of.extend((shortest < longest).then(|| format!(" to {}", duration(longest))));
    let (count, devices) = (intervals.len() as f64, observation.devices.len() as f64);
    let (count, devices) = (counted(count, "interval"), counted(devices, "device"));
    let (period, length) = (period(begin, end), duration(end - begin));
    format!("{period}: {length}, {count} {of} over {devices}")
}

/// Begin and end of a period: in UTC, or after the start of a recording without dates.
pub(crate) fn period(begin_ns: u64, end_ns: u64) -> String {
    if begin_ns >= DATES_FROM_NS {
        format!("{} to {} UTC", moment(begin_ns), moment(end_ns))
    } else {
        format!("{} to {} after the start", duration(begin_ns), duration(end_ns))
    }
}

/// A time in UTC to the second.
fn moment(ns: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(ns.into()).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

struct Row<'a> {
    device: &'a ObservedDevice,
    own: Vec<&'a Interval>,
    /// IOPS over the device's time.
    rate: Option<f64>,
}

impl Row<'_> {
    fn over_time(&self, figure: fn(&Interval) -> Option<Figure>) -> Option<f64> {
        let of = |it: &&Interval| Some((figure(it)?.value, it.duration_ns as f64));
        weighted_mean(self.own.iter().filter_map(of))
    }

    fn latency(&self) -> Cell {
        let of =
            |it: &&Interval| Some((latency(it)?.value, rate(it)?.value * it.duration_ns as f64));
        let steps = self.own.iter().filter_map(|it| latency(it)).map(|it| it.resolution);
        let finest = steps.fold(f64::INFINITY, f64::min);
        let mean = weighted_mean(self.own.iter().filter_map(of));
        Cell::or_none(mean, |mean| number::latency(Figure::derived(mean, finest)))
    }
}

fn devices(story: &mut Story, observation: &Observation) {
    let rows = observation.devices.iter().map(|device| {
        let own = observation.intervals.iter().filter(|it| it.device == device.name).collect();
        let row = Row { device, own, rate: None };
        Row { rate: row.over_time(rate), ..row }
    });
    let is_idle =
        |row: &Row<'_>| row.own.iter().all(|it| rate(it).map(|rate| rate.value) == Some(0.0));
    let (idle, mut rows): (Vec<Row<'_>>, Vec<Row<'_>>) = rows.partition(is_idle);
    rows.sort_by_cached_key(|one| Ordered(-one.rate.unwrap_or(0.0)));
    let left_out = rows.len().saturating_sub(MOST_DEVICES);
    rows.truncate(MOST_DEVICES);
    let with_io = |row: &Row<'_>| {
        let rates: Vec<Figure> = row.own.iter().filter_map(|it| rate(it)).collect();
        let active = rates.iter().filter(|rate| rate.value > 0.0).count();
        (!rates.is_empty()).then_some(active as f64)
    };
    let section = story.section("Devices", "");
    section.table(rows, |t| {
        t.devices(|row| &row.device.name);
        t.right("intervals", |row| number::count(row.own.len() as f64));
        t.right("with I/O", |row| Cell::or_none(with_io(row), number::count));
        t.group("means over time");
        t.of("iops", |row| row.rate);
        t.of("bytes_per_s", |row| row.over_time(|it| it.all.bytes_per_s));
        t.titled("latency_mean_ns", Row::latency);
        t.of("utilization", |row| row.over_time(|it| it.busy_share));
        t.of("concurrency", |row| row.over_time(|it| it.concurrency));
    });
    if !idle.is_empty() {
        let names: Vec<String> = idle.iter().map(|row| row.device.name.clone()).collect();
        section.text(format!("No requests: {}.", named(&names, IDLE_MAX)));
    }
    let more = format!("{left_out} more devices with fewer requests");
    section.notes((left_out > 0).then_some(more));
    section.note(
        "latency: mean of the requests completed, at the block layer; QD: queue depth; –: not in \
         the source",
    );
}

/// A figure plotted over time: title, unit, whether the ordinate is logarithmic, and how to get it.
type Quantity = (&'static str, Option<Unit>, bool, fn(&Interval) -> Option<Figure>);

const QUANTITIES: [Quantity; 5] = [
    ("IOPS", Some(Unit::PerSecond), false, rate),
    ("throughput", Some(Unit::BytesPerSecond), false, |interval| interval.all.bytes_per_s),
    ("mean latency", Some(Unit::Nanos), true, latency),
    ("queue depth", None, false, |interval| interval.concurrency),
    ("share of time busy", Some(Unit::Share), false, |interval| interval.busy_share),
];

fn rate(interval: &Interval) -> Option<Figure> {
    interval.all.per_s
}

fn latency(interval: &Interval) -> Option<Figure> {
    interval.all.latency_ns
}

fn requests(observation: &Observation, device: &str) -> f64 {
    let own = observation.intervals.iter().filter(|interval| interval.device == device);
    own.filter_map(|i| Some(rate(i)?.value * i.duration_ns as f64 / 1e9)).sum()
}

fn series(
    observation: &Observation,
    devices: &[&str],
    form: Form,
    point: impl Fn(&Interval) -> Option<Point>,
) -> Vec<Series> {
    let of_device = |device: &&str| {
        let own = observation.intervals.iter().filter(|interval| interval.device == *device);
        Series::new(*device, form, own.filter_map(&point).collect())
    };
    devices.iter().map(of_device).collect()
}

/// A point with the figure's resolution as its interval.
fn resolved(x: f64, figure: &Figure) -> Point {
    let half = figure.resolution / 2.0;
    Point::within(x, figure.value, (figure.value - half).max(0.0), figure.value + half)
}

fn over_time(
    observation: &Observation,
    devices: &[&str],
    &(title, unit, log, of): &Quantity,
    begin: u64,
) -> Option<Chart> {
    let mut series = series(observation, devices, Form::Trace, |interval| {
        let middle = (interval.begin_ns - begin) as f64 + interval.duration_ns as f64 / 2.0;
        Some(resolved(middle, &of(interval)?))
    });
    series.iter_mut().for_each(|it| it.points = thinned(std::mem::take(&mut it.points), POINTS));
    series.retain(|series| series.points.len() > 1);
    let first = series.first()?;
    let most = first.points.iter().max_by(|a, b| a.y.total_cmp(&b.y))?;
    let usual = stats::median(first.points.iter().map(|point| point.y).collect());
    let write = |value: f64| unit.map_or_else(|| number::digits(value), |unit| unit.format(value));
    let (name, after) = (&first.name, number::time(most.x));
    let (largest, usual) = (write(most.y), write(usual));
    let largest = format!("the maximum is {largest}, {after} after the start");
    let finding = format!("{name}, {title}: {largest}; the median interval has {usual}.");
    let y = match log {
        true => Axis::decades(title, unit, ys(&series)),
        false => Axis::from_zero(title, unit, points(&series).filter_map(|point| point.high)),
    };
    let half = Rule::level(most.y / 2.0, "half of the observed maximum");
    let half = (!log && series.len() == 1).then_some(half);
    let x = Axis::over("time", Some(Unit::Nanos), xs(&series).chain([0.0]));
    let errors = "Bands: the resolution of the source, or the range of the intervals in a point; \
                  counters have no other error.";
    let chart = Chart::new(format!("{} over time", capital(title)), finding, (x, y), series);
    Some(chart.errors(errors).rules(half))
}

/// Latency of each interval against its rate: the effect of load on a device.
fn latency_against_rate(observation: &Observation, devices: &[&str]) -> Option<Chart> {
    let mut series = series(observation, devices, Form::Marks, |interval| {
        Some(resolved(rate(interval)?.value, &latency(interval)?))
    });
    for each in &mut series {
        each.points.sort_by_cached_key(|one| Ordered(one.x));
        let every = each.points.len().div_ceil(POINTS).max(1);
        each.points = each.points.drain(..).step_by(every).collect();
    }
    series.retain(|series| series.points.len() > 3);
    let first = series.first()?;
    let (quiet, busy) = first.points.split_at(first.points.len() / 2);
    let middle = |part: &[Point]| stats::median(part.iter().map(|point| point.y).collect());
    let (name, [quiet, busy]) = (&first.name, [quiet, busy].map(|it| number::time(middle(it))));
    let finding = format!(
        "{name}: the latency was {quiet} in the quieter half of the intervals and {busy} in the busier half."
    );
    let x = Axis::from_zero("IOPS", Some(Unit::PerSecond), xs(&series));
    let y = Axis::decades("mean latency", Some(Unit::Nanos), ys(&series));
    let chart = Chart::new("Latency against IOPS, per interval", finding, (x, y), series);
    Some(chart.errors("Error bars: the resolution of the source."))
}
