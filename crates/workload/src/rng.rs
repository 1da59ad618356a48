//! The random number generator of workloads: xoshiro256++ (Blackman and Vigna 2019), seeded by SplitMix64 as
//! its authors advise. It is implemented here and not in a library, because the sequence of requests is part
//! of a result's identity.

use stats::SplitMix64;

/// A stream of random numbers, the same for the same seed on every machine and in every version.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

/// Derives a seed for one use from a recorded seed. `index` distinguishes jobs, visits or streams.
#[must_use]
pub fn derive_seed(seed: u64, index: u64) -> u64 {
    let mut random = SplitMix64::new(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
    random.next_u64();
    random.next_u64()
}

impl Rng {
    /// A generator for a seed. Every seed is valid.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        Self { state: std::array::from_fn(|_| random.next_u64()) }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ shifted, d.rotate_left(45)];
        result
    }

    /// Uniform in `0..bound`, from the high half of a product, without a division. The maximum deviation from
    /// equal probabilities is `bound / 2^64`, below 1e-6 for any disk.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in the open interval (0, 1), on a grid of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
