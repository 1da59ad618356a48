//! Summarizes several devices: the worst first, the idle ones in one line.

use super::{advice, told, verdict_text};
use crate::observation::IDLE_MAX;
use crate::story::{
    Action, BEFORE_CUTS, Block, Cell, Story, Table, Tone, confidence, named, number, prefix,
};
use record::{Activity, Calibrated, DeviceDiagnosis, Episode, Verdict};
use stats::grouped;

/// The text for a device without any recorded interval.
pub(super) const NO_INTERVAL: &str = "not one interval";

/// Whether a device was idle all the time.
pub(super) fn is_idle(device: &DeviceDiagnosis) -> bool {
    let all_idle = device.episodes.iter().all(|episode| episode.activity == Activity::Idle);
    all_idle && !device.episodes.is_empty()
}

/// Whether a device has a problem, so that its details are shown.
pub(super) fn matters(device: &DeviceDiagnosis) -> bool {
    device.shown_episode().is_some_and(Episode::is_likely_trouble)
}

/// Sort key, lower for a worse device: first the tone of its verdict, then the time that its requests lose.
pub(super) fn rank(device: &DeviceDiagnosis) -> f64 {
    let Some(main) = device.shown_episode() else { return f64::MAX };
    let place = match told(main.verdict).1 {
        Tone::Bad => 0.0,
        Tone::Warn => 1.0,
        _ if main.is_likely_trouble() => 2.0,
        // A remedy for a fine disk is for a cause above it.
        _ if !device.advice.is_empty() => 2.5,
        Tone::Faint => 3.0,
        _ => 4.0,
    };
    // The mean number of waiting requests, without a profile of all in flight, mapped to less than half a
    // step of the rank.
    let iops = main.numbers.iops.unwrap_or(0.0);
    let split = main.calibrated.map(|split| split.queue_ns);
    let waiting = split.or(main.numbers.latency_ns).map_or(0.0, |waits_ns| iops * waits_ns / 1e9);
    place - 0.4 * waiting / (waiting + 1.0)
}

/// The table of the devices in this order, trouble below a named device, why some have no verdict, and the
/// idle ones.
pub(super) fn overview(
    story: &mut Story,
    source: &str,
    devices: &[&DeviceDiagnosis],
    idle: &[&DeviceDiagnosis],
) {
    let rows = devices.iter().filter_map(|device| Some((*device, device.shown_episode()?)));
    let rows: Vec<(&DeviceDiagnosis, &Episode)> = rows.collect();
    let table = Table::of(rows.iter().copied(), |t| {
        t.devices(|(device, _)| &device.device);
        t.left("verdict", |(_, main)| Cell::toned(verdict(main), told(main.verdict).1)).flexible();
        t.of("latency_mean_ns", |(_, main)| main.numbers.latency_ns).expendable(1);
        if rows.iter().any(|(_, main)| main.calibrated.is_some()) {
            let time = |split: Calibrated| number::time(split.expected_ns.value);
            t.right("expected", |(_, it)| Cell::or_none(it.calibrated, time))
                .expendable(BEFORE_CUTS);
        }
        t.of("iops", |(_, main)| main.numbers.iops).expendable(2);
        let rate = |bytes_per_s: f64| number::digits(bytes_per_s / 1e6);
        t.right("MB/s", |(_, it)| Cell::or_none(it.numbers.bytes_per_s, rate)).expendable(3);
        let depth = |main: &Episode| Cell::or_none(main.numbers.concurrency, number::digits);
        t.right("QD", |(_, main)| depth(main)).expendable(4);
        // Dropped first on a narrow terminal: the actions are listed below for each device with a problem.
        t.left("do first", |(device, main)| advice::first_in_words(device, main))
            .expendable(BEFORE_CUTS + 1);
    });
    if !table.rows.is_empty() {
        story.overview.push(Block::Table(table));
    }
    let because = devices.iter().filter_map(|device| match device.shown_episode() {
        Some(main) if main.verdict != Verdict::NotEnoughEvidence => None,
        found => {
            let claim = found.map_or(NO_INTERVAL, |main| main.claim.as_str());
            Some((claim, device.device.clone()))
        }
    });
    let because = grouped(because).into_iter();
    let because = because.map(|(claim, names)| prefix(&named(&names, IDLE_MAX)) + claim);
    let below = rows.iter().filter_map(|(device, main)| {
        let above = device.above.as_ref().filter(|_| main.verdict.is_trouble())?;
        let verdict = verdict_text(main);
        Some(format!("The requests of {above} go to {}, which is {verdict}.", device.device))
    });
    let mut lines: Vec<String> = below.chain(because).collect();
    let names: Vec<String> = idle.iter().map(|device| device.device.clone()).collect();
    lines.extend((!names.is_empty()).then(|| format!("Idle: {}.", named(&names, IDLE_MAX))));
    story.overview.extend(lines.into_iter().map(|line| Block::Text(line, Tone::Plain)));
    let first = idle.first().filter(|_| rows.is_empty());
    if let Some((device, main)) = first.and_then(|device| Some((device, device.shown_episode()?))) {
        story.actions.push(Action::new("", advice::without_remedy(source, device, main)));
    }
}

/// The verdict, with its confidence if that is informative.
fn verdict(main: &Episode) -> String {
    let words = verdict_text(main);
    match main.verdict {
        Verdict::NotEnoughEvidence => words,
        _ => format!("{words} ({})", confidence(main.confidence)),
    }
}
