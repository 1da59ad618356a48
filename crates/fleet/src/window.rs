//! One window of all devices: how far each is from what its peers take, on average and in its slowest
//! fifth.

use crate::PEERS_MIN;
use crate::reference::{Expected, Reference};
use crate::tally::Tally;
use stats::median;

/// Fewer compared intervals than this say nothing of a window.
const INTERVALS_MIN: usize = 3;
/// A kind of work weighs as much as so many intervals at most: they are no independent ones.
const INTERVALS_MOST: usize = 60;
/// Share of the intervals that are below the upper figure: a device that is slow in a fifth of the time
/// or more is slow there, whatever it does else.
const UPPER: f64 = 0.8;

/// A device against its peers in one window, as logarithms of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRatio {
    /// On average.
    pub(crate) mean: f64,
    /// In the slowest fifth of the intervals, at least.
    pub(crate) upper: f64,
}

/// Where a device stands in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    /// It did nothing that could be compared.
    Idle,
    /// It worked, but too few others of its kind did.
    NoPeers,
    /// It was compared.
    Compared(LogRatio),
}

/// What each device is to its peers; `kind` tells for each device whose peer it is, `values` what it
/// shares with whom.
pub(crate) fn standings(
    tallies: &mut [Tally],
    kind: &[u32],
    values: &[Vec<Option<u32>>],
    references: &mut [Reference],
) -> Vec<Standing> {
    for (member, tally) in tallies.iter_mut().enumerate() {
        for cell in tally.sorted().chunk_by(|a, b| a.work == b.work) {
            if cell.len() >= INTERVALS_MIN {
                let sum: f64 = cell.iter().map(|sample| f64::from(sample.log)).sum();
                let reference = &mut references[kind[member] as usize];
                let mean = sum / cell.len() as f64;
                reference.add(cell[0].work, member as u32, &values[member], mean);
            }
        }
    }
    references.iter_mut().for_each(Reference::settle);
    let mut above = Vec::new();
    let mut all: Vec<Standing> = tallies
        .iter_mut()
        .zip(kind)
        .map(|(tally, &kind)| standing(tally, &mut references[kind as usize], &mut above))
        .collect();
    // What all of a kind share at this hour is nobody's own.
    let mut of_kind: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); references.len()];
    for (standing, &kind) in all.iter().zip(kind) {
        if let Standing::Compared(one) = standing {
            of_kind[kind as usize].0.push(one.mean);
            of_kind[kind as usize].1.push(one.upper);
        }
    }
    let middles: Vec<Option<(f64, f64)>> = of_kind
        .into_iter()
        .map(|(means, uppers)| (means.len() >= PEERS_MIN).then(|| (median(means), median(uppers))))
        .collect();
    for (standing, &kind) in all.iter_mut().zip(kind) {
        if let Standing::Compared(one) = *standing {
            *standing = match middles[kind as usize] {
                Some((mean, upper)) => {
                    Standing::Compared(LogRatio { mean: one.mean - mean, upper: one.upper - upper })
                }
                None => Standing::NoPeers,
            };
        }
    }
    all
}

fn standing(tally: &mut Tally, reference: &mut Reference, above: &mut Vec<f64>) -> Standing {
    above.clear();
    let (mut sum, mut weights, mut alone) = (0.0, 0, 0);
    for cell in tally.sorted().chunk_by(|a, b| a.work == b.work) {
        let (expected, bounded) = match reference.expected(cell[0].work) {
            Some(Expected::Median(median)) => (median, false),
            Some(Expected::AtMost(bound)) => (bound, true),
            None => {
                alone += cell.len();
                continue;
            }
        };
        let weight = cell.len().min(INTERVALS_MOST);
        let mean = cell.iter().map(|sample| f64::from(sample.log)).sum::<f64>() / cell.len() as f64;
        // Below the bound it may be anything, and is taken for usual.
        let floor = if bounded { 0.0 } else { f64::NEG_INFINITY };
        sum += weight as f64 * (mean - expected).max(floor);
        weights += weight;
        above.extend(cell.iter().map(|sample| (f64::from(sample.log) - expected).max(floor)));
    }
    if above.len() >= INTERVALS_MIN {
        let place = (UPPER * above.len() as f64) as usize;
        let (_, upper, _) = above.select_nth_unstable_by(place, f64::total_cmp);
        Standing::Compared(LogRatio { mean: sum / weights as f64, upper: *upper })
    } else if above.len() + alone >= INTERVALS_MIN {
        Standing::NoPeers
    } else {
        Standing::Idle
    }
}
