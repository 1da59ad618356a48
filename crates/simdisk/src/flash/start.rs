//! Creates the initial state of a drive: never written, written once in order, or in steady state.
//!
//! The state after overwriting a drive at random about ten times is known (Xiang and Kurkoski 2012;
//! Desnoyers 2012), so it is created directly: blocks of all ages, the oldest with the fewest valid units,
//! and random units in them. A test compares it with a drive that was really overwritten.

use super::geometry::Geometry;
use super::mapping::Mapping;
use super::spec::Start;
use workload::Rng;

/// Steps of the bisection: to the last bit of the mantissa.
const BISECTIONS: u32 = 60;

pub(super) fn lay_out(mapping: &mut Mapping, start: Start, seed: u64) {
    match start {
        Start::Fresh => {}
        Start::Sequential => in_order(mapping),
        Start::Random => steady(mapping, &mut Rng::new(seed)),
    }
}

fn in_order(mapping: &mut Mapping) {
    let (units, block_units) = (mapping.geometry.units, mapping.geometry.block_units);
    for first in (0..units).step_by(block_units as usize) {
        let end = (first + block_units).min(units);
        mapping.fill_block((first..end).map(|unit| (unit - first, unit)));
    }
}

/// Blocks of all ages, with random units.
fn steady(mapping: &mut Mapping, rng: &mut Rng) {
    let geometry = mapping.geometry.clone();
    let mut shuffled = Shuffled::new(geometry.units, rng);
    let mut left = geometry.units;
    for (valid, after) in ages(&geometry) {
        let valid = valid.max(left.saturating_sub(after)).min(left);
        left -= valid;
        let mut wanted = valid;
        let places = (0..geometry.block_units).filter(|place| {
            // Each remaining place with equal probability (selection sampling, Knuth 3.4.2 S).
            let chosen = rng.below(u64::from(geometry.block_units - place)) < u64::from(wanted);
            wanted -= u32::from(chosen);
            chosen
        });
        // The places come first: `zip` calls the left iterator first, and no unit may be lost.
        mapping.fill_block(places.zip(&mut shuffled));
    }
}

/// Valid units of each block from the oldest to the newest, with the places in all newer blocks.
fn ages(geometry: &Geometry) -> Vec<(u32, u32)> {
    let blocks = geometry.full_blocks();
    // A block loses its units exponentially with the number of blocks written since: the sum over all ages
    // is the capacity.
    let filled = f64::from(geometry.units) / f64::from(geometry.block_units);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let loss = 0.5 * (low + high);
        let sum = (1.0 - libm::exp(-loss * f64::from(blocks))) / (1.0 - libm::exp(-loss));
        if sum > filled { low = loss } else { high = loss }
    }
    let valid = |age: u32| {
        (f64::from(geometry.block_units) * libm::exp(-low * f64::from(age))).round() as u32
    };
    (0..blocks).rev().map(|age| (valid(age), age * geometry.block_units)).collect()
}

/// All numbers below a bound, each once, in no visible order. It permutes the numbers below a power of two
/// by invertible steps, and skips those beyond the bound.
#[derive(Debug)]
struct Shuffled {
    bound: u32,
    count: u64,
    digits: u32,
    factors: [u64; 2],
}

impl Shuffled {
    fn new(bound: u32, rng: &mut Rng) -> Self {
        let digits = u64::from(bound).next_power_of_two().ilog2().max(2);
        Self { bound, count: 0, digits, factors: [rng.next_u64() | 1, rng.next_u64() | 1] }
    }

    /// A different number with the same number of bits; the mapping is one to one.
    fn turned(&self, number: u64) -> u64 {
        let mask = (1 << self.digits) - 1;
        self.factors.iter().fold(number ^ number >> (self.digits / 2), |number, factor| {
            let product = number.wrapping_mul(*factor) & mask;
            product ^ product >> (self.digits / 2)
        })
    }
}

impl Iterator for Shuffled {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.count < 1 << self.digits {
            let number = self.turned(self.count);
            self.count += 1;
            if number < u64::from(self.bound) {
                return Some(number as u32);
            }
        }
        None
    }
}
