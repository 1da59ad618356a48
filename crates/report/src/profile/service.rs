//! Tabulates service times by request size and pattern, laid out like Table 4 of Friedman, "A
//! simplified approach to Windows disk tuning".
//!
//! Friedman prints S = 1/X and calls it the service time. Here U is measured, so S = U/X, and the
//! mean latency is shown next to it. If the device works on several requests at once, S is only the
//! time between completions, and a reader who took it for the latency of a request would expect the
//! impossible. All times share one unit, stated once, so that rows can be compared.
//!
//! Only cells with direct I/O and the device's own cache enabled (`--cache device`) are listed:
//! other modes have cells with the same pattern, depth and size, but other numbers.

use super::{missing_directions, not_measured, of_the_device, parallelism, rerun};
use crate::number;
use crate::story::{Cell, Section, Story};
use record::{Cell as Measurement, Estimate, OpKind, Pattern, Profile};
use std::collections::{BTreeMap, BTreeSet};

/// Request sizes of the abbreviated matrix, in bytes.
const MATRIX_SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Latency in nanoseconds from which the table uses milliseconds.
const MILLISECONDS_FROM: f64 = 1e7;
/// Gain with depth from which a device counts as parallel: a single server gains nothing.
const PARALLEL_FROM: f64 = 1.5;

/// The key of a row: pattern, depth, request size in bytes.
type Key = (Pattern, u32, u64);

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
    let service = if with_service { "; S = U/X (U: share of time busy)" } else { "" };
    let remark = format!("in {unit}, ± at 95 %; latency: mean{service}");
    let section = story.section("Service times", &remark).supporting();
    // Pattern and depth are printed only where they change.
    let mut before = None;
    let rows = keys.iter().map(|&key| {
        let new = before != Some((key.0, key.1));
        before = Some((key.0, key.1));
        (key, new)
    });
    let measured = |op: OpKind| cells.iter().any(|cell| cell.workload.only_op() == Some(op));
    section.table(rows, |t| {
        t.left("pattern", |(key, new)| if *new { key.0.name() } else { "" });
        t.right("QD", |(key, new)| if *new { key.1.to_string() } else { String::new() }).gap(1);
        t.right("KiB", |(key, _)| number::kib(key.2)).gap(1);
        for op in OpKind::ALL.into_iter().filter(|op| measured(*op)) {
            let of = |row: &(Key, bool)| {
                let mut own = cells.iter().filter(|cell| cell.workload.only_op() == Some(op));
                own.find(|cell| key(cell) == Some(row.0)).copied()
            };
            let interval = |row: &(Key, bool), value: Option<Estimate>| {
                let (pattern, depth, _) = row.0;
                value.map(|value| rerun(profile, &value, (op, pattern, depth)))
            };
            let latency = |row: &_| of(row).map(|cell| cell.latency_ns);
            let value = |it: Estimate| number::digits(it.value / scale);
            t.group(op.plural());
            t.titled("latency_mean_ns", |row| Cell::or_empty(latency(row), value));
            t.interval(|row| interval(row, latency(row)));
            if with_service {
                let service = |row: &_| of(row)?.service_ns.value().copied();
                let busy = |row: &_| of(row)?.utilization.value().copied();
                let known = |row: &_, text: Option<String>| {
                    Cell::or_empty(of(row), |_| number::or_none(text, |text| text))
                };
                t.right("S", |row| known(row, service(row).map(value)));
                t.interval(|row| interval(row, service(row))).expendable(2);
                t.right("U", |row| known(row, busy(row).map(number::percent))).gap(1).expendable(1);
            }
        }
    });
    missing_directions(section, profile, measured);
    notes(section, profile, &cells, with_service);
}

/// The key of a cell's row; `None` for a mixed cell or another cache mode.
fn key(cell: &Measurement) -> Option<Key> {
    cell.workload.only_op().filter(|_| of_the_device(cell))?;
    Some((cell.workload.pattern, cell.workload.depth, cell.workload.max_bs().0))
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

fn notes(section: &mut Section, profile: &Profile, cells: &[&Measurement], with_service: bool) {
    // One of those that differ only in numbers.
    let words = |reason: &str| reason.replace(|c: char| c.is_ascii_digit() || c == '.', "");
    let reasons = cells.iter().filter_map(|cell| cell.service_ns.reason());
    let reasons: BTreeMap<String, &str> = reasons.map(|reason| (words(reason), reason)).collect();
    if !reasons.is_empty() {
        let which = if with_service { "S and U of some cells" } else { "S and U" };
        let reasons = reasons.into_values().collect::<Vec<_>>().join("; ");
        section.text(format!("{which} not measured: {reasons}."));
    }
    if !with_service {
        return;
    }
    let text = match parallelism(profile).map(|(curve, gain)| (curve.max_depth, gain)) {
        Some((depth, gain)) if gain >= PARALLEL_FROM => {
            let why = format!("QD {depth} is {} times as fast as QD 1", number::digits(gain));
            &format!("Caution: S is the mean time between completions, because {why}.")
        }
        Some(_) => "The device serves one request at a time: S is service, R - S is queueing.",
        None => {
            "On a device that serves several requests in parallel, S is the mean time between \
             completions, not the service time of a request."
        }
    };
    section.text(text);
}
