//! Service times by request size and pattern, laid out like Table 4 of Friedman, "A simplified
//! approach to Windows disk tuning".
//!
//! Friedman prints S = 1/X and calls it the service time. Here U is measured, so S = U/X, and the
//! mean latency stands beside it: where the device works on several requests at once, S is
//! only the spacing of completions, and a reader who took it for the time of a request would
//! expect the impossible. All times share one unit, stated once, so that rows can be compared.
//!
//! Only cells past the file-system cache with the device's own cache on (`--cache device`) stand
//! here: those of other modes have the same pattern, depth and size, and other numbers.

use super::{OPERATIONS, not_measured, of_the_device, parallelism};
use crate::number;
use crate::story::{Cell, Column, Section, Story, Table};
use record::{Cell as Measurement, OpKind, Pattern, Profile};
use std::collections::{BTreeMap, BTreeSet};

/// Request sizes of the abbreviated matrix, in bytes.
const MATRIX_SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
/// From this latency (in nanoseconds) on the table is in milliseconds.
const MILLISECONDS_FROM: f64 = 1e7;
/// A gain with depth beyond which the device is called parallel: one server gains nothing.
const PARALLEL_FROM: f64 = 1.5;

/// What a row shows: pattern, depth, request size in bytes.
type Key = (Pattern, u32, u64);

/// The table with its notes.
pub(super) fn service(story: &mut Story, profile: &Profile) {
    let keys = keys(&profile.cells);
    if keys.is_empty() {
        story.section("Service times", &not_measured(profile, None));
        return;
    }
    let shown = |cell: &&Measurement| key(cell).is_some_and(|key| keys.contains(&key));
    let cells: Vec<&Measurement> = profile.cells.iter().filter(shown).collect();
    let slowest = cells.iter().map(|cell| cell.latency_ns.value).fold(0.0, f64::max);
    let (scale, unit) = if slowest >= MILLISECONDS_FROM { (1e6, "ms") } else { (1e3, "µs") };
    let with_service = cells.iter().any(|cell| cell.service_ns.value().is_some());
    let service = if with_service { "; S = U/X, U share of time busy" } else { "" };
    let remark = format!("in {unit}, ± at 95 %; latency: mean{service}");
    let section = story.section("Service times", &remark);
    let mut table = table(&cells, with_service);
    let mut before = None;
    for key in &keys {
        let (pattern, depth, bytes) = *key;
        let name = if before == Some((pattern, depth)) { "" } else { pattern.name() };
        let depth_text = if name.is_empty() { String::new() } else { depth.to_string() };
        before = Some((pattern, depth));
        let mut row: Vec<Cell> = vec![name.into(), depth_text.into(), number::kib(bytes).into()];
        for op in OPERATIONS.into_iter().filter(|op| measured(&cells, *op)) {
            let cell = cells.iter().find(|cell| is(cell, op, key));
            row.extend(direction(cell.copied(), scale, with_service));
        }
        table.row(row);
    }
    section.table(table);
    for op in OPERATIONS.into_iter().filter(|op| !measured(&cells, *op)) {
        section.text(format!("{}s {}.", op.name(), not_measured(profile, Some(op))));
    }
    notes(section, profile, &cells, with_service);
}

/// The row that a cell belongs to; `None` for a mixed one or one of another cache mode.
fn key(cell: &Measurement) -> Option<Key> {
    cell.workload.only_op().filter(|_| of_the_device(cell))?;
    Some((cell.workload.pattern, cell.workload.depth, cell.workload.max_bs().0))
}

fn is(cell: &Measurement, op: OpKind, wanted: &Key) -> bool {
    cell.workload.only_op() == Some(op) && key(cell).as_ref() == Some(wanted)
}

fn measured(cells: &[&Measurement], op: OpKind) -> bool {
    cells.iter().any(|cell| cell.workload.only_op() == Some(op))
}

/// The rows: sequential at depth 1, random at 1 and 4, hits; in the sizes of the matrix and those
/// that were also measured as hits (the full matrix). The other cells belong to the curves.
fn keys(cells: &[Measurement]) -> BTreeSet<Key> {
    let all: Vec<Key> = cells.iter().filter_map(key).collect();
    let in_matrix = |&(pattern, depth, bytes): &Key| {
        let size = MATRIX_SIZES.contains(&bytes)
            || all.iter().any(|other| other.0 == Pattern::Hit && other.2 == bytes);
        let depth = match pattern {
            Pattern::Sequential => depth == 1,
            Pattern::Random => depth == 1 || depth == 4,
            Pattern::Hit => true,
            Pattern::Zipf | Pattern::Hot | Pattern::Strided => false,
        };
        size && depth
    };
    all.iter().copied().filter(in_matrix).collect()
}

fn table(cells: &[&Measurement], with_service: bool) -> Table {
    let mut columns =
        vec![Column::left("pattern"), Column::right("QD").gap(1), Column::right("KiB").gap(1)];
    for op in OPERATIONS.into_iter().filter(|op| measured(cells, *op)) {
        let group = format!("{}s", op.name());
        let mut own = vec![Column::of("latency_mean_ns"), Column::interval()];
        if with_service {
            own.extend([
                Column::right("S"),
                Column::interval().expendable(2),
                Column::right("U").gap(1).expendable(1),
            ]);
        }
        columns.extend(own.into_iter().map(|column| column.group(&group)));
    }
    Table::new(columns)
}

fn direction(cell: Option<&Measurement>, scale: f64, with_service: bool) -> Vec<Cell> {
    let columns = if with_service { 5 } else { 2 };
    let Some(cell) = cell else { return vec![Cell::default(); columns] };
    let value = |estimate: &record::Estimate| {
        [Cell::from(number::digits(estimate.value / scale)), Cell::interval(estimate)]
    };
    let mut cells = value(&cell.latency_ns).to_vec();
    if with_service {
        match cell.service_ns.value() {
            Some(service) => cells.extend(value(service)),
            None => cells.extend([number::NONE.into(), Cell::default()]),
        }
        cells.push(Cell::or_none(cell.utilization.value(), |share| number::percent(*share)));
    }
    cells
}

fn notes(section: &mut Section, profile: &Profile, cells: &[&Measurement], with_service: bool) {
    // One of those that differ in numbers only.
    let words = |reason: &str| reason.replace(|c: char| c.is_ascii_digit() || c == '.', "");
    let reasons: BTreeMap<String, &str> = cells
        .iter()
        .filter_map(|cell| cell.service_ns.reason())
        .map(|reason| (words(reason), reason))
        .collect();
    if !reasons.is_empty() {
        let which = if with_service { "S and U of some cells" } else { "S and U" };
        let reasons = reasons.into_values().collect::<Vec<_>>().join("; ");
        section.text(format!("{which} not measured: {reasons}."));
    }
    if !with_service {
        return;
    }
    let meaning = match parallelism(profile) {
        Some((curve, gain)) if gain >= PARALLEL_FROM => format!(
            "Caution: S is the spacing of completions, as QD {} is {} times faster.",
            curve.max_depth,
            number::digits(gain),
        ),
        Some(_) => {
            "The device works on one request at a time: S is service, R - S is queueing.".to_owned()
        }
        None => "Where a device works on several requests at once, S is the spacing of \
                 completions, not the time that one takes."
            .to_owned(),
    };
    section.text(meaning);
}
