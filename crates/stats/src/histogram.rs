//! The live histogram of latencies, and the summary of a saved one.
//!
//! Recording is in the hot loop: one bucket index (two shifts), one bounds check, one addition. Everything
//! else is computed from the buckets afterwards. Rejected: a running minimum and maximum (two compares per
//! request), sums here (the slices have the exact ones), a sparse live form (a branch per request).

use libm::sqrt;
use record::{
    BUCKETS, HistogramSnapshot, TimeSummary, bucket_high, bucket_index, bucket_low, bucket_mid,
};

/// Counts of times in nanoseconds, in the buckets of [`record::bucket_index`]: 30 kB, allocated once.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// Counts one time in nanoseconds. Any value is valid.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.counts[bucket_index(nanos)] += 1;
    }

    /// Adds the counts of another histogram, as if its times had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
    }

    /// The form for saving: the non-empty buckets.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        let buckets = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        HistogramSnapshot {
            buckets: buckets.map(|(index, &count)| (index as u32, count)).collect(),
        }
    }
}

impl From<&HistogramSnapshot> for Histogram {
    /// The live form of a saved histogram. Buckets beyond the scheme count as the last one.
    fn from(snapshot: &HistogramSnapshot) -> Self {
        let mut histogram = Self::default();
        for &(index, count) in &snapshot.buckets {
            histogram.counts[(index as usize).min(BUCKETS - 1)] += count;
        }
        histogram
    }
}

/// Serializes a live histogram in its saved form.
pub mod kept_histogram {
    use super::Histogram;
    use record::HistogramSnapshot;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the non-empty buckets.
    ///
    /// # Errors
    /// Errors of the format.
    pub fn serialize<S: Serializer>(histogram: &Histogram, to: S) -> Result<S::Ok, S::Error> {
        histogram.snapshot().serialize(to)
    }

    /// Reads the buckets.
    ///
    /// # Errors
    /// Errors of the format.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Histogram, D::Error> {
        HistogramSnapshot::deserialize(from).map(|snapshot| Histogram::from(&snapshot))
    }
}

/// Standard deviation in nanoseconds around the mean of the bucket midpoints. Around the exact mean, a
/// constant time would show a spread.
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
/// [`record::MAX_RELATIVE_ERROR`]. `mean_ns` and its relative half-width come from exact sums that are stored
/// elsewhere. `None` for an empty histogram.
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
