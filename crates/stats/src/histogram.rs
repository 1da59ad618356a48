//! The live histogram of response times, and what is read off a kept one.
//!
//! Recording must cost a few instructions, because it stands in the hot loop of every engine: one
//! bucket index (two shifts), one bounds check, one addition. Count, minimum, maximum and every
//! percentile come from the buckets afterwards; a running minimum and maximum would be two compares
//! per request for digits that nobody needs. The counters are one flat block of 30 kB, cleared and
//! reused from trial to trial. Rejected: keeping sums here (the exact sum of times belongs to the
//! slices, which need it for the interval), and a sparse live form (a branch per request).

use libm::sqrt;
use record::{
    BUCKETS, HistogramSnapshot, TimeSummary, bucket_high, bucket_index, bucket_low, bucket_mid,
};

/// Counts of times in nanoseconds, in the buckets of [`record::bucket_index`].
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates 30 kB, the only allocation.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }

    /// Counts one time in nanoseconds; any value is in range.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.counts[bucket_index(nanos)] += 1;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Adds the counts of another histogram: the same as having recorded its times here.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
    }

    /// Number of times recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The form that is kept: the buckets that are not empty.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        let buckets = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        HistogramSnapshot {
            buckets: buckets.map(|(index, &count)| (index as u32, count)).collect(),
        }
    }
}

/// Standard deviation of a histogram in nanoseconds, each value taken as the middle of its bucket,
/// around the mean of those middles (around the exact mean, a constant time would show a spread).
fn standard_deviation_ns(snapshot: &HistogramSnapshot) -> f64 {
    let total = snapshot.count() as f64;
    let weighted = |value: &dyn Fn(f64) -> f64| -> f64 {
        let parts = snapshot.buckets.iter().map(|&(index, count)| (index as usize, count as f64));
        parts.map(|(index, count)| count * value(bucket_mid(index))).sum()
    };
    let centre = weighted(&|middle| middle) / total;
    sqrt(weighted(&|middle| (middle - centre) * (middle - centre)) / (total - 1.0).max(1.0))
}

/// Spread, extremes and percentiles of a histogram, in nanoseconds, each within
/// [`record::MAX_RELATIVE_ERROR`]; `mean_ns` and its relative half-width come from exact sums that
/// are kept elsewhere. `None` for an empty histogram.
#[must_use]
pub fn summarise(
    snapshot: &HistogramSnapshot,
    mean_ns: f64,
    mean_ci95_rel: Option<f64>,
) -> Option<TimeSummary> {
    let occupied = || snapshot.buckets.iter().filter(|&&(_, count)| count > 0);
    let (first, _) = occupied().next()?;
    let (last, _) = occupied().next_back()?;
    Some(TimeSummary {
        mean: mean_ns,
        mean_ci95_rel,
        stddev: standard_deviation_ns(snapshot),
        min: bucket_low(*first as usize),
        max: bucket_high(*last as usize),
        p50: snapshot.percentile(0.50),
        p90: snapshot.percentile(0.90),
        p95: snapshot.percentile(0.95),
        p99: snapshot.percentile(0.99),
        p99_9: snapshot.percentile(0.999),
        p99_99: snapshot.percentile(0.9999),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_gives_what_recording_together_gives() {
        let (mut left, mut right, mut both) =
            (Histogram::new(), Histogram::new(), Histogram::new());
        for step in 0..5_000u64 {
            let nanos = step * step * 37 % 9_999_991;
            if step % 3 == 0 {
                left.record(nanos);
            } else {
                right.record(nanos);
            }
            both.record(nanos);
        }
        let kept = left.snapshot().merged(&right.snapshot());
        left.merge(&right);
        assert_eq!(left.count(), 5_000);
        assert_eq!(left.snapshot(), both.snapshot());
        assert_eq!(kept, both.snapshot());
    }

    #[test]
    fn a_cleared_histogram_is_empty_and_has_no_summary() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        histogram.record(0);
        assert_eq!(histogram.count(), 2);
        histogram.clear();
        assert_eq!(histogram.count(), 0);
        assert!(summarise(&histogram.snapshot(), 0.0, None).is_none());
    }

    #[test]
    fn a_constant_time_has_no_spread_and_extremes_that_enclose_it() {
        let mut histogram = Histogram::new();
        for _ in 0..100 {
            histogram.record(1_000_003);
        }
        let summary = summarise(&histogram.snapshot(), 1_000_003.0, Some(0.01)).unwrap();
        assert_eq!(summary.stddev, 0.0);
        assert_eq!((summary.mean, summary.mean_ci95_rel), (1_000_003.0, Some(0.01)));
        assert!(summary.min <= 1_000_003 && 1_000_003 <= summary.max);
        assert!((summary.max - summary.min) as f64 <= 1_000_003.0 / 64.0);
        assert_eq!(summary.p99, None);
    }
}
