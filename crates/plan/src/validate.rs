//! The loads by which a profile is validated: drawn at random, none of them part of the profile.
//!
//! Two thirds lie below 70 % of the capacity that the profile predicts, where a mean response time
//! is a property of the device; the others above, where it is one of how well the capacity is known.
//! Each load is measured twice, with other arrivals: what the two differ by is the noise that no
//! prediction can be better than. Loads and shares come from a seed of their own, so that they are
//! others than those of `check --for-diagnosis`, whose draws use another stream of random numbers.

use crate::loads::LoadSpec;
use workload::{Rng, derive_seed};

/// Every third load is above [`model::LOADED`].
const LOADED_EVERY: usize = 3;
/// Shares of the capacity in percent, below and above.
const LIGHT: (u64, u64) = (10, 70);
const HEAVY: (u64, u64) = (70, 88);

/// A load and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationCase {
    /// The load.
    pub load: LoadSpec,
    /// Share of the predicted capacity, in percent.
    pub percent: u64,
}

/// The loads of a validation.
#[must_use]
pub fn validation_cases(seed: u64, count: usize, write: bool) -> Vec<ValidationCase> {
    let mut rng = Rng::new(derive_seed(seed, u64::MAX - 3));
    (0..count)
        .map(|at| {
            let load = LoadSpec::draw(&mut rng, write);
            let (low, high) = if at % LOADED_EVERY == LOADED_EVERY - 1 { HEAVY } else { LIGHT };
            ValidationCase { load, percent: low + rng.below(high - low) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_loads_and_two_thirds_of_them_are_light() {
        let cases = validation_cases(3, 12, true);
        assert_eq!(cases, validation_cases(3, 12, true));
        assert_ne!(cases, validation_cases(4, 12, true));
        assert_eq!(cases.iter().filter(|case| case.percent < 70).count(), 8);
        assert!(validation_cases(3, 12, false).iter().all(|case| case.load.read_percent == 100));
    }
}
