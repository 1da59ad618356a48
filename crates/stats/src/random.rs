//! The random number generator for everything except workloads: SplitMix64 (Steele, Lea, Flood 2014).
//!
//! Its sequence must never change, because recorded results depend on it. Workloads use xoshiro256++
//! (`workload::Rng`), which this generator seeds as its authors advise.

/// Increment of the state: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers, the same for the same seed on every machine and in every version.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream for a seed. Every seed is valid.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        Self::mix(self.0)
    }

    /// The output for one state: a one-to-one mapping of 64 bits in which each input bit changes half of the
    /// output bits.
    #[inline]
    #[must_use]
    pub const fn mix(state: u64) -> u64 {
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform in `0..bound`, from the high half of a product.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in the open interval (0, 1), on a grid of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal by inversion, at the midpoint of one of 2^52 cells, so never infinite.
    pub fn normal(&mut self) -> f64 {
        let cell = (self.next_u64() >> 12) as f64;
        crate::normal_quantile((cell + 0.5) / (1u64 << 52) as f64)
    }
}
