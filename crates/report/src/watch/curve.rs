//! The depth curve of a profile with the present load between its points.
//!
//! The curve is the profile's: random requests of one size, at constant depths. The load is what it
//! is. Where the two differ in size or mix, the caption says so, because a load that lies off the
//! curve may simply be another one. The load is what counters show, and they do not see the way to the
//! device and back: the curve's times are their part of the program's, and the load stands between
//! the depths of which they showed as many.

use super::WatchRow;
use super::columns::size;
use super::pane::{Pane, span};
use crate::number;
use crate::page::Tone;
use ratatui::text::Span;
use record::{Arrival, CacheMode, Cell, DepthCurve, OpKind, Pattern, Profile, format_bytes};

/// Columns of the widest bar.
const LONGEST_BAR: usize = 50;
/// Columns in front of the bars.
const FIGURES: usize = 30;
/// A load whose mean size differs from the curve's by more than this factor is another one.
const SAME_SIZE: f64 = 1.5;

/// Lines that it takes, with caption and titles; nothing where there is no curve.
pub(super) fn height(row: &WatchRow, profile: &Profile) -> usize {
    curve_of(row, profile).map_or(0, |curve| curve.points.len() + 3)
}

/// Prints it.
pub(super) fn print(pane: &mut Pane, row: &WatchRow, profile: &Profile) {
    let Some(curve) = curve_of(row, profile) else { return };
    let here = here(row);
    pane.line(caption(row, curve, here.is_some()));
    pane.line(vec![span("        QD       IOPS    latency", Tone::Faint)]);
    let most = curve.points.iter().map(|point| point.iops.value).fold(0.0, f64::max);
    let most = here.map_or(most, |here| most.max(here.rate));
    let room = pane.width.saturating_sub(FIGURES + 16).min(LONGEST_BAR);
    let line = |at: String, rate: f64, latency: String, tone: Tone, mark: &str| {
        let bar = "█".repeat((rate / most.max(1e-9) * room as f64).round() as usize);
        let lead = if mark.is_empty() { "  " } else { "→ " };
        let figures = format!("{lead}{at:>8} {:>10} {latency:>10}  ", number::count(rate));
        vec![span(figures, tone), span(format!("{bar}{mark}"), tone)]
    };
    let mut waiting = here;
    for point in &curve.points {
        let share = share_of(profile, curve, point.depth);
        let shown = f64::from(point.depth) * share;
        if let Some(here) = waiting.filter(|here| here.depth < shown) {
            pane.line(here.line(&line));
            waiting = None;
        }
        let latency = number::time(point.latency_ns.value * share);
        let depth = point.depth.to_string();
        pane.line(line(depth, point.iops.value, latency, Tone::Plain, ""));
    }
    if let Some(here) = waiting {
        pane.line(here.line(&line));
    }
}

/// The counters' share of a point's latency; all of it where they told nothing.
fn share_of(profile: &Profile, curve: &DepthCurve, depth: u32) -> f64 {
    let of_point = |cell: &&Cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(curve.op)
            && workload.pattern == Pattern::Random
            && workload.cache == CacheMode::Device
            && workload.arrival == Arrival::Closed
            && workload.depth == depth
            && workload.max_bs().0 == curve.bs_bytes
    };
    let cell = profile.cells.iter().find(of_point);
    cell.and_then(|cell| cell.device_share.value().copied()).unwrap_or(1.0)
}

/// A line of the table from depth, rate, latency, tone and remark.
type LineOf<'a> = dyn Fn(String, f64, String, Tone, &str) -> Vec<Span<'static>> + 'a;

/// Where the load is.
#[derive(Clone, Copy)]
struct CurrentLoad {
    depth: f64,
    rate: f64,
    latency_ns: f64,
}

impl CurrentLoad {
    fn line(self, line: &LineOf<'_>) -> Vec<Span<'static>> {
        let latency = number::time(self.latency_ns);
        line(number::digits(self.depth), self.rate, latency, Tone::Strong, " now")
    }
}

/// The load of both operations: the device serves them together.
fn here(row: &WatchRow) -> Option<CurrentLoad> {
    let interval = row.interval.as_ref()?;
    let rate = interval.all.per_s?.value;
    (rate > 0.0).then_some(())?;
    Some(CurrentLoad {
        depth: interval.concurrency?.value,
        rate,
        latency_ns: interval.all.latency_ns?.value,
    })
}

/// The curve of the operation that the load has more of.
fn curve_of<'a>(row: &WatchRow, profile: &'a Profile) -> Option<&'a DepthCurve> {
    let rate = |write: bool| {
        let interval = row.interval.as_ref()?;
        let op = if write { interval.write } else { interval.read };
        Some(op.per_s?.value)
    };
    let op = if rate(true).unwrap_or(0.0) > rate(false).unwrap_or(0.0) {
        OpKind::Write
    } else {
        OpKind::Read
    };
    let curves = || profile.depth_curves.iter().filter(|curve| !curve.points.is_empty());
    curves().find(|curve| curve.op == op).or_else(|| curves().next())
}

fn caption(row: &WatchRow, curve: &DepthCurve, load: bool) -> Vec<Span<'static>> {
    let bytes = row.interval.as_ref().and_then(|interval| interval.all.request_bytes);
    let ratio = bytes.map(|bytes| bytes.value / curve.bs_bytes as f64);
    let other = ratio.filter(|ratio| *ratio > SAME_SIZE || *ratio < 1.0 / SAME_SIZE);
    let remark = match (other.and(bytes), load) {
        (Some(bytes), _) => {
            format!(
                "; this load's requests are of {}: not comparable with the curve",
                size(bytes.value)
            )
        }
        (None, true) => String::new(),
        (None, false) => "; no load now".to_owned(),
    };
    vec![
        span("  Depth curve", Tone::Strong),
        span(
            format!(
                " of the profile: random {}s of {}{remark}",
                curve.op.name(),
                format_bytes(curve.bs_bytes)
            ),
            Tone::Plain,
        ),
    ]
}
