//! Publishes what a job counts while it runs, so that a run whose device hangs can still be reported.
//!
//! Only the job's thread writes the current counts and histograms, with relaxed loads and stores. These are
//! plain instructions, yet the watcher may read at any time. At the boundaries of slices, segments and
//! intervals the job moves the counts into the [`JobTotals`] behind a lock, which in normal operation only
//! the job takes. Rejected: a histogram for each segment in the loop (memory traffic), and messages from
//! job to watcher (allocation in the loop).

use crate::{JobTotals, Segment, Slice};
use record::{BUCKETS, HistogramSnapshot, Nanos, bucket_index};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A counter with one writer, so that adding is a load and a store.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    #[inline]
    fn add(&self, value: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(value), Ordering::Relaxed);
    }

    fn take(&self) -> u64 {
        let value = self.0.load(Ordering::Relaxed);
        if value > 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        value
    }
}

/// A histogram that is being filled, by the buckets of [`record::bucket_index`].
///
/// Each bucket has two counters side by side, used alternately. With one counter, successive times in the
/// same bucket, as in a batch, would wait for each other's store.
#[derive(Debug)]
pub(crate) struct LiveHistogram {
    buckets: [[Counter; 2]; BUCKETS],
    /// Whether anything was counted since the last drain. Scanning all buckets of unused histograms would
    /// evict the used ones from the cache.
    filled: AtomicBool,
}

impl Default for LiveHistogram {
    fn default() -> Self {
        let buckets = [const { [const { Counter(AtomicU64::new(0)) }; 2] }; BUCKETS];
        Self { buckets, filled: AtomicBool::new(false) }
    }
}

impl LiveHistogram {
    /// Counts a time; `turn` is any number that changes with each call. The count becomes visible after
    /// [`LiveHistogram::fill`].
    #[inline]
    pub(crate) fn record(&self, nanos: u64, turn: usize) {
        self.buckets[bucket_index(nanos)][turn & 1].add(1);
    }

    /// Marks the histogram as not empty.
    #[inline]
    fn fill(&self) {
        self.filled.store(true, Ordering::Relaxed);
    }

    fn drain(&self) -> HistogramSnapshot {
        let mut buckets = Vec::new();
        if self.filled.load(Ordering::Relaxed) {
            self.filled.store(false, Ordering::Relaxed);
            for (index, [even, odd]) in self.buckets.iter().enumerate() {
                let count = even.take() + odd.take();
                if count > 0 {
                    buckets.push((index as u32, count));
                }
            }
        }
        HistogramSnapshot { buckets }
    }
}

/// Counts of one kind since the last boundary.
#[derive(Debug, Default)]
struct LiveCounts {
    ios: Counter,
    bytes: Counter,
    latency_ns: Counter,
    completion_ns: Counter,
}

/// Sums over the requests of one direction in a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchSums {
    pub(crate) ios: u64,
    bytes: u64,
    latency_ns: u64,
}

impl BatchSums {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32, latency_ns: u64) {
        self.ios += 1;
        self.bytes += u64::from(bytes);
        self.latency_ns += latency_ns;
    }
}

/// The counters of one job.
#[derive(Debug, Default)]
pub struct JobCounters {
    counts: [LiveCounts; 2],
    latency: [LiveHistogram; 2],
    completion: [LiveHistogram; 2],
    beat: AtomicU64,
    in_flight: AtomicU32,
    kept: Mutex<JobTotals>,
    /// Flushes, counted apart from the counts that the loop of every job updates.
    flush: LiveCounts,
    flush_latency: LiveHistogram,
}

impl JobCounters {
    #[inline]
    pub(crate) fn latency(&self, direction: usize) -> &LiveHistogram {
        &self.latency[direction]
    }

    /// Adds the sums of a batch of requests.
    #[inline]
    pub(crate) fn book(&self, direction: usize, sums: &BatchSums) {
        if sums.ios > 0 {
            let counts = &self.counts[direction];
            counts.ios.add(sums.ios);
            counts.bytes.add(sums.bytes);
            counts.latency_ns.add(sums.latency_ns);
            self.latency[direction].fill();
        }
    }

    pub(crate) fn book_flush(&self, latency_ns: u64) {
        self.flush.ios.add(1);
        self.flush.latency_ns.add(latency_ns);
        self.flush_latency.record(latency_ns, 0);
        self.flush_latency.fill();
    }

    /// Adds the time from hand-over to completion of a request of an open loop.
    #[inline]
    pub(crate) fn book_completion(&self, direction: usize, completion_ns: u64, turn: usize) {
        self.counts[direction].completion_ns.add(completion_ns);
        self.completion[direction].record(completion_ns, turn);
        self.completion[direction].fill();
    }

    /// Takes the counts since the last boundary.
    pub(crate) fn drain_counts(&self) -> Slice {
        let mut slice = Slice::default();
        let kinds = self.counts.iter().chain([&self.flush]);
        for (direction, counts) in kinds.enumerate() {
            slice.ios[direction] = counts.ios.take();
            slice.bytes[direction] = counts.bytes.take();
            slice.latency_ns[direction] = counts.latency_ns.take();
            slice.completion_ns[direction] = counts.completion_ns.take();
        }
        slice
    }

    /// Takes the histograms since the last boundary.
    pub(crate) fn drain_histograms(&self) -> Segment {
        let kinds = |[read, write]: &[LiveHistogram; 2], flush| {
            [read.drain(), write.drain(), flush, HistogramSnapshot::default()]
        };
        Segment {
            latency: kinds(&self.latency, self.flush_latency.drain()),
            completion: kinds(&self.completion, HistogramSnapshot::default()),
        }
    }

    /// The totals up to the last boundary.
    pub(crate) fn kept(&self) -> MutexGuard<'_, JobTotals> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests and bytes counted up to the last boundary that was passed. While the job runs, the current
    /// slice is not included.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64) {
        let kept = self.kept();
        let add = |(ios, bytes): (u64, u64), slice: &Slice| {
            (ios + slice.total_ios(), bytes + slice.total_bytes())
        };
        kept.slices.iter().fold((0, 0), add)
    }

    /// Records that a request completed at `now`, or was handed over while none was in flight.
    #[inline]
    pub(crate) fn beat(&self, now: Nanos) {
        self.beat.store(now.0, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn set_in_flight(&self, count: u32) {
        self.in_flight.store(count, Ordering::Relaxed);
    }

    /// Requests in flight, as last published.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// How long requests have been in flight without a completion.
    #[must_use]
    pub fn silence(&self, now: Nanos) -> Nanos {
        if self.in_flight() == 0 {
            return Nanos(0);
        }
        now.since(Nanos(self.beat.load(Ordering::Relaxed)))
    }

    /// Everything counted so far, including the unfinished slice. Called at the end of a job, and for a job
    /// that is left behind.
    #[must_use]
    pub fn take(&self) -> JobTotals {
        let mut kept = self.kept();
        kept.add_counts(&self.drain_counts());
        kept.add_histograms(&self.drain_histograms());
        std::mem::take(&mut *kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_booked_since_the_last_edge_is_known_without_the_job() {
        let counters = JobCounters::default();
        counters.kept().segments.push(Segment::default());
        counters.kept().slices.push(Slice::default());
        for (direction, bytes, latency_ns) in [(0, 4096, 1_000), (1, 512, 3_000)] {
            let mut sums = BatchSums::default();
            sums.add(bytes, latency_ns);
            counters.book(direction, &sums);
        }
        counters.latency(1).record(3_000, 0);
        let totals = counters.take();
        assert_eq!(totals.slices[0].ios, [1, 1, 0, 0]);
        assert_eq!(totals.slices[0].bytes, [4096, 512, 0, 0]);
        assert_eq!(totals.slices[0].latency_ns, [1_000, 3_000, 0, 0]);
        assert_eq!(totals.segments[0].latency[1].buckets, [(bucket_index(3_000) as u32, 1)]);
        assert_eq!(counters.take().slices.len(), 0);
    }

    #[test]
    fn silence_counts_only_while_requests_are_in_flight() {
        let counters = JobCounters::default();
        counters.beat(Nanos(100));
        assert_eq!(counters.silence(Nanos(500)), Nanos(0));
        counters.set_in_flight(2);
        assert_eq!(counters.silence(Nanos(500)), Nanos(400));
    }
}
