//! What was measured in the window of a trial: rates, latencies, intervals, and what a verification found.

use crate::{ArrayResult, Bytes, HistogramSnapshot, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean latency of the requests of all these directions, in nanoseconds; `None` without requests.
pub fn mean_latency_ns<'a>(directions: impl Iterator<Item = &'a DirectionResult>) -> Option<f64> {
    mean_ns(directions, |direction| direction.latency_ns.as_ref())
}

/// The same for other times of the directions, such as those from the submission.
pub fn mean_ns<'a>(
    directions: impl Iterator<Item = &'a DirectionResult>,
    times: impl Fn(&DirectionResult) -> Option<&TimeSummary>,
) -> Option<f64> {
    let pairs =
        directions.filter_map(|direction| Some((direction.ios as f64, times(direction)?.mean)));
    let (requests, times) =
        pairs.fold((0.0, 0.0), |(all, sum), (ios, mean)| (all + ios, sum + ios * mean));
    (requests > 0.0).then(|| times / requests)
}

/// The measured part of a trial. The default is a run without completed requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    /// Length of the measured window.
    pub duration_ns: Nanos,
    /// Whether the rate was steady over the window; null if the window is too short for a test.
    pub steady: Option<bool>,
    /// The warm-up that was cut off because it differs from the rest; null without one.
    pub warm_up: Option<WarmUp>,
    /// Why the run ended before its run time was over; null if it did not.
    pub ended_by: Option<EndedBy>,
    /// Requests without a completion when the program gave up on a device that stopped responding.
    #[serde(default)]
    pub unanswered: u64,
    /// The reads; null if none were requested.
    pub read: Option<DirectionResult>,
    /// The writes; null if none were requested.
    pub write: Option<DirectionResult>,
    /// The trims, instead of writes; absent if none were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// The flushes, which transfer no bytes; absent if none were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<DirectionResult>,
    /// Mean reads and writes in flight, by Little's law from the program's own times.
    pub concurrency: f64,
    /// Completions over time.
    pub series: Series,
    /// The intervals, if `--interval` requested them.
    pub intervals: Option<Vec<IntervalResult>>,
    /// How well an open loop sustained its arrivals; null in a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// Deepest nesting of completion callbacks; null with another completion discipline.
    pub callback_depth: Option<u32>,
    /// Result of reading tagged blocks back; null if nothing was verified.
    pub verify: Option<VerifyResult>,
    /// State of an array of targets, and the result of its rebuild; absent if neither was examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<ArrayResult>>,
    /// Utilization of the components of a simulated device; absent if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentUse>,
}

/// Utilization of one component of a simulated device during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentUse {
    /// Its name, for example "bus 0".
    pub name: String,
    /// Number of parallel units with this name.
    pub units: u32,
    /// Busy time as a share of the window, over all units: 1 means that all of them were always busy.
    pub busy_share: f64,
    /// Shares of the busy time by activity; empty if activities are not distinguished.
    pub phases: Vec<PhaseUse>,
}

/// One activity of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseUse {
    /// Name of the activity, for example "data".
    pub name: String,
    /// Share of the component's busy time.
    pub share: f64,
}

/// The start of the window, excluded from the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Its length.
    pub duration_ns: Nanos,
    /// Requests completed in it.
    pub ios: u64,
    /// Requests per second in it.
    pub iops: f64,
}

/// Why a run ended before its run time was over.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// All requested bytes were transferred.
    Bytes,
    /// All requested passes over the area were made.
    Passes,
    /// All recorded requests were issued.
    Recording,
    /// The failed leg was rebuilt.
    Rebuilt,
    /// The interval of the rate reached the requested precision.
    Precision,
    /// Every request failed.
    Failures,
    /// The device stopped responding.
    Silence,
    /// The user or the system stopped the run.
    Interrupted,
}

/// One interval of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalResult {
    /// Its start, from the start of the window (before any warm-up was cut off).
    pub begin_ns: Nanos,
    /// Its length; the last may be shorter.
    pub length_ns: Nanos,
    /// The reads; null if none were requested.
    pub read: Option<IntervalDirection>,
    /// The writes; null if none were requested.
    pub write: Option<IntervalDirection>,
    /// The trims, instead of writes; absent if none were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<IntervalDirection>,
    /// The flushes; absent if none were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<IntervalDirection>,
    /// Mean reads and writes in flight.
    pub concurrency: f64,
}

/// One direction of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalDirection {
    /// Requests completed in full.
    pub ios: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Latencies; null if nothing completed.
    pub latency_ns: Option<TimeSummary>,
}

/// How well the pacer of an open loop sustained the arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Arrivals in the window, per second.
    pub offered_iops: f64,
    /// Mean delay from an intended arrival to the submission.
    pub late_mean_ns: f64,
    /// 99th percentile of the delay; null with fewer than a thousand arrivals.
    pub late_p99_ns: Option<f64>,
    /// Maximum delay.
    pub late_max_ns: u64,
    /// Mean delay of arrivals that found a free slot: the pacer's own part.
    pub pacer_late_mean_ns: Option<f64>,
    /// Maximum number of arrivals that waited for a slot at one time.
    pub backlog_max: u64,
    /// Arrivals that were still waiting at the end of the window. None is dropped silently.
    pub backlog_end: u64,
    /// CPU time spent polling for the next arrival, excluded from the CPU cost.
    pub spin_ms: f64,
}

/// Result of reading tagged blocks back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyResult {
    /// Blocks that were correct.
    pub good: u64,
    /// Blocks without a tag: the write was lost.
    pub lost: u64,
    /// Blocks whose tag has another offset.
    pub misplaced: u64,
    /// Blocks with a wrong checksum: a mixture of several writes.
    pub torn: u64,
    /// Blocks with older data than the last completed write.
    pub stale: u64,
    /// Blocks of unknown state: they could not be read back, or a write to them failed or did not complete,
    /// so that they may contain anything.
    pub unchecked: u64,
    /// Block size.
    pub block_bytes: Bytes,
    /// How the blocks were read back, and how reads from memory were avoided.
    pub method: String,
    /// The first bad blocks, at most 16.
    pub bad: Vec<BadBlock>,
}

/// One bad block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadBlock {
    /// Its offset in the target.
    pub offset_bytes: u64,
    /// The kind of fault.
    pub fault: BlockFault,
    /// Description with the expected and the actual data.
    pub detail: String,
}

/// The faults of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockFault {
    /// No tag.
    Lost,
    /// The tag has another offset.
    Misplaced,
    /// The checksum is wrong.
    Torn,
    /// The generation is older than that of the last write.
    Stale,
}

/// One direction of a trial. The default has no completed requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// Requests completed in full in the window.
    pub ios: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Relative half-width of the rate's 95 % interval (batch means); null with too few requests.
    pub iops_ci95_rel: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
    /// The errors that they failed with.
    pub error_kinds: Vec<ErrorCount>,
    /// Requests that transferred fewer bytes than requested; not counted in `ios`.
    pub short: u64,
    /// Latency from intended arrival to completion; null if nothing completed, or if another program measured
    /// it from the submission only.
    pub latency_ns: Option<TimeSummary>,
    /// Latency from submission to completion; equals `latency_ns` in a closed loop.
    pub completion_ns: Option<TimeSummary>,
    /// Requested arrivals per second; null in a closed loop.
    pub offered_iops: Option<f64>,
    /// Histogram of the latencies.
    pub histogram: HistogramSnapshot,
}

/// A system error and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The kernel's error number.
    pub errno: i32,
    /// Its meaning.
    pub message: String,
    /// Number of requests.
    pub count: u64,
}

/// A distribution of times in nanoseconds. The mean is exact. Everything else comes from the histogram (error
/// at most 0.8 %). A percentile with fewer than ten samples beyond it is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval of the mean as a share of it (batch means).
    pub mean_ci95_rel: Option<f64>,
    /// Standard deviation.
    pub stddev: f64,
    /// Minimum: the lower bound of its bucket.
    pub min: u64,
    /// Maximum: the upper bound of its bucket.
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

/// Completions per equal interval of the window, over both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of one interval.
    pub interval_ns: Nanos,
    /// Requests completed in each.
    pub ios: Vec<u64>,
    /// Their mean latency; null if none completed.
    pub latency_mean_ns: Vec<Option<f64>>,
}
