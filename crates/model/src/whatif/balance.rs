//! Moves load from full devices to less utilised ones. In each step the fullest device gives a hundredth of
//! its own load to the device that is the least full after the move, provided that it stays below the
//! giver's previous level. So the maximum never rises. Rejected: linear programming, which moves data
//! everywhere for the last per cent.

use super::WhatIfError;
use crate::predict::Predictor;
use record::{Balance, BalancedDevice, Mix, MixClass, Move, Offered};

/// Number of parts into which a load is divided.
const PARTS: usize = 100;
/// A step must reduce the giver's utilisation by at least this share to continue.
const WORTH: f64 = 1e-6;
/// Minimum share of a load that is worth moving.
const LEAST: f64 = 0.02;

/// A device and its load.
#[derive(Clone, Debug)]
pub struct BalanceSide<'a> {
    /// Its name.
    pub name: String,
    /// Model of the device.
    pub predictor: &'a Predictor,
    /// The load's mix.
    pub mix: Mix,
    /// The load's requests per second.
    pub rate: f64,
}

/// How many hundredths of each load are on each device.
struct Table {
    /// `parts[of][at]`.
    parts: Vec<Vec<usize>>,
    /// Utilisation that one hundredth of a load adds to a device.
    cost: Vec<Vec<f64>>,
}

impl Table {
    fn full(&self, at: usize) -> f64 {
        self.parts
            .iter()
            .zip(&self.cost)
            .map(|(parts, cost)| if parts[at] == 0 { 0.0 } else { parts[at] as f64 * cost[at] })
            .sum()
    }

    /// Undoes a move that is too small, unless its owner would become fuller than the fullest device was.
    fn give_back(&mut self, of: usize, at: usize, fullest: f64) -> bool {
        let part = self.parts[of][at];
        if self.full(of) + part as f64 * self.cost[of][of] > fullest {
            return false;
        }
        self.parts[of][of] += part;
        self.parts[of][at] = 0;
        true
    }

    fn step(&mut self) -> bool {
        let count = self.parts.len();
        let full: Vec<f64> = (0..count).map(|at| self.full(at)).collect();
        let most = (0..count).max_by(|a, b| full[*a].total_cmp(&full[*b]));
        let Some(from) = most.filter(|&from| self.parts[from][from] > 0) else { return false };
        let after = |to: usize| full[to] + self.cost[from][to];
        let to = (0..count).filter(|&to| to != from).min_by(|a, b| after(*a).total_cmp(&after(*b)));
        let Some(to) = to.filter(|&to| after(to) < full[from] * (1.0 - WORTH)) else {
            return false;
        };
        self.parts[from][from] -= 1;
        self.parts[from][to] += 1;
        true
    }
}

/// Balances load between devices.
///
/// # Errors
/// If there are fewer than two devices, or a profile lacks its own device's load.
pub fn balance(sides: &[BalanceSide<'_>]) -> Result<Balance, WhatIfError> {
    if sides.len() < 2 {
        return Err(WhatIfError::NoMatter("balancing needs at least two devices".to_owned()));
    }
    let mut cost = Vec::new();
    for side in sides {
        let mut row = Vec::new();
        for other in sides {
            let part = side.rate / PARTS as f64;
            row.push(match other.predictor.max_rate(&side.mix) {
                Ok(max) => part / max.value,
                // The effect of this load on that device is unknown, so the load is not moved there.
                Err(_) if other.name != side.name => f64::INFINITY,
                Err(error) => return Err(error.into()),
            });
        }
        cost.push(row);
    }
    let parts = (0..sides.len())
        .map(|of| (0..sides.len()).map(|at| if at == of { PARTS } else { 0 }).collect())
        .collect();
    let mut table = Table { parts, cost };
    let before: Vec<f64> = (0..sides.len()).map(|at| table.full(at)).collect();
    for _ in 0..PARTS * sides.len() {
        if !table.step() {
            break;
        }
    }
    let fullest = before.iter().copied().fold(0.0, f64::max);
    let mut moves = Vec::new();
    for (of, side) in sides.iter().enumerate() {
        for (at, other) in sides.iter().enumerate().filter(|(at, _)| *at != of) {
            let share = table.parts[of][at] as f64 / PARTS as f64;
            if share == 0.0 || (share < LEAST && table.give_back(of, at, fullest)) {
                continue;
            }
            moves.push(Move {
                from: side.name.clone(),
                to: other.name.clone(),
                iops: side.rate * share,
                share,
            });
        }
    }
    let devices = sides
        .iter()
        .enumerate()
        .map(|(at, side)| {
            let (mix, rate) = mixed(sides, &table, at);
            // A device without load has no latency.
            let latency = |mix: &Mix, rate: f64| {
                let found = side.predictor.predict(mix, Offered::PoissonPerS(rate)).ok();
                found.map(|prediction| prediction.latency_ns)
            };
            BalancedDevice {
                device: side.name.clone(),
                iops_before: side.rate,
                iops_after: rate,
                saturation_before: before[at],
                saturation_after: table.full(at),
                latency_before_ns: latency(&side.mix, side.rate),
                latency_after_ns: latency(&mix, rate),
            }
        })
        .collect();
    Ok(Balance {
        devices,
        moves,
        left_out: Vec::new(),
        assumes:
            "loads can be split; each part has the same mix, and its latency on another device is \
             as that device's profile predicts"
                .to_owned(),
        cost: "moving the data once; afterwards a failure of either device affects both".to_owned(),
        how_to_check: "count requests by position: no single part of the data should get most of \
                       them"
            .to_owned(),
    })
}

fn mixed(sides: &[BalanceSide<'_>], table: &Table, at: usize) -> (Mix, f64) {
    let (mut classes, mut rate): (Vec<MixClass>, f64) = (Vec::new(), 0.0);
    for (of, side) in sides.iter().enumerate() {
        let part = side.rate * table.parts[of][at] as f64 / PARTS as f64;
        rate += part;
        classes.extend(
            side.mix.classes.iter().map(|class| MixClass { share: class.share * part, ..*class }),
        );
    }
    (super::joined(&Mix { classes }), rate)
}
