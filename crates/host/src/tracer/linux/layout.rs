//! The layout of the programs' counts in the kernel, and their conversion.
//!
//! Each processor counts into its own memory, one block per device. A block holds, for reads and for
//! writes, histograms of queue time, device time and size and a few counters; then a histogram of the waits
//! before a request. Histograms have 16 buckets per power of two, so that a block stays below the kernel's
//! limit of 32 KiB per value. A time is placed in the middle of its bucket, at most 3.1 % off (3.9 % in the
//! document's bucket). Sizes are exact for multiples of 4 KiB up to 128 KiB and for powers of two; others
//! are at most 1/16 too low. Times of 69 s and more are in the last bucket.

use record::{HistogramSnapshot, TracedOp, bucket_index};

/// Base-2 logarithm of the buckets per power of two.
pub(super) const SUB_BITS: u32 = 4;
/// The largest shift of a time: 2^36 ns is 69 s.
pub(super) const TIME_SHIFT: u32 = 31;
pub(super) const TIME_BUCKETS: usize = ((TIME_SHIFT as usize) << SUB_BITS) + 32;
/// The largest shift of a size: 2^16 sectors are 32 MiB.
pub(super) const SIZE_SHIFT: u32 = 11;
pub(super) const SIZE_BUCKETS: usize = ((SIZE_SHIFT as usize) << SUB_BITS) + 32;

/// Words of the block of one operation, in this order.
pub(super) const QUEUE: usize = 0;
pub(super) const DEVICE: usize = QUEUE + TIME_BUCKETS;
pub(super) const SIZE: usize = DEVICE + TIME_BUCKETS;
pub(super) const ISSUED: usize = SIZE + SIZE_BUCKETS;
pub(super) const SEQUENTIAL: usize = ISSUED + 1;
pub(super) const UNMATCHED: usize = SEQUENTIAL + 1;
pub(super) const REQUEUED: usize = UNMATCHED + 1;
pub(super) const OP_WORDS: usize = REQUEUED + 1;
/// The waits, after both operations.
pub(super) const BEFORE: usize = 2 * OP_WORDS;
/// Words of a device's block.
pub(super) const WORDS: usize = BEFORE + TIME_BUCKETS;

// The kernel's limit for one value of a map with a copy per processor.
const _: () = assert!(WORDS * 8 <= 32 << 10);

fn low(index: usize) -> u64 {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    ((index - (shift << SUB_BITS)) as u64) << shift
}

/// Times in the form used by documents.
pub(super) fn times(counts: &[u64]) -> HistogramSnapshot {
    snapshot(counts, |index| u64::midpoint(low(index), low(index + 1) - 1))
}

fn sizes(counts: &[u64]) -> HistogramSnapshot {
    snapshot(counts, |index| low(index) << 9)
}

fn snapshot(counts: &[u64], value: impl Fn(usize) -> u64) -> HistogramSnapshot {
    let mut buckets: Vec<(u32, u64)> = Vec::new();
    for (index, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let bucket = bucket_index(value(index)) as u32;
        match buckets.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ => buckets.push((bucket, count)),
        }
    }
    HistogramSnapshot { buckets }
}

/// One operation, from the words of its block.
pub(super) fn operation(words: &[u64]) -> TracedOp {
    let issued = words[ISSUED];
    TracedOp {
        queue_ns: times(&words[QUEUE..DEVICE]),
        device_ns: times(&words[DEVICE..SIZE]),
        request_bytes: sizes(&words[SIZE..ISSUED]),
        sequential_share: (issued > 0).then(|| words[SEQUENTIAL] as f64 / issued as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(value: u64) -> usize {
        let shift = (63 - (value | 16).leading_zeros()) - SUB_BITS;
        ((shift as usize) << SUB_BITS) + (value >> shift) as usize
    }

    #[test]
    fn a_time_is_at_most_four_percent_off_in_the_document() {
        for exponent in 7..36 {
            for step in 0..97 {
                let value = (1_u64 << exponent) + (1_u64 << exponent) * step / 97;
                let mut counts = [0; TIME_BUCKETS];
                counts[index(value)] = 3;
                let kept = times(&counts);
                assert_eq!(kept.count(), 3);
                let middle = record::bucket_mid(kept.buckets[0].0 as usize);
                assert!((middle / value as f64 - 1.0).abs() < 0.04, "{value}: {middle}");
            }
        }
    }

    #[test]
    fn usual_sizes_are_exact() {
        for bytes in (1..=32_u64).map(|pages| pages * 4096).chain([512, 262_144, 1 << 20, 8 << 20])
        {
            let mut counts = [0; SIZE_BUCKETS];
            counts[index(bytes >> 9)] = 1;
            let bucket = sizes(&counts).buckets[0].0 as usize;
            assert_eq!(bucket, bucket_index(bytes), "{bytes}");
        }
    }

    #[test]
    fn no_request_has_no_sequential_share() {
        let mut words = vec![0; OP_WORDS];
        assert_eq!(operation(&words).sequential_share, None);
        (words[ISSUED], words[SEQUENTIAL]) = (4, 1);
        assert_eq!(operation(&words).sequential_share, Some(0.25));
    }
}
