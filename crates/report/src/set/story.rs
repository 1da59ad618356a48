//! What a report says of an experiment, or of several trials together.

use super::{Set, SetCell, Visit, arrange, charts, course, op_word, rate_interval};
use crate::chart::Chart;
use crate::story::{Action, Sheet, Story, quoted};
use crate::trial;
use crate::{number, target};
use record::{CacheMode, Experiment, FindingCode, ReachedSizes, Target, Trial, format_bytes};
use std::collections::BTreeMap;

/// Trials whose course is drawn.
const COURSES: usize = 4;
/// Rows of the table of cells in a page.
const CELLS: usize = 600;

/// The story of an experiment and of those of its trials that are at hand.
pub(crate) fn story_of_experiment(experiment: &Experiment, trials: &[Trial]) -> Story {
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
    told(&mut story, &set);
    let blocks = experiment.plan.iter().map(|plan| plan.block).max().map_or(0, |block| block + 1);
    let (done, planned) = (experiment.done.len(), experiment.plan.len());
    story.fact(
        "trials",
        if done == planned { done.to_string() } else { format!("{done} of {planned}") },
    );
    story.fact("combinations", set.cells.len().to_string());
    story.fact("blocks", blocks.to_string());
    if done < planned {
        story.left_out.push(format!(
            "{} of {planned} trials were not run; `halfpower sweep --resume {}` runs them.",
            planned - done,
            experiment.id
        ));
    }
    if trials.len() < done {
        story.left_out.push(format!(
            "{} trials are not at hand: distributions and courses are those of the others.",
            done - trials.len()
        ));
    }
    story.advise(&experiment.advice);
    story.actions.extend(best_sizes(&experiment.reached));
    story.charts.extend(visits(experiment, &set, trials));
    story.sheets.extend(effects(experiment));
    story.sheets.extend(reached(&experiment.reached));
    story.sheets.push(cells(&set));
    let about =
        (experiment.halfpower_version.as_str(), experiment.time.as_deref(), experiment.seed);
    story.usual_conditions(&experiment.targets, experiment.environment.as_ref(), about);
    story.condition("note", experiment.note.clone());
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
        story
            .texts
            .push((format!("The design, to be saved as `{file}`"), experiment.design_text.clone()));
    }
    story
}

/// The story of several trials that were named one by one.
pub(crate) fn story_of_trials(trials: &[&Trial]) -> Story {
    let set = Set::of_trials(trials);
    let mut story = Story {
        kind: "Trials".to_owned(),
        subject: format!("{} together", trials.len()),
        simulated: trials.iter().all(|trial| trial.simulated),
        ..Story::default()
    };
    told(&mut story, &set);
    story.fact("trials", trials.len().to_string());
    story.fact("combinations", set.cells.len().to_string());
    if set.cells.len() <= COURSES {
        let axes: Vec<usize> = (0..set.axes.len()).collect();
        let named: Vec<(String, &Trial)> = set
            .cells
            .iter()
            .filter_map(|cell| Some((arrange::name(&set, cell, &axes), *cell.trials.first()?)))
            .collect();
        story.charts.extend(course::rate_over_time(&named));
        story.charts.extend(course::latency_over_time(&named));
    }
    story.sheets.push(cells(&set));
    let invalid = trials.iter().filter(|trial| !trial.clean()).count();
    if invalid > 0 {
        story.left_out.push(format!(
            "{invalid} of {} trials say that their numbers are not what was asked for; see each by \
             itself.",
            trials.len()
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
        story.usual_conditions(&targets, first.environment.as_ref(), about);
    }
    story.commands.extend(trials.iter().take(CELLS).map(|trial| trial::command(trial)));
    story
}

/// Headline and plots of a set.
fn told(story: &mut Story, set: &Set<'_>) {
    story.headline = headline(set);
    let (charts, left_out) = charts::charts(set);
    story.charts.extend(charts);
    story.left_out.extend(left_out);
}

/// The most throughput. What memory took or gave is told apart: nobody's disk does that.
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
            "The most throughput past the page cache is {past}. With memory in between, {through}."
        ),
        (Some((_, most)), _) => format!("The most throughput is {most}."),
        (None, Some((_, most))) => {
            format!("The most throughput is {most}, as memory took or gave it.")
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
        Some(Action {
            subject: words(&reached.levels),
            what: format!("requests of at least {}", format_bytes(half)),
            why: format!(
                "from there on half of the most ({} of {}) is reached; {most}",
                number::rate(reached.maximum_bytes_per_s / 2.0),
                number::rate(reached.maximum_bytes_per_s)
            ),
        })
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
    course::visits(visits.collect())
}

fn effects(experiment: &Experiment) -> Option<Sheet> {
    let rows: Vec<Vec<String>> = experiment
        .effects
        .iter()
        .map(|effect| {
            let within: Vec<String> =
                effect.within.iter().map(|(axis, level)| format!("{axis} {level}")).collect();
            let found = match effect.found {
                Some(true) => "yes",
                Some(false) => "no",
                None => "cannot tell",
            };
            let has = effect.ratio.high > effect.ratio.low;
            vec![
                format!("{} {} against {}", effect.axis, effect.level, effect.base),
                within.join(", "),
                effect.measure.name().to_owned(),
                number::digits(effect.ratio.value),
                if has {
                    format!(
                        "{} to {}",
                        number::digits(effect.ratio.low),
                        number::digits(effect.ratio.high)
                    )
                } else {
                    number::NONE.to_owned()
                },
                found.to_owned(),
            ]
        })
        .collect();
    let columns = ["compared", "within", "of", "ratio", "95 % interval", "found"];
    (!rows.is_empty()).then(|| Sheet {
        title: "Effects".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

fn reached(reached: &[ReachedSizes]) -> Option<Sheet> {
    let size = |bytes: Option<u64>| bytes.map_or("none".to_owned(), format_bytes);
    let rows: Vec<Vec<String>> = reached
        .iter()
        .map(|each| {
            let levels: Vec<String> =
                each.levels.iter().map(|(axis, level)| format!("{axis} {level}")).collect();
            vec![
                levels.join(", "),
                number::rate(each.maximum_bytes_per_s),
                size(each.half_bytes),
                size(each.most_bytes),
            ]
        })
        .collect();
    let columns = ["", "most", "half from", "95 % from"];
    (!rows.is_empty()).then(|| Sheet {
        title: "Request sizes that reach half and 95 % of the most".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

/// All cells with their numbers.
fn cells(set: &Set<'_>) -> Sheet {
    let mut columns: Vec<String> =
        ["cell", "rate", "±", "throughput", "mean response", "±", "CPU", "trials"]
            .map(str::to_owned)
            .to_vec();
    let mut extras: Vec<&String> = set.cells.iter().flat_map(|cell| cell.extras.keys()).collect();
    extras.sort_unstable();
    extras.dedup();
    columns.extend(extras.iter().map(|name| name.replace('_', " ")));
    let axes: Vec<usize> = (0..set.axes.len()).collect();
    let interval = |estimate: &record::Estimate| match estimate.high > estimate.low {
        true => number::interval(number::relative(estimate)),
        false => number::interval(f64::NAN),
    };
    let rows = set.cells.iter().take(CELLS).map(|cell| {
        let mut row = vec![
            arrange::name(set, cell, &axes),
            number::per_second(cell.iops.value),
            interval(&cell.iops),
            number::rate(cell.bytes_per_s.value),
            number::time(cell.latency_ns.value),
            interval(&cell.latency_ns),
            cell.cpu_us_per_io.map_or(number::NONE.into(), |cost| number::time(cost.value * 1e3)),
            cell.trials.len().to_string(),
        ];
        row.extend(extras.iter().map(|name| {
            cell.extras.get(*name).map_or(number::NONE.into(), |value| number::digits(value.value))
        }));
        row
    });
    Sheet { title: "Cells".to_owned(), columns, rows: rows.collect() }
}
