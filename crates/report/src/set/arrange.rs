//! What becomes the abscissa, what tells curves apart, and what tells plots apart.
//!
//! An abscissa is an axis whose levels are numbers: by what they ask (request size, depth, rate,
//! place, number of targets), else by how they are written. Directions get plots of their own where
//! sizes are compared, because each has its own maximum and so its own half-power line. The other
//! axes make curves; while a plot has more than [`CURVES`] of them, the axis with the fewest levels
//! makes plots instead.

use super::{Set, SetCell};
use crate::plots::op_word;
use crate::story::joined;
use record::{CacheMode, OpKind, Workload};
use stats::{Ordered, grouped};
use std::collections::{BTreeMap, BTreeSet};

/// Curves that one plot holds.
pub(super) const CURVES: usize = 8;
const PLOTS: usize = 6;

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// Bytes of a request.
    Size,
    /// Queue depth.
    Depth,
    /// Arrivals per second.
    Rate,
    /// Disks or other targets.
    Targets,
    /// Where on the target the area begins.
    Place,
    /// Numbers as they are written.
    Plain,
}

/// The number that a workload and its level on the axis have, if they have one.
type NumberOf = fn(&Workload, &str) -> Option<f64>;

const MEANINGS: [(Meaning, NumberOf); 6] = [
    (Meaning::Size, |workload, _| Some(workload.max_bs().0 as f64)),
    (Meaning::Depth, |workload, _| Some(f64::from(workload.depth))),
    (Meaning::Rate, |workload, _| workload.rate_iops.map(|rate| rate as f64)),
    (Meaning::Targets, |workload, _| Some(f64::from(workload.targets))),
    (Meaning::Place, |workload, _| Some(workload.offset_bytes.0 as f64)),
    (Meaning::Plain, |_, level| level.trim_end_matches('%').parse().ok()),
];

/// An axis of numbers.
#[derive(Clone, Debug)]
pub(super) struct Abscissa {
    /// Its place in [`Set::axes`].
    pub(super) axis: usize,
    pub(super) meaning: Meaning,
    /// The number of each level.
    pub(super) values: BTreeMap<String, f64>,
}

/// The cells of one curve, by rising abscissa.
#[derive(Clone, Debug)]
pub(super) struct Along<'s> {
    /// The levels that make it; empty where nothing else varies.
    pub(super) name: String,
    /// Abscissa and cell.
    pub(super) cells: Vec<(f64, &'s SetCell<'s>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Plot<'s> {
    /// The levels that make it; empty where it is the only one.
    pub(super) name: String,
    pub(super) curves: Vec<Along<'s>>,
}

/// The axes that can be an abscissa, in the order of [`Meaning`].
pub(super) fn abscissae(set: &Set<'_>) -> Vec<Abscissa> {
    let mut found: Vec<Abscissa> =
        (0..set.axes.len()).filter_map(|axis| abscissa(set, axis)).collect();
    // Two levels are a comparison and no curve, unless there is nothing else.
    if found.iter().any(|abscissa| abscissa.values.len() > 2) {
        found.retain(|abscissa| abscissa.values.len() > 2);
    }
    found.sort_by_cached_key(|abscissa| abscissa.meaning);
    found
}

/// The first meaning that gives each level a number of its own.
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

/// The plots over an abscissa, and how many curves and plots were too many.
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
    // A plot in which no curve has two points shows nothing over this abscissa.
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

/// Whether reads and writes have levels of their own.
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

/// The same in words.
pub(super) fn name(set: &Set<'_>, cell: &SetCell<'_>, axes: &[usize]) -> String {
    joined(axes, ", ", |axis| {
        let level = &cell.levels[*axis];
        let bare = level.trim_end_matches('%').parse::<f64>().is_ok();
        let modes = [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None];
        let mode = set.axes[*axis] == "cache" && modes.iter().any(|mode| mode.name() == level);
        if bare || mode { format!("{} {level}", set.axes[*axis]) } else { level.clone() }
    })
}

/// The same; the direction where no level varies.
pub(super) fn name_or_op(set: &Set<'_>, cell: &SetCell<'_>, axes: &[usize]) -> String {
    let name = name(set, cell, axes);
    if name.is_empty() { op_word(cell.workload).to_owned() } else { name }
}
