//! The trial document: one workload run once on one target.

use crate::{
    ArrayResult, Bytes, Clients, DropCache, Environment, Estimate, Finding, HistogramSnapshot,
    Instead, LoadFigures, Measured, Nanos, OpKind, Target, Workload,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a trial.
pub const TRIAL_SCHEMA: &str = "halfpower/trial/1";

/// A complete trial: the workload, the target, the results and the conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The other program that measured it (`fio-3.33`); absent if halfpower did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<String>,
    /// UUIDv7; for a simulated trial the hash of target, workload and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated trial.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated, in virtual time.
    pub simulated: bool,
    /// Hash of the workload. Trials of one cell are repeats.
    pub cell: String,
    /// The targets that were read or written.
    pub targets: Vec<Target>,
    /// The requested workload.
    pub workload: Workload,
    /// The results.
    pub result: TrialResult,
    /// CPU time.
    pub cpu: Measured<CpuCost>,
    /// The device's own counters.
    pub device_counters: Measured<DeviceCounters>,
    /// Limits of the load generator itself.
    pub harness: Measured<Harness>,
    /// Findings on whether the numbers can be trusted.
    pub findings: Vec<Finding>,
    /// Conditions; null for a simulated trial.
    pub environment: Option<Environment>,
    /// How the page cache was dropped before the run; null if it was not.
    pub cache_dropped: Option<CacheDropped>,
    /// How the target was preconditioned; null if it was not.
    pub preconditioning: Option<Preconditioning>,
    /// Results of the jobs next to the first, in the order of [`Workload::beside`]; absent without such jobs.
    /// With them, CPU time, counters and their findings are for all jobs together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<JobResult>,
    /// All jobs together, over their common window; absent for a single job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Measured<Box<TrialResult>>>,
    /// The machines that ran it together; absent for a single machine. With clients, the result is for all of
    /// them together, and conditions and counters are in [`Trial::parts`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Box<Clients>>,
    /// The own trial of each client that has one, in their order; absent without clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Trial>,
}

/// Results of a job next to the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// Its targets; empty if it used those of the first job.
    pub targets: Vec<Target>,
    /// Its results.
    pub result: TrialResult,
    /// Findings on its own numbers.
    pub findings: Vec<Finding>,
}

/// How the page cache was dropped before a run, and the effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheDropped {
    /// The method.
    pub method: DropCache,
    /// Bytes of the area in the page cache before; null if unknown.
    pub resident_before_bytes: Option<Bytes>,
    /// Bytes of the area in the page cache after.
    pub resident_after_bytes: Option<Bytes>,
}

/// Preconditioning to a steady state (SNIA SSS PTS): write twice the area, then repeat rounds until five of
/// them agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preconditioning {
    /// Bytes written before the rounds.
    pub filled_bytes: Bytes,
    /// Rate of each round, requests per second.
    pub round_iops: Vec<f64>,
    /// Whether the last five rounds agree: range at most 20 %, slope at most 10 % of their mean.
    pub steady: bool,
}

impl Trial {
    /// Whether no finding invalidates the numbers of the first job.
    #[must_use]
    pub fn first_clean(&self) -> bool {
        Finding::none_invalid(&self.findings)
    }

    /// Whether no finding invalidates the numbers of any job.
    #[must_use]
    pub fn clean(&self) -> bool {
        let beside = || self.beside.iter().all(|job| Finding::none_invalid(&job.findings));
        self.first_clean() && beside() && self.parts.iter().all(Self::clean)
    }

    /// The part of the client with this index; `None` if it has no result.
    #[must_use]
    pub fn part(&self, rank: usize) -> Option<&Self> {
        let id = self.clients.as_ref()?.each.get(rank)?.trial_id.as_ref()?;
        self.parts.iter().find(|part| part.id == *id)
    }

    /// The requested directions: reads and writes, or reads and trims.
    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        let TrialResult { read, write, trim, .. } = &self.result;
        read.iter().chain(write).chain(trim)
    }

    /// The results of reads and writes, for a comparison with another trial.
    #[must_use]
    pub fn load_figures(&self) -> Vec<LoadFigures> {
        let sides = [(OpKind::Read, &self.result.read), (OpKind::Write, &self.result.write)];
        let figures = |(op, side): (OpKind, &Option<DirectionResult>)| {
            let side = side.as_ref()?;
            let times = side.latency_ns.as_ref();
            Some(LoadFigures {
                op,
                iops: side.iops,
                iops_ci95_rel: side.iops_ci95_rel,
                latency_mean_ns: times.map(|times| times.mean),
                latency_mean_ci95_rel: times.and_then(|times| times.mean_ci95_rel),
                latency_p50_ns: times.and_then(|times| times.p50),
                latency_p99_ns: times.and_then(|times| times.p99),
            })
        };
        sides.into_iter().filter_map(figures).collect()
    }

    /// The kinds that were measured, each with its singular and plural name: reads, writes, flushes.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, &DirectionResult)> {
        let result = &self.result;
        let kinds = [
            ("read", "reads", &result.read),
            ("write", "writes", &result.write),
            ("trim", "trims", &result.trim),
            ("flush", "flushes", &result.flush),
        ];
        kinds.into_iter().filter_map(|(one, several, kind)| Some((one, several, kind.as_ref()?)))
    }

    /// The results of all jobs, the first and those next to it, each with its workload.
    pub fn jobs(&self) -> impl Iterator<Item = (&Workload, &TrialResult)> {
        let results =
            std::iter::once(&self.result).chain(self.beside.iter().map(|job| &job.result));
        self.workload.all().zip(results)
    }

    /// One of the jobs as if it had run alone, without the figures that are unknown for a single job; `None`
    /// beyond the last job.
    #[must_use]
    pub fn job(&self, index: usize) -> Option<Self> {
        let not = || "the counters do not distinguish jobs".to_owned();
        let mut alone = Self {
            beside: Vec::new(),
            total: None,
            clients: None,
            parts: Vec::new(),
            ..self.clone()
        };
        alone.workload.beside.clear();
        if self.workload.beside.is_empty() {
            return (index == 0).then_some(alone);
        }
        alone.cpu = Measured::not(not());
        alone.device_counters = Measured::not(not());
        if let Some(beside) = index.checked_sub(1) {
            let job = self.beside.get(beside)?;
            alone.workload = self.workload.beside.get(beside)?.workload.clone();
            alone.result = job.result.clone();
            alone.findings = job.findings.clone();
            if !job.targets.is_empty() {
                alone.targets = job.targets.clone();
            }
        }
        Some(alone)
    }

    /// The trial as if all jobs were one; `None` for a single job, or if the jobs did not run at the same
    /// time.
    #[must_use]
    pub fn together(&self) -> Option<Self> {
        let result = self.total.as_ref()?.value()?;
        let targets = self.beside.iter().flat_map(|job| &job.targets);
        Some(Self {
            workload: self.workload.together(),
            result: (**result).clone(),
            targets: self.targets.iter().chain(targets).cloned().collect(),
            beside: Vec::new(),
            total: None,
            ..self.clone()
        })
    }

    /// Requests completed in the measured window, over all directions; for a job that only flushes, the
    /// flushes.
    #[must_use]
    pub fn completed(&self) -> u64 {
        let flushes = self.workload.instead == Some(Instead::Flush);
        let flushes = self.result.flush.as_ref().filter(|_| flushes);
        self.directions().chain(flushes).map(|direction| direction.ios).sum()
    }

    /// Requests that failed or were short, over both directions.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.directions().map(|direction| direction.errors + direction.short).sum()
    }

    /// Requests per second, over both directions.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.directions().map(|direction| direction.iops).sum()
    }

    /// Mean latency of all requests, in nanoseconds; `None` if nothing completed.
    #[must_use]
    pub fn latency_ns(&self) -> Option<f64> {
        mean_latency_ns(self.directions())
    }

    /// Latencies of both directions.
    #[must_use]
    pub fn histogram(&self) -> HistogramSnapshot {
        self.directions()
            .fold(HistogramSnapshot::default(), |sum, next| sum.merged(&next.histogram))
    }
}

/// Mean latency of the requests of all these directions, in nanoseconds; `None` without requests.
pub fn mean_latency_ns<'a>(directions: impl Iterator<Item = &'a DirectionResult>) -> Option<f64> {
    let pairs = directions
        .filter_map(|direction| Some((direction.ios as f64, direction.latency_ns.as_ref()?.mean)));
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
    /// Latency from intended arrival to completion; null if nothing completed.
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

/// Whether the kernel measures or samples the split of CPU time into user and system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSplit {
    /// The total is exact; its parts are samples at the timer tick.
    Sampled,
    /// Both are measured at each kernel entry.
    Exact,
    /// Not measured: busy time from a model of the host's processors, all counted as system time.
    Modelled,
}

/// CPU time of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCost {
    /// In user mode.
    pub user_ms: f64,
    /// In the kernel for this program, including its worker threads.
    pub system_ms: f64,
    /// The part of both that io_uring's kernel worker threads used.
    pub workers_ms: f64,
    /// CPU time charged to the program per completed request: a lower bound of the true cost.
    pub lower_us_per_io: Option<f64>,
    /// An upper bound per request; null without a pass that measured it.
    pub upper_us_per_io: Option<f64>,
    /// How the upper bound was measured.
    pub upper_method: Option<String>,
    /// The pass that measured it.
    pub upper: Option<CpuUpper>,
    /// Processor clocks per byte, at the frequency of `clock`; null if that is unknown.
    pub clocks_per_byte: Option<f64>,
    /// The clock frequency used; null if the kernel does not report one.
    pub clock: Option<CpuClock>,
    /// Instructions per request.
    pub instructions_per_io: Measured<f64>,
    /// Requests per second that would saturate all processors, by the lower bound.
    pub saturation_iops: Option<f64>,
    /// Bytes per second at that point.
    pub saturation_bytes_per_s: Option<f64>,
    /// CPU time charged to the program per MiB transferred.
    pub ms_per_mib: Option<f64>,
    /// Time that the hypervisor took from this virtual machine, over all processors.
    pub steal_ms: Option<f64>,
    /// Time of all CPUs of the machine, busy or idle; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_cpus_ms: Option<f64>,
    /// CPU time of other programs in user mode, on all CPUs; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_user_ms: Option<f64>,
    /// Time in which CPUs were idle, on all CPUs; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<f64>,
    /// How reliable the split into user and system time is.
    pub split: CpuSplit,
}

/// The frequency of the processors' clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuClock {
    /// Clocks per second.
    pub hz: f64,
    /// Its source: cpufreq (actual frequency at the end) or cpuinfo (nominal in a virtual machine).
    pub source: String,
}

/// The pass that measured the upper bound. It runs the same load with an idle-priority soaker thread on every
/// processor, and compares the soakers' loop counts with calibrations before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUpper {
    /// CPU time per request over the whole machine, in µs.
    pub us_per_io: Estimate,
    /// Rate of the pass divided by the rate of the trial, minus one: the effect of the soakers on the load.
    pub rate_change_rel: f64,
    /// Requests of the pass.
    pub ios: u64,
    /// Number of processors with a soaker.
    pub cpus: u32,
    /// Share of the CPU time that the soakers did not get during the load.
    pub busy_share: f64,
    /// The same without the load, just before and after. It is subtracted from the cost of the load.
    pub baseline_share: f64,
    /// CPU time charged to the program per request in the same pass, in µs; null if it was not measured.
    pub lower_us_per_io: Option<Estimate>,
    /// Upper bound minus `lower_us_per_io`, in µs per request: CPU time that others used for this load (or at
    /// the same time).
    pub elsewhere_us_per_io: Option<Estimate>,
    /// Difference between the calibrations before and after, as a share.
    pub calibration_change_rel: f64,
    /// The kernel's own accounting during the pass, for comparison, as shares of all CPU time.
    pub kernel: Option<KernelAccounting>,
    /// Reasons why the bound is uncertain here.
    pub doubts: Vec<String>,
}

/// The kernel's accounting of CPU time (/proc/stat), as shares of the time of all processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelAccounting {
    /// Idle and not waiting for I/O. Soakers count as nice or idle-priority user time, not here.
    pub idle: f64,
    /// Hardware and software interrupts.
    pub interrupts: f64,
    /// Time taken by the hypervisor.
    pub steal: f64,
}

/// The device's own counters during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCounters {
    /// The device that was counted.
    pub device: String,
    /// Requests completed, after merging.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// `bytes / ios`; null without requests.
    pub mean_request_bytes: Option<f64>,
    /// Bytes of other programs, in the direction that the trial did not use; null if it used both.
    #[serde(default)]
    pub other_bytes: Option<u64>,
    /// Requests that were merged into another before they reached the device.
    pub merges: u64,
    /// Additional device requests that splitting explains; null if other traffic makes this uncertain.
    pub splits: Option<u64>,
    /// Time during which at least one request was in progress.
    pub busy_ms: f64,
    /// Mean requests in flight at the device.
    pub concurrency: f64,
    /// Device requests divided by the program's requests; null if the program completed none.
    pub ratio_ios: Option<f64>,
    /// Device bytes divided by the program's bytes; null if the program completed none.
    pub ratio_bytes: Option<f64>,
}

/// Limits of the load generator itself on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harness {
    /// Requests per second of one job with the same workload on the null engine.
    pub ceiling_iops: f64,
    /// The clock that is used.
    pub clock: String,
    /// Cost of one reading, in nanoseconds.
    pub clock_cost_ns: f64,
    /// Kernel features that the engine uses (rings, registered buffers, …).
    pub engine_features: Vec<String>,
    /// Error that batching adds to latencies; null if each request is submitted alone.
    pub batching: Option<Batching>,
}

/// Error of latencies from batching. Requests submitted in one call share one clock reading from before the
/// call. The latency of each therefore includes the time in which the kernel accepted the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Batching {
    /// Mean requests per submission call.
    pub requests_per_call: f64,
    /// Mean time in which the kernel accepted a batch, from batches submitted in a call of their own (one in
    /// a few hundred). A mean latency is too high by at most this.
    pub error_mean_ns: f64,
    /// The maximum such time.
    pub error_max_ns: u64,
    /// Completions per wait: 1, or the smallest number that is as fast as any.
    pub complete_batch: u32,
    /// Mean time for which the first completion of such a wait was held back for the others, measured in one
    /// wait in a few hundred; null if each completion is awaited alone.
    pub held_mean_ns: Option<f64>,
    /// The maximum such time.
    pub held_max_ns: Option<u64>,
}
