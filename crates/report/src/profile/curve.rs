//! The two curves: IOPS and latency against queue depth, throughput against request size.
//!
//! Each row carries the numbers and a bar, so the shape is seen and the values can be quoted. The
//! bars of a direction share one scale: its largest rate fills the room.

use super::{OPERATIONS, not_measured};
use crate::number;
use crate::story::{Cell, Column, Section, Story, Table, Tone};
use record::{
    DepthCurve, DepthPoint, OpKind, Pattern, Profile, SizeCurve, SizePoint, format_bytes,
};
use std::collections::BTreeSet;

/// Size curves side by side.
const CURVES_ABREAST: usize = 4;

/// The depth curves, one below the other in one table.
pub(super) fn depth(story: &mut Story, profile: &Profile) {
    let curves: Vec<&DepthCurve> =
        profile.depth_curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    let Some(first) = curves.first() else {
        story.section("Depth curve", &not_measured(profile, None));
        return;
    };
    let same_size = curves.iter().all(|curve| curve.bs_bytes == first.bs_bytes);
    let size = if same_size { format!(" {}", format_bytes(first.bs_bytes)) } else { String::new() };
    let remark = format!(
        "random{size}; knee: doubling the queue depth there gains less than {}",
        number::percent(first.knee_gain)
    );
    let section = story.section("Depth curve", &remark);
    let mut table = Table::new(vec![
        Column::left(""),
        Column::right("QD"),
        Column::of("iops"),
        Column::interval(),
        Column::of("latency_mean_ns"),
        Column::interval().expendable(1),
        Column::of("latency_p99_ns"),
        Column::right("CPU").expendable(2),
        Column::bar(),
    ]);
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
    section.table(table);
    if curves.iter().flat_map(|curve| &curve.points).any(|point| point.p99_ns.is_none()) {
        section.note("p99 –: fewer than ten requests took longer, too few to say.");
    }
    missing_directions(section, profile, |op| curves.iter().any(|curve| curve.op == op));
    if let Some(note) = cpu_note(profile, &curves) {
        section.note(note);
    }
    for curve in curves.iter().filter(|curve| curve.knee.is_none()) {
        let deepest = curve.points.iter().map(|point| point.depth).max().unwrap_or(0);
        section.text(format!(
            "No knee: random {}s still gained at QD {deepest}, the largest tried.",
            curve.op.name()
        ));
    }
}

fn depth_row(name: String, curve: &DepthCurve, point: &DepthPoint) -> Vec<Cell> {
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
        name.into(),
        Cell::toned(point.depth.to_string(), tone),
        Cell::toned(number::count(point.iops.value), tone),
        Cell::interval(&point.iops),
        Cell::toned(number::time(point.latency_ns.value), tone),
        Cell::interval(&point.latency_ns),
        Cell::or_none(point.p99_ns, number::time),
        point.cpu_us_per_io.map_or(Cell::default(), |cpu| number::time(cpu * 1e3).into()),
        Cell::bar(point.iops.value / most, mark),
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
        let section = story.section("Size curve", &remark);
        for abreast in curves.chunks(CURVES_ABREAST) {
            section.table(size_table(abreast, &curves));
        }
        half_power_note(section, &curves);
    }
    if let Some(section) = story.sections.last_mut() {
        missing_directions(section, profile, |op| all.iter().any(|curve| curve.op == op));
    }
}

/// Why a direction has no curve.
fn missing_directions(section: &mut Section, profile: &Profile, present: impl Fn(OpKind) -> bool) {
    for op in OPERATIONS.into_iter().filter(|op| !present(*op)) {
        let reason = not_measured(profile, Some(op));
        section.text(format!("{}s {reason}.", op.name()));
    }
}

fn size_table(abreast: &[&SizeCurve], all: &[&SizeCurve]) -> Table {
    let mut columns = vec![Column::right("size")];
    for curve in abreast {
        let group = format!("{}, QD {}", curve.op.name(), curve.depth);
        let own = [Column::right(""), Column::interval().expendable(1), Column::bar().gap(1)];
        columns.extend(own.map(|column| column.group(&group)));
    }
    let mut table = Table::new(columns);
    let points = abreast.iter().flat_map(|curve| &curve.points);
    let sizes: BTreeSet<u64> = points.map(|point| point.bytes).collect();
    for bytes in sizes {
        let mut cells = vec![Cell::from(format_bytes(bytes))];
        for curve in abreast {
            let point = curve.points.iter().find(|point| point.bytes == bytes);
            cells.extend(size_cells(curve, point, all));
        }
        table.row(cells);
    }
    table
}

fn size_cells(curve: &SizeCurve, point: Option<&SizePoint>, all: &[&SizeCurve]) -> [Cell; 3] {
    let Some(point) = point else { return Default::default() };
    let same = all.iter().filter(|other| other.op == curve.op);
    let rates = same.flat_map(|other| other.points.iter().map(|point| point.bytes_per_s.value));
    let most = rates.fold(0.0, f64::max);
    let half_power = curve.half_power_bytes == Some(point.bytes);
    let (mark, tone) = if half_power { (" ½", Tone::Strong) } else { ("", Tone::Plain) };
    [
        Cell::toned(number::digits(point.bytes_per_s.value / 1e6), tone),
        Cell::interval(&point.bytes_per_s),
        Cell::bar(point.bytes_per_s.value / most, mark),
    ]
}

/// What the mark at a half-power point means, with the throughput that it asks for.
fn half_power_note(section: &mut Section, curves: &[&SizeCurve]) {
    let operations: BTreeSet<OpKind> = curves.iter().map(|curve| curve.op).collect();
    let halves = operations.into_iter().filter_map(|op| {
        let curve = curves.iter().find(|curve| curve.op == op)?;
        Some(format!("{}s {}", op.name(), number::rate(curve.half_of_max_bytes_per_s)))
    });
    let halves: Vec<String> = halves.collect();
    let none = curves.iter().all(|curve| curve.half_power_bytes.is_none());
    let none = if none { "; no size reaches it" } else { "" };
    let halves = halves.join(", ");
    section.note(format!("½ half-power point: half of the maximum, {halves}{none}."));
}
