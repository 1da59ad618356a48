//! Reports where the latency goes: service and queue, by the profile and by the utilization law.

use crate::chart::{Axis, Chart, Form, Point, Series};
use crate::story::{Story, capital, number, prefix};
use record::{DeviceDiagnosis, Episode, Unit};

/// The latency split into service and queue, in both ways.
pub(super) fn split_chart(
    device: &DeviceDiagnosis,
    episode: &Episode,
    subject: &str,
) -> Option<Chart> {
    let latency = episode.numbers.latency_ns?;
    let by_profile = episode.calibrated.as_ref();
    let by_profile = by_profile.map(|split| ("by the profile", split.unloaded_ns, split.queue_ns));
    let by_law = episode.utilization_law.as_ref();
    let by_law = by_law.map(|split| ("by the utilization law", split.service_ns, split.queue_ns));
    let rows: Vec<(&str, f64, f64)> = by_profile.into_iter().chain(by_law).collect();
    let bars = |name: &str, of: fn(&(&str, f64, f64)) -> f64| {
        let points = rows.iter().enumerate().map(|(row, split)| Point::bare(of(split), row as f64));
        Series::new(name, Form::Stack, points.collect())
    };
    let series = vec![bars("service", |row| row.1), bars("queue", |row| row.2)];
    let sums = rows.iter().map(|row| row.1 + row.2).chain([latency]);
    let x = Axis::from_zero("mean latency", Some(Unit::Nanos), sums);
    let y = Axis::named(rows.iter().map(|row| row.0.to_owned()).collect());
    let title = capital(&format!("{}where the latency goes", prefix(subject)));
    Chart::new(title, &device.splits_compared, (x, y), series).unless_empty()
}

pub(super) fn splits(
    story: &mut Story,
    device: &DeviceDiagnosis,
    episode: &Episode,
    title: String,
) {
    let Some(latency) = episode.numbers.latency_ns else { return };
    let by_law = episode.utilization_law.as_ref().map(|split| {
        let share = format!("U = {}", number::percent(split.utilization));
        ("utilization law: S = U/X", split.service_ns, split.queue_ns, share)
    });
    let by_profile = episode.calibrated.as_ref().map(|split| {
        let share = format!("X/max = {}", number::percent(split.saturation));
        ("by the profile: latency at QD 1", split.unloaded_ns, split.queue_ns, share)
    });
    let section = story.fold(title);
    section.table(by_law.into_iter().chain(by_profile), |t| {
        t.left("", |row| row.0);
        t.of("latency_mean_ns", |_| latency);
        t.of("service_ns", |row| row.1);
        t.right("queue", |row| number::time(row.2));
        t.right("", |row| row.3.clone()).gap(3);
    });
    section.note(&device.splits_compared);
    let hits = device.hit_share.known().map(|share| number::with_range(share, number::percent));
    section.note(match hits {
        Ok(hits) => format!("Share of reads as fast as hits in the device's cache: {hits}."),
        Err(reason) => format!("Share of reads served by the device's cache: unknown ({reason})."),
    });
}
