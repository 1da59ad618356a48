//! What `halfpower import` prints: what was read from a file, and what it cannot answer.
//!
//! A reader wants to know whether this is the right recording before concluding anything from it:
//! the machine, the span of time, the disks and how busy they were. What is missing follows at
//! once, because it decides which questions are worth asking. The same page serves a recording of
//! our own.

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, traced};
use record::{Figure, Interval, Observation, ObservedDevice};

/// Column at which the values of labelled lines begin.
const VALUES: usize = 15;
/// Column at which the text of the first line begins.
const HEAD: usize = 13;
/// Devices that are listed; the document has all.
const MOST_DEVICES: usize = 40;
/// Devices without requests that are named.
const MOST_IDLE: usize = 12;
/// Nanoseconds in a second and seconds in a day.
const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;

/// An observation in short: where from, when, which devices, and the findings.
#[must_use]
pub fn observation_text(observation: &Observation, style: &Style) -> String {
    let mut page = Page::new(style);
    let host = observation.host.as_ref().map_or(String::new(), |host| format!(" of {host}"));
    let lead = vec![Span::new("Observation: ", Tone::Strong)];
    page.hanging(lead, &format!("{}{host}", observation.source), Tone::Plain);
    page.paragraph(HEAD, &span(observation), Tone::Plain);
    finding::print_verdict(&mut page, &observation.findings);
    page.blank();
    devices(&mut page, observation);
    traced::print(&mut page, observation);
    finding::print(&mut page, &observation.findings);
    if !observation.id.is_empty() {
        page.blank();
        page.labelled("observation", VALUES, &observation.id);
    }
    page.finish()
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
        format!("of {}", time(*shortest))
    } else {
        format!("of {} to {}", time(*shortest), time(*longest))
    };
    format!(
        "{} to {} UTC: {}, {} intervals {of} over {} device{}",
        moment(begin),
        moment(end),
        time(end - begin),
        number::count(intervals.len() as f64),
        observation.devices.len(),
        if observation.devices.len() == 1 { "" } else { "s" },
    )
}

/// A length of time in the largest unit that fits.
fn time(ns: u64) -> String {
    let seconds = ns / SECOND_NS;
    match seconds {
        0..=119 => number::time(ns as f64),
        120..=7_199 => format!("{} min", number::digits(seconds as f64 / 60.0)),
        7_200..=172_799 => format!("{} h", number::digits(seconds as f64 / 3_600.0)),
        _ => format!("{} days", number::digits(seconds as f64 / DAY_S as f64)),
    }
}

/// A moment in UTC to the second. The date is counted in years that begin in March, so that the leap
/// day is the last of its year; 719,468 days lie between 0000-03-01 and 1970.
fn moment(ns: u64) -> String {
    let seconds = ns / SECOND_NS;
    let days = seconds / DAY_S + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let of_day = seconds % DAY_S;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
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
fn devices(page: &mut Page, observation: &Observation) {
    let requests = |it: &Interval| it.all.per_s.map(|rate| rate.value);
    let is_idle = |device: &&ObservedDevice| {
        let mut own = observation.intervals.iter().filter(|it| it.device == device.name);
        own.all(|it| requests(it) == Some(0.0))
    };
    let (idle, active): (Vec<&ObservedDevice>, Vec<&ObservedDevice>) =
        observation.devices.iter().partition(is_idle);
    let mut rows: Vec<(f64, Vec<Entry>)> =
        active.into_iter().map(|device| row(device, &observation.intervals)).collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
    ]);
    table.groups(vec![("means over time".into(), 3, 7)]);
    table.titles(&[
        "device",
        "intervals",
        "with I/O",
        "requests",
        "bytes",
        "response",
        "busy",
        "L",
    ]);
    let left_out = rows.len().saturating_sub(MOST_DEVICES);
    for (_, row) in rows.into_iter().take(MOST_DEVICES) {
        table.row(row);
    }
    table.print(page);
    if !idle.is_empty() {
        let mut names: Vec<String> =
            idle.iter().take(MOST_IDLE).map(|device| shortened(&device.name)).collect();
        if idle.len() > MOST_IDLE {
            names.push(format!("{} more", idle.len() - MOST_IDLE));
        }
        page.paragraph(2, &format!("without any request: {}", names.join(", ")), Tone::Plain);
    }
    if left_out > 0 {
        page.paragraph(2, &format!("{left_out} more devices with fewer requests"), Tone::Faint);
    }
    page.paragraph(
        2,
        "latency: mean of the requests completed, at the block layer; L: requests in progress; \
         –: not told by the source",
        Tone::Faint,
    );
    page.blank();
}

/// Requests per second, and the row of a device.
fn row(device: &ObservedDevice, intervals: &[Interval]) -> (f64, Vec<Entry>) {
    let own = || intervals.iter().filter(|it| it.device == device.name);
    let over_time = |figure: fn(&Interval) -> Option<Figure>| {
        mean(own(), |it| Some((figure(it)?.value, it.duration_ns as f64)))
    };
    let active = own().filter(|it| it.all.per_s.is_some_and(|rate| rate.value > 0.0)).count();
    let knows_rate = own().any(|it| it.all.per_s.is_some());
    let requests = over_time(|it| it.all.per_s);
    let latency = mean(own(), |it| {
        let requests = it.all.per_s?.value * it.duration_ns as f64;
        Some((it.all.latency_ns?.value, requests))
    });
    let steps = own().filter_map(|it| it.all.latency_ns).map(|it| it.resolution);
    let finest = steps.fold(f64::INFINITY, f64::min);
    let or_none = |value: Option<f64>, format: &dyn Fn(f64) -> String| {
        Entry::text(value.map_or(number::NONE.to_owned(), format))
    };
    let row = vec![
        Entry::toned(shortened(&device.name), Tone::Strong),
        Entry::text(number::count(own().count() as f64)),
        or_none(knows_rate.then_some(active as f64), &number::count),
        or_none(requests, &number::per_second),
        or_none(over_time(|it| it.all.bytes_per_s), &number::rate),
        or_none(latency, &|latency| match finest {
            // A mean of 0 is one that the source could not tell from 0.
            step if latency < step => format!("<{}", number::time(step)),
            _ => number::time(latency),
        }),
        or_none(over_time(|it| it.busy_share), &number::percent),
        or_none(over_time(|it| it.concurrency), &number::digits),
    ];
    (requests.unwrap_or(0.0), row)
}

/// A name that fits its column.
pub(crate) fn shortened(name: &str) -> String {
    const LONGEST: usize = 16;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let observation = Observation {
            source: "test".into(),
            devices: vec![device],
            intervals: vec![interval],
            ..Observation::default()
        };
        let text = observation_text(&observation, &Style::default());
        assert!(text.contains("2020-06-01 12:00:01 to 2020-06-01 12:00:02 UTC"), "{text}");
        let row = text.lines().find(|line| line.contains("100/s")).unwrap();
        assert!(row.ends_with('–') && !row.contains(" 0"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
