//! Shows the depth curve of a profile with the present load between its points.
//!
//! The curve is the profile's: random requests of one size at constant depths. If the load has another size
//! or mix, the caption says so, because a load off the curve may simply be a different load. The load is
//! measured by counters, which do not include the path to the device and back. The curve's latencies are
//! therefore reduced to the counters' part, and the load is placed by the depth that the counters show.

use super::WatchRow;
use crate::page::{Page, Span, Tone};
use crate::profile::cell_of;
use crate::story::{Cell, Table, number};
use crate::view::table;
use record::{DepthCurve, OpKind, Pattern, Profile, format_bytes};

/// Ratio of mean request sizes from which the load counts as different from the curve's.
const SAME_SIZE: f64 = 1.5;

/// Number of lines, with caption and titles; 0 without a curve.
pub(super) fn height(row: &WatchRow, profile: &Profile) -> usize {
    curve_of(row, profile).map_or(0, |curve| curve.points.len() + 3)
}

/// A line of the table: depth, rate, latency, and whether it is the present load.
struct Line {
    depth: String,
    rate: f64,
    latency_ns: f64,
    now: bool,
}

pub(super) fn print(pane: &mut Page, row: &WatchRow, profile: &Profile) {
    let Some(curve) = curve_of(row, profile) else { return };
    let mut waiting = here(row);
    pane.line(caption(row, curve, waiting.is_some()));
    let mut lines: Vec<Line> = Vec::new();
    for point in &curve.points {
        let share = share_of(profile, curve, point.depth);
        let shown = f64::from(point.depth) * share;
        lines.extend(waiting.take_if(|(depth, _)| *depth < shown).map(|(_, line)| line));
        lines.push(Line {
            depth: point.depth.to_string(),
            rate: point.iops.value,
            latency_ns: point.latency_ns.value * share,
            now: false,
        });
    }
    lines.extend(waiting.map(|(_, line)| line));
    let most = lines.iter().map(|line| line.rate).fold(1e-9, f64::max);
    let toned = |line: &Line, text: String| {
        Cell::toned(text, if line.now { Tone::Strong } else { Tone::Plain })
    };
    let table = Table::of(lines, |t| {
        t.left("", |line: &Line| if line.now { "→" } else { " " }).gap(0);
        t.right("QD", |line| toned(line, line.depth.clone())).gap(3);
        t.right("IOPS", |line| toned(line, number::count(line.rate))).gap(3);
        t.right("latency", |line| toned(line, number::time(line.latency_ns))).gap(3);
        t.bar(|line| Cell::bar(line.rate / most, if line.now { " now" } else { "" }));
    });
    table::print(&table, pane);
}

/// The counters' share of a point's latency; 1 if the counters reported nothing.
fn share_of(profile: &Profile, curve: &DepthCurve, depth: u32) -> f64 {
    let cell = cell_of(profile, (curve.op, Pattern::Random, depth), curve.bs_bytes);
    cell.and_then(|cell| cell.device_share.value().copied()).unwrap_or(1.0)
}

/// The load of reads and writes together with its depth, because the device serves them together.
fn here(row: &WatchRow) -> Option<(f64, Line)> {
    let rate = row.figure(|it| it.all.per_s)?;
    let depth = row.figure(|it| it.concurrency)?;
    let latency_ns = row.figure(|it| it.all.latency_ns)?;
    let line = Line { depth: number::digits(depth), rate, latency_ns, now: true };
    (rate > 0.0).then_some((depth, line))
}

/// The curve of the operation with more requests in the load.
fn curve_of<'a>(row: &WatchRow, profile: &'a Profile) -> Option<&'a DepthCurve> {
    let (reads, writes) = (row.figure(|it| it.read.per_s), row.figure(|it| it.write.per_s));
    let more_writes = writes.unwrap_or(0.0) > reads.unwrap_or(0.0);
    let op = if more_writes { OpKind::Write } else { OpKind::Read };
    let curves = || profile.depth_curves.iter().filter(|curve| !curve.points.is_empty());
    curves().find(|curve| curve.op == op).or_else(|| curves().next())
}

fn caption(row: &WatchRow, curve: &DepthCurve, load: bool) -> Vec<Span> {
    let same = 1.0 / SAME_SIZE..=SAME_SIZE;
    let bytes = row.figure(|interval| interval.all.request_bytes);
    let other = bytes.filter(|bytes| !same.contains(&(bytes / curve.bs_bytes as f64)));
    let remark = match (other.map(number::size), load) {
        (Some(size), _) => {
            format!("; this load's requests are {size}: not comparable with the curve")
        }
        (None, true) => String::new(),
        (None, false) => "; no load now".to_owned(),
    };
    let (op, size) = (curve.op.plural(), format_bytes(curve.bs_bytes));
    let text = format!(" of the profile: {size} random {op}{remark}");
    vec![Span::new("  Depth curve", Tone::Strong), Span::plain(text)]
}
