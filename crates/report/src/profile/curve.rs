//! Tabulates the two curves: IOPS and latency against queue depth, throughput against request size.
//!
//! A reader compares the depth curve with fio: rates and percentiles. The rows of the size curve have bars
//! that show its shape. All bars of a direction share one scale, on which its maximum rate fills the width.

use super::{cell_of, common_size, missing_directions, not_measured, rerun};
use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Columns, Section, Story, joined};
use record::{DepthCurve, OpKind, Pattern, Profile, SizeCurve, SizePoint, format_bytes};
use std::collections::BTreeSet;

/// Largest ratio between the mean latency of all requests and the one that the rate implies.
const SAME_REQUESTS: f64 = 1.1;
/// Largest number of size curves next to each other.
const CURVES_ABREAST: usize = 4;

/// The depth curves, reads next to writes.
pub(super) fn depth(story: &mut Story, profile: &Profile) {
    let curves: Vec<&DepthCurve> =
        profile.depth_curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    if curves.is_empty() {
        story.section("Depth curve", &not_measured(profile, None));
        return;
    }
    let size = common_size(curves.iter().map(|curve| curve.bs_bytes));
    let knees = joined(curves.iter().filter_map(|curve| knee_share(curve)), ", ", |knee| knee);
    let remark = match knees.is_empty() {
        true => format!("random{size}"),
        false => format!("random{size}; knee: {knees} of max"),
    };
    let section = story.section("Depth curve", &remark);
    let depths: BTreeSet<u32> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.depth).collect();
    section.table(depths, |t| {
        t.right("QD", u32::to_string);
        for curve in &curves {
            depth_columns(t, profile, curve, size.is_empty());
        }
    });
    let mut points = curves.iter().flat_map(|curve| &curve.points);
    let unknown = points.any(|point| point.p99_ns.is_none());
    section.notes(unknown.then_some("–: too few requests for a percentile."));
    missing_directions(section, profile, |op| curves.iter().any(|curve| curve.op == op));
    for curve in curves.iter().filter(|curve| curve.knee.is_none()) {
        let deepest = curve.points.iter().map(|point| point.depth).max().unwrap_or(0);
        let name = format!("random {}", curve.op.plural());
        let most = format!("QD {deepest}, the largest tried, and may be faster beyond it");
        section.text(match curve.max_depth == deepest {
            true => format!("No knee: {name} were fastest at {most}."),
            false => format!("No knee: the rates of {name} vary too much."),
        });
    }
    section.notes(other_requests(profile, &curves));
}

/// The knee's share of the maximum rate.
fn knee_share(curve: &DepthCurve) -> Option<String> {
    let knee = curve.points.iter().find(|point| Some(point.depth) == curve.knee)?;
    let share = number::percent(knee.iops.value / curve.max_iops.value);
    Some(format!("{} {share}", curve.op.plural()))
}

/// A note that rates and percentiles of a row describe different requests, if the data show it: a
/// rate leaves out the warm-up and the differences between files, a percentile covers all requests.
fn other_requests(profile: &Profile, curves: &[&DepthCurve]) -> Option<String> {
    let off = curves.iter().flat_map(|curve| {
        curve.points.iter().filter_map(|point| {
            let cell = cell_of(profile, (curve.op, Pattern::Random, point.depth), curve.bs_bytes)?;
            let mean_ns = cell.histogram.mean_ns().filter(|_| cell.is_filled())?;
            let off = mean_ns * point.iops.value / 1e9 / f64::from(point.depth);
            Some((off.max(1.0 / off), curve.op, point.depth, off))
        })
    });
    let (_, op, depth, off) =
        off.filter(|it| it.0 > SAME_REQUESTS).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let side = if off > 1.0 { "above" } else { "below" };
    let (op, off) = (op.plural(), number::percent((off - 1.0).abs()));
    Some(format!(
        "Percentiles include warm-ups and all files; IOPS exclude warm-ups. The mean latency of {op} \
         at QD {depth} is therefore {off} {side} QD divided by IOPS."
    ))
}

/// The columns of one curve; its knee and its maximum rate are marked.
fn depth_columns(t: &mut Columns<'_, u32>, profile: &Profile, curve: &DepthCurve, with_size: bool) {
    let at = |depth: &u32| curve.points.iter().find(|point| point.depth == *depth);
    let bytes = curve.bs_bytes;
    let name = curve.op.plural();
    t.group(&if with_size { format!("{name} {}", format_bytes(bytes)) } else { name.to_owned() });
    let is_knee = |depth: &u32| curve.knee == Some(*depth);
    t.titled("iops", |depth| {
        let tone = if is_knee(depth) { Tone::Strong } else { Tone::Plain };
        Cell::toned(at(depth).map(|it| number::count(it.iops.value)).unwrap_or_default(), tone)
    });
    let load = |depth: u32| (curve.op, Pattern::Random, depth);
    t.interval(|depth| at(depth).map(|it| rerun(profile, &it.iops, load(*depth))));
    let cell = |depth: u32| cell_of(profile, load(depth), bytes);
    t.of("latency_p50_ns", |depth| cell(*depth)?.percentile(0.5)).expendable(1);
    t.of("latency_p99_ns", |depth| at(depth).and_then(|it| it.p99_ns));
    t.left("", |depth| match (is_knee(depth), *depth == curve.max_depth) {
        (true, true) => "knee, max",
        (true, false) => "knee",
        (false, true) => "max",
        (false, false) => "",
    })
    .gap(1);
}

/// What the CPU time per request means, or why it is missing.
pub(super) fn cpu_note(profile: &Profile) -> Option<String> {
    let busy = profile.depth_curves.iter().filter_map(|curve| {
        let point = curve.points.iter().find(|point| point.depth == curve.max_depth)?;
        let processors = number::digits(point.iops.value * point.cpu_us_per_io? * 1e-6);
        Some(format!("{processors} ({})", curve.op.plural()))
    });
    let busy = joined(busy, ", ", |busy| busy);
    if busy.is_empty() {
        let reason = profile.cells.iter().find_map(|cell| cell.cpu_us_per_io.reason())?;
        return Some(format!("CPU per request: not measured: {reason}."));
    }
    Some(format!("CPU per request is a lower bound; total: {busy} CPUs."))
}

/// The size curves: those of one pattern next to each other.
pub(super) fn size(story: &mut Story, profile: &Profile) {
    let all: Vec<&SizeCurve> =
        profile.size_curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    if all.is_empty() {
        story.section("Size curve", &not_measured(profile, None));
        return;
    }
    let patterns: BTreeSet<Pattern> = all.iter().map(|curve| curve.pattern).collect();
    for pattern in patterns {
        let curves: Vec<&SizeCurve> =
            all.iter().copied().filter(|curve| curve.pattern == pattern).collect();
        let remark = format!("{}, throughput in MB/s (10^6 bytes per second)", pattern.name());
        let section = story.section("Size curve", &remark).supporting();
        for abreast in curves.chunks(CURVES_ABREAST) {
            size_table(section, profile, abreast, &curves);
        }
        half_power_note(section, &curves);
    }
    if let Some(section) = story.sections.last_mut() {
        missing_directions(section, profile, |op| all.iter().any(|curve| curve.op == op));
    }
}

fn size_table(
    section: &mut Section,
    profile: &Profile,
    abreast: &[&SizeCurve],
    all: &[&SizeCurve],
) {
    let points = abreast.iter().flat_map(|curve| &curve.points);
    section.table(points.map(|point| point.bytes).collect::<BTreeSet<u64>>(), |t| {
        t.right("size", |bytes| format_bytes(*bytes));
        for curve in abreast {
            let same = all.iter().filter(|other| other.op == curve.op);
            let rates = same.flat_map(|other| other.points.iter().map(|it| it.bytes_per_s.value));
            let most = rates.fold(0.0, f64::max);
            let at = |bytes: &u64| curve.points.iter().find(|point| point.bytes == *bytes);
            let half = |point: &SizePoint| curve.half_power_bytes == Some(point.bytes);
            t.group(&format!("{}, QD {}", curve.op.name(), curve.depth));
            t.right("", |bytes| {
                let tone = if at(bytes).is_some_and(half) { Tone::Strong } else { Tone::Plain };
                let text = at(bytes).map(|point| number::digits(point.bytes_per_s.value / 1e6));
                Cell::toned(text.unwrap_or_default(), tone)
            });
            let load = (curve.op, curve.pattern, curve.depth);
            t.interval(|bytes| at(bytes).map(|it| rerun(profile, &it.bytes_per_s, load)))
                .expendable(1);
            let bar = |point: &SizePoint| {
                Cell::bar(point.bytes_per_s.value / most, if half(point) { " ½" } else { "" })
            };
            t.bar(|bytes| at(bytes).map(bar).unwrap_or_default()).gap(1);
        }
    });
}

/// What the mark at a half-power point means, with the throughput that it requires.
fn half_power_note(section: &mut Section, curves: &[&SizeCurve]) {
    let operations: BTreeSet<OpKind> = curves.iter().map(|curve| curve.op).collect();
    let halves = operations.into_iter().filter_map(|op| {
        let curve = curves.iter().find(|curve| curve.op == op)?;
        Some(format!("{} {}", op.plural(), number::rate(curve.half_of_max_bytes_per_s)))
    });
    let halves = joined(halves, ", ", |half| half);
    let none = curves.iter().all(|curve| curve.half_power_bytes.is_none());
    let none = if none { "; no size reaches it" } else { "" };
    section.note(format!("½ half-power point: half of the maximum, {halves}{none}."));
}
