//! What is said of an experiment, or of several trials together: the results by axes, the sizes
//! reached, the effects.
//!
//! A row is a combination, in the order of the design; a level is written where it changes, so that
//! the eye finds the blocks of rows. Axes with one level stand in a line above the table. Of the
//! effects those that were found are listed, and the others counted: a list of what makes no
//! difference is longer than the answer. Rejected: request sizes as columns, which at 80 columns
//! leave no room for the intervals, without which two numbers cannot be compared.

use super::{Set, SetCell, arrange, charts};
use crate::chart::Chart;
use crate::number::counted;
use crate::plots::{self, Visit, op_word, rate_interval};
use crate::profile::advice;
use crate::story::{Action, Cell, Column, Story, Table, Tone, quoted};
use crate::trial;
use crate::{number, target};
use record::{
    CacheMode, Estimate, Experiment, ExperimentEffect, FindingCode, ReachedSizes, Target, Trial,
    format_bytes,
};
use std::collections::{BTreeMap, BTreeSet};

/// Trials whose course is drawn.
const COURSES: usize = 4;
/// Rows of the table of results.
const ROWS: usize = 600;
/// Effects of one axis that are listed.
const EFFECTS_LISTED: usize = 16;
/// Spread between blocks that is marked, as in the finding about it.
const SPREAD_MARKED_REL: f64 = 0.03;

type Levels = BTreeMap<String, String>;

/// The story of an experiment and of those of its trials that are at hand.
#[must_use]
pub fn experiment(experiment: &Experiment, trials: &[Trial]) -> Story {
    let set = Set::of_experiment(experiment, trials);
    let names: Vec<String> = experiment.targets.iter().map(target::summary).collect();
    let mut story = Story {
        kind: "Experiment".to_owned(),
        subject: format!("{} on {}", experiment.design, names.join(" and ")),
        id: experiment.id.clone(),
        simulated: experiment.simulated,
        findings: experiment.findings.clone(),
        ..Story::default()
    };
    tell(&mut story, &set);
    story.fact("trials", done(experiment));
    if trials.len() < experiment.done.len() {
        story.left_out.push(format!(
            "{} missing: distributions and courses are those of the others.",
            counted((experiment.done.len() - trials.len()) as f64, "trial")
        ));
    }
    story.actions.extend(advice::actions(&experiment.advice));
    story.actions.extend(best_sizes(&experiment.reached));
    story.charts.extend(visits(experiment, &set, trials));
    effects(&mut story, experiment);
    reached(&mut story, experiment);
    results(&mut story, &set, experiment.simulated);
    let about =
        (experiment.halfpower_version.as_str(), experiment.time.as_deref(), experiment.seed);
    target::conditions(&mut story, &experiment.targets, experiment.environment.as_ref(), about);
    story.condition("note", &experiment.note);
    let paths: Vec<String> = experiment.targets.iter().map(|target| quoted(&target.path)).collect();
    // With the design as it was run: the preset of its name has other sizes and times than those that
    // were set on the command line.
    let name = experiment.design.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let file = format!("{name}.toml");
    let design = if experiment.design_text.is_empty() { &experiment.design } else { &file };
    story.commands.push(format!(
        "halfpower sweep {} {} --seed {}",
        quoted(design),
        paths.join(" "),
        experiment.seed
    ));
    if !experiment.design_text.is_empty() {
        let title = format!("The design, to be saved as `{file}`");
        story.texts.push((title, experiment.design_text.clone()));
    }
    story
}

/// The story of several trials that were named one by one.
pub(crate) fn of_trials(trials: &[&Trial]) -> Story {
    let set = Set::of_trials(trials);
    let mut story = Story {
        kind: "Trials".to_owned(),
        subject: format!("{} together", trials.len()),
        simulated: trials.iter().all(|trial| trial.simulated),
        ..Story::default()
    };
    tell(&mut story, &set);
    story.fact("trials", trials.len().to_string());
    story.fact("combinations", set.cells.len().to_string());
    if set.cells.len() <= COURSES {
        let axes: Vec<usize> = (0..set.axes.len()).collect();
        let named: Vec<(String, &Trial)> = set
            .cells
            .iter()
            .filter_map(|cell| Some((arrange::name(&set, cell, &axes), *cell.trials.first()?)))
            .collect();
        story.charts.extend(plots::rate_over_time(&named));
        story.charts.extend(plots::latency_over_time(&named));
    }
    let simulated = story.simulated;
    results(&mut story, &set, simulated);
    let invalid = trials.iter().filter(|trial| !trial.clean()).count();
    if invalid > 0 {
        story.section("Not valid", "").text(format!(
            "{invalid} of {} say that their numbers are not what was requested; see each by itself.",
            counted(trials.len() as f64, "trial")
        ));
    }
    if let Some(first) = trials.first() {
        let mut targets: Vec<Target> = Vec::new();
        for target in trials.iter().flat_map(|trial| &trial.targets) {
            if targets.iter().all(|other| other.path != target.path) {
                targets.push(target.clone());
            }
        }
        let about = (first.halfpower_version.as_str(), first.time.as_deref(), first.seed);
        target::conditions(&mut story, &targets, first.environment.as_ref(), about);
    }
    story.commands.extend(trials.iter().take(ROWS).map(|trial| trial::command(trial)));
    story
}

/// Headline and plots of a set.
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
    let all = format!(
        "{} in {}",
        counted(combinations.len() as f64, "combination"),
        counted(f64::from(blocks), "block")
    );
    match done == planned {
        true => format!("{planned}, {all}"),
        false => format!(
            "{done} of {planned} ({all}); `halfpower sweep --resume {}` runs the rest",
            experiment.id
        ),
    }
}

/// The most throughput; that through the page cache by itself, since no disk does that.
fn headline(set: &Set<'_>) -> String {
    let axes: Vec<usize> = (0..set.axes.len()).collect();
    let most = |memory: bool| {
        let cells = set.cells.iter().filter(|cell| of_memory(cell) == memory);
        let best = cells.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))?;
        let rate = number::with_interval(&best.bytes_per_s, number::rate);
        let name = arrange::name(set, best, &axes);
        let at = if name.is_empty() { op_word(best.workload).to_owned() } else { name };
        Some((best.bytes_per_s.value, format!("{rate}: {at}")))
    };
    match (most(false), most(true)) {
        (Some((device, past)), Some((memory, through))) if memory > device => format!(
            "The most throughput by direct I/O is {past}. Through the page cache: {through}."
        ),
        (Some((_, most)), _) => format!("The most throughput is {most}."),
        (None, Some((_, most))) => {
            format!("The most throughput is {most}, through the page cache.")
        }
        (None, None) => "No trial has a result.".to_owned(),
    }
}

/// Whether requests ended in memory: buffered writes, and reads that the page cache served.
fn of_memory(cell: &SetCell<'_>) -> bool {
    let served = |trial: &&Trial| {
        trial.findings.iter().any(|finding| finding.code == FindingCode::PageCacheServed)
    };
    let written = cell.workload.cache == CacheMode::All && cell.workload.read_percent < 100;
    written || cell.trials.iter().any(served)
}

/// The sizes to use: for each group of levels those of the depth that takes the smallest.
fn best_sizes(reached: &[ReachedSizes]) -> Vec<Action> {
    let words = |levels: &BTreeMap<String, String>| {
        levels.iter().map(|(axis, level)| format!("{axis} {level}")).collect::<Vec<_>>().join(", ")
    };
    let action = |reached: &ReachedSizes| {
        let half = reached.half_bytes?;
        let most =
            reached.most_bytes.map_or("95 % of it is reached at no size".to_owned(), |bytes| {
                format!("95 % of it takes {}", format_bytes(bytes))
            });
        Some(
            Action::new(
                words(&reached.levels),
                format!("requests of at least {}", format_bytes(half)),
            )
            .with(
                "why",
                format!(
                    "from there on half of the most ({} of {}) is reached; {most}",
                    number::rate(reached.maximum_bytes_per_s / 2.0),
                    number::rate(reached.maximum_bytes_per_s)
                ),
            ),
        )
    };
    // Of those with one maximum the one that asks least: it names the depth as well.
    let mut best: Vec<&ReachedSizes> = Vec::new();
    for each in reached.iter().filter(|each| each.half_bytes.is_some()) {
        let same = |other: &&ReachedSizes| {
            other.maximum_bytes_per_s.total_cmp(&each.maximum_bytes_per_s).is_eq()
        };
        match best.iter().position(same) {
            Some(place) if each.half_bytes < best[place].half_bytes => best[place] = each,
            Some(_) => {}
            None => best.push(each),
        }
    }
    best.into_iter().filter_map(action).collect()
}

/// The trials in the order of the plan, each against the mean of its cell.
fn visits(experiment: &Experiment, set: &Set<'_>, trials: &[Trial]) -> Option<Chart> {
    let axes: Vec<usize> = (0..set.axes.len()).collect();
    let places: BTreeMap<&str, usize> = experiment
        .done
        .iter()
        .map(|done| (done.trial_id.as_str(), done.position as usize + 1))
        .collect();
    let at_hand: BTreeMap<&str, &Trial> =
        trials.iter().map(|trial| (trial.id.as_str(), trial)).collect();
    let visits = set.cells.iter().filter(|cell| cell.trials.len() > 1).flat_map(|cell| {
        let what = arrange::name(set, cell, &axes);
        cell.trials
            .iter()
            .filter_map(|trial| {
                let trial = at_hand.get(trial.id.as_str())?;
                Some(Visit {
                    place: *places.get(trial.id.as_str())?,
                    ratio: trial.iops() / cell.iops.value,
                    within: rate_interval(trial),
                    what: what.clone(),
                    series: op_word(cell.workload),
                })
            })
            .collect::<Vec<Visit>>()
    });
    plots::visits(visits.collect())
}

/// Columns of axes, and the cells of a row: levels that are as in the row above are left out.
fn level_cells<'a>(levels: impl Iterator<Item = &'a str>, above: Option<&[&str]>) -> Vec<Cell> {
    let mut same = above.is_some();
    levels
        .enumerate()
        .map(|(place, level)| {
            same =
                same && above.and_then(|above| above.get(place)).is_some_and(|old| *old == level);
            if same { Cell::default() } else { level.into() }
        })
        .collect()
}

/// The table of results.
fn results(story: &mut Story, set: &Set<'_>, simulated: bool) {
    // Axes that have more than one level among the cells, and what the others are set to.
    let levels = |axis: usize| -> BTreeSet<&str> {
        set.cells.iter().map(|cell| cell.levels[axis].as_str()).collect()
    };
    let all = || 0..set.axes.len();
    let axes: Vec<usize> = all().filter(|axis| levels(*axis).len() > 1).collect();
    let fixed = all().filter(|axis| !axes.contains(axis)).filter_map(|axis| {
        let only = levels(axis).into_iter().next().filter(|level| !level.is_empty())?;
        Some(format!("{} {only}", set.axes[axis]))
    });
    let fixed: Vec<String> = fixed.collect();
    let with_interval = set.cells.iter().any(|cell| cell.iops.n > 1);
    let remark = match with_interval {
        true => "mean over blocks, ± 95 % from between them; !: blocks differ by over 3 %",
        false => "one block: no interval",
    };
    let cpu = set.cells.iter().any(|cell| cell.cpu_us_per_io.is_some());
    let mut columns: Vec<Column> =
        axes.iter().map(|axis| Column::right(&set.axes[*axis])).collect();
    columns.extend([
        Column::of("iops"),
        Column::interval(),
        Column::left("").gap(0),
        Column::of("bytes_per_s"),
        // With a constant depth it is depth over rate, so it goes first.
        Column::of("latency_mean_ns").expendable(2),
        Column::interval().expendable(3),
        Column::right("CPU").expendable(1),
        Column::right("trials").expendable(3),
    ]);
    let mut table = Table::new(columns);
    rows(&mut table, set, &axes, |cell| {
        let differ = cell.spread_rel.is_some_and(|spread| spread > SPREAD_MARKED_REL);
        Some(vec![
            number::count(cell.iops.value).into(),
            known_interval(&cell.iops),
            if differ { Cell::toned("!", Tone::Warn) } else { " ".into() },
            number::rate(cell.bytes_per_s.value).into(),
            number::time(cell.latency_ns.value).into(),
            known_interval(&cell.latency_ns),
            cell.cpu_us_per_io.map(|cpu| number::time(cpu.value * 1e3).into()).unwrap_or_default(),
            match cell.trials.len() {
                0 => Cell::default(),
                trials => trials.to_string().into(),
            },
        ])
    });
    let section = story.section("Results", remark);
    if !fixed.is_empty() {
        section.note(format!("In all: {}.", fixed.join(", ")));
    }
    section.table(table);
    if cpu {
        section.note(match simulated {
            true => "CPU: processor time per request, modelled.",
            false => "CPU: processor time per request, the lower bound.",
        });
    }
    for name in extra_names(set) {
        extra_table(story, set, &axes, name);
    }
}

/// The interval of an estimate that has one.
fn known_interval(estimate: &Estimate) -> Cell {
    if estimate.high > estimate.low { Cell::interval(estimate) } else { Cell::default() }
}

/// A row for each cell of which `numbers` knows something.
fn rows<'a>(
    table: &mut Table,
    set: &'a Set<'_>,
    axes: &[usize],
    numbers: impl Fn(&SetCell<'_>) -> Option<Vec<Cell>>,
) {
    let mut above: Option<Vec<&'a str>> = None;
    for cell in set.cells.iter().take(ROWS) {
        let Some(numbers) = numbers(cell) else { continue };
        let levels: Vec<&str> = axes.iter().map(|axis| cell.levels[*axis].as_str()).collect();
        let mut row = level_cells(levels.iter().copied(), above.as_deref());
        row.extend(numbers);
        table.row(row);
        above = Some(levels);
    }
}

/// Names of what was measured beside, without what says nothing (device requests as large as ours).
fn extra_names<'a>(set: &'a Set<'_>) -> Vec<&'a str> {
    let names: BTreeSet<&str> =
        set.cells.iter().flat_map(|cell| cell.extras.keys()).map(String::as_str).collect();
    let differs = |name: &&str| {
        let values = set.cells.iter().filter_map(|cell| cell.extras.get(*name));
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
fn extra_table(story: &mut Story, set: &Set<'_>, axes: &[usize], name: &str) {
    let Some(section) = story.sections.last_mut() else { return };
    if name == "device_request_bytes" && own_sizes(set, name) {
        return section.note("The device's requests were as large as ours.");
    }
    if name == "holes_read_as_zero" {
        return section.note("Blocks that were never written read as zeros.");
    }
    let mut columns: Vec<Column> =
        axes.iter().map(|axis| Column::right(&set.axes[*axis])).collect();
    columns.extend([Column::right(name.replace('_', " ")), Column::interval()]);
    let mut table = Table::new(columns);
    rows(&mut table, set, axes, |cell| {
        let value = cell.extras.get(name)?;
        let known = value.n > 1 && value.value != 0.0;
        let interval = if known { known_interval(value) } else { Cell::default() };
        Some(vec![extra(name, value.value).into(), interval])
    });
    section.table(table);
}

/// Whether the device saw requests of the sizes that were requested.
fn own_sizes(set: &Set<'_>, name: &str) -> bool {
    set.cells.iter().all(|cell| {
        let requested = cell.workload.max_bs().0 as f64;
        cell.extras.get(name).is_none_or(|seen| (seen.value / requested - 1.0).abs() < 0.02)
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
fn reached(story: &mut Story, experiment: &Experiment) {
    if experiment.reached.is_empty() {
        return;
    }
    let varies = |axis: &&String| {
        let levels: BTreeSet<&String> =
            experiment.reached.iter().filter_map(|row| row.levels.get(*axis)).collect();
        levels.len() > 1
    };
    let axes: Vec<&str> = experiment.axes.iter().filter(varies).map(String::as_str).collect();
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::right(*axis)).collect();
    columns.extend(["half", "95 %", "of the largest"].map(|title| Column::right(title).gap(3)));
    let mut table = Table::new(columns);
    let size = |bytes: Option<u64>| Cell::from(bytes.map_or("none".to_owned(), format_bytes));
    let mut above: Option<Vec<&str>> = None;
    for row in &experiment.reached {
        let levels: Vec<&str> = axes
            .iter()
            .map(|axis| row.levels.get(*axis).map_or(number::NONE, String::as_str))
            .collect();
        let mut cells = level_cells(levels.iter().copied(), above.as_deref());
        cells.extend([
            size(row.half_bytes),
            size(row.most_bytes),
            number::rate(row.maximum_bytes_per_s).into(),
        ]);
        table.row(cells);
        above = Some(levels);
    }
    let remark = "smallest size that reaches a share of the largest throughput";
    story.section("Half-power points", remark).table(table);
}

/// The effects that were found, by axis; the others counted.
fn effects(story: &mut Story, experiment: &Experiment) {
    let mut questions: Vec<(&str, &str, record::EffectMeasure, BTreeSet<&String>)> = Vec::new();
    for effect in &experiment.effects {
        let question = question(effect);
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    for asked in questions {
        let effects: Vec<&ExperimentEffect> =
            experiment.effects.iter().filter(|effect| question(effect) == asked).collect();
        let (axis, base, measure, _) = &asked;
        let remark = format!("{} of {axis} over that of {base}, all else equal", measure.name());
        let section = story.section("Effects", &remark);
        let mut found: Vec<&ExperimentEffect> =
            effects.iter().copied().filter(|effect| effect.found == Some(true)).collect();
        let number_found = found.len();
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
        let unknown = effects.iter().all(|effect| effect.found.is_none());
        if unknown {
            found.clone_from(&effects);
            found.truncate(EFFECTS_LISTED);
        }
        section.table(ratios(&found));
        section.note(if unknown {
            "Inconclusive: less than three blocks cannot distinguish an effect from chance."
                .to_owned()
        } else if number_found == 0 {
            let all = effects.len();
            format!("None found in {all}: no change above 3 % that the blocks agree on.")
        } else if number_found == effects.len() && found.len() == number_found {
            format!("All {number_found} are above 3 %, and the blocks agree on them.")
        } else {
            let listed = match found.len() < number_found {
                true => format!(" (the {} largest are listed)", found.len()),
                false => String::new(),
            };
            format!("Found: {number_found} of {}{listed}.", effects.len())
        });
    }
}

/// What an effect answers.
fn question(effect: &ExperimentEffect) -> (&str, &str, record::EffectMeasure, BTreeSet<&String>) {
    (&effect.axis, &effect.base, effect.measure, effect.within.keys().collect())
}

fn ratios(effects: &[&ExperimentEffect]) -> Table {
    let axes: BTreeSet<&str> =
        effects.iter().flat_map(|effect| effect.within.keys()).map(String::as_str).collect();
    let mut columns = vec![Column::left("level")];
    columns.extend(axes.iter().map(|axis| Column::right(*axis)));
    columns.extend([Column::right("ratio"), Column::left("95 % interval")]);
    let mut table = Table::new(columns);
    for effect in effects {
        let mut row = vec![Cell::from(effect.level.as_str())];
        let level = |axis: &&str| effect.within.get(*axis).map_or(number::NONE, String::as_str);
        row.extend(axes.iter().map(level).map(Cell::from));
        let ratio = &effect.ratio;
        let interval = match ratio.n {
            0 | 1 => String::new(),
            _ => format!("{} to {}", number::digits(ratio.low), number::digits(ratio.high)),
        };
        row.extend([format!("x{}", number::digits(ratio.value)).into(), interval.into()]);
        table.row(row);
    }
    table
}
