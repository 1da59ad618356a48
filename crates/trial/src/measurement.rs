//! The raw outcome of a run: counts, sums, histograms, and the counters around the window.

use engine::ProbeSample;
use record::Nanos;
use stats::Histogram;
use std::collections::BTreeMap;

/// Equal slices of the window in which completions are counted: enough for batch means to choose
/// their batches from, few enough to cost a job 32 KiB.
pub const SLICES: usize = 1_024;

/// The measured time of a run, by the clock of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First moment that counts.
    pub begin: Nanos,
    /// First moment that does not count any more.
    pub end: Nanos,
}

/// Completions of one slice; index 0 is reads, 1 is writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice {
    /// Requests completed.
    pub ios: [u64; 2],
    /// Sum of their response times.
    pub response_ns: [u64; 2],
}

/// One direction of a job.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Requests completed in full in the window.
    pub ios: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Sum of their response times.
    pub response_ns: u64,
    /// Requests that transferred less than asked, at any time of the run.
    pub short: u64,
    /// Requests that failed, by error number, at any time of the run.
    pub errors: BTreeMap<i32, u64>,
    /// Response times in the window.
    pub histogram: Histogram,
}

impl Tally {
    fn new() -> Self {
        Self {
            ios: 0,
            bytes: 0,
            response_ns: 0,
            short: 0,
            errors: BTreeMap::new(),
            histogram: Histogram::new(),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response_ns += other.response_ns;
        self.short += other.short;
        for (&errno, &count) in &other.errors {
            *self.errors.entry(errno).or_default() += count;
        }
        self.histogram.merge(&other.histogram);
    }
}

/// Everything that a job counted, or several jobs together.
#[derive(Clone, Debug)]
pub struct JobTally {
    /// Reads and writes.
    pub directions: [Tally; 2],
    /// The window in [`SLICES`] equal parts.
    pub slices: Vec<Slice>,
    /// When the job gave up because nothing but failures came back.
    pub gave_up: Option<Nanos>,
    /// What the engine got from the kernel.
    pub features: Vec<String>,
}

impl JobTally {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            directions: [Tally::new(), Tally::new()],
            slices: vec![Slice::default(); SLICES],
            gave_up: None,
            features: Vec::new(),
        }
    }

    /// Adds what another job counted.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.slices.iter_mut().zip(&other.slices) {
            for direction in 0..2 {
                mine.ios[direction] += theirs.ios[direction];
                mine.response_ns[direction] += theirs.response_ns[direction];
            }
        }
        self.gave_up = self.gave_up.max(other.gave_up);
        if self.features.is_empty() {
            self.features.clone_from(&other.features);
        }
    }
}

impl Default for JobTally {
    fn default() -> Self {
        Self::new()
    }
}

/// The raw outcome of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The window as planned.
    pub window: Window,
    /// All jobs together.
    pub tally: JobTally,
    /// Counters at its begin and its end.
    pub samples: [ProbeSample; 2],
    /// Whether the kernel measures the split of processor time.
    pub cpu_split: record::CpuSplit,
    /// Why there are no device counters, if there are none.
    pub no_device_reason: String,
    /// Why there is no processor time, if there is none.
    pub no_cpu_reason: String,
    /// Limits of the harness; `None` in virtual time.
    pub harness: Option<record::Harness>,
}

impl Measurement {
    /// Length of the measured time: the window, or less where all jobs gave up.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        let end = self.tally.gave_up.map_or(self.window.end, |at| at.min(self.window.end));
        end.since(self.window.begin)
    }
}
