//! Tabulates what the block-layer tracer measured for single requests over an observation.
//!
//! The counters give means. The tracer separates the two parts of a latency (in the queue, in the
//! device) and gives their distributions. Two percentiles represent each part: the median request,
//! and the one in a hundred that users complain about. The document has the histograms.

use crate::number::{self, counted};
use crate::story::{Cell, Columns, Story, Tone};
use record::{HistogramSnapshot, Interval, Observation, OpKind, Traced, TracedOp};
use stats::weighted_mean;

/// One operation of one device.
pub(crate) struct Row {
    pub(crate) device: String,
    pub(crate) op: OpKind,
    pub(crate) traced: TracedOp,
}

/// The columns of a table of traced operations.
pub(crate) fn columns(t: &mut Columns<'_, Row>) {
    t.left("device", |row| Cell::toned(&row.device, Tone::Strong)).flexible();
    t.left("", |row| row.op.plural());
    t.right("requests", |row| number::count(row.traced.device_ns.count() as f64));
    type TimesOf = fn(&TracedOp) -> &HistogramSnapshot;
    let times: [(&str, TimesOf); 2] =
        [("queued", |op| &op.queue_ns), ("at disk", |op| &op.device_ns)];
    for (group, of) in times {
        t.group(group);
        t.of("latency_p50_ns", |row| of(&row.traced).percentile(0.5));
        t.of("latency_p99_ns", |row| of(&row.traced).percentile(0.99));
    }
    t.group("");
    t.right("sequential", |row| Cell::or_none(row.traced.sequential_share, number::percent));
}

/// One operation of a trace.
pub(crate) fn op_of(traced: &Traced, op: OpKind) -> &TracedOp {
    match op {
        OpKind::Read => &traced.read,
        OpKind::Write => &traced.write,
    }
}

/// Adds the tables, unless no request was traced.
pub(crate) fn traced(story: &mut Story, observation: &Observation) {
    if observation.intervals.iter().all(|interval| interval.traced.is_none()) {
        return;
    }
    let mut rows: Vec<Row> = Vec::new();
    let (mut lost, mut waits) = (0, HistogramSnapshot::default());
    for device in &observation.devices {
        let of_device = |interval: &&Interval| interval.device == device.name;
        let own = observation.intervals.iter().filter(of_device);
        let own: Vec<&Traced> = own.filter_map(|interval| interval.traced.as_deref()).collect();
        lost += own.iter().map(|traced| traced.lost).sum::<u64>();
        waits = own.iter().fold(waits, |sum, next| sum.merged(&next.before_start_ns));
        let mut name = device.name.as_str();
        for op in OpKind::ALL {
            let ops: Vec<&TracedOp> = own.iter().map(|traced| op_of(traced, op)).collect();
            let traced = together(&ops);
            if traced.device_ns.count() > 0 {
                rows.push(Row { device: name.to_owned(), op, traced });
                name = "";
            }
        }
    }
    let section = story.section("Single requests, from the tracer", "");
    section.table(rows, columns);
    let [half, slowest] =
        [0.5, 0.99].map(|share| number::or_none(waits.percentile(share), number::time));
    let times =
        format!("half of them for up to {half}, one in a hundred for longer than {slowest}");
    section.note(match waits.count() {
        0 => "no request waited for a free tag or a queue throttle before it started; limits of \
              control groups delay requests where the tracer does not see it"
            .to_owned(),
        count => {
            format!("{} requests waited before they started: {times}", number::count(count as f64))
        }
    });
    if lost > 0 {
        section.text(format!("{} lost: the counts are too low", counted(lost as f64, "request")));
    }
}

/// Merges one operation over several intervals.
fn together(ops: &[&TracedOp]) -> TracedOp {
    let merged = |of: fn(&TracedOp) -> &HistogramSnapshot| {
        ops.iter().fold(HistogramSnapshot::default(), |sum, op| sum.merged(of(op)))
    };
    let shares =
        ops.iter().filter_map(|op| Some((op.sequential_share?, op.device_ns.count() as f64)));
    TracedOp {
        queue_ns: merged(|op| &op.queue_ns),
        device_ns: merged(|op| &op.device_ns),
        sequential_share: weighted_mean(shares),
        ..TracedOp::default()
    }
}
