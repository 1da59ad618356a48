//! Device counters over periods of time, from any source.
//!
//! A live kernel, halfpower's own recordings and the files of other tools all become [`Interval`]s, so that
//! the code that draws conclusions exists once. Sources differ in what they know. Each figure states whether
//! it was counted or derived, and its resolution. A figure that a source lacks is `null`, never zero.
//! Rejected: one type per source with a common trait, because conclusions could then depend on the source.

use crate::{
    CachePoint, CgroupLimit, CgroupShare, DeviceFacts, FactNotRead, Finding, HistogramSnapshot,
    ObservedPath, ProcessIo, SystemFact,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of an observation.
pub const OBSERVATION_SCHEMA: &str = "halfpower/observation/1";

/// Earlier times (before 2001-09-09) are relative to the start of a recording without dates.
pub const DATES_FROM_NS: u64 = 1_000_000_000_000_000_000;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Counted or timed by the source.
    Measured,
    /// Computed by halfpower from measured figures (Little's law, a difference of sums).
    Derived,
}

/// One figure of an interval, in the unit that the enclosing key states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The value.
    pub value: f64,
    /// Where it comes from.
    pub quality: Quality,
    /// Smallest step that the source can report, in the same unit; 0 if exact.
    pub resolution: f64,
}

impl Figure {
    /// A figure that the source counted.
    #[must_use]
    pub fn measured(value: f64, resolution: f64) -> Self {
        Self { value, quality: Quality::Measured, resolution }
    }

    /// A figure computed from measured ones.
    #[must_use]
    pub fn derived(value: f64, resolution: f64) -> Self {
        Self { value, quality: Quality::Derived, resolution }
    }
}

/// Requests of one operation during an interval. Requests are counted at the device, after merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpInterval {
    /// Completed requests per second.
    pub per_s: Option<Figure>,
    /// Bytes per second.
    pub bytes_per_s: Option<Figure>,
    /// Mean bytes per request; null without requests.
    pub request_bytes: Option<Figure>,
    /// Requests merged into others, per second.
    pub merged_per_s: Option<Figure>,
    /// Mean latency of completed requests at the block layer; null without requests.
    pub latency_ns: Option<Figure>,
}

/// Measurements of a block-layer tracer for one operation. Each time is of a single request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedOp {
    /// From the start of the request to its issue to the device.
    pub queue_ns: HistogramSnapshot,
    /// From the issue to the device until the completion.
    pub device_ns: HistogramSnapshot,
    /// Request sizes in bytes.
    pub request_bytes: HistogramSnapshot,
    /// Share of requests that began where one of the last few ended, 0 to 1; null without requests.
    pub sequential_share: Option<f64>,
}

/// Measurements of a block-layer tracer during an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traced {
    /// Reads.
    pub read: TracedOp,
    /// Writes.
    pub write: TracedOp,
    /// Waits before a request was allocated. Throttling and exhausted tags cause them, and no disk counter
    /// includes them.
    pub before_start_ns: HistogramSnapshot,
    /// Number of lost events. If not zero, the figures are too low.
    pub lost: u64,
}

/// One device during one period of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Name of the device in its source (`sda`, `0 C:`).
    pub device: String,
    /// When it began: nanoseconds since 1970-01-01 UTC, or since the start of a simulated source.
    pub begin_ns: u64,
    /// Its length in nanoseconds, more than 0.
    pub duration_ns: u64,
    /// Reads.
    pub read: OpInterval,
    /// Writes.
    pub write: OpInterval,
    /// Reads and writes together, without discards and flushes. Some sources have only this.
    pub all: OpInterval,
    /// Discards per second.
    pub discards_per_s: Option<Figure>,
    /// Cache flushes per second.
    pub flushes_per_s: Option<Figure>,
    /// Mean time of a flush; null without flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_latency_ns: Option<Figure>,
    /// Share of time with at least one request in flight, 0 to 1.
    pub busy_share: Option<Figure>,
    /// Mean requests in flight.
    pub concurrency: Option<Figure>,
    /// Requests in progress at the end of the interval.
    pub in_flight: Option<Figure>,
    /// Requests that were split into two or more, per second.
    pub splits_per_s: Option<Figure>,
    /// What the tracer measured; null if none ran.
    pub traced: Option<Box<Traced>>,
    /// Shares of the time in which the load exceeded the provider's limit, by the volume's own log; null for
    /// volumes without such a log, or if it was read less than a second before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<OverLimit>,
    /// I/O of each process, the busiest first; null if it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ProcessIo>>,
}

impl Interval {
    /// The paths of all figures in the JSON of an interval, in the order of [`Interval::figures`].
    pub const FIGURES: [&'static str; 22] = [
        "read.per_s",
        "read.bytes_per_s",
        "read.request_bytes",
        "read.merged_per_s",
        "read.latency_ns",
        "write.per_s",
        "write.bytes_per_s",
        "write.request_bytes",
        "write.merged_per_s",
        "write.latency_ns",
        "all.per_s",
        "all.bytes_per_s",
        "all.request_bytes",
        "all.merged_per_s",
        "all.latency_ns",
        "discards_per_s",
        "flushes_per_s",
        "flush_latency_ns",
        "busy_share",
        "concurrency",
        "in_flight",
        "splits_per_s",
    ];

    /// All figures, in the order of [`Interval::FIGURES`].
    pub fn figures(&self) -> impl Iterator<Item = Option<Figure>> {
        let ops = [&self.read, &self.write, &self.all].into_iter().flat_map(OpInterval::figures);
        ops.chain([
            self.discards_per_s,
            self.flushes_per_s,
            self.flush_latency_ns,
            self.busy_share,
            self.concurrency,
            self.in_flight,
            self.splits_per_s,
        ])
    }

    /// The same, mutable.
    pub fn figures_mut(&mut self) -> impl Iterator<Item = &mut Option<Figure>> {
        let ops = [&mut self.read, &mut self.write, &mut self.all];
        ops.into_iter().flat_map(OpInterval::figures_mut).chain([
            &mut self.discards_per_s,
            &mut self.flushes_per_s,
            &mut self.flush_latency_ns,
            &mut self.busy_share,
            &mut self.concurrency,
            &mut self.in_flight,
            &mut self.splits_per_s,
        ])
    }
}

impl OpInterval {
    fn figures(&self) -> [Option<Figure>; 5] {
        let Self { per_s, bytes_per_s, request_bytes, merged_per_s, latency_ns } = *self;
        [per_s, bytes_per_s, request_bytes, merged_per_s, latency_ns]
    }

    fn figures_mut(&mut self) -> [&mut Option<Figure>; 5] {
        let Self { per_s, bytes_per_s, request_bytes, merged_per_s, latency_ns } = self;
        [per_s, bytes_per_s, request_bytes, merged_per_s, latency_ns]
    }
}

/// Shares of an interval, 0 to 1, in which the load exceeded a limit of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverLimit {
    /// Over the volume's limit on requests.
    pub volume_iops: f64,
    /// Over the volume's limit on throughput.
    pub volume_bytes: f64,
    /// Over the machine's limit on requests, for all of its volumes.
    pub machine_iops: f64,
    /// Over the machine's limit on throughput, for all of its volumes.
    pub machine_bytes: f64,
}

impl OverLimit {
    /// Each share, with the name of its limit.
    #[must_use]
    pub fn each(&self) -> [(&'static str, f64); 4] {
        [
            ("IOPS of the volume", self.volume_iops),
            ("throughput of the volume", self.volume_bytes),
            ("IOPS of the machine", self.machine_iops),
            ("throughput of the machine", self.machine_bytes),
        ]
    }

    /// The largest share, with the name of its limit.
    #[must_use]
    pub fn largest(&self) -> (&'static str, f64) {
        let each = self.each().into_iter();
        each.reduce(|most, next| if next.1 > most.1 { next } else { most }).unwrap_or(("", 0.0))
    }

    /// Mean of several values, weighted by their durations.
    #[must_use]
    pub fn mean(all: &[(Self, f64)]) -> Option<Self> {
        let whole: f64 = all.iter().map(|(_, time)| time).sum();
        let mean = |of: fn(&Self) -> f64| {
            all.iter().map(|(one, time)| of(one) * time).sum::<f64>() / whole
        };
        (whole > 0.0).then(|| Self {
            volume_iops: mean(|one| one.volume_iops),
            volume_bytes: mean(|one| one.volume_bytes),
            machine_iops: mean(|one| one.machine_iops),
            machine_bytes: mean(|one| one.machine_bytes),
        })
    }
}

/// State of the whole system during a period of time. Null means unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// When it began, on the clock of [`Interval::begin_ns`].
    pub begin_ns: u64,
    /// Its length in nanoseconds.
    pub duration_ns: u64,
    /// Share of time in which at least one task waited for I/O (pressure stall information), 0 to 1.
    pub io_some_share: Option<f64>,
    /// Share of time in which all non-idle tasks waited for I/O, 0 to 1.
    pub io_full_share: Option<f64>,
    /// Share of time in which at least one runnable task waited for a processor, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_some_share: Option<f64>,
    /// Share of time in which at least one task waited for memory: for pages to be freed or reread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_some_share: Option<f64>,
    /// Share of the CPU time that the hypervisor took, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of the CPU time that was idle or waited for I/O, 0 to 1.
    pub idle_share: Option<f64>,
    /// Memory that is free or can be freed immediately.
    pub memory_available_bytes: Option<u64>,
    /// Size of the page cache.
    pub memory_cached_bytes: Option<u64>,
    /// Dirty pages that wait for write-back.
    pub dirty_bytes: Option<u64>,
    /// Pages under write-back.
    pub writeback_bytes: Option<u64>,
    /// Limit on dirty pages plus pages under write-back. Above it, the kernel stops programs that write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_limit_bytes: Option<u64>,
    /// Bytes per second reread into the page cache shortly after it had dropped them
    /// (`workingset_refault_file`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refaulted_bytes_per_s: Option<f64>,
    /// Bytes per second read from all block devices of the machine (`pgpgin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<f64>,
    /// Device limits of control groups whose processes do I/O.
    pub cgroup_limits: Vec<CgroupLimit>,
    /// How control groups share devices, if some do not have the default share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroup_shares: Vec<CgroupShare>,
    /// Control groups that were throttled because their CPU time was used up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_stops: Vec<CpuStops>,
    /// Control groups that reached their memory limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_limits: Vec<MemoryLimit>,
}

/// How often a control group reached its memory limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLimit {
    /// The group.
    pub group: String,
    /// Its memory limit.
    pub limit_bytes: u64,
    /// How often per second the kernel had to free memory of the group before the group could allocate more.
    pub reached_per_s: f64,
    /// Bytes per second that the group reread into the page cache shortly after the cache had dropped them.
    pub refaulted_bytes_per_s: f64,
}

/// How often a control group was throttled because its CPU quota was used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuStops {
    /// The group.
    pub group: String,
    /// Its quota, in number of processors.
    pub processors: f64,
    /// Share of the quota's periods in which it was throttled, above 0 and at most 1.
    pub share: f64,
}

/// How late a thread of the observed machine runs again after a sleep: the wake-up latency of a processor. A
/// request that completes while its processor sleeps is delayed by this time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeUp {
    /// Length of the sleep.
    pub slept_ns: u64,
    /// Delay until it ran again: the median of several sleeps.
    pub late_ns: u64,
}

/// A device of an observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedDevice {
    /// Its name in the intervals.
    pub name: String,
    /// Facts from sysfs; null for sources that do not report them.
    pub facts: Option<DeviceFacts>,
    /// Names of the devices in this observation that it consists of (dm, md). Their requests repeat its own.
    pub built_of: Vec<String>,
    /// Name of the device in this observation of which it is a partition.
    pub partition_of: Option<String>,
    /// Why its busy share is unreliable; null if it is reliable.
    pub busy_doubt: Option<String>,
    /// Share of its reads that a page cache of each size would serve, computed from individually recorded
    /// requests; absent without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reuse: Vec<CachePoint>,
    /// Hash of the file that describes a simulated device; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_hash: Option<String>,
    /// Reads at queue depth 1 that halfpower issued during the observation; absent if it issued none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lone_reads: Option<LoneReads>,
}

/// Random 4 KiB direct reads at queue depth 1, with pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoneReads {
    /// Number of reads.
    pub reads: u32,
    /// Latency that the fastest tenth did not exceed, in nanoseconds.
    pub quick_ns: u64,
    /// Median latency in nanoseconds.
    pub median_ns: u64,
    /// Maximum latency in nanoseconds.
    pub slowest_ns: u64,
}

/// Counters of one or more devices over time, from one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// [`OBSERVATION_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated source a hash.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated source and for a file without dates.
    pub time: Option<String>,
    /// Source: `live`, `iostat -o JSON`, `sadf -j`, `simulated`, ….
    pub source: String,
    /// Host name of the observed machine, if the source reports it.
    pub host: Option<String>,
    /// Its kernel release, if the source reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The devices.
    pub devices: Vec<ObservedDevice>,
    /// The paths that the user named, with all layers below. If all devices are observed, the file systems
    /// and arrays that consist of several devices. Empty for sources that do not report this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<ObservedPath>,
    /// The intervals in order of time, and by device at the same time.
    pub intervals: Vec<Interval>,
    /// State of the system, in order of time; empty if the source does not report it.
    pub contexts: Vec<Context>,
    /// Wake-up latency after increasingly long sleeps; empty if it was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wake_ups: Vec<WakeUp>,
    /// Facts that the system checks read; empty if none ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<SystemFact>,
    /// Checks that could not be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts_not_read: Vec<FactNotRead>,
    /// Figures that the source lacks and the conclusions lost with them, damaged lines, counter resets.
    pub findings: Vec<Finding>,
}

impl Observation {
    /// When the first interval began; `None` without intervals.
    #[must_use]
    pub fn first_ns(&self) -> Option<u64> {
        self.intervals.iter().map(|interval| interval.begin_ns).min()
    }

    /// The same, if the recording has dates.
    #[must_use]
    pub fn dated_ns(&self) -> Option<u64> {
        self.first_ns().filter(|ns| *ns >= DATES_FROM_NS)
    }
}
