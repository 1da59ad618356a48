//! The bucket scheme of all latency histograms, and the form in which a histogram is saved.
//!
//! Log-linear, in integer nanoseconds: below 128 ns one bucket per nanosecond, above it 64 buckets per power
//! of two. A bucket's midpoint is within 1/128 = 0.78 % of every value in it. The index takes two shifts and
//! an addition, so recording costs a few instructions. Histograms of any two trials can be merged by adding
//! counts. Rejected: HdrHistogram's configurable form (each document would have to include the scheme) and
//! t-digests (merging loses the error bound).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// log2 of the buckets per power of two.
const SUB_BITS: u32 = 6;
/// Number of buckets; indices are below it for every u64.
pub const BUCKETS: usize = ((64 - SUB_BITS + 1) << SUB_BITS) as usize;
/// Largest relative distance of a value from its bucket's midpoint.
pub const MAX_RELATIVE_ERROR: f64 = 1.0 / 128.0;

/// The bucket of a value in nanoseconds.
#[inline]
#[must_use]
pub fn bucket_index(nanos: u64) -> usize {
    // `| 64` gives small values the exponent of the first linear range.
    let shift = (63 - (nanos | (1 << SUB_BITS)).leading_zeros()) - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (nanos >> shift)) as usize
}

/// Smallest value of a bucket, in nanoseconds. An index beyond [`BUCKETS`] counts as the last bucket.
#[inline]
#[must_use]
pub fn bucket_low(index: usize) -> u64 {
    let index = index.min(BUCKETS - 1) as u64;
    let shift = (index >> SUB_BITS).saturating_sub(1);
    let sub = index - (shift << SUB_BITS);
    sub << shift
}

/// Largest value of a bucket, in nanoseconds.
#[inline]
#[must_use]
pub fn bucket_high(index: usize) -> u64 {
    if index + 1 >= BUCKETS { u64::MAX } else { bucket_low(index + 1) - 1 }
}

/// Midpoint of a bucket in nanoseconds, which represents every value in it.
#[inline]
#[must_use]
pub fn bucket_mid(index: usize) -> f64 {
    (bucket_low(index) as f64 + bucket_high(index) as f64) / 2.0
}

/// A saved histogram: the non-empty buckets, by rising index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HistogramSnapshot {
    /// Pairs of bucket index and count; see the crate documentation for the bucket scheme.
    pub buckets: Vec<(u32, u64)>,
}

impl HistogramSnapshot {
    /// Number of values.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// The value that a share `p` (0 to 1) of the values does not exceed, as the midpoint of its bucket.
    /// `None` with fewer than ten values beyond it (for `p` of one half and above), because the result would
    /// be noise.
    #[must_use]
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 || (p >= 0.5 && (1.0 - p) * (total as f64) < 10.0 - 1e-6) {
            return None;
        }
        self.value_at((p * total as f64).ceil() as u64)
    }

    /// The mean, with each value as the midpoint of its bucket; `None` without values.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let value = |&(index, count): &(u32, u64)| count as f64 * bucket_mid(index as usize);
        let count = self.count();
        (count > 0).then(|| self.buckets.iter().map(value).sum::<f64>() / count as f64)
    }

    /// The value of a rank, from 1 for the smallest, as the midpoint of its bucket. A rank out of range gives
    /// the smallest or largest value. `None` without values.
    #[must_use]
    pub fn value_at(&self, rank: u64) -> Option<f64> {
        self.bucket_at(rank).map(bucket_mid)
    }

    /// The bucket of a rank, under the same rules.
    #[must_use]
    pub fn bucket_at(&self, rank: u64) -> Option<usize> {
        let mut seen = 0;
        let reached = self.buckets.iter().find(|&&(_, count)| {
            seen = u64::saturating_add(seen, count);
            seen >= rank.max(1)
        });
        let &(index, _) = reached.or_else(|| self.buckets.last())?;
        Some(index as usize)
    }

    /// The histogram of both sets of values.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let (mut one, mut two) = (&self.buckets[..], &other.buckets[..]);
        let mut buckets = Vec::with_capacity(one.len() + two.len());
        // The lower of the first buckets of what remains is the next, or both are.
        loop {
            match (one, two) {
                ([], rest) | (rest, []) => {
                    buckets.extend_from_slice(rest);
                    return Self { buckets };
                }
                (&[(index, count), ref after @ ..], &[(other, more), ref after_other @ ..]) => {
                    let sum = match index.cmp(&other) {
                        Ordering::Less => count,
                        Ordering::Equal => count.saturating_add(more),
                        Ordering::Greater => more,
                    };
                    buckets.push((index.min(other), sum));
                    one = if index <= other { after } else { one };
                    two = if other <= index { after_other } else { two };
                }
            }
        }
    }
}
