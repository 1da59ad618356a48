//! What the block-layer tracer saw of single requests, over all of an observation.
//!
//! The counters give means; the tracer tells the two parts of a latency apart (in the queue,
//! in the device) with their distributions. Two percentiles of each stand for them: the usual request
//! and the one in a hundred that somebody complains about. The document has the histograms.

use crate::number::{self, counted};
use crate::story::{Cell, Column, Section, Story, Table, Tone};
use record::{HistogramSnapshot, Interval, Observation, Traced, TracedOp};
use std::collections::BTreeMap;

/// One operation of what was traced.
type OpOf = fn(&Traced) -> &TracedOp;

/// Processes that are named.
const MOST_PROCESSES: usize = 5;

/// The tables; nothing where nothing was traced.
pub(crate) fn traced(story: &mut Story, observation: &Observation) {
    if observation.intervals.iter().all(|interval| interval.traced.is_none()) {
        return;
    }
    let mut columns =
        vec![Column::left("device").flexible(), Column::left(""), Column::right("requests")];
    for group in ["queued", "at disk"] {
        let own = [Column::of("latency_p50_ns"), Column::of("latency_p99_ns")];
        columns.extend(own.map(|column| column.group(group)));
    }
    columns.push(Column::right("sequential"));
    let mut table = Table::new(columns);
    let (mut lost, mut waits) = (0, HistogramSnapshot::default());
    for device in &observation.devices {
        let own: Vec<&Traced> = of_device(&observation.intervals, &device.name).collect();
        lost += own.iter().map(|traced| traced.lost).sum::<u64>();
        waits = own.iter().fold(waits, |sum, next| sum.merged(&next.before_start_ns));
        let mut name = device.name.as_str();
        let kinds: [(&str, OpOf); 2] =
            [("reads", |traced| &traced.read), ("writes", |traced| &traced.write)];
        for (kind, op) in kinds {
            let ops: Vec<&TracedOp> = own.iter().map(|traced| op(traced)).collect();
            if let Some(row) = row(name, kind, &ops) {
                table.row(row);
                name = "";
            }
        }
    }
    let section = story.section("Single requests, from the tracer", "");
    section.table(table);
    section.note(match waits.count() {
        0 => "before a request was started, none waited for a free tag or for a throttle of the \
              queue; limits of control groups hold requests where no tracer sees them"
            .to_owned(),
        count => format!(
            "before a request was started, {} waited: half of them up to {}, one in a hundred \
             longer than {}",
            number::count(count as f64),
            percentile(&waits, 0.5),
            percentile(&waits, 0.99)
        ),
    });
    processes(section, &observation.intervals);
    if lost > 0 {
        section.text(format!("{} lost: the counts are low", counted(lost as f64, "request")));
    }
}

fn of_device<'a>(intervals: &'a [Interval], device: &'a str) -> impl Iterator<Item = &'a Traced> {
    intervals
        .iter()
        .filter(move |interval| interval.device == device)
        .filter_map(|interval| interval.traced.as_ref())
}

/// One operation of one device over all intervals; `None` without a request.
fn row(device: &str, kind: &str, ops: &[&TracedOp]) -> Option<Vec<Cell>> {
    let merged = |histogram: fn(&TracedOp) -> &HistogramSnapshot| {
        ops.iter().fold(HistogramSnapshot::default(), |sum, op| sum.merged(histogram(op)))
    };
    let (queued, inside) = (merged(|op| &op.queue_ns), merged(|op| &op.device_ns));
    if inside.count() == 0 {
        return None;
    }
    let (sequential, weight) = ops
        .iter()
        .filter_map(|op| Some((op.sequential_share?, op.device_ns.count() as f64)))
        .fold((0.0, 0.0), |(sum, all), (share, weight)| (sum + share * weight, all + weight));
    let share = match weight > 0.0 {
        true => number::percent(sequential / weight),
        false => number::NONE.to_owned(),
    };
    Some(vec![
        Cell::toned(device, Tone::Strong),
        kind.into(),
        number::count(inside.count() as f64).into(),
        percentile(&queued, 0.5).into(),
        percentile(&queued, 0.99).into(),
        percentile(&inside, 0.5).into(),
        percentile(&inside, 0.99).into(),
        share.into(),
    ])
}

fn percentile(histogram: &HistogramSnapshot, share: f64) -> String {
    number::or_none(histogram.percentile(share), number::time)
}

/// Who asked for most, where that was traced.
fn processes(section: &mut Section, intervals: &[Interval]) {
    let mut requests: BTreeMap<(u32, &str), u64> = BTreeMap::new();
    for traced in intervals.iter().filter_map(|interval| interval.traced.as_ref()) {
        for (process, name, count) in &traced.processes {
            *requests.entry((*process, name)).or_default() += count;
        }
    }
    let mut rows: Vec<((u32, &str), u64)> = requests.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = rows
        .iter()
        .take(MOST_PROCESSES)
        .map(|((process, name), count)| {
            format!("{} ({process}) {}", name, number::count(*count as f64))
        })
        .collect();
    if !named.is_empty() {
        section.row("requests by process", named.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::observation;
    use crate::{Style, terminal};
    use record::ObservedDevice;

    fn histogram(values: &[u64]) -> HistogramSnapshot {
        HistogramSnapshot { buckets: values.iter().map(|value| (*value as u32, 1)).collect() }
    }

    fn observed(traced: Option<Traced>) -> String {
        let interval =
            Interval { device: "sda".into(), duration_ns: 1, traced, ..Interval::default() };
        let device = ObservedDevice { name: "sda".into(), ..ObservedDevice::default() };
        let observed = Observation {
            devices: vec![device],
            intervals: vec![interval],
            ..Observation::default()
        };
        terminal(&observation(&observed), &Style::default())
    }

    #[test]
    fn what_was_traced_is_told_with_both_parts_and_without_a_tracer_nothing_is() {
        assert!(!observed(None).contains("tracer"));
        let mut traced = Traced { lost: 3, ..Traced::default() };
        traced.read = TracedOp {
            queue_ns: histogram(&[100, 101]),
            device_ns: histogram(&[300, 301]),
            sequential_share: Some(0.5),
            ..TracedOp::default()
        };
        traced.processes = vec![(7, "a\u{1b}b".into(), 2)];
        let text = observed(Some(traced));
        let row: Vec<&str> =
            text.lines().find(|line| line.contains("reads")).unwrap().split_whitespace().collect();
        assert_eq!((row[0], row[1], row[2]), ("sda", "reads", "2"));
        assert!(row.ends_with(&["50", "%"]), "{row:?}");
        assert!(!text.contains("writes  "), "{text}");
        assert!(text.contains("3 requests lost"), "{text}");
        assert!(text.contains("(7) 2") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("none waited"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
