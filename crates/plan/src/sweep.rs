//! Plans sweeps: the order of a design's combinations, and the conclusions from their trials.
//!
//! The order is randomised in blocks. Each block contains every combination once, in an order from the
//! seed. Drift of the machine then affects all levels equally, and the difference between blocks includes
//! changes over minutes. So intervals come from the blocks alone, with Student's t. Rejected: each
//! combination three times in a row (a drift looks like an effect), and a full shuffle (an experiment that
//! is cut short has nothing complete).
//!
//! An effect is a geometric mean of ratios within a block, so that common changes of a block cancel. It
//! counts as found if the interval excludes no change and the change is above 3 %, within which the 1997
//! authors called their repeats equal.

use crate::cache_size::cache_size;
use crate::crash_loss::crash_loss;
use crate::planned::{Preparation, Saved, TrialList};
use libm::log;
use record::{
    DoneTrial, EffectMeasure, Estimate, Experiment, ExperimentCell, ExperimentEffect, Finding,
    FindingCode, PlannedTrial, ReachedSizes, Trial,
};
use std::collections::{BTreeMap, BTreeSet};
use workload::{Combination, Contrast, Design, Order, Rng, derive_seed};

/// A difference between blocks above this is reported, and an effect must exceed it (Riedel 1997, section
/// 1).
pub const SPREAD_MAX_REL: f64 = 0.03;
/// Minimum number of blocks for an effect.
pub const MIN_BLOCKS: u32 = 3;
/// Shares of the largest throughput: the half-power point, and nearly the maximum.
const HALF_SHARE: f64 = 0.5;
const MOST_SHARE: f64 = 0.95;
/// The axes of request size and queue depth.
const SIZE_AXIS: &str = "bs";
const DEPTH_AXIS: &str = "iodepth";
/// Separate from the seeds of streams, data, tags and preconditioning.
const SEEDS: u64 = 4 << 32;
/// Minimum number of intervals in a run for comparing its last tenth with its first tenth.
const MIN_INTERVALS: usize = 10;

/// Levels by axis.
type Levels = BTreeMap<String, String>;

/// The order in which the combinations of a design are run: block and combination of each trial.
#[must_use]
pub fn blocks_in_order(
    combinations: usize,
    blocks: u32,
    order: Order,
    seed: u64,
) -> Vec<(u32, usize)> {
    let block = |block: u32| {
        let mut inside: Vec<usize> = (0..combinations).collect();
        if order == Order::Random {
            let mut rng = Rng::new(derive_seed(seed, SEEDS + u64::from(block)));
            rng.shuffle(&mut inside);
        }
        inside.into_iter().map(move |combination| (block, combination))
    };
    (0..blocks).flat_map(block).collect()
}

/// The seed of the trial at a position of the plan, different for each: 32 bits, exact in any JSON reader
/// and short enough to type.
#[must_use]
pub fn trial_seed(seed: u64, position: u32) -> u64 {
    (derive_seed(seed, SEEDS - 1).wrapping_add(u64::from(position))) & u64::from(u32::MAX)
}

/// The positions of the plan without a trial, in order.
#[must_use]
pub fn missing(experiment: &Experiment) -> Vec<u32> {
    let done: BTreeSet<u32> = experiment.done.iter().map(|done| done.position).collect();
    let all = 0..u32::try_from(experiment.plan.len()).unwrap_or(u32::MAX);
    all.filter(|position| !done.contains(position)).collect()
}

/// The missing trials of an experiment, each to be saved at its position.
#[must_use]
pub fn missing_trials(experiment: &Experiment) -> TrialList {
    let missing = missing(experiment);
    let trial = |&position: &u32| {
        let planned = &experiment.plan[position as usize];
        let preparation = planned.preparation.clone();
        let all = || experiment.targets.iter().map(|target| target.path.clone()).collect();
        let some = Some(&planned.targets).filter(|targets| !targets.is_empty());
        crate::PlannedTrial {
            targets: some.cloned().unwrap_or_else(all),
            preparation: preparation.map_or(Preparation::None, Preparation::Treatment),
            flush: !experiment.simulated,
            saved: Saved::InExperiment { id: experiment.id.clone(), position },
            ..crate::PlannedTrial::new(planned.workload.clone(), planned.seed)
        }
    };
    let done = experiment.plan.len() - missing.len();
    TrialList::new("trial", missing.iter().map(trial).collect()).after(done)
}

/// One valid trial.
struct Visit<'a> {
    planned: &'a PlannedTrial,
    trial: &'a Trial,
    extras: BTreeMap<String, f64>,
}

impl Visit<'_> {
    fn bytes_per_s(&self) -> f64 {
        self.trial.directions().map(|direction| direction.bytes_per_s).sum()
    }

    fn cpu_us_per_io(&self) -> Option<f64> {
        self.trial.cpu.value()?.lower_us_per_io
    }

    fn measure(&self, measure: EffectMeasure) -> Option<f64> {
        let value = match measure {
            EffectMeasure::Throughput => Some(self.bytes_per_s()),
            EffectMeasure::Latency => self.trial.latency_ns(),
            EffectMeasure::Cpu => self.cpu_us_per_io(),
            EffectMeasure::Flushed if self.planned.workload.cache.synchronous() => {
                Some(self.bytes_per_s())
            }
            EffectMeasure::Flushed => self.extras.get("flushed_bytes_per_s").copied(),
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// The experiment with conclusions from its trials, which match `experiment.done` one for one: cells, sizes
/// reached, effects, and findings after those of the setup. Invalid trials are left out.
#[must_use]
pub fn conclude(experiment: Experiment, design: &Design, trials: &[Trial]) -> Experiment {
    let combinations = design.combinations();
    let visits: Vec<Visit<'_>> = experiment
        .done
        .iter()
        .zip(trials)
        // The result is that of the first job; a job beside it may have completed nothing.
        .filter(|(_, trial)| trial.first_clean())
        .filter_map(|(done, trial)| {
            let planned = experiment.plan.get(done.position as usize)?;
            let set = combinations.iter().find(|it| it.levels == planned.levels);
            Some(visit(planned, done, trial, set.and_then(rpm)))
        })
        .collect();
    let cells: Vec<ExperimentCell> = combinations
        .iter()
        .filter_map(|combination| {
            let of_cell = |visit: &&Visit<'_>| visit.planned.levels == combination.levels;
            cell(&combination.levels, &visits.iter().filter(of_cell).collect::<Vec<_>>())
        })
        .collect();
    let mut findings = experiment.setup_findings.clone();
    findings.extend(spread_finding(&cells));
    findings.extend(crash_loss(&experiment));
    findings.extend(cache_size(&experiment, &cells));
    let reached = reached(&cells, &visits, design);
    let effects =
        design.contrasts.iter().flat_map(|asked| effects(asked, design, &visits)).collect();
    Experiment { cells, reached, effects, findings, ..experiment }
}

/// Revolutions per minute, if the design states them.
fn rpm(combination: &Combination) -> Option<f64> {
    combination.get("rpm")?.parse().ok().filter(|rpm: &f64| *rpm > 0.0)
}

fn visit<'a>(
    planned: &'a PlannedTrial,
    done: &DoneTrial,
    trial: &'a Trial,
    rpm: Option<f64>,
) -> Visit<'a> {
    let result = &trial.result;
    let mut extras = done.extras.clone();
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            extras.insert(name.to_owned(), value);
        }
    };
    let counters = trial.device_counters.value();
    add("device_request_bytes", counters.and_then(|counters| counters.mean_request_bytes));
    if planned.workload.read_percent == 0 {
        let written = result.write.as_ref().map_or(0.0, |write| write.bytes as f64);
        let read = counters.and_then(|counters| counters.other_bytes);
        add("read_bytes_per_written_byte", read.map(|read| read as f64 / written));
    }
    add("ios_per_revolution", rpm.map(|rpm| trial.iops() * 60.0 / rpm));
    add("end_over_begin", end_over_begin(trial));
    if let Some(flush_ms) = done.extras.get("flush_ms") {
        let bytes: f64 = trial.directions().map(|direction| direction.bytes as f64).sum();
        let seconds = result.duration_ns.as_secs_f64() + flush_ms / 1e3;
        add("flushed_bytes_per_s", Some(bytes / seconds));
    }
    Visit { planned, trial, extras }
}

/// Rate of the last tenth of the intervals divided by that of the first.
fn end_over_begin(trial: &Trial) -> Option<f64> {
    let intervals = trial.result.intervals.as_ref()?;
    if intervals.len() < MIN_INTERVALS {
        return None;
    }
    let rate = |interval: &record::IntervalResult| -> f64 {
        interval.read.iter().chain(&interval.write).chain(&interval.trim).map(|it| it.iops).sum()
    };
    // The last one may be incomplete.
    let whole = &intervals[..intervals.len() - 1];
    let tenth = (whole.len() / MIN_INTERVALS).max(1);
    let mean = |part: &[record::IntervalResult]| part.iter().map(rate).sum::<f64>();
    Some(mean(&whole[whole.len() - tenth..]) / mean(&whole[..tenth]))
}

/// Combines all visits of a combination; `None` without visits.
fn cell(levels: &Levels, visits: &[&Visit<'_>]) -> Option<ExperimentCell> {
    let first: Vec<_> = visits.first()?.trial.directions().collect();
    // With a single visit, the rate's own interval, if known.
    let within_rel = match first.as_slice() {
        [only] => only.iops_ci95_rel.unwrap_or(0.0),
        _ => 0.0,
    };
    let estimate = |value: &dyn Fn(&Visit<'_>) -> f64| {
        let values: Vec<f64> = visits.iter().map(|visit| value(visit)).collect();
        stats::over_visits(&values, Some(within_rel))
    };
    let iops = estimate(&|visit| visit.trial.iops());
    let rates = || visits.iter().map(|visit| visit.trial.iops());
    let spread = rates().fold(f64::MIN, f64::max) - rates().fold(f64::MAX, f64::min);
    let names: BTreeSet<&String> = visits.iter().flat_map(|visit| visit.extras.keys()).collect();
    let extras = names
        .into_iter()
        .map(|name| {
            let values: Vec<f64> =
                visits.iter().filter_map(|visit| visit.extras.get(name)).copied().collect();
            (name.clone(), stats::over_visits(&values, Some(0.0)))
        })
        .collect();
    let with_cpu = visits.iter().all(|visit| visit.cpu_us_per_io().is_some());
    Some(ExperimentCell {
        levels: levels.clone(),
        trials: visits.len() as u32,
        iops,
        bytes_per_s: estimate(&|visit| visit.bytes_per_s()),
        latency_ns: estimate(&|visit| visit.trial.latency_ns().unwrap_or_default()),
        cpu_us_per_io: with_cpu
            .then(|| estimate(&|visit| visit.cpu_us_per_io().unwrap_or_default())),
        spread_rel: (visits.len() > 1 && iops.value > 0.0).then(|| spread / iops.value),
        extras,
    })
}

/// The levels of the axes that `keep` selects.
fn kept(levels: &Levels, keep: impl Fn(&str) -> bool) -> Levels {
    let mut kept = levels.clone();
    kept.retain(|axis, _| keep(axis));
    kept
}

/// Each one once, in order of first appearance.
fn distinct(all: impl Iterator<Item = Levels>) -> Vec<Levels> {
    let mut distinct = Vec::new();
    for levels in all {
        if !distinct.contains(&levels) {
            distinct.push(levels);
        }
    }
    distinct
}

/// The sizes that reach half and nearly all of the maximum, if size is an axis.
fn reached(cells: &[ExperimentCell], visits: &[Visit<'_>], design: &Design) -> Vec<ReachedSizes> {
    let size = design.axes.iter().find(|axis| axis.name == SIZE_AXIS);
    if size.is_none_or(|axis| axis.levels.len() < 2) {
        return Vec::new();
    }
    let bytes = |levels: &Levels| {
        let visit = visits.iter().find(|visit| visit.planned.levels == *levels);
        visit.map(|visit| visit.planned.workload.max_bs().0)
    };
    let of_any_size = |cell: &ExperimentCell| kept(&cell.levels, |axis| axis != SIZE_AXIS);
    let of_any_depth = |levels: &Levels| kept(levels, |axis| axis != DEPTH_AXIS);
    distinct(cells.iter().map(of_any_size))
        .into_iter()
        .filter_map(|levels| {
            let alike = of_any_depth(&levels);
            let maximum = cells
                .iter()
                .filter(|cell| of_any_depth(&of_any_size(cell)) == alike)
                .map(|cell| cell.bytes_per_s.value)
                .fold(0.0, f64::max);
            let mut points: Vec<(u64, f64)> = cells
                .iter()
                .filter(|cell| of_any_size(cell) == levels)
                .filter_map(|cell| Some((bytes(&cell.levels)?, cell.bytes_per_s.value)))
                .collect();
            points.sort_by_cached_key(|(bytes, _)| *bytes);
            let smallest = |share: f64| {
                let reaches = points.iter().find(|(_, rate)| *rate >= share * maximum);
                reaches.map(|(bytes, _)| *bytes)
            };
            (points.len() > 1).then(|| ReachedSizes {
                maximum_bytes_per_s: maximum,
                half_bytes: smallest(HALF_SHARE),
                most_bytes: smallest(MOST_SHARE),
                levels,
            })
        })
        .collect()
}

/// The effect of each other level of the contrast's axis compared with its base.
fn effects(asked: &Contrast, design: &Design, visits: &[Visit<'_>]) -> Vec<ExperimentEffect> {
    let Some(axis) = design.axes.iter().find(|axis| axis.name == asked.axis) else {
        return Vec::new();
    };
    let apart = |levels: &Levels| kept(levels, |axis| asked.by.iter().any(|by| by == axis));
    // In the order of the design, not of the plan.
    let combinations = design.combinations();
    let visited = combinations
        .iter()
        .filter(|combination| visits.iter().any(|it| it.planned.levels == combination.levels));
    let groups = distinct(visited.map(|combination| apart(&combination.levels)));
    let others = || axis.levels.iter().filter(|level| level.name != asked.base);
    groups
        .iter()
        .flat_map(|within| others().map(move |level| (within, level)))
        .filter_map(|(within, level)| {
            let inside: Vec<&Visit<'_>> =
                visits.iter().filter(|visit| apart(&visit.planned.levels) == *within).collect();
            effect(asked, &level.name, within, &inside)
        })
        .collect()
}

/// One effect; `None` if no block has both levels.
fn effect(
    asked: &Contrast,
    level: &str,
    within: &Levels,
    visits: &[&Visit<'_>],
) -> Option<ExperimentEffect> {
    let of = |name: &str| -> BTreeMap<(Levels, u32), f64> {
        let has = |visit: &&&Visit<'_>| {
            visit.planned.levels.get(&asked.axis).is_some_and(|level| level == name)
        };
        let numbers = visits.iter().filter(has).filter_map(|visit| {
            let rest = kept(&visit.planned.levels, |axis| axis != asked.axis);
            Some(((rest, visit.planned.block), visit.measure(asked.measure)?))
        });
        numbers.collect()
    };
    let base = of(&asked.base);
    // Logarithms of the ratios, by the other levels and by block.
    let mut logs: BTreeMap<Levels, BTreeMap<u32, f64>> = BTreeMap::new();
    for (place, value) in of(level) {
        if let Some(base) = base.get(&place) {
            let (rest, block) = place;
            logs.entry(rest).or_default().insert(block, log(value / base));
        }
    }
    let blocks: BTreeSet<u32> = logs.values().flat_map(BTreeMap::keys).copied().collect();
    // Only combinations that exist in all blocks, so that all blocks average over the same ones.
    logs.retain(|_, of_blocks| of_blocks.len() == blocks.len());
    if logs.is_empty() {
        return None;
    }
    let sum_of = |block: &u32| logs.values().map(|of_blocks| of_blocks[block]).sum::<f64>();
    let means: Vec<f64> = blocks.iter().map(|block| sum_of(block) / logs.len() as f64).collect();
    let mean = stats::over_visits(&means, Some(0.0));
    let ratio = Estimate::exp_of(&mean);
    let tells = !ratio.includes(1.0);
    Some(ExperimentEffect {
        axis: asked.axis.clone(),
        level: level.to_owned(),
        base: asked.base.clone(),
        within: within.clone(),
        measure: asked.measure,
        found: (mean.n >= MIN_BLOCKS).then(|| tells && (ratio.value - 1.0).abs() > SPREAD_MAX_REL),
        ratio,
        combinations: logs.len() as u32,
    })
}

/// Levels in words: `bs 4k, rw read`.
pub(crate) fn words(levels: &Levels) -> String {
    let words: Vec<String> = levels.iter().map(|(axis, level)| format!("{axis} {level}")).collect();
    words.join(", ")
}

/// A finding if blocks differ too much.
fn spread_finding(cells: &[ExperimentCell]) -> Option<Finding> {
    let spread = |cell: &ExperimentCell| cell.spread_rel.unwrap_or(0.0);
    let apart: Vec<&ExperimentCell> =
        cells.iter().filter(|cell| spread(cell) > SPREAD_MAX_REL).collect();
    let widest = apart.iter().max_by(|a, b| spread(a).total_cmp(&spread(b)))?;
    let most = spread(widest);
    Some(
        Finding::warning(
            FindingCode::BlockSpread,
            format!(
                "In {} of {} combinations, the blocks differ by more than {:.0} %. The largest \
                 difference is in {}: {:.1} %.",
                apart.len(),
                cells.len(),
                SPREAD_MAX_REL * 100.0,
                words(&widest.levels),
                most * 100.0
            ),
            "The intervals include these differences. To narrow them, use more blocks (--blocks) \
             or longer trials (--runtime); `halfpower watch` shows other load on the disk.",
        )
        .with("combinations apart", apart.len() as f64, "")
        .with("largest spread", most, "share"),
    )
}
