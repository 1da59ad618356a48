//! A map from numbers (stripes, frames) to small values, the same in every run.
//!
//! The standard hash has a random seed, so the cost of a lookup would differ from run to run, and
//! it costs more than the rest of a lookup. Nothing iterates over such a map, so its order reaches
//! no result. Rejected: an ordered tree, which allocates while it is used.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// 2^64 over the golden ratio: spreads neighbouring numbers over the whole range (Knuth, The Art
/// of Computer Programming, vol. 3, section 6.4).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes one u64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        // The map takes its bucket from the low bits and its tag from the high ones; a product is
        // mixed best at the top.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD);
    }
}

/// From a number to a value.
pub(crate) type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<NumberHasher>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_numbers_spread_over_buckets_and_tags() {
        let hash = |number: u64| {
            let mut hasher = NumberHasher::default();
            hasher.write_u64(number);
            hasher.finish()
        };
        let mut buckets = [0_u32; 256];
        let mut tags = [0_u32; 128];
        for number in 0..65_536 {
            buckets[(hash(number) & 255) as usize] += 1;
            tags[(hash(number) >> 57) as usize] += 1;
        }
        assert!(buckets.iter().all(|&count| (128..=512).contains(&count)));
        assert!(tags.iter().all(|&count| (256..=1_024).contains(&count)));
    }
}
