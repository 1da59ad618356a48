//! Draws parameters from a seed. Decimals are drawn in whole steps, so that a case has round numbers.

use workload::{Rng, derive_seed};

/// Separates the draws of cases from the simulator's use of the same seed.
const STREAM: u64 = 0x5741_5244;

#[derive(Debug)]
pub(crate) struct Dice(Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::new(derive_seed(seed, STREAM)))
    }

    /// A uniform number from `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// A uniform number between these, in steps of a hundredth.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let steps = ((high - low) * 100.0).round() as u64;
        low + self.whole(0, steps) as f64 / 100.0
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.0.below(2) == 1
    }

    pub(crate) fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.0.below(list.len() as u64) as usize].clone()
    }
}
