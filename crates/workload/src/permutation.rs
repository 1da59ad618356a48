//! A random order in which every index occurs once, generated from a seed in constant memory.
//!
//! A Feistel network permutes the numbers below the next power of four. Numbers at or above the count are
//! permuted again until they are below it (cycle walking, Black and Rogaway 2002). On average, fewer than
//! four numbers are skipped for each one used. Rejected: a bitmap as in fio, which takes 32 MB per TiB, and
//! the lattice that scatters popular blocks, whose neighbours are all the same distance apart.

use crate::rng::Rng;

/// Rounds of the network. Four give a good permutation (Luby and Rackoff 1988).
const ROUNDS: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Draws a permutation of `0..count`, for 1 to 2^62.
    pub(crate) fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        Self { count, half_bits, keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// The image of `index`, which is below the count.
    pub(crate) fn of(&self, index: u64) -> u64 {
        let mut value = self.network(index);
        while value >= self.count {
            value = self.network(value);
        }
        value
    }

    fn network(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mixed(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

/// The finaliser of SplitMix64: each result bit depends on every input bit.
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_comes_once_whatever_the_count() {
        for count in (1..=300).chain([4_095, 4_096, 4_097, 100_000]) {
            let order = Permutation::new(count, &mut Rng::new(count));
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let place = &mut seen[order.of(index) as usize];
                assert!(!std::mem::replace(place, true), "{count}: {index} meets another");
            }
        }
    }

    #[test]
    fn neighbours_go_to_places_at_all_distances() {
        let count = 1 << 20;
        let order = Permutation::new(count, &mut Rng::new(3));
        let distance = |index| order.of(index).abs_diff(order.of(index + 1)) as f64;
        let mean = (0..10_000).map(distance).sum::<f64>() / 10_000.0;
        // Two uniform positions differ by a third of the length on average. Four standard deviations of the
        // mean are 1 %.
        assert!((mean / count as f64 - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
