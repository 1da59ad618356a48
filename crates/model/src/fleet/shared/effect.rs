//! Estimates how much the latency of other hosts rises while one host is under high load.
//!
//! Rejected: a permutation test that shifts the load in time and asks how often chance has as large an
//! effect. In simulated recordings with harmless bursts next to those of an unrecorded host, it left 6
//! wrong names of 8 in a hundred. In recordings of a minute, it left 73 right names of 89.

use record::{Estimate, Measured};
use stats::{batch_means, mean, median};

/// Low load is the mean over the lowest 1/`CALM` of the time, high load that over the highest 1/`LOUD`.
const CALM: usize = 3;
const LOUD: usize = 10;
/// Minimum ratio of high load to low load.
const CHANGE_MIN: f64 = 1.5;

/// The midpoint between a host's low load and its high load; `None` if they are too similar.
fn middle(load: &[f64]) -> Option<f64> {
    let mut order = load.to_vec();
    order.sort_by(f64::total_cmp);
    let part = |share: usize| (order.len() / share).max(1).min(order.len());
    let calm = mean(&order[..part(CALM)]);
    let loud = mean(&order[order.len() - part(LOUD)..]);
    (loud > CHANGE_MIN * calm).then_some((calm + loud) / 2.0)
}

/// The latency of the other hosts under high load of this host, divided by their latency under low load:
/// the mean over the hosts. `load` is the host's load at each moment, in any unit. `others` are the
/// logarithms of the latencies of each other host, where it had requests.
pub(super) fn effect(load: &[f64], others: &[Vec<Option<f64>>]) -> Measured<Estimate> {
    let Some(middle) = middle(load) else {
        return Measured::not("its load hardly changes");
    };
    // Host by host: a host that is only active during high load must not count as a rise of the others.
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

/// The share, 0 to 1, of the others' extra waiting that falls into the high load of this host. Extra
/// waiting is the time above their usual latency under low load. This host does not cause the waiting at
/// other times. `None` if the others never wait longer.
pub(super) fn explained(load: &[f64], others: &[Vec<Option<f64>>]) -> Option<f64> {
    let middle = middle(load)?;
    let is_loud = |at: usize| load[at] > middle;
    // Clocks agree to half a step, and the backlog of a burst is served after it.
    let near_loud = |at: usize| (at.saturating_sub(1)..(at + 2).min(load.len())).any(is_loud);
    let (mut within, mut beside) = (0.0, 0.0);
    for logs in others {
        let calm = (0..load.len()).filter(|at| !near_loud(*at)).filter_map(|at| logs[at]);
        let calm: Vec<f64> = calm.collect();
        if calm.is_empty() {
            continue;
        }
        // Chance adds as much above the median as below it.
        let usual = median(calm.clone());
        beside += calm.iter().map(|log| log - usual).sum::<f64>();
        let loud = (0..load.len()).filter(|at| is_loud(*at)).filter_map(|at| logs[at]);
        within += loud.map(|log| log - usual).sum::<f64>();
    }
    let (within, beside) = (within.max(0.0), beside.max(0.0));
    (within > 0.0).then(|| within / (within + beside))
}

/// The mean of one host's log latencies while `load` is above `middle`, minus the mean of the rest, with
/// its standard error and number of independent parts.
fn rise(logs: &[Option<f64>], load: &[f64], middle: f64) -> Option<(f64, f64, u32)> {
    let of = |is_loud: bool| {
        let there = logs.iter().zip(load).filter(|(_, load)| (**load > middle) == is_loud);
        batch_means(&there.filter_map(|(log, _)| *log).collect::<Vec<f64>>())
    };
    let (calm, loud) = (of(false)?, of(true)?);
    Some((loud.value - calm.value, calm.se.hypot(loud.se), calm.n.min(loud.n)))
}
