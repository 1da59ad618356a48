//! The raw outcome of a run: counts, sums, histograms, and the counters around the window.
//!
//! The window is cut in three ways. Slices are short and carry sums only: batch means, the look at
//! the precision and the search for a warm-up work on them. Segments are long and carry
//! histograms: a warm-up is cut off at one of their edges, where the probe is read too. Intervals
//! are what the user asked to see one by one, and fit neither.

use engine::ProbeSample;
use record::{EndedBy, HistogramSnapshot, Nanos, VerifyResult};
use stats::Histogram;
use std::collections::BTreeMap;

/// Equal slices of the window in which completions are counted: enough for batch means to choose
/// their batches from, few enough to cost a job 72 KiB.
pub const SLICES: usize = 1_024;
/// Equal segments of the window with a histogram each.
pub const SEGMENTS: usize = 16;
/// Slices of a segment.
pub const SLICES_PER_SEGMENT: usize = SLICES / SEGMENTS;

/// The measured time of a run, by the clock of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First moment that counts.
    pub begin: Nanos,
    /// First moment that does not count any more.
    pub end: Nanos,
}

impl Window {
    /// Length of a slice; the last may be longer by what the division leaves.
    #[must_use]
    pub fn slice_length(self) -> Nanos {
        Nanos((self.end.since(self.begin).0 / SLICES as u64).max(1))
    }

    /// When slice `index` begins; the window's end for the one after the last.
    #[must_use]
    pub fn slice_begin(self, index: usize) -> Nanos {
        if index >= SLICES {
            return self.end;
        }
        self.begin.plus(Nanos(self.slice_length().0 * index as u64))
    }
}

/// Completions of one slice; index 0 is reads, 1 is writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Requests completed in full.
    pub ios: [u64; 2],
    /// Bytes that they transferred.
    pub bytes: [u64; 2],
    /// Sum of their response times.
    pub latency_ns: [u64; 2],
    /// Sum of their completion times; zero in a closed loop, where they are the response times.
    pub completion_ns: [u64; 2],
    /// Time spent polling for the next arrival.
    pub spin_ns: u64,
}

impl Slice {
    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        for direction in 0..2 {
            self.ios[direction] += other.ios[direction];
            self.bytes[direction] += other.bytes[direction];
            self.latency_ns[direction] += other.latency_ns[direction];
            self.completion_ns[direction] += other.completion_ns[direction];
        }
        self.spin_ns += other.spin_ns;
    }

    /// Requests of both directions.
    #[must_use]
    pub fn total_ios(&self) -> u64 {
        self.ios[0] + self.ios[1]
    }
}

/// Histograms of one segment, by direction.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Response times.
    pub latency: [HistogramSnapshot; 2],
    /// Completion times; empty in a closed loop.
    pub completion: [HistogramSnapshot; 2],
}

/// One interval that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct IntervalTally {
    /// Counts and sums.
    pub counts: Slice,
    /// Response times.
    pub latency: [HistogramSnapshot; 2],
}

/// Requests of one direction that did not complete in full, at any time of the run.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    /// Transferred less than asked.
    pub short: u64,
    /// Failed, by error number.
    pub errors: BTreeMap<i32, u64>,
}

/// How an open loop kept up with its arrivals, over the whole window.
#[derive(Clone, Debug, Default)]
pub struct OpenTally {
    /// Arrivals in the window, by direction.
    pub offered: [u64; 2],
    /// Intended arrival to hand-over of what was handed over.
    pub late: Histogram,
    /// Sum of these times.
    pub late_ns: u64,
    /// The longest.
    pub late_max_ns: u64,
    /// Sum over the arrivals that found a free slot, and their number.
    pub pacer_late_ns: u64,
    /// Their number.
    pub pacer_ios: u64,
    /// Most arrivals that waited at one time.
    pub backlog_max: u64,
    /// Arrivals that waited at the end.
    pub backlog_end: u64,
}

impl OpenTally {
    fn merge(&mut self, other: &Self) {
        self.offered[0] += other.offered[0];
        self.offered[1] += other.offered[1];
        self.late.merge(&other.late);
        self.late_ns += other.late_ns;
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
        self.pacer_late_ns += other.pacer_late_ns;
        self.pacer_ios += other.pacer_ios;
        // Of one job each: at which moment the others had theirs is not known.
        self.backlog_max += other.backlog_max;
        self.backlog_end += other.backlog_end;
    }
}

/// Batches handed over, and how long those took that were handed over by a call of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchTally {
    /// Hand-overs.
    pub calls: u64,
    /// Requests in them.
    pub requests: u64,
    /// Hand-overs that were timed.
    pub timed: u64,
    /// Sum of their times.
    pub timed_ns: u64,
    /// The longest.
    pub timed_max_ns: u64,
    /// Completions that were waited for at once; of several jobs the most.
    pub complete_batch: u32,
    /// Waits for several of which it was seen how long the first completion was held back.
    pub waits: u64,
    /// Sum of these times.
    pub waits_ns: u64,
    /// The longest.
    pub waits_max_ns: u64,
}

impl BatchTally {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.requests += other.requests;
        self.timed += other.timed;
        self.timed_ns += other.timed_ns;
        self.timed_max_ns = self.timed_max_ns.max(other.timed_max_ns);
        self.complete_batch = self.complete_batch.max(other.complete_batch);
        self.waits += other.waits;
        self.waits_ns += other.waits_ns;
        self.waits_max_ns = self.waits_max_ns.max(other.waits_max_ns);
    }
}

/// Everything that a job counted, or several jobs together.
#[derive(Clone, Debug, Default)]
pub struct JobTally {
    /// The window in at most [`SLICES`] equal parts; fewer where the run ended before.
    pub slices: Vec<Slice>,
    /// The window in at most [`SEGMENTS`] equal parts.
    pub segments: Vec<Segment>,
    /// The intervals asked for.
    pub intervals: Vec<IntervalTally>,
    /// What did not complete in full: reads and writes.
    pub failures: [Failures; 2],
    /// The last moment at which something counted completed.
    pub last: Nanos,
    /// Of an open loop.
    pub open: Option<OpenTally>,
    /// Deepest nesting of completion calls.
    pub callback_depth: Option<u32>,
    /// Hand-overs.
    pub batches: BatchTally,
    /// What the engine got from the kernel.
    pub features: Vec<String>,
    /// What reading back found.
    pub verify: Option<VerifyResult>,
}

/// Adds a histogram to another; the common case of an empty one costs nothing.
fn absorb(into: &mut HistogramSnapshot, from: &HistogramSnapshot) {
    if into.buckets.is_empty() {
        into.buckets.clone_from(&from.buckets);
    } else if !from.buckets.is_empty() {
        *into = into.merged(from);
    }
}

fn absorb_pair(into: &mut [HistogramSnapshot; 2], from: &[HistogramSnapshot; 2]) {
    absorb(&mut into[0], &from[0]);
    absorb(&mut into[1], &from[1]);
}

/// Grows `mine` to the length of `theirs` and adds part by part.
fn add_each<T: Default>(mine: &mut Vec<T>, theirs: &[T], add: impl Fn(&mut T, &T)) {
    if mine.len() < theirs.len() {
        mine.resize_with(theirs.len(), T::default);
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        add(mine, theirs);
    }
}

impl JobTally {
    pub(crate) fn begin_segment(&mut self) {
        self.segments.push(Segment::default());
    }

    /// Adds counts to the slice and interval in progress.
    pub(crate) fn add_counts(&mut self, counts: &Slice) {
        if let Some(slice) = self.slices.last_mut() {
            slice.add(counts);
        }
        if let Some(interval) = self.intervals.last_mut() {
            interval.counts.add(counts);
        }
    }

    /// Adds histograms (response, completion) to the segment and interval in progress.
    pub(crate) fn add_histograms(&mut self, histograms: &[[HistogramSnapshot; 2]; 2]) {
        if let Some(segment) = self.segments.last_mut() {
            absorb_pair(&mut segment.latency, &histograms[0]);
            absorb_pair(&mut segment.completion, &histograms[1]);
        }
        if let Some(interval) = self.intervals.last_mut() {
            absorb_pair(&mut interval.latency, &histograms[0]);
        }
    }

    /// Adds what another job counted.
    pub fn merge(&mut self, other: &Self) {
        add_each(&mut self.slices, &other.slices, Slice::add);
        add_each(&mut self.segments, &other.segments, |mine, theirs| {
            absorb_pair(&mut mine.latency, &theirs.latency);
            absorb_pair(&mut mine.completion, &theirs.completion);
        });
        add_each(&mut self.intervals, &other.intervals, |mine, theirs| {
            mine.counts.add(&theirs.counts);
            absorb_pair(&mut mine.latency, &theirs.latency);
        });
        for (mine, theirs) in self.failures.iter_mut().zip(&other.failures) {
            mine.short += theirs.short;
            for (&errno, &count) in &theirs.errors {
                *mine.errors.entry(errno).or_default() += count;
            }
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

/// Jobs and requests that were left behind when a device stopped answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Jobs.
    pub jobs: u32,
    /// Their requests in flight.
    pub requests: u64,
}

/// The raw outcome of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The window as planned.
    pub window: Window,
    /// First moment that does not count: its end, or an earlier one.
    pub end: Nanos,
    /// Why it ended before, if it did.
    pub ended_by: Option<EndedBy>,
    /// All jobs together.
    pub tally: JobTally,
    /// Counters at the begin of the window and, where a warm-up may be cut off, of each further
    /// segment that was reached.
    pub before: Vec<ProbeSample>,
    /// Counters at the end.
    pub after: ProbeSample,
    /// What never came back.
    pub stuck: Stuck,
    /// Whether the kernel measures the split of processor time.
    pub cpu_split: record::CpuSplit,
    /// The processors, as the cost of the load is stated in their terms.
    pub processors: engine::Processors,
    /// Why there are no device counters, if there are none.
    pub no_device_reason: String,
    /// Why there is no processor time, if there is none.
    pub no_cpu_reason: String,
    /// Limits of the harness; `None` in virtual time.
    pub harness: Option<record::Harness>,
}

impl Measurement {
    /// Slices that lie in the measured time as a whole.
    #[must_use]
    pub fn whole_slices(&self) -> usize {
        if self.end >= self.window.end {
            return SLICES;
        }
        let length = self.window.slice_length().0;
        ((self.end.since(self.window.begin).0 / length) as usize).min(SLICES)
    }
}
