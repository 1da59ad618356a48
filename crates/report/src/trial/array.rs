//! Reports what an array of targets contains after a run, and the time and cost of its rebuild.

use crate::story::{Section, Story, joined, number};
use record::{
    ArrayResult, LegCheck, LoadFigures, Nanos, RebuildResult, Trial, format_bytes, format_change,
};

/// Largest number of rows named.
const NAMED: usize = 4;
/// A rebuild that continues alone is reported from this fraction (one in `ALONE`) of the load's time.
const ALONE: u64 = 10;

pub(super) fn array(story: &mut Story, trial: &Trial) {
    let Some(ArrayResult { check, rebuild }) = trial.result.array.as_deref() else { return };
    let section = story.section("Array", "");
    if let Some(rebuild) = rebuild {
        progress(section, rebuild);
        alone(section, trial, rebuild);
        costs(section, trial, rebuild);
    }
    if let Some(check) = check {
        section.row("legs compared", compared(check));
        check.first_bad.iter().take(NAMED).for_each(|row| section.item(row));
    }
}

/// The progress of the rebuild, and the time for the whole leg.
fn progress(section: &mut Section, rebuild: &RebuildResult) {
    let bytes = |bytes: record::Bytes| format_bytes(bytes.0);
    let time = |time: Nanos| number::time(time.0 as f64);
    let took =
        format!("in {} ({})", time(rebuild.duration_ns), number::both_rates(rebuild.bytes_per_s));
    let (leg, whole) = (rebuild.leg, bytes(rebuild.leg_bytes));
    let part = bytes(rebuild.rebuilt_bytes);
    let text = match (rebuild.complete, rebuild.whole_leg_ns.map(time)) {
        (true, _) => format!("target {leg}: {whole} {took}"),
        (false, Some(needs)) => {
            format!(
                "target {leg}: {part} of {whole} {took}; at that rate, all {whole} take {needs}"
            )
        }
        (false, None) => format!("target {leg}: none of {whole}"),
    };
    section.row("rebuilt", text);
    let steps = number::counted(rebuild.errors as f64, "step");
    let text = format!("{steps} failed, and the first failure ends the rebuild");
    section.rows("rebuild ended", (rebuild.errors > 0).then_some(text));
    let read = rebuild.read_bytes.iter().enumerate().filter(|(_, read)| read.0 > 0);
    let read = joined(read, ", ", |(leg, read)| format!("{} of target {leg}", bytes(*read)));
    let written = bytes(rebuild.written_bytes);
    let text = if read.is_empty() { "nothing".to_owned() } else { read };
    section.row("rebuild moved", format!("read {text}; written {written}"));
}

/// Reports a rebuild that continued alone for more than one part in [`ALONE`] of the load's time.
fn alone(section: &mut Section, trial: &Trial, rebuild: &RebuildResult) {
    let load_ns = trial.result.duration_ns.0;
    let alone_ns = rebuild.duration_ns.0.saturating_sub(load_ns);
    if alone_ns > load_ns / ALONE {
        let [load, alone] = [load_ns, alone_ns].map(|ns| number::time(ns as f64));
        let text = format!(
            "the load ended after {load}, and the rebuild continued alone for {alone}, so its time and \
             rate are not those of a rebuild under load"
        );
        section.row("load ended first", text);
    }
}

/// A figure of one direction without and with the rebuild.
struct Cost {
    name: String,
    of_time: bool,
    without: Sided,
    with: Sided,
}

/// A figure, and its relative half-width.
type Sided = (Option<f64>, Option<f64>);
type Figure = fn(&LoadFigures) -> Sided;

/// The compared figures: name, whether it is a time, and how to get it.
const COMPARED: [(&str, bool, Figure); 4] = [
    ("IOPS", false, |it| (Some(it.iops), it.iops_ci95_rel)),
    ("mean latency", true, |it| (it.latency_mean_ns, it.latency_mean_ci95_rel)),
    ("p50", true, |it| (it.latency_p50_ns, None)),
    ("p99", true, |it| (it.latency_p99_ns, None)),
];

fn costs(section: &mut Section, trial: &Trial, rebuild: &RebuildResult) {
    if rebuild.without.is_empty() {
        section.row("without it", "not measured: the load did not run before the rebuild");
        return;
    }
    let with = trial.load_figures();
    let mut rows = Vec::new();
    for without in &rebuild.without {
        let Some(with) = with.iter().find(|with| with.op == without.op) else { continue };
        rows.extend(COMPARED.iter().map(|&(name, of_time, of)| Cost {
            name: format!("{}, {name}", without.op.plural()),
            of_time,
            without: of(without),
            with: of(with),
        }));
    }
    let told = |cost: &Cost, (figure, width): Sided| match figure {
        None => "–".to_owned(),
        Some(time) if cost.of_time => number::with_half_width(number::time(time), width),
        Some(rate) => number::with_half_width(number::count(rate), width),
    };
    section.table(rows, |t| {
        t.left("", |cost| cost.name.clone());
        t.right("without the rebuild", move |cost| told(cost, cost.without));
        t.right("beside it", move |cost| told(cost, cost.with));
        t.right("change", change);
    });
    if !trial.simulated {
        section.note(
            "The load ran once without the rebuild and once during it. The difference includes any other \
            change of the disks or the machine.",
        );
    }
}

/// The change, or that the intervals do not distinguish the two.
fn change(cost: &Cost) -> String {
    let (Some(without), Some(with)) = (cost.without.0, cost.with.0) else { return String::new() };
    if without <= 0.0 {
        return String::new();
    }
    let half = |(figure, width): Sided| figure.zip(width).map(|(figure, width)| figure * width);
    let both = half(cost.without).zip(half(cost.with));
    match both {
        Some((one, other)) if (without - with).abs() <= one + other => "within ±".to_owned(),
        _ => format_change(with / without),
    }
}

/// The result of comparing the legs.
fn compared(check: &LegCheck) -> String {
    let rows = |count: u64| number::counted(count as f64, "row");
    let mut text = match (check.good, check.bad) {
        (0, 0) => "none".to_owned(),
        (good, 0) => format!("{}, all consistent", rows(good)),
        (good, bad) => format!("{} consistent, {bad} NOT", rows(good)),
    };
    text.push_str(&format!(" ({} of each leg per row)", format_bytes(check.row_bytes.0)));
    let LegCheck { unchecked, note, made, .. } = check;
    text.extend((*unchecked > 0).then(|| format!("; {unchecked} not compared: {note}")));
    let repaired = "were inconsistent before the run and were repaired";
    text.extend((*made > 0).then(|| format!("; {made} {repaired}")));
    text
}
