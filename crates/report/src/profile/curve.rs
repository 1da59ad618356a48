//! The two curves: rate and response time against depth, throughput against request size.
//!
//! Each row carries the numbers and a bar, so the shape is seen and the values can be quoted. The
//! bars of a direction share one scale: its largest rate fills the room.

use super::{OPERATIONS, not_measured};
use crate::number;
use crate::page::{Page, Tone};
use crate::table::{Column, Entry, Table};
use record::{
    DepthCurve, DepthPoint, OpKind, Pattern, Profile, SizeCurve, SizePoint, format_bytes,
};
use std::collections::BTreeSet;

/// Size curves side by side.
const CURVES_ABREAST: usize = 4;

/// The depth curves, one below the other in one table.
pub(crate) fn print_depth(page: &mut Page, profile: &Profile) {
    let curves: Vec<&DepthCurve> =
        profile.depth_curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    let Some(first) = curves.first() else {
        return page.heading("Depth curve", &not_measured(profile, None));
    };
    let same_size = curves.iter().all(|curve| curve.bs_bytes == first.bs_bytes);
    let size = if same_size { format!(" {}", format_bytes(first.bs_bytes)) } else { String::new() };
    let remark = format!(
        "random{size}; knee: doubling the depth there gains less than {}",
        number::percent_text(first.knee_gain)
    );
    page.heading("Depth curve", &remark);
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::left(1),
        Column::right(2),
        Column::left(1).expendable(1),
        Column::right(2),
        Column::right(2).expendable(2),
        Column::bar(2),
    ]);
    let cpu = curves.iter().flat_map(|curve| &curve.points).any(|p| p.cpu_us_per_io.is_some());
    let cpu_title = if cpu { "CPU" } else { "" };
    table.titles(&["", "depth", "rate", "", "R mean", "", "p99", cpu_title, ""]);
    for curve in &curves {
        for (position, point) in curve.points.iter().enumerate() {
            let name = if position > 0 {
                String::new()
            } else if same_size {
                format!("{}s", curve.op.name())
            } else {
                format!("{}s {}", curve.op.name(), format_bytes(curve.bs_bytes))
            };
            table.row(depth_row(name, curve, point));
        }
    }
    table.print(page);
    if curves.iter().flat_map(|curve| &curve.points).any(|point| point.p99_ns.is_none()) {
        let note = "p99 –: fewer than ten requests took longer, too few to say.";
        page.paragraph(2, note, Tone::Faint);
    }
    missing_directions(page, profile, |op| curves.iter().any(|curve| curve.op == op));
    if let Some(note) = cpu_note(profile, &curves) {
        page.paragraph(2, &note, Tone::Faint);
    }
    for curve in curves.iter().filter(|curve| curve.knee.is_none()) {
        let deepest = curve.points.iter().map(|point| point.depth).max().unwrap_or(0);
        let note = format!(
            "No knee: random {}s still gained at depth {deepest}, the largest tried.",
            curve.op.name()
        );
        page.paragraph(2, &note, Tone::Plain);
    }
}

fn depth_row(name: String, curve: &DepthCurve, point: &DepthPoint) -> Vec<Entry> {
    let most = curve.points.iter().map(|point| point.iops.value).fold(0.0, f64::max);
    let is_knee = curve.knee == Some(point.depth);
    let mark = match (is_knee, point.depth == curve.max_depth) {
        (true, true) => " knee, most",
        (true, false) => " knee",
        (false, true) => " most",
        (false, false) => "",
    };
    let tone = if is_knee { Tone::Strong } else { Tone::Plain };
    vec![
        Entry::text(name),
        Entry::toned(point.depth.to_string(), tone),
        Entry::toned(number::per_second(point.iops.value), tone),
        Entry::text(number::interval(number::relative(&point.iops))),
        Entry::toned(number::time(point.latency_ns.value), tone),
        Entry::text(number::interval(number::relative(&point.latency_ns))),
        Entry::text(point.p99_ns.map_or(number::NONE.into(), number::time)),
        point.cpu_us_per_io.map_or(Entry::Empty, |cpu| Entry::text(number::time(cpu * 1e3))),
        Entry::Bar(point.iops.value / most, mark),
    ]
}

/// What the processor time per request means; why there is none.
fn cpu_note(profile: &Profile, curves: &[&DepthCurve]) -> Option<String> {
    let busy = curves.iter().filter_map(|curve| {
        let point = curve.points.iter().find(|point| point.depth == curve.max_depth)?;
        let processors = number::digits(point.iops.value * point.cpu_us_per_io? * 1e-6);
        Some(format!("{processors} ({}s)", curve.op.name()))
    });
    let busy: Vec<String> = busy.collect();
    if busy.is_empty() {
        let reason = profile.cells.iter().find_map(|cell| cell.cpu_us_per_io.reason())?;
        return Some(format!("CPU per request: not measured: {reason}."));
    }
    Some(format!("CPU per request is a lower bound; in all {} CPUs.", busy.join(", ")))
}

/// The size curves: those of one pattern side by side.
pub(crate) fn print_size(page: &mut Page, profile: &Profile) {
    let all: Vec<&SizeCurve> =
        profile.size_curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    if all.is_empty() {
        return page.heading("Size curve", &not_measured(profile, None));
    }
    let patterns: BTreeSet<Pattern> = all.iter().map(|curve| curve.pattern).collect();
    for pattern in patterns {
        let curves: Vec<&SizeCurve> =
            all.iter().copied().filter(|curve| curve.pattern == pattern).collect();
        let remark = format!("{}, throughput in MB/s (10^6 bytes per second)", pattern.name());
        page.heading("Size curve", &remark);
        for abreast in curves.chunks(CURVES_ABREAST) {
            size_table(abreast, &curves).print(page);
        }
        half_power_note(page, &curves);
    }
    missing_directions(page, profile, |op| all.iter().any(|curve| curve.op == op));
}

/// Why a direction has no curve.
fn missing_directions(page: &mut Page, profile: &Profile, present: impl Fn(OpKind) -> bool) {
    for op in OPERATIONS.into_iter().filter(|op| !present(*op)) {
        let reason = not_measured(profile, Some(op));
        page.paragraph(2, &format!("{}s {reason}.", op.name()), Tone::Plain);
    }
}

fn size_table(abreast: &[&SizeCurve], all: &[&SizeCurve]) -> Table {
    let mut columns = vec![Column::right(2)];
    let mut groups = Vec::new();
    for curve in abreast {
        let first = columns.len();
        groups.push((format!("{}, depth {}", curve.op.name(), curve.depth), first, first + 2));
        columns.extend([Column::right(2), Column::left(1).expendable(1), Column::bar(1)]);
    }
    let mut table = Table::new(columns);
    table.groups(groups);
    let points = abreast.iter().flat_map(|curve| &curve.points);
    let sizes: BTreeSet<u64> = points.map(|point| point.bytes).collect();
    for bytes in sizes {
        let mut entries = vec![Entry::text(format_bytes(bytes))];
        for curve in abreast {
            let point = curve.points.iter().find(|point| point.bytes == bytes);
            entries.extend(size_entries(curve, point, all));
        }
        table.row(entries);
    }
    table
}

fn size_entries(curve: &SizeCurve, point: Option<&SizePoint>, all: &[&SizeCurve]) -> [Entry; 3] {
    let Some(point) = point else { return [Entry::Empty, Entry::Empty, Entry::Empty] };
    let same = all.iter().filter(|other| other.op == curve.op);
    let rates = same.flat_map(|other| other.points.iter().map(|point| point.bytes_per_s.value));
    let most = rates.fold(0.0, f64::max);
    let half_power = curve.half_power_bytes == Some(point.bytes);
    let (mark, tone) = if half_power { (" ½", Tone::Strong) } else { ("", Tone::Plain) };
    [
        Entry::toned(number::digits(point.bytes_per_s.value / 1e6), tone),
        Entry::text(number::interval(number::relative(&point.bytes_per_s))),
        Entry::Bar(point.bytes_per_s.value / most, mark),
    ]
}

/// What the mark at a half-power point means, with the throughput that it asks for.
fn half_power_note(page: &mut Page, curves: &[&SizeCurve]) {
    let operations: BTreeSet<OpKind> = curves.iter().map(|curve| curve.op).collect();
    let halves = operations.into_iter().filter_map(|op| {
        let curve = curves.iter().find(|curve| curve.op == op)?;
        Some(format!("{}s {}", op.name(), number::rate(curve.half_of_max_bytes_per_s)))
    });
    let halves: Vec<String> = halves.collect();
    let none = curves.iter().all(|curve| curve.half_power_bytes.is_none());
    let none = if none { "; no size reaches it" } else { "" };
    let halves = halves.join(", ");
    let note = format!("½ half-power point: half of the maximum, {halves}{none}.");
    page.paragraph(2, &note, Tone::Faint);
}
