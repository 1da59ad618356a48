//! What `halfpower check` and `profile show` print: the one screen.
//!
//! The order is that of a reader's questions: how fast is it, what is it, what should I set, what
//! will I see under load, why do you say so, what is wrong. Reads stand left of writes in every
//! table that has both. A section without numbers keeps its heading and says why. Rejected: a page
//! per section behind flags, because the engineer who needs the reason for a number rarely knows
//! the flag for it.

pub(crate) mod advice;
mod charts;
mod curve;
mod line;
mod service;
mod story;

pub(crate) use charts::{capital, sentence};
pub(crate) use story::story;

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, target};
use record::{
    CacheMode, Cell, DepthCurve, Environment, Estimate, Finding, FindingCode, OpKind, Pattern,
    Profile, TargetKind, format_bytes,
};

/// Reads stand left.
const OPERATIONS: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// A profile: the answer, the target, what to use, what to expect, the tables behind it, findings.
#[must_use]
pub fn profile_text(profile: &Profile, style: &Style) -> String {
    let mut page = Page::new(style);
    headline(&mut page, profile);
    page.blank();
    let said = |finding: &Finding| finding.code == FindingCode::RotationalUntrusted;
    let rotational = !profile.findings.iter().any(said);
    target::print(&mut page, &profile.target, profile.environment.as_ref(), rotational);
    advice::print_advice(&mut page, profile);
    advice::print_expectations(&mut page, profile);
    service::print(&mut page, profile);
    curve::print_depth(&mut page, profile);
    curve::print_size(&mut page, profile);
    line::print_fits(&mut page, profile);
    if !profile.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &profile.findings);
    }
    page.blank();
    conditions(&mut page, profile);
    page.finish()
}

/// The answer: the largest rates, and how long one request takes by itself.
fn headline(page: &mut Page, profile: &Profile) {
    let mut lead = vec![Span::new("Profile: ", Tone::Strong)];
    if profile.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    page.flowing(lead, 2, &target::summary(&profile.target), Tone::Plain);
    finding::print_verdict(page, &profile.findings);
    page.blank();
    // Reasons become short before places are left out.
    let widest_first = [(true, true), (true, false)].map(|(p, w)| answers(profile, p, w));
    let table = widest_first.into_iter().find(|table| table.fits(page));
    table.unwrap_or_else(|| answers(profile, false, false)).print(page);
}

/// The table of the headline; `places` says at which depth and size each rate was seen, `words`
/// that a missing one was not measured, where a dash is shorter.
fn answers(profile: &Profile, places: bool, words: bool) -> Table {
    let smallest = smallest_random(profile);
    let size = smallest.map_or("random".into(), |bytes| format!("random {}", format_bytes(bytes)));
    let limits = &profile.limits;
    let place = |place: Option<String>| place.filter(|_| places).unwrap_or_default();
    let most = |op| {
        let most = of(op, limits.read_iops, limits.write_iops)?;
        let curve = depth_curve(profile, op).filter(|curve| Some(curve.bs_bytes) == smallest);
        let depth = curve.map(|curve| format!(" at depth {}", curve.max_depth));
        Some(number::with_interval(&most, number::per_second) + &place(depth))
    };
    let throughput = |op| {
        let most = of(op, limits.read_bytes_per_s, limits.write_bytes_per_s)?;
        let size = fastest(profile, op).map(|cell| cell.workload.max_bs().0);
        let size = size.map(|bytes| format!(" at {}", format_bytes(bytes)));
        Some(number::with_interval(&most, number::rate) + &place(size))
    };
    let alone =
        |op| latency_alone(profile, op).map(|time| number::with_interval(&time, number::time));
    let mut table = Table::new(vec![Column::left(2), Column::left(2), Column::left(2)]);
    table.titles(&["", "reads", "writes"]);
    let mut row = |label: &str, answer: &dyn Fn(OpKind) -> Option<String>| {
        let entry = |op| match answer(op) {
            Some(text) => Entry::toned(text, Tone::Strong),
            None if words => Entry::toned(not_measured(profile, Some(op)), Tone::Faint),
            None => {
                let reason = format!("{} ({})", number::NONE, why_not(profile, Some(op)));
                Entry::toned(reason, Tone::Faint)
            }
        };
        table.row([vec![Entry::text(label)], OPERATIONS.map(entry).to_vec()].concat());
    };
    row(&format!("{size}, most"), &most);
    row("throughput, most", &throughput);
    row(&format!("{size}, alone"), &alone);
    table
}

/// The value of a direction.
fn of<T>(op: OpKind, read: T, write: T) -> T {
    match op {
        OpKind::Read => read,
        OpKind::Write => write,
    }
}

/// That something has no numbers, and why; `op` for one direction of it.
fn not_measured(profile: &Profile, op: Option<OpKind>) -> String {
    format!("not measured ({})", why_not(profile, op))
}

/// Why something has no numbers, in a few words.
fn why_not(profile: &Profile, op: Option<OpKind>) -> &'static str {
    let found = |code| profile.findings.iter().any(|finding| finding.code == code);
    let only_read = matches!(profile.target.kind, TargetKind::File | TargetKind::BlockDevice);
    if op == Some(OpKind::Write) && only_read {
        "only read"
    } else if op == Some(OpKind::Write) && found(FindingCode::WritesSkipped) {
        "--no-write"
    } else if found(FindingCode::Interrupted) {
        "interrupted"
    } else if found(FindingCode::PointsSkipped) {
        "short budget"
    } else {
        "no valid trial"
    }
}

/// Whether a cell describes the device: past the file-system cache, the device's own cache on.
fn of_the_device(cell: &Cell) -> bool {
    cell.workload.cache == CacheMode::Device
}

fn depth_curve(profile: &Profile, op: OpKind) -> Option<&DepthCurve> {
    profile.depth_curves.iter().find(|curve| curve.op == op)
}

/// The request size of the random limits: that of the depth curves, else the smallest cell.
fn smallest_random(profile: &Profile) -> Option<u64> {
    let of_curves = profile.depth_curves.iter().map(|curve| curve.bs_bytes).min();
    let random = |cell: &&Cell| cell.workload.pattern == Pattern::Random && of_the_device(cell);
    let sizes = profile.cells.iter().filter(random).map(|cell| cell.workload.max_bs().0);
    of_curves.or_else(|| sizes.min())
}

/// The cell of this direction with the largest throughput; a hit measures a cache and is none.
fn fastest(profile: &Profile, op: OpKind) -> Option<&Cell> {
    let same = profile.cells.iter().filter(|cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(op) && workload.pattern != Pattern::Hit && of_the_device(cell)
    });
    same.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
}

/// Response time of a random request of the smallest size with nothing else going on.
fn latency_alone(profile: &Profile, op: OpKind) -> Option<Estimate> {
    let size = smallest_random(profile);
    let from_curve = depth_curve(profile, op)
        .filter(|curve| Some(curve.bs_bytes) == size)
        .and_then(|curve| curve.points.iter().find(|point| point.depth == 1))
        .map(|point| point.latency_ns);
    let cell = profile.cells.iter().find(|cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(op)
            && of_the_device(cell)
            && workload.pattern == Pattern::Random
            && workload.depth == 1
            && Some(workload.max_bs().0) == size
    });
    from_curve.or_else(|| cell.map(|cell| cell.latency_ns))
}

/// How many times faster the device is at its best depth than at depth 1, over its curves.
fn parallelism(profile: &Profile) -> Option<(&DepthCurve, f64)> {
    let gains = profile.depth_curves.iter().filter_map(|curve| {
        let alone = curve.points.iter().find(|point| point.depth == 1)?;
        let gain = curve.max_iops.value / alone.iops.value;
        gain.is_finite().then_some((curve, gain))
    });
    gains.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The machine in a few words.
pub(crate) fn environment_parts(environment: Option<&Environment>) -> Vec<String> {
    let Some(environment) = environment else { return Vec::new() };
    let mut parts = Vec::new();
    if !environment.kernel.is_empty() {
        parts.push(format!("kernel {}", environment.kernel));
    }
    if !environment.cpu.is_empty() {
        parts.push(format!("{} x {}", environment.cpus, environment.cpu));
    }
    parts.extend(environment.virtualization.as_ref().map(|kind| format!("VM ({kind})")));
    parts.extend(environment.governor.as_ref().map(|name| format!("governor {name}")));
    parts
}

fn conditions(page: &mut Page, profile: &Profile) {
    let used = number::time(profile.measured_ns.0 as f64);
    let budget = number::time(profile.budget_ns.0 as f64);
    let mut parts = environment_parts(profile.environment.as_ref());
    parts.push(format!("measured for {used} of {budget}"));
    parts.extend(profile.time.as_deref().map(number::when));
    if profile.simulated {
        parts.insert(0, "SIMULATED in virtual time".to_owned());
    }
    let lead = vec![Span::new("Conditions: ", Tone::Strong)];
    page.hanging(lead, &parts.join("; "), Tone::Plain);
    let (id, seed, version) = (&profile.id, profile.seed, &profile.halfpower_version);
    let lead = vec![Span::new("Id: ", Tone::Strong)];
    page.hanging(lead, &format!("{id}, seed {seed}, halfpower {version}"), Tone::Plain);
}
