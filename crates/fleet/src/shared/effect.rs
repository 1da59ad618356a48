//! Tells by how much the latency of other hosts is higher while one host asks for much.
//!
//! Rejected: to ask how often as great an effect comes by chance, with the load moved in time. In simulated recordings
//! with harmless bursts beside those of a host that nobody recorded, that left 6 wrong names of 8 in a
//! hundred, and of recordings of a minute 73 right names of 89.

use record::{Estimate, Measured};
use stats::{batch_means, mean};

/// The share of the time in which a host asks for little is one over this, and that in which it asks for much.
const CALM: usize = 3;
const LOUD: usize = 10;
/// How far the two must be from each other.
const CHANGE_MIN: f64 = 1.5;

/// The latency of each other host while this one asks for much, over that while it asks for little: the mean
/// over the others. Of a host's load at each moment, in whatever unit, and the latencies of each other one,
/// where it had requests.
pub(super) fn effect(load: &[f64], others: &[Vec<Option<f64>>]) -> Measured<Estimate> {
    let mut order = load.to_vec();
    order.sort_by(f64::total_cmp);
    let part = |share: usize| (order.len() / share).max(1).min(order.len());
    let calm = mean(&order[..part(CALM)]);
    let loud = mean(&order[order.len() - part(LOUD)..]);
    if loud <= CHANGE_MIN * calm {
        return Measured::not("it asks for much the same all of the time");
    }
    let middle = (calm + loud) / 2.0;
    // Host by host: who is there only while this one is loud must not pass for a rise of the others.
    let rises: Vec<(f64, f64, u32)> =
        others.iter().filter_map(|other| rise(other, load, middle)).collect();
    if rises.is_empty() {
        return Measured::not("too few intervals of the others");
    }
    let count = rises.len() as f64;
    let value = rises.iter().map(|(rise, ..)| rise).sum::<f64>() / count;
    let se = rises.iter().map(|(_, se, _)| se * se).sum::<f64>().sqrt() / count;
    let n = rises.iter().map(|(.., n)| *n).min().unwrap_or(0);
    Measured::Value(Estimate::exp_of(&Estimate::from_se(value, se, n)))
}

/// The mean logarithm of one host's latencies while a load is above the middle, less that while it is not,
/// with its standard error and its independent parts.
fn rise(latencies: &[Option<f64>], load: &[f64], middle: f64) -> Option<(f64, f64, u32)> {
    let of = |is_loud: bool| {
        let there = latencies.iter().zip(load).filter(|(_, load)| (**load > middle) == is_loud);
        let logs: Vec<f64> =
            there.filter_map(|(latency, _)| Some(latency.as_ref()?.max(1.0).ln())).collect();
        batch_means(&logs)
    };
    let (calm, loud) = (of(false)?, of(true)?);
    Some((loud.value - calm.value, calm.se.hypot(loud.se), calm.n.min(loud.n)))
}
