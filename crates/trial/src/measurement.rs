//! The raw results of a run: counts, sums, histograms, and the counters around the window.
//!
//! The window is divided in three ways. Slices are short and hold sums only; batch means, the precision
//! check and the search for a warm-up use them. Segments hold histograms; a warm-up ends at a segment
//! boundary, where the probe is read too. Intervals are those that the user wants to see one by one.

use engine::{ProbeFacts, ProbeSample};
use record::{ArrayResult, EndedBy, HistogramSnapshot, Instead, Nanos, VerifyResult, Workload};
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::collections::BTreeMap;

/// Equal slices of the window in which completions are counted: enough to choose the batches of batch
/// means, and few enough to cost a job only 72 KiB.
pub const SLICES: usize = 1_024;
/// Equal segments of the window with one histogram each.
pub const SEGMENTS: usize = 16;
/// Slices in a segment.
pub const SLICES_PER_SEGMENT: usize = SLICES / SEGMENTS;

/// Kinds that are counted separately: reads, writes, flushes (which carry no bytes) and trims.
pub const KINDS: usize = 4;
/// The index of flushes; reads and writes use the index of their direction.
pub const FLUSH: usize = 2;
/// The index of trims.
pub const TRIM: usize = 3;
/// The kinds that transfer bytes.
const OF_BYTES: [usize; 3] = [0, 1, TRIM];

/// The kind under which the writes of a workload are reported; the loop counts them all as writes. In a job
/// that only flushes, flushes are the requests and stay with the writes, so that its rate and its
/// concurrency include them.
pub(crate) fn write_kind(workload: &Workload) -> usize {
    if workload.instead == Some(Instead::Trim) { TRIM } else { 1 }
}

/// The kind under which the flushes of a job are counted.
pub(crate) fn flush_kind(workload: &Workload) -> usize {
    if workload.instead == Some(Instead::Flush) { 1 } else { FLUSH }
}

/// The measured time of a run, by the clock of its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First moment that counts.
    pub begin: Nanos,
    /// First moment that no longer counts.
    pub end: Nanos,
}

impl Window {
    /// Length of a slice; the last one also gets the remainder of the division.
    pub(crate) fn slice_length(self) -> Nanos {
        Nanos((self.end.since(self.begin).0 / SLICES as u64).max(1))
    }

    /// When slice `index` begins; the end of the window for the index after the last.
    #[must_use]
    pub fn slice_begin(self, index: usize) -> Nanos {
        if index >= SLICES {
            return self.end;
        }
        self.begin.plus(Nanos(self.slice_length().0 * index as u64))
    }
}

/// The sum over the kinds that transfer bytes.
pub(crate) fn of_bytes(counts: &[u64; KINDS]) -> u64 {
    OF_BYTES.iter().map(|&kind| counts[kind]).sum()
}

/// Completions of one slice, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Requests completed in full.
    pub ios: [u64; KINDS],
    /// Bytes transferred by them.
    pub bytes: [u64; KINDS],
    /// Sum of their latencies.
    pub latency_ns: [u64; KINDS],
    /// Sum of their completion times; zero in a closed loop, where these equal the latencies.
    pub completion_ns: [u64; KINDS],
    /// Time spent polling for the next arrival.
    pub spin_ns: u64,
}

impl Slice {
    /// Adds the counts of another slice.
    pub fn add(&mut self, other: &Self) {
        for direction in 0..KINDS {
            self.ios[direction] += other.ios[direction];
            self.bytes[direction] += other.bytes[direction];
            self.latency_ns[direction] += other.latency_ns[direction];
            self.completion_ns[direction] += other.completion_ns[direction];
        }
        self.spin_ns += other.spin_ns;
    }

    /// Reads, writes and trims.
    #[must_use]
    pub fn total_ios(&self) -> u64 {
        of_bytes(&self.ios)
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        of_bytes(&self.bytes)
    }

    fn swap(&mut self, kind: usize) {
        for counts in
            [&mut self.ios, &mut self.bytes, &mut self.latency_ns, &mut self.completion_ns]
        {
            counts.swap(1, kind);
        }
    }
}

/// Histograms of one segment, by kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Segment {
    /// Latencies.
    pub latency: [HistogramSnapshot; KINDS],
    /// Completion times; empty in a closed loop.
    pub completion: [HistogramSnapshot; KINDS],
}

impl Segment {
    fn add(&mut self, other: &Self) {
        absorb_each(&mut self.latency, &other.latency);
        absorb_each(&mut self.completion, &other.completion);
    }
}

/// Counts of one interval that the user asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IntervalTotals {
    /// Counts and sums.
    pub counts: Slice,
    /// Latencies.
    pub latency: [HistogramSnapshot; KINDS],
}

/// Requests of one direction that did not complete in full, at any time of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Failures {
    /// Requests that transferred less than asked.
    pub short: u64,
    /// Failed requests, by error number.
    pub errors: BTreeMap<i32, u64>,
}

impl Failures {
    /// Counts an incomplete request by its outcome: the bytes transferred, or a negated error number.
    pub fn add(&mut self, outcome: i32) {
        if outcome < 0 {
            *self.errors.entry(-outcome).or_default() += 1;
        } else {
            self.short += 1;
        }
    }

    /// Adds the failures of another job.
    pub fn merge(&mut self, other: &Self) {
        self.short += other.short;
        for (&errno, &count) in &other.errors {
            *self.errors.entry(errno).or_default() += count;
        }
    }
}

/// Count, sum and maximum of a set of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Number of times.
    pub count: u64,
    /// Sum.
    pub sum_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

impl Times {
    pub(crate) fn add(&mut self, ns: u64) {
        self.merge(&Self { count: 1, sum_ns: ns, max_ns: ns });
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub(crate) fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

/// How an open loop kept up with its arrivals, over the whole window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenTotals {
    /// Arrivals in the window, by kind.
    pub offered: [u64; KINDS],
    /// Time from the intended arrival to the hand-over, for all requests handed over.
    #[serde(with = "stats::kept_histogram")]
    pub late: Histogram,
    /// Count, sum and maximum of the same times.
    pub late_times: Times,
    /// The same times, only for arrivals that found a free slot.
    pub pacer_late: Times,
    /// Maximum number of arrivals that waited at one time.
    pub backlog_max: u64,
    /// Arrivals still waiting at the end.
    pub backlog_end: u64,
}

impl OpenTotals {
    fn merge(&mut self, other: &Self) {
        self.offered.iter_mut().zip(other.offered).for_each(|(mine, theirs)| *mine += theirs);
        self.late.merge(&other.late);
        self.late_times.merge(&other.late_times);
        self.pacer_late.merge(&other.pacer_late);
        // An upper limit: the jobs may have had their maximum at different times.
        self.backlog_max += other.backlog_max;
        self.backlog_end += other.backlog_end;
    }
}

/// Totals over batches that were handed over and waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchTotals {
    /// Hand-overs.
    pub calls: u64,
    /// Requests in them.
    pub requests: u64,
    /// Times of hand-overs by a call of their own.
    pub timed: Times,
    /// Completions that a job waits for at once; the maximum over several jobs.
    pub complete_batch: u32,
    /// Whether each request was handed over by a call of its own; true for several jobs if true for any.
    pub one_by_one: bool,
    /// How long the first completion was delayed, from a sample of the waits for several.
    pub waits: Times,
}

impl BatchTotals {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.requests += other.requests;
        self.timed.merge(&other.timed);
        self.complete_batch = self.complete_batch.max(other.complete_batch);
        self.one_by_one |= other.one_by_one;
        self.waits.merge(&other.waits);
    }
}

/// Everything that one job or several jobs counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobTotals {
    /// The window in at most [`SLICES`] equal parts; fewer if the run ended early.
    pub slices: Vec<Slice>,
    /// The window in at most [`SEGMENTS`] equal parts.
    pub segments: Vec<Segment>,
    /// The intervals that the user asked for.
    pub intervals: Vec<IntervalTotals>,
    /// Requests that did not complete in full, by kind.
    pub failures: [Failures; KINDS],
    /// Time of the last counted completion.
    pub last: Nanos,
    /// Totals of an open loop.
    pub open: Option<OpenTotals>,
    /// Deepest nesting of completion calls.
    pub callback_depth: Option<u32>,
    /// Hand-overs.
    pub batches: BatchTotals,
    /// Features that the kernel granted to the engine.
    pub features: Vec<String>,
    /// Result of reading back.
    pub verify: Option<VerifyResult>,
    /// Contents of the legs of an array, and the result of its rebuild.
    pub array: Option<Box<ArrayResult>>,
}

/// Adds a histogram to another; fast if `from` is empty, the common case.
pub(crate) fn absorb(into: &mut HistogramSnapshot, from: &HistogramSnapshot) {
    if into.buckets.is_empty() {
        into.buckets.clone_from(&from.buckets);
    } else if !from.buckets.is_empty() {
        *into = into.merged(from);
    }
}

fn absorb_each(into: &mut [HistogramSnapshot; KINDS], from: &[HistogramSnapshot; KINDS]) {
    into.iter_mut().zip(from).for_each(|(into, from)| absorb(into, from));
}

impl JobTotals {
    /// Moves the counts of writes to `kind`, the request type that the job made in place of writes.
    pub(crate) fn with_writes_as(mut self, kind: usize) -> Self {
        self.slices.iter_mut().for_each(|slice| slice.swap(kind));
        for segment in &mut self.segments {
            segment.latency.swap(1, kind);
            segment.completion.swap(1, kind);
        }
        for interval in &mut self.intervals {
            interval.counts.swap(kind);
            interval.latency.swap(1, kind);
        }
        self.failures.swap(1, kind);
        if let Some(open) = &mut self.open {
            open.offered.swap(1, kind);
        }
        self
    }
}

/// Grows `mine` to the length of `theirs` and adds element by element.
fn add_each<T: Default>(mine: &mut Vec<T>, theirs: &[T], add: impl Fn(&mut T, &T)) {
    if mine.len() < theirs.len() {
        mine.resize_with(theirs.len(), T::default);
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        add(mine, theirs);
    }
}

impl JobTotals {
    /// Adds counts to the current slice and interval.
    pub(crate) fn add_counts(&mut self, counts: &Slice) {
        if let Some(slice) = self.slices.last_mut() {
            slice.add(counts);
        }
        if let Some(interval) = self.intervals.last_mut() {
            interval.counts.add(counts);
        }
    }

    /// Adds histograms to the current segment and interval.
    pub(crate) fn add_histograms(&mut self, histograms: &Segment) {
        if let Some(segment) = self.segments.last_mut() {
            segment.add(histograms);
        }
        if let Some(interval) = self.intervals.last_mut() {
            absorb_each(&mut interval.latency, &histograms.latency);
        }
    }

    /// Adds the counts of another job.
    pub fn merge(&mut self, other: &Self) {
        add_each(&mut self.slices, &other.slices, Slice::add);
        add_each(&mut self.segments, &other.segments, Segment::add);
        add_each(&mut self.intervals, &other.intervals, |mine, theirs| {
            mine.counts.add(&theirs.counts);
            absorb_each(&mut mine.latency, &theirs.latency);
        });
        for (mine, theirs) in self.failures.iter_mut().zip(&other.failures) {
            mine.merge(theirs);
        }
        self.last = self.last.max(other.last);
        if let Some(open) = &other.open {
            self.open.get_or_insert_default().merge(open);
        }
        self.callback_depth = self.callback_depth.max(other.callback_depth);
        self.batches.merge(&other.batches);
        if self.features.is_empty() {
            self.features.clone_from(&other.features);
        }
    }
}

/// Jobs and requests left behind when a device stopped responding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Number of jobs.
    pub jobs: u32,
    /// Their requests in flight.
    pub requests: u64,
}

/// The raw results of a run.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// The planned window.
    pub window: Window,
    /// First moment that no longer counts: the end of the window, or earlier.
    pub end: Nanos,
    /// Why the run ended early, if it did.
    pub ended_by: Option<EndedBy>,
    /// All jobs together.
    pub totals: JobTotals,
    /// Counters at the begin of the window and, if a warm-up may be cut off, at the begin of each later
    /// segment that was reached.
    pub before: Vec<ProbeSample>,
    /// Counters at the end.
    pub after: ProbeSample,
    /// Jobs and requests that never returned.
    pub stuck: Stuck,
    /// Facts from the probe that are not counters.
    pub probe: ProbeFacts,
    /// Limits of the harness; `None` in virtual time.
    pub harness: Option<record::Harness>,
    /// The workloads that ran at the same time, in their order; only the first measurement has counters.
    pub beside: Vec<Measurement>,
}
