//! What `halfpower sweep` prints: the results by axes, the sizes reached, the effects.
//!
//! A row is a combination, in the order of the design; a level is written where it changes, so that
//! the eye finds the blocks of rows. Axes with one level stand in a line above the table. Of the
//! effects those that were found are listed, and the others counted: a list of what makes no
//! difference is longer than the answer. Rejected: request sizes as columns, which at 80 columns
//! leave no room for the intervals, without which two numbers cannot be told apart.

use crate::page::{Page, Span, Tone};
use crate::profile::advice;
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, target};
use record::{Estimate, Experiment, ExperimentCell, ExperimentEffect, ReachedSizes, format_bytes};
use std::collections::{BTreeMap, BTreeSet};

/// Effects of one axis that are listed.
const EFFECTS_LISTED: usize = 16;
/// Spread between blocks that is marked, as in the finding about it.
const SPREAD_MARKED_REL: f64 = 0.03;

type Levels = BTreeMap<String, String>;

/// One preset in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetRow {
    /// Its name.
    pub name: String,
    /// What it is, in one line.
    pub title: String,
    /// What it looks for and what it needs.
    pub about: String,
    /// Combinations in a block.
    pub combinations: usize,
    /// Blocks.
    pub blocks: u32,
    /// Names of its protocols.
    pub protocols: Vec<String>,
}

/// The presets with what they look for.
#[must_use]
pub fn preset_list_text(rows: &[PresetRow], style: &Style) -> String {
    let mut page = Page::new(style);
    for row in rows {
        let size = match row.blocks {
            1 => format!("{} in 1 block", row.combinations),
            blocks => format!("{} in {blocks} blocks", row.combinations),
        };
        let head = vec![Span::new(&row.name, Tone::Strong), Span::plain(format!("  {size}"))];
        page.line(head);
        page.paragraph(4, &format!("{}.", row.title), Tone::Plain);
        let about = row.about.split_whitespace().collect::<Vec<_>>().join(" ");
        page.paragraph(4, &about, Tone::Faint);
        if !row.protocols.is_empty() {
            let protocols = row.protocols.join(", ");
            page.paragraph(4, &format!("Protocols: {protocols}."), Tone::Faint);
        }
    }
    page.finish()
}

/// The saved experiments, in the given order.
#[must_use]
pub fn experiment_list_text(experiments: &[Experiment], style: &Style) -> String {
    let mut page = Page::new(style);
    if experiments.is_empty() {
        let text = "No experiments are saved here. `halfpower sweep` makes one.";
        page.paragraph(0, text, Tone::Plain);
    }
    for experiment in experiments {
        let time = match (&experiment.time, experiment.simulated) {
            (Some(time), false) => number::when(time),
            (_, true) => "SIMULATED".to_owned(),
            (None, false) => "time unknown".to_owned(),
        };
        page.line(vec![Span::new(&experiment.id, Tone::Strong), Span::plain(format!("  {time}"))]);
        let text =
            format!("{} on {}: {}", experiment.design, targets(experiment), done(experiment));
        page.paragraph(4, &text, Tone::Plain);
        if !experiment.note.is_empty() {
            page.paragraph(4, &experiment.note, Tone::Faint);
        }
    }
    page.finish()
}

/// An experiment: what it is, results, sizes reached, effects, findings.
#[must_use]
pub fn experiment_text(experiment: &Experiment, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new(format!("Experiment {}: ", experiment.design), Tone::Strong)];
    if experiment.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    page.flowing(lead, 2, &targets(experiment), Tone::Plain);
    finding::print_verdict(&mut page, &experiment.findings);
    page.paragraph(2, &format!("{}; seed {}", done(experiment), experiment.seed), Tone::Plain);
    if !experiment.note.is_empty() {
        page.paragraph(2, &format!("note: {}", experiment.note), Tone::Plain);
    }
    if !experiment.advice.is_empty() {
        page.heading("What to use", "");
        advice::print_all(&mut page, &experiment.advice);
    }
    print_effects(&mut page, experiment);
    print_reached(&mut page, experiment);
    print_results(&mut page, experiment);
    if !experiment.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &experiment.findings);
    }
    page.finish()
}

fn targets(experiment: &Experiment) -> String {
    let names: Vec<String> = experiment.targets.iter().map(target::summary).collect();
    names.join("; ")
}

/// How much of the plan was run.
fn done(experiment: &Experiment) -> String {
    let (done, planned) = (experiment.done.len(), experiment.plan.len());
    let combinations: BTreeSet<&Levels> =
        experiment.plan.iter().map(|planned| &planned.levels).collect();
    let blocks = experiment.plan.iter().map(|planned| planned.block + 1).max().unwrap_or(0);
    let plural = if blocks == 1 { "" } else { "s" };
    let all = format!("{} combinations in {blocks} block{plural}", combinations.len());
    match done == planned {
        true => format!("{planned} trials, {all}"),
        false => format!("{done} of {planned} trials ({all}); the rest was not run"),
    }
}

/// Axes that have more than one level among the cells, and what the others are set to.
fn varied(experiment: &Experiment) -> (Vec<&str>, String) {
    let levels = |axis: &String| -> BTreeSet<&String> {
        experiment.cells.iter().filter_map(|cell| cell.levels.get(axis)).collect()
    };
    let (mut varied, mut fixed) = (Vec::new(), Vec::new());
    for axis in &experiment.axes {
        match levels(axis).into_iter().collect::<Vec<_>>().as_slice() {
            [] => {}
            [only] => fixed.push(format!("{axis} {only}")),
            _ => varied.push(axis.as_str()),
        }
    }
    (varied, fixed.join(", "))
}

/// The levels of a row, those that are as in the row above it left out.
fn level_entries(axes: &[&str], levels: &Levels, above: Option<&Levels>) -> Vec<Entry> {
    let mut same = above.is_some();
    axes.iter()
        .map(|axis| {
            let level = levels.get(*axis).map_or(number::NONE, String::as_str);
            same = same && above.and_then(|above| above.get(*axis)).is_some_and(|old| old == level);
            if same { Entry::Empty } else { Entry::text(level) }
        })
        .collect()
}

/// The table of results.
fn print_results(page: &mut Page, experiment: &Experiment) {
    let (axes, fixed) = varied(experiment);
    let with_interval = experiment.cells.iter().any(|cell| cell.iops.n > 1);
    let remark = match with_interval {
        true => "mean over blocks, ± 95 % from between them; !: blocks over 3 % apart",
        false => "one block: no interval",
    };
    page.heading("Results", remark);
    if !fixed.is_empty() {
        page.paragraph(2, &format!("In all: {fixed}."), Tone::Faint);
    }
    let extras = extra_names(experiment);
    let mut columns: Vec<Column> = axes.iter().map(|_| Column::right(2)).collect();
    columns.extend([
        Column::right(2),
        Column::left(1),
        Column::left(0),
        Column::right(2),
        // With a constant depth it is depth over rate, so it goes first.
        Column::right(2).expendable(2),
        Column::right(2).expendable(1),
    ]);
    let mut table = Table::new(columns);
    let cpu = experiment.cells.iter().any(|cell| cell.cpu_us_per_io.is_some());
    let mut titles = axes.clone();
    titles.extend(["rate", "", "", "throughput", "R mean", if cpu { "CPU" } else { "" }]);
    table.titles(&titles);
    let mut above: Option<&Levels> = None;
    for cell in &experiment.cells {
        let mut row = level_entries(&axes, &cell.levels, above);
        row.extend(numbers(cell));
        table.row(row);
        above = Some(&cell.levels);
    }
    table.print(page);
    if cpu {
        let note = match experiment.simulated {
            true => "CPU: processor time per request, modelled.",
            false => "CPU: processor time per request, the lower bound.",
        };
        page.paragraph(2, note, Tone::Faint);
    }
    for name in extras {
        print_extra(page, experiment, &axes, name);
    }
}

/// What is known of one combination.
fn numbers(cell: &ExperimentCell) -> Vec<Entry> {
    let apart = cell.spread_rel.is_some_and(|spread| spread > SPREAD_MARKED_REL);
    let interval = match cell.iops.n {
        0 | 1 if number::relative(&cell.iops) == 0.0 => String::new(),
        _ => number::interval(number::relative(&cell.iops)),
    };
    vec![
        Entry::text(number::per_second(cell.iops.value)),
        Entry::text(interval),
        if apart { Entry::toned("!", Tone::Warn) } else { Entry::text(" ") },
        Entry::text(number::rate(cell.bytes_per_s.value)),
        Entry::text(number::time(cell.latency_ns.value)),
        cell.cpu_us_per_io.map_or(Entry::Empty, |cpu| Entry::text(number::time(cpu.value * 1e3))),
    ]
}

/// Names of what was measured beside, without what says nothing (device requests as large as ours).
fn extra_names(experiment: &Experiment) -> Vec<&str> {
    let names: BTreeSet<&str> =
        experiment.cells.iter().flat_map(|cell| cell.extras.keys()).map(String::as_str).collect();
    let differs = |name: &&str| {
        let values = experiment.cells.iter().filter_map(|cell| cell.extras.get(*name));
        let largest = values.clone().map(|value| value.value).fold(f64::MIN, f64::max);
        match *name {
            // Flushes of what was written past the page cache, and reads that nobody asked for.
            "flush_ms" => largest >= 1.0,
            "read_bytes_per_written_byte" => largest >= 0.01,
            _ => true,
        }
    };
    names.into_iter().filter(differs).collect()
}

/// A quantity that was measured beside, by the axes that it depends on.
fn print_extra(page: &mut Page, experiment: &Experiment, axes: &[&str], name: &str) {
    let cells: Vec<(&Levels, &Estimate)> = experiment
        .cells
        .iter()
        .filter_map(|cell| Some((&cell.levels, cell.extras.get(name)?)))
        .collect();
    if name == "device_request_bytes" && own_sizes(experiment, name) {
        return page.paragraph(2, "The device's requests were as large as ours.", Tone::Faint);
    }
    if name == "holes_read_as_zero" {
        let text = "Blocks that were never written read as zeros.";
        return page.paragraph(2, text, Tone::Faint);
    }
    page.blank();
    page.paragraph(2, &format!("{name}:"), Tone::Faint);
    let mut columns: Vec<Column> = axes.iter().map(|_| Column::right(2)).collect();
    columns.extend([Column::right(2), Column::left(1)]);
    let mut table = Table::new(columns);
    let mut above: Option<&Levels> = None;
    for (levels, value) in cells {
        let mut row = level_entries(axes, levels, above);
        let known = value.n > 1 && value.value != 0.0;
        let interval =
            if known { number::interval(number::relative(value)) } else { String::new() };
        row.extend([Entry::text(extra(name, value.value)), Entry::text(interval)]);
        table.row(row);
        above = Some(levels);
    }
    table.print(page);
}

/// Whether the device saw requests of the sizes that were asked for.
fn own_sizes(experiment: &Experiment, name: &str) -> bool {
    experiment.cells.iter().all(|cell| {
        let planned = experiment.plan.iter().find(|planned| planned.levels == cell.levels);
        let asked = planned.map_or(0.0, |planned| planned.workload.max_bs().0 as f64);
        cell.extras.get(name).is_none_or(|seen| (seen.value / asked - 1.0).abs() < 0.02)
    })
}

/// A value in the unit that its name ends with.
fn extra(name: &str, value: f64) -> String {
    if name.ends_with("_bytes_per_s") {
        number::rate(value)
    } else if name.ends_with("_ms") {
        number::time(value * 1e6)
    } else if name.ends_with("_bytes") {
        format_bytes(value.max(0.0) as u64)
    } else if name.ends_with("_share") {
        number::percent(value)
    } else {
        number::digits(value)
    }
}

/// The half-power and 95 % points.
fn print_reached(page: &mut Page, experiment: &Experiment) {
    if experiment.reached.is_empty() {
        return;
    }
    let remark = "smallest size that reaches a share of the largest throughput";
    page.heading("Half-power points", remark);
    let present = |axis: &&String| {
        let levels: BTreeSet<&String> =
            experiment.reached.iter().filter_map(|row| row.levels.get(*axis)).collect();
        levels.len() > 1
    };
    let axes: Vec<&str> = experiment.axes.iter().filter(present).map(String::as_str).collect();
    let mut columns: Vec<Column> = axes.iter().map(|_| Column::right(2)).collect();
    columns.extend([Column::right(3), Column::right(3), Column::right(3)]);
    let mut table = Table::new(columns);
    let mut titles = axes.clone();
    titles.extend(["half", "95 %", "of the largest"]);
    table.titles(&titles);
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "none".to_owned(), format_bytes);
    let mut above: Option<&ReachedSizes> = None;
    for row in &experiment.reached {
        let mut entries = level_entries(&axes, &row.levels, above.map(|row| &row.levels));
        entries.extend([
            Entry::text(size(row.half_bytes)),
            Entry::text(size(row.most_bytes)),
            Entry::text(number::rate(row.maximum_bytes_per_s)),
        ]);
        table.row(entries);
        above = Some(row);
    }
    table.print(page);
}

/// The effects that were found, by axis; the others counted.
fn print_effects(page: &mut Page, experiment: &Experiment) {
    let mut asked: Vec<(&str, &str, record::EffectMeasure, BTreeSet<&String>)> = Vec::new();
    for effect in &experiment.effects {
        let question = question(effect);
        if !asked.contains(&question) {
            asked.push(question);
        }
    }
    for asked in asked {
        let effects: Vec<&ExperimentEffect> =
            experiment.effects.iter().filter(|effect| question(effect) == asked).collect();
        let (axis, base, measure, _) = &asked;
        let remark = format!("{} of {axis} over that of {base}, all else equal", measure.name());
        page.heading("Effects", &remark);
        let mut found: Vec<&ExperimentEffect> =
            effects.iter().copied().filter(|effect| effect.found == Some(true)).collect();
        let change = |effect: &ExperimentEffect| {
            let ratio = effect.ratio.value.max(1e-9);
            ratio.max(1.0 / ratio)
        };
        if found.len() > EFFECTS_LISTED {
            let mut changes: Vec<f64> = found.iter().map(|effect| change(effect)).collect();
            changes.sort_by(|a, b| b.total_cmp(a));
            let least = changes[EFFECTS_LISTED - 1];
            found.retain(|effect| change(effect) >= least);
            found.truncate(EFFECTS_LISTED);
        }
        let number_found = effects.iter().filter(|effect| effect.found == Some(true)).count();
        let unknown = effects.iter().filter(|effect| effect.found.is_none()).count();
        if unknown == effects.len() {
            found.clone_from(&effects);
            found.truncate(EFFECTS_LISTED);
        }
        print_ratios(page, &found);
        let text = if unknown == effects.len() {
            "Less than three blocks: whether these are effects or chance cannot be told.".to_owned()
        } else if number_found == 0 {
            format!(
                "None found in {}: no change above 3 % that the blocks agree on.",
                effects.len()
            )
        } else if number_found == effects.len() && found.len() == number_found {
            format!("All {number_found} are above 3 %, and the blocks agree on them.")
        } else {
            let listed = match found.len() < number_found {
                true => format!(" (the {} largest are listed)", found.len()),
                false => String::new(),
            };
            format!("Found: {number_found} of {}{listed}.", effects.len())
        };
        page.paragraph(2, &text, Tone::Faint);
    }
}

/// What an effect answers.
fn question(effect: &ExperimentEffect) -> (&str, &str, record::EffectMeasure, BTreeSet<&String>) {
    (&effect.axis, &effect.base, effect.measure, effect.within.keys().collect())
}

fn print_ratios(page: &mut Page, effects: &[&ExperimentEffect]) {
    let axes: BTreeSet<&str> =
        effects.iter().flat_map(|effect| effect.within.keys()).map(String::as_str).collect();
    let axes: Vec<&str> = axes.into_iter().collect();
    let mut columns = vec![Column::left(2)];
    columns.extend(axes.iter().map(|_| Column::right(2)));
    columns.extend([Column::right(2), Column::left(2)]);
    let mut table = Table::new(columns);
    let mut titles = vec!["level"];
    titles.extend(&axes);
    titles.extend(["ratio", "95 % interval"]);
    table.titles(&titles);
    for effect in effects {
        let mut row = vec![Entry::text(&effect.level)];
        row.extend(level_entries(&axes, &effect.within, None));
        let ratio = &effect.ratio;
        let interval = match ratio.n {
            0 | 1 => String::new(),
            _ => format!("{} to {}", number::digits(ratio.low), number::digits(ratio.high)),
        };
        row.extend([
            Entry::text(format!("x{}", number::digits(ratio.value))),
            Entry::text(interval),
        ]);
        table.row(row);
    }
    if !effects.is_empty() {
        table.print(page);
    }
}
