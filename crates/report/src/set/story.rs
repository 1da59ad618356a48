//! Builds the report on an experiment, or on several trials together: the results by axis, the sizes
//! reached, the effects.
//!
//! A row is a combination, in the order of the design. A level is printed only where it changes, so
//! that blocks of rows stand out. Axes with a single level are listed in a line above the table.
//! Effects that were found are listed; the others are only counted, because a list of things that
//! make no difference is longer than the answer. Rejected: request sizes as columns. At 80 columns
//! they leave no space for the intervals, without which two numbers cannot be compared.

use super::{Levels, Set, SetCell, arrange, charts};
use crate::chart::Chart;
use crate::number::counted;
use crate::plots;
use crate::profile::advice;
use crate::story::{Action, Cell, Columns, Section, Story, Tone, joined};
use crate::trial;
use crate::{number, target};
use record::{
    CacheMode, Estimate, Experiment, ExperimentEffect, FindingCode, ReachedSizes, Target, Trial,
    format_bytes, shell_word,
};
use stats::grouped;
use std::collections::{BTreeMap, BTreeSet};

const COURSES: usize = 4;
const ROWS: usize = 600;
const EFFECTS_LISTED: usize = 16;
/// Largest number of effects per axis that fits a screen with the answer above them.
const FEW_EFFECTS: usize = 8;
/// Largest number of cells that fits a screen with the answer above them.
const FEW_CELLS: usize = 12;
/// Spread between blocks that is marked, the same as in the finding about it.
const SPREAD_MARKED_REL: f64 = 0.03;

/// The story of an experiment and those of its trials that are available.
pub fn experiment(experiment: &Experiment, trials: &[Trial]) -> Story {
    let set = Set::of_experiment(experiment, trials);
    let subject = format!("{} on {}", experiment.design, target::summaries(&experiment.targets));
    let mut story = Story::new("Experiment", subject, experiment.simulated)
        .saved(&experiment.id, &experiment.findings);
    tell(&mut story, &set);
    story.fact("trials", done(experiment));
    if trials.len() < experiment.done.len() {
        let missing = counted((experiment.done.len() - trials.len()) as f64, "trial");
        let text =
            format!("{missing} missing: distributions and time plots cover the other trials.");
        story.left_out.push(text);
    }
    story.actions.extend(advice::actions(&experiment.advice));
    story.actions.extend(best_sizes(&experiment.reached));
    story.charts.extend(visits(experiment, &set));
    effects(&mut story, experiment);
    reached(&mut story, experiment);
    results(&mut story, &set);
    let version = experiment.halfpower_version.as_str();
    let about = (version, experiment.time.as_deref(), experiment.seed);
    target::conditions(&mut story, &experiment.targets, experiment.environment.as_ref(), about);
    target::clients(&mut story, &experiment.clients);
    story.condition("note", &experiment.note);
    // Uses the design as it was run. The preset with that name has other sizes and times than those
    // given on the command line.
    let name = experiment.design.rsplit('/').next().unwrap_or_default();
    let file = format!("{}.toml", name.strip_suffix(".toml").unwrap_or(name));
    let design = if experiment.design_text.is_empty() { &experiment.design } else { &file };
    let paths = joined(&experiment.targets, " ", |target| shell_word(&target.path));
    let design = shell_word(design);
    story.commands.push(format!("halfpower sweep {design} {paths} --seed {}", experiment.seed));
    if !experiment.design_text.is_empty() {
        let title = format!("The design, to be saved as `{file}`");
        story.texts.push((title, experiment.design_text.clone()));
    }
    story
}

/// The story of several trials that the user named.
pub(crate) fn of_trials(trials: &[&Trial]) -> Story {
    let set = Set::of_trials(trials);
    let simulated = trials.iter().all(|trial| trial.simulated);
    let mut story = Story::new("Trials", format!("{} together", trials.len()), simulated);
    tell(&mut story, &set);
    story.fact("trials", trials.len().to_string());
    story.fact("combinations", set.cells.len().to_string());
    if set.cells.len() <= COURSES {
        let axes = set.all_axes();
        let name = |cell| arrange::name(&set, cell, &axes);
        let named = set.cells.iter().filter_map(|it| Some((name(it), *it.trials.first()?)));
        let named: Vec<(String, &Trial)> = named.collect();
        story.charts.extend(plots::rate_over_time(&named));
        story.charts.extend(plots::latency_over_time(&named));
    }
    results(&mut story, &set);
    let invalid = trials.iter().filter(|trial| !trial.clean()).count();
    if invalid > 0 {
        let all = counted(trials.len() as f64, "trial");
        let text = "are invalid: they did not run the requested load. See each trial.";
        story.section("Not valid", "").text(format!("{invalid} of {all} {text}"));
    }
    if let Some(first) = trials.first() {
        let targets = trials.iter().flat_map(|trial| trial.targets.iter().cloned());
        let targets: Vec<Target> = targets.collect();
        target::conditions_of_trial(&mut story, &targets, first);
    }
    let known = trials.iter().filter(|trial| trial.workload.options_known());
    story.commands.extend(known.take(ROWS).map(|trial| trial::command(trial)));
    story
}

fn tell(story: &mut Story, set: &Set<'_>) {
    story.headline = headline(set);
    let (charts, left_out) = charts::charts(set);
    story.charts.extend(charts);
    story.left_out.extend(left_out);
}

/// How much of the plan was run.
pub(crate) fn done(experiment: &Experiment) -> String {
    let (done, planned) = (experiment.done.len(), experiment.plan.len());
    let combinations: BTreeSet<&Levels> =
        experiment.plan.iter().map(|planned| &planned.levels).collect();
    let blocks = experiment.plan.iter().map(|planned| planned.block + 1).max().unwrap_or(0);
    let combinations = counted(combinations.len() as f64, "combination");
    let all = format!("{combinations} in {}", counted(f64::from(blocks), "block"));
    if done == planned {
        return format!("{planned}, {all}");
    }
    let id = &experiment.id;
    format!("{done} of {planned} ({all}); `halfpower sweep --resume {id}` runs the rest")
}

/// The largest throughput; that through the page cache separately, since no disk reaches it.
fn headline(set: &Set<'_>) -> String {
    let axes = set.all_axes();
    let most = |memory: bool| {
        let cells = set.cells.iter().filter(|cell| of_memory(cell) == memory);
        let best = cells
            .max_by(|a, b| a.results.bytes_per_s.value.total_cmp(&b.results.bytes_per_s.value))?;
        let rate = number::rate_with_interval(&best.results.bytes_per_s);
        let at = arrange::name_or_op(set, best, &axes);
        Some((best.results.bytes_per_s.value, format!("{rate}: {at}")))
    };
    match (most(false), most(true)) {
        (Some((device, past)), Some((memory, through))) if memory > device => format!(
            "The maximum throughput with direct I/O is {past}; through the page cache, {through}."
        ),
        (Some((_, most)), _) => format!("The maximum throughput is {most}."),
        (None, Some((_, most))) => {
            format!("The maximum throughput is {most}, through the page cache.")
        }
        (None, None) => "No trial has a result.".to_owned(),
    }
}

/// Whether requests ended in memory: buffered writes, and reads served by the page cache.
fn of_memory(cell: &SetCell<'_>) -> bool {
    let written = cell.workload.cache == CacheMode::All && cell.workload.read_percent < 100;
    let mut findings = cell.trials.iter().flat_map(|trial| &trial.findings);
    written || findings.any(|finding| finding.code == FindingCode::PageCacheServed)
}

/// The recommended sizes: for each group of levels, those of the depth that needs the smallest size.
fn best_sizes(reached: &[ReachedSizes]) -> Vec<Action> {
    let action = |reached: &ReachedSizes| {
        let levels = joined(&reached.levels, ", ", |(axis, level)| format!("{axis} {level}"));
        let half = format_bytes(reached.half_bytes?);
        let most = match reached.most_bytes {
            Some(bytes) => format!("95 % needs {}", format_bytes(bytes)),
            None => "no size reaches 95 %".to_owned(),
        };
        let maximum = reached.maximum_bytes_per_s;
        let [half_rate, rate] = [maximum / 2.0, maximum].map(number::rate);
        let why = format!("this size reaches half of the maximum ({half_rate} of {rate}); {most}");
        Some(Action::new(levels, format!("requests of at least {half}")).with("why", why))
    };
    // Among those with the same maximum, the one with the smallest size: it also names the depth.
    let known = reached.iter().filter(|each| each.half_bytes.is_some());
    let by_maximum = grouped(known.map(|each| (each.maximum_bytes_per_s.to_bits(), each)));
    let best = by_maximum
        .into_iter()
        .filter_map(|(_, all)| all.into_iter().min_by_key(|each| each.half_bytes));
    best.filter_map(action).collect()
}

/// The trials in plan order, each relative to the mean of its cell.
fn visits(experiment: &Experiment, set: &Set<'_>) -> Option<Chart> {
    let axes = set.all_axes();
    let places = experiment.done.iter().map(|done| (done.trial_id.as_str(), done.position));
    let places: BTreeMap<&str, u32> = places.collect();
    let mut visits = Vec::new();
    for cell in set.cells.iter().filter(|cell| cell.trials.len() > 1) {
        let what = arrange::name(set, cell, &axes);
        visits.extend(cell.trials.iter().filter_map(|trial| {
            let place = *places.get(trial.id.as_str())? as usize + 1;
            Some(plots::visit(place, trial, cell.results.iops.value, &what))
        }));
    }
    plots::visits(visits)
}

/// A row with its levels. Levels equal to those of the row above are empty.
type Levelled<'a, R> = (Vec<&'a str>, R);

fn levelled<'a, R>(rows: impl Iterator<Item = Levelled<'a, R>>) -> Vec<Levelled<'a, R>> {
    let mut above: Vec<&str> = Vec::new();
    let levelled = rows.map(|(levels, row)| {
        let same = levels.iter().zip(&above).take_while(|(new, old)| new == old).count();
        let shown = levels.iter().enumerate();
        let shown = shown.map(|(place, level)| if place < same { "" } else { *level }).collect();
        above = levels;
        (shown, row)
    });
    levelled.collect()
}

/// Columns for the axes of such rows.
fn level_columns<'a, R>(
    t: &mut Columns<'_, Levelled<'_, R>>,
    axes: impl IntoIterator<Item = &'a str>,
) {
    for (place, axis) in axes.into_iter().enumerate() {
        t.right(axis, |row| row.0[place]);
    }
}

fn results(story: &mut Story, set: &Set<'_>) {
    // Axes with more than one level among the cells, and the levels of the others.
    let all = set.all_axes();
    let (axes, fixed): (Vec<usize>, Vec<usize>) =
        all.into_iter().partition(|axis| set.levels(*axis).len() > 1);
    let fixed = fixed.into_iter().filter_map(|axis| {
        let only = set.levels(axis).into_iter().next().filter(|level| !level.is_empty())?;
        Some(format!("{} {only}", set.axes[axis]))
    });
    let fixed = joined(fixed, ", ", |level| level);
    let remark = match set.cells.iter().any(|cell| cell.results.iops.n > 1) {
        true => {
            "mean over blocks, ±: 95 % from the variation between blocks; !: blocks differ by over 3 %"
        }
        false => "one block: no interval",
    };
    let simulated = story.simulated;
    let section = story.section("Results", remark).supporting_if(set.cells.len() > FEW_CELLS);
    section.notes((!fixed.is_empty()).then(|| format!("In all rows: {fixed}.")));
    section.table(rows(set, &axes, |_| true), |t| {
        level_columns(t, axes.iter().map(|axis| set.axes[*axis].as_str()));
        t.of("iops", |(_, cell)| cell.results.iops.value);
        t.interval(|(_, cell)| known(cell.results.iops));
        t.left("", |(_, cell)| {
            let differ = cell.results.spread_rel.is_some_and(|spread| spread > SPREAD_MARKED_REL);
            if differ { Cell::toned("!", Tone::Warn) } else { " ".into() }
        })
        .gap(0);
        t.of("bytes_per_s", |(_, cell)| cell.results.bytes_per_s.value);
        // At a constant depth, latency is depth over rate, so this column is dropped first.
        t.of("latency_mean_ns", |(_, cell)| cell.results.latency_ns.value).expendable(2);
        t.interval(|(_, cell)| known(cell.results.latency_ns)).expendable(3);
        let micros = |cpu: Estimate| number::time(cpu.value * 1e3);
        t.right("CPU", |(_, cell)| Cell::or_empty(cell.results.cpu_us_per_io, micros))
            .expendable(1);
        let trials = |cell: &SetCell<'_>| Some(cell.trials.len()).filter(|count| *count > 0);
        let text = |count: usize| count.to_string();
        t.right("trials", |(_, cell)| Cell::or_empty(trials(cell), text)).expendable(3);
    });
    if set.cells.iter().any(|cell| cell.results.cpu_us_per_io.is_some()) {
        section.note(match simulated {
            true => "CPU: CPU time per request, modelled.",
            false => "CPU: CPU time per request, a lower bound.",
        });
    }
    for name in extra_names(set) {
        extra_table(section, set, &axes, name);
    }
}

/// An estimate, if it has an interval.
fn known(estimate: Estimate) -> Option<Estimate> {
    Some(estimate).filter(|estimate| estimate.high > estimate.low)
}

fn rows<'s>(
    set: &'s Set<'s>,
    axes: &[usize],
    shown: impl Fn(&SetCell<'_>) -> bool,
) -> Vec<Levelled<'s, &'s SetCell<'s>>> {
    let cells = set.cells.iter().take(ROWS).filter(|cell| shown(cell));
    levelled(cells.map(|cell| (arrange::key(cell, axes), cell)))
}

/// Names of additional measurements, except those that add nothing (device requests as large as submitted).
fn extra_names<'a>(set: &'a Set<'_>) -> Vec<&'a str> {
    let names: BTreeSet<&str> =
        set.cells.iter().flat_map(|cell| cell.results.extras.keys()).map(String::as_str).collect();
    let differs = |name: &&str| {
        let values = set.cells.iter().filter_map(|cell| cell.results.extras.get(*name));
        let largest = values.clone().map(|value| value.value).fold(f64::MIN, f64::max);
        match *name {
            // Flushes of data written with direct I/O, and reads that the program did not request.
            "flush_ms" => largest >= 1.0,
            "read_bytes_per_written_byte" => largest >= 0.01,
            _ => true,
        }
    };
    names.into_iter().filter(differs).collect()
}

/// A table of an additional measurement, by the axes that it depends on.
fn extra_table(section: &mut Section, set: &Set<'_>, axes: &[usize], name: &str) {
    if name == "device_request_bytes" && own_sizes(set, name) {
        return section.note("The requests at the device had the submitted size.");
    }
    if name == "holes_read_as_zero" {
        return section.note("Blocks that were never written read as zeros.");
    }
    let value = |cell: &SetCell<'_>| cell.results.extras.get(name).copied();
    if name == "shows_old_data" {
        let shown = set.cells.iter().filter_map(value).any(|shown| shown.value > 0.0);
        return section.note(if shown {
            "Blocks that were marked valid without being written returned old data from the disk."
        } else {
            "Blocks that were marked valid without being written read as zeros."
        });
    }
    section.table(rows(set, axes, |cell| value(cell).is_some()), |t| {
        level_columns(t, axes.iter().map(|axis| set.axes[*axis].as_str()));
        let text = |value: Estimate| extra(name, value.value);
        t.right(name.replace('_', " "), |(_, cell)| Cell::or_empty(value(cell), text));
        t.interval(|(_, cell)| known(value(cell).filter(|it| it.n > 1 && it.value != 0.0)?));
    });
}

/// Whether the device got requests of the submitted sizes.
fn own_sizes(set: &Set<'_>, name: &str) -> bool {
    set.cells.iter().all(|cell| {
        let requested = cell.workload.max_bs().0 as f64;
        cell.results.extras.get(name).is_none_or(|seen| (seen.value / requested - 1.0).abs() < 0.02)
    })
}

/// A value in the unit at the end of its name.
fn extra(name: &str, value: f64) -> String {
    type Format = fn(f64) -> String;
    let units: [(&str, Format); 4] = [
        ("_bytes_per_s", number::rate),
        ("_ms", |value| number::time(value * 1e6)),
        ("_bytes", number::size),
        ("_share", number::percent),
    ];
    let unit = units.into_iter().find(|(end, _)| name.ends_with(end));
    unit.map_or_else(|| number::digits(value), |(_, format)| format(value))
}

fn reached(story: &mut Story, experiment: &Experiment) {
    if experiment.reached.is_empty() {
        return;
    }
    let level = |row: &'_ ReachedSizes, axis: &str| row.levels.get(axis).cloned();
    let varies = |axis: &&String| {
        let levels = experiment.reached.iter().filter_map(|row| level(row, axis));
        levels.collect::<BTreeSet<String>>().len() > 1
    };
    let axes: Vec<&str> = experiment.axes.iter().filter(varies).map(String::as_str).collect();
    let rows = experiment.reached.iter().map(|row| {
        let level = |axis: &&str| row.levels.get(*axis).map_or(number::NONE, String::as_str);
        (axes.iter().map(level).collect(), row)
    });
    let size = |bytes: Option<u64>| bytes.map_or("none".to_owned(), format_bytes);
    let remark = "smallest size that reaches half, or 95 %, of the maximum throughput";
    story.section("Half-power points", remark).table(levelled(rows), |t| {
        level_columns(t, axes.iter().copied());
        t.right("half", |(_, row)| size(row.half_bytes)).gap(3);
        t.right("95 %", |(_, row)| size(row.most_bytes)).gap(3);
        t.right("of the maximum", |(_, row)| number::rate(row.maximum_bytes_per_s)).gap(3);
    });
}

/// What an effect describes: axis, base, measure, and the axes within which it applies.
type Question<'a> = (&'a str, &'a str, record::EffectMeasure, BTreeSet<&'a String>);

fn question(effect: &ExperimentEffect) -> Question<'_> {
    (&effect.axis, &effect.base, effect.measure, effect.within.keys().collect())
}

/// The effects that were found, by axis, and the number of the others.
fn effects(story: &mut Story, experiment: &Experiment) {
    let all = experiment.effects.iter().map(|effect| (question(effect), effect));
    for ((axis, base, measure, within), effects) in grouped(all) {
        let remark =
            format!("{} at each {axis} divided by that at {base}, all else equal", measure.name());
        let of = match measure {
            record::EffectMeasure::Throughput => "throughput",
            record::EffectMeasure::Latency => "latency",
            record::EffectMeasure::Cpu => "CPU time",
            record::EffectMeasure::Flushed => "throughput with the flush",
        };
        let section = story.section(format!("Effects of {axis} on {of}"), &remark);
        let unknown = effects.iter().all(|effect| effect.found.is_none());
        let mut listed = effects.clone();
        listed.retain(|effect| unknown || effect.found == Some(true));
        let found = listed.len();
        let change = |effect: &ExperimentEffect| {
            let ratio = effect.ratio.value.max(1e-9);
            ratio.max(1.0 / ratio)
        };
        if listed.len() > EFFECTS_LISTED {
            let mut changes: Vec<f64> = listed.iter().map(|effect| change(effect)).collect();
            changes.sort_by(f64::total_cmp);
            changes.reverse();
            let least = changes[EFFECTS_LISTED - 1];
            listed.retain(|effect| unknown || change(effect) >= least);
            listed.truncate(EFFECTS_LISTED);
        }
        section.supporting_if(listed.len() > FEW_EFFECTS);
        section.table(&listed, |t| {
            t.left("level", |effect| effect.level.as_str());
            for axis in &within {
                let level = |effect: &&&ExperimentEffect| effect.within.get(*axis).cloned();
                t.right(*axis, |effect| level(effect).unwrap_or(number::NONE.to_owned()));
            }
            t.right("ratio", |effect| format!("x{}", number::digits(effect.ratio.value)));
            t.left("95 % interval", |effect| {
                let [low, high] = [effect.ratio.low, effect.ratio.high].map(number::digits);
                if effect.ratio.n > 1 { format!("{low} to {high}") } else { String::new() }
            });
        });
        let (all, shown) = (effects.len(), listed.len());
        let chance = "fewer than three blocks cannot distinguish an effect from chance";
        section.note(match found {
            _ if unknown => format!("Inconclusive: {chance}."),
            0 => format!(
                "None found in {all}: no change above 3 % that is consistent between blocks."
            ),
            _ if shown < found => {
                format!("Found: {found} of {all} (the {shown} largest are listed).")
            }
            _ if found < all => format!("Found: {found} of {all}."),
            _ => format!("All {found} are above 3 % and consistent between blocks."),
        });
    }
}
