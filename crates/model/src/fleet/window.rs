//! Compares all devices with their peers in one window, on average and in the slowest fifth.

use crate::fleet::PEERS_MIN;
use crate::fleet::nearest::Nearest;
use crate::fleet::reference::{Expected, Reference};
use crate::fleet::tally::{Tally, Work};
use stats::median;

/// Minimum number of compared intervals in a window.
const INTERVALS_MIN: usize = 3;
/// Maximum weight of a kind of work, in intervals, because the intervals are not independent.
const INTERVALS_MOST: usize = 60;
/// Quantile of the upper ratio: a device that is slow for a fifth of the time or more is found by it.
const UPPER: f64 = 0.8;

/// Latency of a device compared with its peers in one window, as logarithms of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRatio {
    /// On average.
    pub(crate) mean: f64,
    /// In the slowest fifth of the intervals, as a lower bound.
    pub(crate) upper: f64,
}

/// Result of the comparison of a device in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    /// It did no work that could be compared.
    Idle,
    /// It did work, but too few other devices of its kind did.
    NoPeers,
    /// It was compared.
    Compared(LogRatio),
}

/// Results against devices of several hosts, racks and so on, and against all comparable devices. For work
/// that few devices do, the second includes the devices that share it.
pub(crate) type Standings = [Standing; 2];

/// Compares each device with its peers. `kind` is the peer group of each device, `values` its label values.
pub(crate) fn standings(
    tallies: &mut [Tally],
    kind: &[u32],
    values: &[Vec<Option<u32>>],
    references: &mut [Reference],
) -> Vec<Standings> {
    let mut times = Vec::new();
    for (member, tally) in tallies.iter_mut().enumerate() {
        for cell in tally.sorted().chunk_by(|a, b| a.work == b.work) {
            if cell.len() >= INTERVALS_MIN {
                let sum: f64 = cell.iter().map(|sample| f64::from(sample.log)).sum();
                let reference = &mut references[kind[member] as usize];
                let mean = sum / cell.len() as f64;
                reference.add(cell[0].work, member as u32, &values[member], mean);
                times.push((member, cell[0].work, mean));
            }
        }
    }
    references.iter_mut().for_each(Reference::settle);
    let mut nearest: Vec<Nearest> = references.iter().map(|_| Nearest::default()).collect();
    for (member, work, log) in times {
        let kind = kind[member] as usize;
        nearest[kind].add(&references[kind], work, &values[member], log);
    }
    nearest.iter_mut().for_each(Nearest::settle);
    let mut above = Vec::new();
    let mut all: Vec<Standings> = tallies
        .iter_mut()
        .zip(kind)
        .zip(values)
        .map(|((tally, &kind), values)| {
            let reference = &mut references[kind as usize];
            let outside = standing(tally, |work| reference.expected(work), &mut above);
            let nearest = &mut nearest[kind as usize];
            let closest = |work| match (reference.expected(work), &mut *nearest) {
                (Some(Expected::Median(known)), _) => Some(Expected::Median(known)),
                (outside, nearest) => match (outside, nearest.expected(work, values)) {
                    (Some(Expected::AtMost(a)), Some(Expected::AtMost(b))) => {
                        Some(Expected::AtMost(a.min(b)))
                    }
                    (outside, nearest) => nearest.or(outside),
                },
            };
            [outside, standing(tally, closest, &mut above)]
        })
        .collect();
    for view in [0, 1] {
        without_the_hour(&mut all, view, kind, references.len());
    }
    all
}

/// Subtracts from all devices of a kind what they have in common in this window.
fn without_the_hour(all: &mut [Standings], view: usize, kind: &[u32], kinds: usize) {
    let mut of_kind: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); kinds];
    for (standings, &kind) in all.iter().zip(kind) {
        if let Standing::Compared(one) = standings[view] {
            of_kind[kind as usize].0.push(one.mean);
            of_kind[kind as usize].1.push(one.upper);
        }
    }
    let middles: Vec<Option<(f64, f64)>> = of_kind
        .into_iter()
        .map(|(means, uppers)| (means.len() >= PEERS_MIN).then(|| (median(means), median(uppers))))
        .collect();
    for (standings, &kind) in all.iter_mut().zip(kind) {
        if let Standing::Compared(one) = standings[view] {
            standings[view] = match middles[kind as usize] {
                Some((mean, upper)) => {
                    Standing::Compared(LogRatio { mean: one.mean - mean, upper: one.upper - upper })
                }
                None => Standing::NoPeers,
            };
        }
    }
}

fn standing(
    tally: &mut Tally,
    mut expected: impl FnMut(Work) -> Option<Expected>,
    above: &mut Vec<f64>,
) -> Standing {
    above.clear();
    let (mut sum, mut weights, mut alone) = (0.0, 0, 0);
    for cell in tally.sorted().chunk_by(|a, b| a.work == b.work) {
        let (expected, bounded) = match expected(cell[0].work) {
            Some(Expected::Median(median)) => (median, false),
            Some(Expected::AtMost(bound)) => (bound, true),
            None => {
                alone += cell.len();
                continue;
            }
        };
        let weight = cell.len().min(INTERVALS_MOST);
        let mean = cell.iter().map(|sample| f64::from(sample.log)).sum::<f64>() / cell.len() as f64;
        // Below the bound the usual latency is unknown, so the device counts as usual.
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
