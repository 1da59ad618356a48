//! How far the level of the whole device wanders during a check.
//!
//! A shared device moves slowly, all cells alike, which visits cannot average away: intervals from
//! visits alone held a third of the differences between two runs on a virtual disk. The level is
//! taken in six blocks of the check, each the median of its visits' deviations from their cell's
//! mean. For a random walk of variance V over a run, the variance between blocks is V/6, and the
//! means of two runs with a pause of a run's length differ with variance 5V/3: five block variances
//! each. Where earlier profiles are at hand, the spread of their levels says it directly; the
//! larger of the two holds. Rejected: widening the cells' intervals, which would blur comparisons
//! within the run.

use crate::cells::counts;
use record::{Arrival, Cell, Profile, Trial};
use stats::{grouped, median};

/// Parts of the check whose levels are compared.
const BLOCKS: usize = 6;
/// Visits in each block without which its level says nothing.
const VISITS_PER_BLOCK: usize = 30;
/// Visits of a cell without which its mean says nothing.
const VISITS_OF_A_CELL: usize = 3;
/// Cells that two profiles share without which their levels are not compared.
const CELLS_IN_COMMON: usize = 8;
/// Variances between blocks that stand for the variance of a run's level.
const BLOCK_VARIANCES: f64 = 5.0;
/// Ratio of variances that chance exceeds in one of twenty checks: F with 5 and many degrees of
/// freedom. A wandering that is not seen costs more than one that is not there.
const SIGNIFICANT_RATIO: f64 = 2.21;
/// Standard error of a median of normal values over that of their mean (sqrt(pi/2)).
const MEDIAN_FACTOR: f64 = 1.253_314_137;
/// Standard deviation of normal values over their median absolute deviation.
const MAD_FACTOR: f64 = 1.482_602_219;

/// Standard error of a run's level as a share of it; `None` with too few visits. `trials` are in
/// the order in which they were run; the rate of each is divided by that of its `area`.
#[must_use]
pub fn level_se_rel(area: &dyn Fn(&Trial) -> f64, trials: &[Trial]) -> Option<f64> {
    // Rates of open loops are set by the load and tell nothing of the device's level; those of
    // commits are the file system's as well.
    let closed = |trial: &&Trial| {
        trial.workload.arrival == Arrival::Closed && trial.workload.flush.is_none()
    };
    let counted: Vec<&Trial> = trials.iter().filter(|trial| counts(trial)).filter(closed).collect();
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
    // The levels are estimates themselves: their own error is not wandering, and a variance that
    // it explains is none.
    let own = blocks.iter().map(|block| median_variance(block)).sum::<f64>() / BLOCKS as f64;
    if between <= SIGNIFICANT_RATIO * own {
        return Some(0.0);
    }
    Some((BLOCK_VARIANCES * (between - own)).sqrt())
}

/// The level of each earlier profile against these cells: the median over the cells in common of
/// its rate over ours, less one. Profiles with fewer than eight cells in common are left
/// out.
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

/// Standard error of a run's level from those of earlier runs, with this run's at zero: their
/// standard deviation, widened so that 1.96 of it cover 95 % (Student's t). `None` with fewer than
/// two earlier runs, which say next to nothing of a spread.
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
