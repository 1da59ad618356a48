//! The trial document: one workload run once on one target.

use crate::{Environment, Finding, HistogramSnapshot, Measured, Nanos, Severity, Target, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a trial.
pub const TRIAL_SCHEMA: &str = "halfpower/trial/1";

/// One trial, complete: what was asked, of what, what came back, and under which conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated trial the hash of target, workload and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated trial.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated, in virtual time.
    pub simulated: bool,
    /// Identity of the workload: trials of one cell repeat each other.
    pub cell: String,
    /// What was read or written.
    pub targets: Vec<Target>,
    /// What was asked.
    pub workload: Workload,
    /// What came back.
    pub result: TrialResult,
    /// Processor time.
    pub cpu: Measured<CpuCost>,
    /// What the device's own counters saw.
    pub device_counters: Measured<DeviceCounters>,
    /// Limits of the load generator itself.
    pub harness: Measured<Harness>,
    /// Conclusions on whether the numbers mean what they say.
    pub findings: Vec<Finding>,
    /// Conditions; null for a simulated trial.
    pub environment: Option<Environment>,
}

impl Trial {
    /// Whether no finding says that the numbers are not what was asked for.
    #[must_use]
    pub fn clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Invalid)
    }
}

/// The measured part of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    /// Length of the measured window.
    pub duration_ns: Nanos,
    /// Whether the rate held still over the window; null where it is too short to tell.
    pub steady: Option<bool>,
    /// The reads; null where none were asked.
    pub read: Option<DirectionResult>,
    /// The writes; null where none were asked.
    pub write: Option<DirectionResult>,
    /// Mean requests in progress, from Little's law on our own times.
    pub concurrency: f64,
    /// Completions over time.
    pub series: Series,
}

/// One direction of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// Requests completed in full in the window.
    pub ios: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Half-width of the 95 % confidence interval of the rate as a share of it (batch means);
    /// null where there are too few requests.
    pub iops_ci95_rel: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
    /// What they failed with.
    pub error_kinds: Vec<ErrorCount>,
    /// Requests that transferred fewer bytes than asked; not counted in `ios`.
    pub short: u64,
    /// Intended arrival to completion; null where nothing completed.
    pub response_ns: Option<TimeSummary>,
    /// Submission to completion; equals the response time in a closed loop.
    pub completion_ns: Option<TimeSummary>,
    /// Response times.
    pub histogram: HistogramSnapshot,
}

/// A system error and how often it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The kernel's error number.
    pub errno: i32,
    /// Its meaning.
    pub message: String,
    /// How many requests.
    pub count: u64,
}

/// A distribution of times in nanoseconds. The mean is exact, the rest comes from the histogram
/// (0.8 % at most). A percentile with fewer than ten samples beyond it is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval of the mean as a share of it (batch means).
    pub mean_ci95_rel: Option<f64>,
    /// Standard deviation.
    pub stddev: f64,
    /// Smallest: the lower bound of its bucket.
    pub min: u64,
    /// Largest: the upper bound of its bucket.
    pub max: u64,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// 99.99th percentile.
    pub p99_99: Option<f64>,
}

/// Completions per equal interval of the window, both directions together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of one interval.
    pub interval_ns: Nanos,
    /// Requests completed in each.
    pub ios: Vec<u64>,
    /// Their mean response time; null where none completed.
    pub response_mean_ns: Vec<Option<f64>>,
}

/// Whether the kernel measures the split of processor time or samples it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSplit {
    /// The total is exact, its parts are samples of the timer tick.
    Sampled,
    /// Both are measured at each kernel entry.
    Exact,
}

/// Processor time of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCost {
    /// In the program.
    pub user_ms: f64,
    /// In the kernel on our behalf, its worker threads included.
    pub system_ms: f64,
    /// The part of both that kernel worker threads of io_uring used.
    pub workers_ms: f64,
    /// Charged to us, per completed request: a lower bound of the true cost.
    pub lower_us_per_io: Option<f64>,
    /// An upper bound per request; null where no pass was made for it.
    pub upper_us_per_io: Option<f64>,
    /// How the upper bound was measured.
    pub upper_method: Option<String>,
    /// Charged to us, per MiB transferred.
    pub ms_per_mib: Option<f64>,
    /// Time that the host took from this virtual machine, all processors together.
    pub steal_ms: Option<f64>,
    /// What the split of user and system is worth.
    pub split: CpuSplit,
}

/// What the device itself counted during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCounters {
    /// The device whose counters these are.
    pub device: String,
    /// Requests completed, after merging.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// `bytes / ios`; null without requests.
    pub mean_request_bytes: Option<f64>,
    /// Requests that were merged into another before they reached the device.
    pub merges: u64,
    /// Additional device requests that splitting ours explains; null where other traffic or
    /// caching makes that unknowable.
    pub splits: Option<u64>,
    /// Time during which at least one request was in progress.
    pub busy_ms: f64,
    /// Mean requests in progress at the device.
    pub concurrency: f64,
    /// Device requests over ours; null where we completed none.
    pub ratio_ios: Option<f64>,
    /// Device bytes over ours; null where we completed none.
    pub ratio_bytes: Option<f64>,
}

/// What the load generator can do by itself on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harness {
    /// Requests per second of one job with the same workload on the null engine.
    pub ceiling_iops: f64,
    /// The clock in use.
    pub clock: String,
    /// Cost of one reading.
    pub clock_cost_ns: f64,
    /// What the engine got from the kernel (rings, registered buffers, …).
    pub engine_features: Vec<String>,
}
