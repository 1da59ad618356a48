//! What an array of targets holds after a run, and what its rebuild took and cost.

use crate::number;
use crate::story::{Section, Story, joined};
use record::{
    ArrayResult, LegCheck, LoadFigures, RebuildResult, Trial, format_bytes, format_change,
};

/// Rows that are named.
const NAMED: usize = 4;

pub(super) fn array(story: &mut Story, trial: &Trial) {
    let Some(ArrayResult { check, rebuild }) = trial.result.array.as_deref() else { return };
    let section = story.section("Array", "");
    if let Some(rebuild) = rebuild {
        progress(section, rebuild);
        costs(section, trial, rebuild);
    }
    if let Some(check) = check {
        section.row("legs compared", compared(check));
        check.first_bad.iter().take(NAMED).for_each(|row| section.item(row));
    }
}

/// How far it came, and how long the whole leg takes.
fn progress(section: &mut Section, rebuild: &RebuildResult) {
    let bytes = |bytes: record::Bytes| format_bytes(bytes.0);
    let (time, rate) =
        (number::time(rebuild.duration_ns.0 as f64), number::both_rates(rebuild.bytes_per_s));
    let (leg, whole) = (rebuild.leg, bytes(rebuild.leg_bytes));
    let text = match (rebuild.complete, rebuild.whole_leg_ns) {
        (true, _) => format!("target {leg}, all of its {whole}, in {time}: {rate}"),
        (false, Some(needs)) => format!(
            "target {leg}, {} of {whole} in {time}: {rate}; at that rate all of it takes {}",
            bytes(rebuild.rebuilt_bytes),
            number::time(needs.0 as f64)
        ),
        (false, None) => format!("target {leg}, nothing of its {whole}"),
    };
    section.row("rebuilt", text);
    if rebuild.errors > 0 {
        let steps = number::counted(rebuild.errors as f64, "step");
        section.row("rebuild ended", format!("{steps} failed, and the first ends it"));
    }
    let read = rebuild.read_bytes.iter().enumerate().filter(|(_, read)| read.0 > 0);
    let read = joined(read, ", ", |(leg, read)| format!("{} of target {leg}", bytes(*read)));
    let written = bytes(rebuild.written_bytes);
    let text = if read.is_empty() { "nothing".to_owned() } else { read };
    section.row("rebuild moved", format!("read {text}; written {written}"));
}

/// A figure of a direction without the rebuild and beside it.
struct Cost {
    name: String,
    of_time: bool,
    without: Option<f64>,
    with: Option<f64>,
}

type Figure = fn(&LoadFigures) -> Option<f64>;

/// What is compared: its name, whether it is a time, and the figure.
const COMPARED: [(&str, bool, Figure); 4] = [
    ("IOPS", false, |it| Some(it.iops)),
    ("mean latency", true, |it| it.latency_mean_ns),
    ("median", true, |it| it.latency_p50_ns),
    ("p99", true, |it| it.latency_p99_ns),
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
    let told = |cost: &Cost, figure: Option<f64>| match figure {
        None => "–".to_owned(),
        Some(time) if cost.of_time => number::time(time),
        Some(rate) => number::count(rate),
    };
    section.table(rows, |t| {
        t.left("", |cost| cost.name.clone());
        t.right("without the rebuild", move |cost| told(cost, cost.without));
        t.right("beside it", move |cost| told(cost, cost.with));
        t.right("change", |cost| {
            let both = cost.without.zip(cost.with).filter(|(without, _)| *without > 0.0);
            both.map_or_else(String::new, |(without, with)| format_change(with / without))
        });
    });
}

/// What comparing the legs found.
fn compared(check: &LegCheck) -> String {
    let rows = |count: u64| number::counted(count as f64, "row");
    let mut text = match (check.good, check.bad) {
        (0, 0) => "none".to_owned(),
        (good, 0) => format!("{}, all agree", rows(good)),
        (good, bad) => format!("{} agree, {bad} do NOT", rows(good)),
    };
    text.push_str(&format!(" ({} of each leg a row)", format_bytes(check.row_bytes.0)));
    if check.unchecked > 0 {
        text.push_str(&format!("; {} not compared: {}", check.unchecked, check.note));
    }
    if check.made > 0 {
        text.push_str(&format!("; {} did not agree before the run and were made to", check.made));
    }
    text
}
