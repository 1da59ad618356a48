//! Reports how a device changed over time: its episodes as a table, and the latency as a plot.

use super::{told, verdict_text};
use crate::chart::{Axis, Chart, Form, Point, Series, ends, xs};
use crate::story::{Cell, Story, capital, number, prefix};
use record::{Activity, Calibrated, DeviceDiagnosis, Episode, Moment, Unit};

/// Largest number of listed episodes; among more, the worst and the longest.
const EPISODES_MAX: usize = 16;
const SECOND_NS: f64 = 1e9;

/// Start of an episode relative to the first interval.
fn since_start(device: &DeviceDiagnosis, episode: &Episode) -> f64 {
    let first = device.episodes.first().map_or(0, |first| first.begin_ns);
    episode.begin_ns.saturating_sub(first) as f64
}

/// `0:00:30`.
fn clock(nanos: f64) -> String {
    let seconds = (nanos / SECOND_NS).max(0.0) as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn is_worst(device: &DeviceDiagnosis, index: usize) -> bool {
    device.worst.is_some_and(|worst| worst as usize == index)
}

pub(super) fn where_in_time(device: &DeviceDiagnosis, index: usize, episode: &Episode) -> String {
    if device.episodes.len() < 2 {
        return "one episode, the whole time".to_owned();
    }
    let which = if is_worst(device, index) { "the worst episode" } else { "the longest episode" };
    let (begin, length) = (clock(since_start(device, episode)), episode.duration_ns as f64);
    format!("{which}, number {} at {begin}, {} long", index + 1, number::time(length))
}

pub(super) fn episodes(story: &mut Story, device: &DeviceDiagnosis, title: String) {
    let remark = "expected: predicted latency at that queue depth; of max: rate relative to this mix's predicted maximum";
    let section = story.section(title, remark).supporting();
    let mut listed: Vec<usize> = (0..device.episodes.len()).collect();
    listed.sort_by_cached_key(|&index| {
        std::cmp::Reverse((is_worst(device, index), device.episodes[index].duration_ns))
    });
    listed.truncate(EPISODES_MAX);
    listed.sort_unstable();
    let more = Some(device.episodes.len() - listed.len()).filter(|more| *more > 0);
    let more = more.map(|more| number::counted(more as f64, "shorter episode"));
    let rows = listed.into_iter().map(|index| (index, &device.episodes[index]));
    section.table(rows, |t| {
        let mark = |index| if is_worst(device, index) { "*" } else { "" };
        t.right("#", |&(index, _)| format!("{}{}", index + 1, mark(index))).gap(1);
        t.right("from", |(_, episode)| clock(since_start(device, episode))).gap(1);
        t.right("for", |(_, episode)| number::time(episode.duration_ns as f64)).gap(1);
        t.left("verdict", |(_, episode)| {
            let words = match episode.activity {
                Activity::Idle => "idle".to_owned(),
                Activity::Quiet | Activity::Busy => verdict_text(episode),
            };
            Cell::toned(words, told(episode.verdict).1)
        });
        t.of("iops", |(_, episode)| episode.numbers.iops).gap(1);
        let kib = |bytes: f64| number::kib(bytes as u64);
        t.right("KiB", |(_, it)| Cell::or_none(it.numbers.request_bytes, kib)).expendable(2);
        t.of("latency_mean_ns", |(_, episode)| episode.numbers.latency_ns);
        let expected = |split: Calibrated| number::time(split.expected_ns.value);
        t.right("expected", |(_, episode)| Cell::or_none(episode.calibrated, expected));
        t.of("concurrency", |(_, episode)| episode.numbers.concurrency);
        t.of("utilization", |(_, episode)| episode.numbers.utilization).expendable(3);
        let share = |split: Calibrated| number::percent(split.saturation);
        t.right("of max", |(_, it)| Cell::or_none(it.calibrated, share)).expendable(1);
    });
    section.notes(more.map(|omitted| format!("{omitted} omitted; --json prints all.")));
}

/// Observed and expected latency over time. `subject` is the device's name if there are several.
pub(super) fn over_time(device: &DeviceDiagnosis, subject: &str) -> Option<Chart> {
    let begin = device.series.first()?.begin_ns;
    let at = |moment: &Moment| (moment.begin_ns - begin) as f64 + moment.duration_ns as f64 / 2.0;
    let moments = || device.series.iter();
    let seen: Vec<Point> =
        moments().filter_map(|it| Some(Point::bare(at(it), it.numbers.latency_ns?))).collect();
    let expected: Vec<Point> = moments()
        .filter_map(|it| Some(Point::estimate(at(it), &it.calibrated.as_ref()?.expected_ns)))
        .collect();
    if seen.len() < 2 {
        return None;
    }
    let ratios: Vec<f64> =
        moments().filter_map(|it| Some(it.calibrated.as_ref()?.latency_ratio)).collect();
    let finding = match ratios.is_empty() {
        true => "the expected latency is unknown.".to_owned(),
        false => format!(
            "in the median interval the latency was {} times the expected latency.",
            number::digits(stats::median(ratios))
        ),
    };
    let finding = prefix(subject) + &finding;
    let series = vec![
        Series::new("seen", Form::Trace, seen),
        Series::new("expected at this load", Form::Trace, expected),
    ];
    let x = Axis::over("time", Some(Unit::Nanos), xs(&series).chain([0.0]));
    let y = Axis::decades("mean latency", Some(Unit::Nanos), ends(&series));
    let title = capital(&format!("{}latency, measured and expected", prefix(subject)));
    let errors =
        "Band: 95 % interval of the profile's prediction. Measured values are exact counts.";
    Some(Chart::new(title, capital(&finding), (x, y), series).errors(errors))
}
