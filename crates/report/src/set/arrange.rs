//! Chooses the abscissa, the curves and the plots of a set.
//!
//! An abscissa is an axis with numeric levels: a known quantity (request size, depth, rate, offset, number of
//! targets), or else any number. Reads and writes get separate plots if sizes are compared, because each has
//! its own maximum and therefore its own half-power line. The other axes become curves. While a plot has more
//! than [`CURVES`] of them, the axis with the fewest levels becomes separate plots instead.

use super::{Set, SetCell};
use crate::plots::op_word;
use crate::story::joined;
use record::{CacheMode, OpKind, Workload};
use stats::{Ordered, grouped};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of curves in a plot.
pub(super) const CURVES: usize = 8;
const PLOTS: usize = 6;

/// Meaning of an axis's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// Request size in bytes.
    Size,
    /// Queue depth.
    Depth,
    /// Arrivals per second.
    Rate,
    /// Number of disks or other targets.
    Targets,
    /// Offset of the area on the target.
    Place,
    /// Other numbers.
    Plain,
}

/// The number for a workload and its level on the axis, if any.
type NumberOf = fn(&Workload, &str) -> Option<f64>;

const MEANINGS: [(Meaning, NumberOf); 6] = [
    (Meaning::Size, |workload, _| Some(workload.max_bs().0 as f64).filter(|size| *size > 0.0)),
    (Meaning::Depth, |workload, _| workload.options_known().then(|| f64::from(workload.depth))),
    (Meaning::Rate, |workload, _| workload.rate_iops.map(|rate| rate as f64)),
    (Meaning::Targets, |workload, _| Some(f64::from(workload.targets))),
    (Meaning::Place, |workload, _| Some(workload.offset_bytes.0 as f64)),
    (Meaning::Plain, |_, level| level.trim_end_matches('%').parse().ok()),
];

/// An axis of numbers.
#[derive(Clone, Debug)]
pub(super) struct Abscissa {
    /// Its index in [`Set::axes`].
    pub(super) axis: usize,
    pub(super) meaning: Meaning,
    /// The number of each level.
    pub(super) values: BTreeMap<String, f64>,
}

/// The cells of one curve, in order of the abscissa.
#[derive(Clone, Debug)]
pub(super) struct Along<'s> {
    /// The levels that define it; empty if nothing else varies.
    pub(super) name: String,
    /// Abscissa values with their cells.
    pub(super) cells: Vec<(f64, &'s SetCell<'s>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Plot<'s> {
    /// The levels that define it; empty for a single plot.
    pub(super) name: String,
    pub(super) curves: Vec<Along<'s>>,
}

/// The axes that can be an abscissa, in the order of [`Meaning`].
pub(super) fn abscissae(set: &Set<'_>) -> Vec<Abscissa> {
    let mut found: Vec<Abscissa> =
        (0..set.axes.len()).filter_map(|axis| abscissa(set, axis)).collect();
    // Two levels are a comparison rather than a curve, unless there is no longer axis.
    if found.iter().any(|abscissa| abscissa.values.len() > 2) {
        found.retain(|abscissa| abscissa.values.len() > 2);
    }
    found.sort_by_cached_key(|abscissa| abscissa.meaning);
    found
}

/// The first meaning that gives each level a distinct number.
fn abscissa(set: &Set<'_>, axis: usize) -> Option<Abscissa> {
    MEANINGS.into_iter().find_map(|(meaning, number_of)| {
        let mut values: BTreeMap<String, f64> = BTreeMap::new();
        for cell in &set.cells {
            let level = &cell.levels[axis];
            let value = number_of(cell.workload, level)?;
            let known = *values.entry(level.clone()).or_insert(value);
            if known.total_cmp(&value).is_ne() {
                return None;
            }
        }
        let mut sorted: Vec<f64> = values.values().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let distinct = sorted.len() > 1 && sorted.windows(2).all(|pair| pair[0] < pair[1]);
        distinct.then_some(Abscissa { axis, meaning, values })
    })
}

/// The plots over an abscissa, and the number of curves and plots left out.
pub(super) fn arrange<'s>(set: &'s Set<'s>, abscissa: &Abscissa) -> (Vec<Plot<'s>>, usize) {
    let varies = |axis: &usize| {
        *axis != abscissa.axis
            && set.cells.iter().any(|cell| cell.levels[*axis] != set.cells[0].levels[*axis])
    };
    let mut curves: Vec<usize> = (0..set.axes.len()).filter(varies).collect();
    let mut plots: Vec<usize> = Vec::new();
    if abscissa.meaning == Meaning::Size {
        let (apart, same) = curves.into_iter().partition(|axis| tells_direction(set, *axis));
        (plots, curves) = (apart, same);
    }
    while curves.len() > 1 && most_curves(set, &plots, &curves) > CURVES {
        let fewest = curves.iter().copied().min_by_key(|axis| set.levels(*axis).len());
        let Some(fewest) = fewest else { break };
        curves.retain(|axis| *axis != fewest);
        plots.push(fewest);
    }
    plots.sort_unstable();
    let placed = set.cells.iter().filter_map(|cell| {
        let x = *abscissa.values.get(&cell.levels[abscissa.axis])?;
        Some((key(cell, &plots), (x, cell)))
    });
    let made = grouped(placed).into_iter().map(|(_, cells)| Plot {
        name: name(set, cells[0].1, &plots),
        curves: grouped(cells.into_iter().map(|(x, cell)| (name(set, cell, &curves), (x, cell))))
            .into_iter()
            .map(|(name, cells)| Along { name, cells })
            .collect(),
    });
    let mut plots: Vec<Plot<'s>> = made.collect();
    // A plot without a curve of at least two points shows nothing over this abscissa.
    plots.retain(|plot| plot.curves.iter().any(|curve| curve.cells.len() > 1));
    let mut left_out = plots.len().saturating_sub(PLOTS);
    plots.truncate(PLOTS);
    for plot in &mut plots {
        let every = plot.curves.len().div_ceil(CURVES).max(1);
        left_out += plot.curves.len() - plot.curves.len().div_ceil(every);
        plot.curves = plot.curves.drain(..).step_by(every).collect();
        for curve in &mut plot.curves {
            curve.cells.sort_by_cached_key(|one| Ordered(one.0));
        }
    }
    (plots, left_out)
}

/// The levels of a cell on some axes.
pub(super) fn key<'s>(cell: &'s SetCell<'_>, axes: &[usize]) -> Vec<&'s str> {
    axes.iter().map(|axis| cell.levels[*axis].as_str()).collect()
}

fn most_curves(set: &Set<'_>, plots: &[usize], curves: &[usize]) -> usize {
    let mut of: BTreeMap<Vec<&str>, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for cell in &set.cells {
        of.entry(key(cell, plots)).or_default().insert(key(cell, curves));
    }
    of.values().map(BTreeSet::len).max().unwrap_or(0)
}

/// Whether reads and writes have different levels on an axis.
fn tells_direction(set: &Set<'_>, axis: usize) -> bool {
    let mut of: BTreeMap<&str, Option<OpKind>> = BTreeMap::new();
    for cell in &set.cells {
        let op = cell.workload.only_op();
        if *of.entry(cell.levels[axis].as_str()).or_insert(op) != op {
            return false;
        }
    }
    let first = of.values().next();
    of.values().any(|op| Some(op) != first)
}

/// The levels of a cell on some axes, in words.
pub(super) fn name(set: &Set<'_>, cell: &SetCell<'_>, axes: &[usize]) -> String {
    joined(axes, ", ", |axis| {
        let level = &cell.levels[*axis];
        let bare = level.trim_end_matches('%').parse::<f64>().is_ok();
        let modes = [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None];
        let mode = set.axes[*axis] == "cache" && modes.iter().any(|mode| mode.name() == level);
        if bare || mode { format!("{} {level}", set.axes[*axis]) } else { level.clone() }
    })
}

/// The same, or the direction if no level varies.
pub(super) fn name_or_op(set: &Set<'_>, cell: &SetCell<'_>, axes: &[usize]) -> String {
    let name = name(set, cell, axes);
    if name.is_empty() { op_word(cell.workload).to_owned() } else { name }
}
