//! Tells by how much the latency of other hosts is higher while one host asks for much.
//!
//! Rejected: to ask how often as great an effect comes by chance, with the load moved in time. In simulated recordings
//! with harmless bursts beside those of a host that nobody recorded, that left 6 wrong names of 8 in a
//! hundred, and of recordings of a minute 73 right names of 89.

use record::{Estimate, Measured};
use stats::{batch_means, mean, median};

/// The share of the time in which a host asks for little is one over this, and that in which it asks for much.
const CALM: usize = 3;
const LOUD: usize = 10;
/// How far the two must be from each other.
const CHANGE_MIN: f64 = 1.5;

/// Between what a host asks for in the calmest part of the time and in the loudest; `None` where both are alike.
fn middle(load: &[f64]) -> Option<f64> {
    let mut order = load.to_vec();
    order.sort_by(f64::total_cmp);
    let part = |share: usize| (order.len() / share).max(1).min(order.len());
    let calm = mean(&order[..part(CALM)]);
    let loud = mean(&order[order.len() - part(LOUD)..]);
    (loud > CHANGE_MIN * calm).then_some((calm + loud) / 2.0)
}

/// The latency of each other host while this one asks for much, over that while it asks for little: the mean
/// over the others. Of a host's load at each moment, in whatever unit, and the latencies of each other one,
/// where it had requests, as logarithms.
pub(super) fn effect(load: &[f64], others: &[Vec<Option<f64>>]) -> Measured<Estimate> {
    let Some(middle) = middle(load) else {
        return Measured::not("its load hardly changes");
    };
    // Host by host: who is there only while this one is loud must not pass for a rise of the others.
    let rises: Vec<(f64, f64, u32)> =
        others.iter().filter_map(|other| rise(other, load, middle)).collect();
    if rises.is_empty() {
        return Measured::not("too few intervals of the other hosts");
    }
    let count = rises.len() as f64;
    let value = rises.iter().map(|(rise, ..)| rise).sum::<f64>() / count;
    let se = rises.iter().map(|(_, se, _)| se * se).sum::<f64>().sqrt() / count;
    let n = rises.iter().map(|(.., n)| *n).min().unwrap_or(0);
    Measured::Value(Estimate::exp_of(&Estimate::from_se(value, se, n)))
}

/// Of all that the others wait longer than they usually do while this host asks for little, the share that lies in
/// the time in which it asks for much, 0 to 1. What others wait in the rest of the time is not its doing. `None` where
/// they never wait longer.
pub(super) fn explained(load: &[f64], others: &[Vec<Option<f64>>]) -> Option<f64> {
    let middle = middle(load)?;
    let is_loud = |at: usize| load[at] > middle;
    // Clocks agree to half a step, and what a burst leaves is served after it.
    let near_loud = |at: usize| (at.saturating_sub(1)..(at + 2).min(load.len())).any(is_loud);
    let (mut within, mut beside) = (0.0, 0.0);
    for logs in others {
        let calm = (0..load.len()).filter(|at| !near_loud(*at)).filter_map(|at| logs[at]);
        let calm: Vec<f64> = calm.collect();
        if calm.is_empty() {
            continue;
        }
        // Chance makes as much above the median as below it.
        let usual = median(calm.clone());
        beside += calm.iter().map(|log| log - usual).sum::<f64>();
        let loud = (0..load.len()).filter(|at| is_loud(*at)).filter_map(|at| logs[at]);
        within += loud.map(|log| log - usual).sum::<f64>();
    }
    let (within, beside) = (within.max(0.0), beside.max(0.0));
    (within > 0.0).then(|| within / (within + beside))
}

/// The mean of one host's latencies, as logarithms, while a load is above the middle, less that while it is not,
/// with its standard error and its independent parts.
fn rise(logs: &[Option<f64>], load: &[f64], middle: f64) -> Option<(f64, f64, u32)> {
    let of = |is_loud: bool| {
        let there = logs.iter().zip(load).filter(|(_, load)| (**load > middle) == is_loud);
        batch_means(&there.filter_map(|(log, _)| *log).collect::<Vec<f64>>())
    };
    let (calm, loud) = (of(false)?, of(true)?);
    Some((loud.value - calm.value, calm.se.hypot(loud.se), calm.n.min(loud.n)))
}
