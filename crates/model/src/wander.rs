//! Estimates how far the level of the whole device drifts during a check.
//!
//! A shared device drifts slowly, and all cells drift together, which visits cannot average out: intervals
//! from visits alone included a third of the differences between two runs on a virtual disk. The check is
//! divided into six blocks, and the level of a block is the median of its visits' deviations from their
//! cell's mean. For a random walk of variance V over a run, the variance between blocks is V/6. The means
//! of two runs with a pause of a run's length differ with variance 5V/3, which is five block variances per
//! run. If earlier profiles exist, the spread of their levels is a direct estimate, and the larger of the
//! two is used. Rejected: widening the cells' intervals, which would blur comparisons within the run.
//!
//! A check is a minute of short visits, but a user's run may be two seconds of one load. Noise that lasts
//! longer than a visit averages out over the minute, but not over the run. So the visits are grouped by
//! windows of two seconds. The variance between windows, minus what the noise of single visits explains, is
//! common to a run. The rest of the noise averages out over the run's length. Percentiles have variances of
//! their own, because bursts move a tail more than a mean. Visits of few requests do not count: chance
//! affects their rates more than any disk, and a run of 2 s has far more requests.

use crate::cells::counts;
use record::{Arrival, Cell, HistogramSnapshot, Nanos, PERCENTILES, Profile, RunSpread, Trial};
use stats::{grouped, mean, median};
use std::collections::BTreeMap;

/// Number of parts of the check whose levels are compared.
const BLOCKS: usize = 6;
/// Minimum number of visits in each block.
const VISITS_PER_BLOCK: usize = 30;
/// Minimum number of visits of a cell.
const VISITS_OF_A_CELL: usize = 3;
/// Minimum number of cells that two profiles share for their levels to be compared.
const CELLS_IN_COMMON: usize = 8;
/// Variance of a run's level, in units of the variance between blocks.
const BLOCK_VARIANCES: f64 = 5.0;
/// Ratio of variances that chance exceeds in one of twenty checks: F with 5 and many degrees of freedom. A
/// missed drift costs more than a false one.
const SIGNIFICANT_RATIO: f64 = 2.21;
/// Standard error of a median of normal values divided by that of their mean (sqrt(pi/2)).
const MEDIAN_FACTOR: f64 = 1.253_314_137;
/// Standard deviation of normal values divided by their median absolute deviation.
const MAD_FACTOR: f64 = 1.482_602_219;
/// Assumed length of the user's run.
const RUN: Nanos = Nanos(2_000_000_000);
/// Minimum number of such windows for an estimate of their variance.
const WINDOWS: usize = 5;
/// Minimum number of requests in a visit. With fewer, chance alone moves the rate by more than a tenth.
const REQUESTS_OF_A_VISIT: f64 = 100.0;
/// Minimum number of requests beyond a percentile of one visit.
const BEYOND: f64 = 10.0;
/// Share of checks of a steady disk in which windows seem to differ.
const FALSE_SHARE: f64 = 0.05;

/// Standard error of a run's level, as a share of the level; `None` with too few visits. `trials` are in
/// the order in which they were run. The rate of each is divided by that of its `area`.
#[must_use]
pub fn level_se_rel(area: &dyn Fn(&Trial) -> f64, trials: &[Trial]) -> Option<f64> {
    let counted: Vec<&Trial> = closed_loops(trials).collect();
    let cells = grouped(counted.iter().enumerate().map(|visit| (&visit.1.cell, visit)));
    let mut blocks = vec![Vec::new(); BLOCKS];
    for (_, visits) in cells.iter().filter(|(_, visits)| visits.len() >= VISITS_OF_A_CELL) {
        let rate = |trial: &Trial| trial.iops() / area(trial);
        let mean = visits.iter().map(|(_, trial)| rate(trial)).sum::<f64>() / visits.len() as f64;
        for (position, trial) in visits {
            blocks[position * BLOCKS / counted.len()].push(rate(trial) / mean - 1.0);
        }
    }
    if blocks.iter().any(|block| block.len() < VISITS_PER_BLOCK) {
        return None;
    }
    let levels: Vec<f64> = blocks.iter().map(|block| median(block.clone())).collect();
    let mean = levels.iter().sum::<f64>() / BLOCKS as f64;
    let between = levels.iter().map(|level| (level - mean) * (level - mean)).sum::<f64>()
        / (BLOCKS - 1) as f64;
    // The levels are estimates with an error of their own. A variance that this error explains is not
    // drift.
    let own = blocks.iter().map(|block| median_variance(block)).sum::<f64>() / BLOCKS as f64;
    if between <= SIGNIFICANT_RATIO * own {
        return Some(0.0);
    }
    Some((BLOCK_VARIANCES * (between - own)).sqrt())
}

/// Error of a run of two seconds against the mean of this check; `None` if the check is too short.
/// `trials` and `area` are as for [`level_se_rel`].
#[must_use]
pub(crate) fn run_spread(area: &dyn Fn(&Trial) -> f64, trials: &[Trial]) -> Option<RunSpread> {
    let loops: Vec<&Trial> = closed_loops(trials).collect();
    let histograms: Vec<HistogramSnapshot> = loops.iter().map(|trial| trial.histogram()).collect();
    let counts: Vec<f64> = histograms.iter().map(|it| it.count() as f64).collect();
    let of_visits = |least: f64, value: &dyn Fn(usize) -> Option<f64>| {
        window_se(&loops, &|at| if counts[at] >= least { value(at) } else { None })
    };
    let of_percentile = |share: f64| {
        let least = REQUESTS_OF_A_VISIT.max(BEYOND / (1.0 - share));
        of_visits(least, &|at| histograms[at].percentile(share))
    };
    let rate = |at: usize| Some(loops[at].iops() / area(loops[at]));
    Some(RunSpread {
        rate_se: of_visits(REQUESTS_OF_A_VISIT, &rate)?,
        percentile_ses: PERCENTILES.map(of_percentile),
    })
}

/// Standard error, as a logarithm, of a trial's `value` averaged over a run of two seconds. `value`
/// takes the index of a trial.
fn window_se(loops: &[&Trial], value: &dyn Fn(usize) -> Option<f64>) -> Option<f64> {
    let (mut begin, mut counted_ns, mut visits) = (Nanos(0), 0, Vec::new());
    for (at, trial) in loops.iter().enumerate() {
        let took = trial.result.duration_ns.plus(trial.workload.ramp_ns);
        if let Some(value) = value(at) {
            visits.push((&trial.cell, (begin.0 / RUN.0, libm::log(value))));
            counted_ns += took.0;
        }
        begin = begin.plus(took);
    }
    let visits_of_run = RUN.0 as f64 * visits.len() as f64 / (counted_ns as f64).max(1.0);
    let mut windows: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (_, visits) in grouped(visits) {
        let count = visits.len() as f64;
        if visits.len() < VISITS_OF_A_CELL {
            continue;
        }
        let level = visits.iter().map(|visit| visit.1).sum::<f64>() / count;
        // The mean of few visits is closer to each of them than the true mean.
        let nearer = libm::sqrt(count / (count - 1.0));
        for (window, value) in visits {
            windows.entry(window).or_default().push((value - level) * nearer);
        }
    }
    let windows: Vec<Vec<f64>> = windows.into_values().filter(|it| it.len() > 1).collect();
    if windows.len() < WINDOWS {
        return None;
    }
    // One-way analysis of variance with windows of different sizes.
    let (groups, total) =
        (windows.len() as f64, windows.iter().map(Vec::len).sum::<usize>() as f64);
    let centre = windows.iter().flatten().sum::<f64>() / total;
    let (mut within, mut between, mut squares) = (0.0, 0.0, 0.0);
    for window in &windows {
        let (own, size) = (mean(window), window.len() as f64);
        within += window.iter().map(|value| (value - own) * (value - own)).sum::<f64>();
        between += size * (own - centre) * (own - centre);
        squares += size * size;
    }
    let (within, between) = (within / (total - groups), between / (groups - 1.0));
    let size = (total - squares / total) / (groups - 1.0);
    let chance = stats::chi_square_per_degree(1.0 - FALSE_SHARE, windows.len() - 1);
    let lasting = if between <= chance * within { 0.0 } else { (between - within) / size };
    Some(libm::sqrt(lasting + within / visits_of_run.max(1.0)))
}

/// Visits whose rate describes the device. An open loop is excluded because the load sets its rate, and
/// commits because their rate also depends on the file system.
fn closed_loops(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(|trial| {
        counts(trial) && trial.workload.arrival == Arrival::Closed && trial.workload.flush.is_none()
    })
}

/// The level of each earlier profile relative to these cells: the median over the cells in common of its
/// rate divided by ours, minus one. Profiles with fewer than eight cells in common are left out.
#[must_use]
pub fn levels_of(cells: &[Cell], earlier: &[Profile]) -> Vec<f64> {
    let level = |profile: &Profile| {
        let ratios: Vec<f64> = cells
            .iter()
            .filter_map(|cell| {
                let other = profile.cells.iter().find(|other| other.cell == cell.cell)?;
                let ratio = other.iops.value / cell.iops.value;
                ratio.is_finite().then_some(ratio)
            })
            .collect();
        (ratios.len() >= CELLS_IN_COMMON).then(|| median(ratios) - 1.0)
    };
    earlier.iter().filter_map(level).collect()
}

/// Standard error of a run's level from those of earlier runs, with this run's level at zero: their
/// standard deviation, widened so that 1.96 of it cover 95 % (Student's t). `None` with fewer than two
/// earlier runs, which hardly show a spread.
#[must_use]
pub fn level_se_between(earlier_levels: &[f64]) -> Option<f64> {
    if earlier_levels.len() < 2 {
        return None;
    }
    let count = (earlier_levels.len() + 1) as f64;
    let mean = earlier_levels.iter().sum::<f64>() / count;
    let squares: f64 = earlier_levels.iter().map(|level| (level - mean) * (level - mean)).sum();
    let variance = (squares + mean * mean) / (count - 1.0);
    Some(variance.sqrt() * stats::student_t_quantile(0.975, count - 1.0) / record::NORMAL_95)
}

/// Variance of the median of these values, from their median absolute deviation.
fn median_variance(values: &[f64]) -> f64 {
    let centre = median(values.to_vec());
    let spread = MAD_FACTOR * median(values.iter().map(|value| (value - centre).abs()).collect());
    (MEDIAN_FACTOR * spread) * (MEDIAN_FACTOR * spread) / values.len() as f64
}
