//! The trial document: one workload run once on one target.

use crate::{
    ArrayResult, Bytes, Clients, DropCache, Environment, Estimate, Finding, HistogramSnapshot,
    Instead, LoadFigures, Measured, Nanos, OpKind, Target, Workload,
};
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
    /// Another program that measured it, by its own word (`fio-3.33`); absent where this one did.
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
    /// Identity of the workload: trials of one cell repeat each other.
    pub cell: String,
    /// What was read or written.
    pub targets: Vec<Target>,
    /// What was asked.
    pub workload: Workload,
    /// What came back.
    pub result: TrialResult,
    /// CPU time.
    pub cpu: Measured<CpuCost>,
    /// What the device's own counters saw.
    pub device_counters: Measured<DeviceCounters>,
    /// Limits of the load generator itself.
    pub harness: Measured<Harness>,
    /// Conclusions on whether the numbers mean what they say.
    pub findings: Vec<Finding>,
    /// Conditions; null for a simulated trial.
    pub environment: Option<Environment>,
    /// What was done to the page cache before the run; null where nothing was.
    pub cache_dropped: Option<CacheDropped>,
    /// How the target was brought into its steady state; null where it was not.
    pub preconditioning: Option<Preconditioning>,
    /// What came of the jobs beside the first, in the order of [`Workload::beside`]; absent without any.
    /// Then processor time, counters and their findings are of all jobs together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<JobResult>,
    /// All jobs together, over their common window; absent where a job was alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Measured<Box<TrialResult>>>,
    /// The machines that made it together; absent where one program made it alone. Then the result is that
    /// of all of them, and conditions and counters stand in [`Trial::parts`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Box<Clients>>,
    /// The own trial of each client that has one, in their order; absent without clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Trial>,
}

/// What came of a job beside the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// Its targets; none where it used those of the first job.
    pub targets: Vec<Target>,
    /// What came back.
    pub result: TrialResult,
    /// Conclusions on its own numbers.
    pub findings: Vec<Finding>,
}

/// What was done to the page cache before a run, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheDropped {
    /// How.
    pub method: DropCache,
    /// Bytes of the area in the page cache before it; null where that cannot be told.
    pub resident_before_bytes: Option<Bytes>,
    /// The same after it.
    pub resident_after_bytes: Option<Bytes>,
}

/// Writing to a steady state (SNIA SSS PTS): twice the area, then rounds until five agree.
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
    /// Whether no finding says that the numbers of the first job are not what was asked for.
    #[must_use]
    pub fn first_clean(&self) -> bool {
        Finding::none_invalid(&self.findings)
    }

    /// Whether no finding says that the numbers of any job are not what was asked for.
    #[must_use]
    pub fn clean(&self) -> bool {
        let beside = || self.beside.iter().all(|job| Finding::none_invalid(&job.findings));
        self.first_clean() && beside() && self.parts.iter().all(Self::clean)
    }

    /// The part of a client, with its place among the clients; `None` where it has no result.
    #[must_use]
    pub fn part(&self, rank: usize) -> Option<&Self> {
        let id = self.clients.as_ref()?.each.get(rank)?.trial_id.as_ref()?;
        self.parts.iter().find(|part| part.id == *id)
    }

    /// Reads and writes, or trims in place of those, as far as they were asked for.
    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        let TrialResult { read, write, trim, .. } = &self.result;
        read.iter().chain(write).chain(trim)
    }

    /// What reads and writes came to, to be held against those of another trial.
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

    /// What was measured apart, each with its name as one and as several: reads, writes, flushes.
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

    /// The results of all jobs, each with its workload: the first, and those beside it.
    pub fn jobs(&self) -> impl Iterator<Item = (&Workload, &TrialResult)> {
        let results =
            std::iter::once(&self.result).chain(self.beside.iter().map(|job| &job.result));
        self.workload.all().zip(results)
    }

    /// One of the jobs as if it had been alone, but for what is not known of one job; `None` beyond the
    /// last.
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

    /// The trial as if all jobs were one; `None` where a job was alone, or they did not run at the same
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

    /// Requests completed in the measured window, all directions together; of a job that only flushes the
    /// flushes.
    #[must_use]
    pub fn completed(&self) -> u64 {
        let flushes = self.workload.instead == Some(Instead::Flush);
        let flushes = self.result.flush.as_ref().filter(|_| flushes);
        self.directions().chain(flushes).map(|direction| direction.ios).sum()
    }

    /// Requests that failed or fell short, both directions together.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.directions().map(|direction| direction.errors + direction.short).sum()
    }

    /// Requests per second, both directions together.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.directions().map(|direction| direction.iops).sum()
    }

    /// Mean latency of all requests, in nanoseconds; `None` where nothing completed.
    #[must_use]
    pub fn latency_ns(&self) -> Option<f64> {
        mean_latency_ns(self.directions())
    }

    /// Latencies of both directions together.
    #[must_use]
    pub fn histogram(&self) -> HistogramSnapshot {
        self.directions()
            .fold(HistogramSnapshot::default(), |sum, next| sum.merged(&next.histogram))
    }
}

/// Mean latency of the requests of all of these, in nanoseconds; `None` without one.
pub fn mean_latency_ns<'a>(directions: impl Iterator<Item = &'a DirectionResult>) -> Option<f64> {
    let pairs = directions
        .filter_map(|direction| Some((direction.ios as f64, direction.latency_ns.as_ref()?.mean)));
    let (requests, times) =
        pairs.fold((0.0, 0.0), |(all, sum), (ios, mean)| (all + ios, sum + ios * mean));
    (requests > 0.0).then(|| times / requests)
}

/// The measured part of a trial. The default is a run in which nothing completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    /// Length of the measured window.
    pub duration_ns: Nanos,
    /// Whether the rate held still over the window; null where it is too short to tell.
    pub steady: Option<bool>,
    /// The start that was cut off because it differs from the rest; null where none was.
    pub warm_up: Option<WarmUp>,
    /// Why the run ended before its run time was over; null where it did not.
    pub ended_by: Option<EndedBy>,
    /// Requests that had not come back when a device that stopped answering was given up.
    #[serde(default)]
    pub unanswered: u64,
    /// The reads; null where none were asked.
    pub read: Option<DirectionResult>,
    /// The writes; null where none were asked.
    pub write: Option<DirectionResult>,
    /// The trims, in place of writes; absent where none were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// The flushes, which carry no bytes; absent where none were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<DirectionResult>,
    /// Mean reads and writes in flight, from Little's law on our own times.
    pub concurrency: f64,
    /// Completions over time.
    pub series: Series,
    /// One by one, where `--interval` asked for them.
    pub intervals: Option<Vec<IntervalResult>>,
    /// How arrivals were kept up with; null in a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// Deepest nesting of completion calls; null with another completion discipline.
    pub callback_depth: Option<u32>,
    /// What reading tagged blocks back found; null where nothing was verified.
    pub verify: Option<VerifyResult>,
    /// What an array of targets holds, and how its rebuild went; absent where neither was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<ArrayResult>>,
    /// How busy the components of a simulated device were; absent where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentUse>,
}

/// How busy a component of a simulated device was during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentUse {
    /// Its name, for example "bus 0".
    pub name: String,
    /// How many of its kind work side by side under this name.
    pub units: u32,
    /// Time in use as a share of the window, of all units together: 1 is all of them all the time.
    pub busy_share: f64,
    /// What that time was spent on; empty where it is not told apart.
    pub phases: Vec<PhaseUse>,
}

/// What a component did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseUse {
    /// What, for example "data".
    pub name: String,
    /// Share of the component's busy time.
    pub share: f64,
}

/// A start of the window that is not part of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Its length.
    pub duration_ns: Nanos,
    /// Requests completed in it.
    pub ios: u64,
    /// Their rate.
    pub iops: f64,
}

/// What ended a run before its run time was over.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// All bytes asked for were transferred.
    Bytes,
    /// All passes over the area were made.
    Passes,
    /// All recorded requests were made.
    Recording,
    /// The failed leg was rebuilt.
    Rebuilt,
    /// The interval of the rate is as narrow as asked.
    Precision,
    /// Nothing but failures came back.
    Failures,
    /// The device stopped answering.
    Silence,
    /// The user or the system asked for an end.
    Interrupted,
}

/// One interval of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalResult {
    /// Its begin, from the begin of the window (before any warm-up was cut off).
    pub begin_ns: Nanos,
    /// Its length; the last may be shorter.
    pub length_ns: Nanos,
    /// The reads; null where none were asked.
    pub read: Option<IntervalDirection>,
    /// The writes; null where none were asked.
    pub write: Option<IntervalDirection>,
    /// The trims, in place of writes; absent where none were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<IntervalDirection>,
    /// The flushes; absent where none were asked.
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
    /// Latencies; null where nothing completed.
    pub latency_ns: Option<TimeSummary>,
}

/// How the pacer of an open loop kept up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Arrivals in the window, per second.
    pub offered_iops: f64,
    /// Mean time from an intended arrival to its hand-over.
    pub late_mean_ns: f64,
    /// 99th percentile of it; null with fewer than a thousand arrivals.
    pub late_p99_ns: Option<f64>,
    /// Largest.
    pub late_max_ns: u64,
    /// The part of the mean that is the pacer's own: arrivals that found a free slot.
    pub pacer_late_mean_ns: Option<f64>,
    /// Most arrivals that waited for a slot at one time.
    pub backlog_max: u64,
    /// Arrivals that still waited at the end of the window; none is dropped silently.
    pub backlog_end: u64,
    /// CPU time spent polling for the next arrival, kept out of the processor cost.
    pub spin_ms: f64,
}

/// What reading tagged blocks back found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyResult {
    /// Blocks read back and found right.
    pub good: u64,
    /// Blocks that hold no tag: a write never arrived.
    pub lost: u64,
    /// Blocks whose tag names another offset.
    pub misplaced: u64,
    /// Blocks whose checksum does not fit: parts of several writes.
    pub torn: u64,
    /// Blocks of an older write than the last one completed.
    pub stale: u64,
    /// Blocks of which nothing can be said: they could not be read back, or a write of them failed
    /// or never came back, so that they may hold anything.
    pub unchecked: u64,
    /// Length of a block.
    pub block_bytes: Bytes,
    /// How it was read back, and what was done so that it did not come from memory.
    pub method: String,
    /// The first bad ones, at most 16.
    pub bad: Vec<BadBlock>,
}

/// One bad block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadBlock {
    /// Where it lies in the target.
    pub offset_bytes: u64,
    /// What is wrong with it.
    pub fault: BlockFault,
    /// The same with what was expected and found.
    pub detail: String,
}

/// What can be wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockFault {
    /// No tag.
    Lost,
    /// The tag of another offset.
    Misplaced,
    /// A checksum that does not fit.
    Torn,
    /// An older generation than written last.
    Stale,
}

/// One direction of a trial. The default is one in which nothing completed.
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
    /// What they failed with.
    pub error_kinds: Vec<ErrorCount>,
    /// Requests that transferred fewer bytes than asked; not counted in `ios`.
    pub short: u64,
    /// Intended arrival to completion; null where nothing completed.
    pub latency_ns: Option<TimeSummary>,
    /// Submission to completion; equals the latency in a closed loop.
    pub completion_ns: Option<TimeSummary>,
    /// Arrivals per second that were asked for; null in a closed loop.
    pub offered_iops: Option<f64>,
    /// Latencies.
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
    /// Their mean latency; null where none completed.
    pub latency_mean_ns: Vec<Option<f64>>,
}

/// Whether the kernel measures the split of CPU time or samples it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSplit {
    /// The total is exact, its parts are samples of the timer tick.
    Sampled,
    /// Both are measured at each kernel entry.
    Exact,
    /// Not measured: busy time of a model of the host's processors, all as system time.
    Modelled,
}

/// CPU time of a trial.
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
    /// The pass behind it.
    pub upper: Option<CpuUpper>,
    /// Processor clocks per byte, at the frequency of `clock`; null where that is unknown.
    pub clocks_per_byte: Option<f64>,
    /// The clock frequency behind it; null where the kernel tells none.
    pub clock: Option<CpuClock>,
    /// Instructions per request.
    pub instructions_per_io: Measured<f64>,
    /// Requests per second at which all processors would be busy, by the lower bound.
    pub saturation_iops: Option<f64>,
    /// Bytes per second at that point.
    pub saturation_bytes_per_s: Option<f64>,
    /// Charged to us, per MiB transferred.
    pub ms_per_mib: Option<f64>,
    /// Time that the host took from this virtual machine, all processors together.
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
    /// What the split of user and system is worth.
    pub split: CpuSplit,
}

/// The frequency of the processors' clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuClock {
    /// Clocks per second.
    pub hz: f64,
    /// Where it was read: cpufreq (in use at the end) or cpuinfo (nominal in a virtual machine).
    pub source: String,
}

/// The pass that measured the upper bound: the same load beside a soaker of idle priority on every
/// processor, whose loops are counted against a calibration before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUpper {
    /// CPU time per request over the whole machine, µs.
    pub us_per_io: Estimate,
    /// Rate of the pass over the rate of the trial, minus one: what the soaker did to the load.
    pub rate_change_rel: f64,
    /// Requests of the pass.
    pub ios: u64,
    /// Processors with a soaker.
    pub cpus: u32,
    /// Share of the processors' time that the soakers did not get beside the load.
    pub busy_share: f64,
    /// The same without the load, just before and after; subtracted from what the load is charged.
    pub baseline_share: f64,
    /// What was charged to us per request in the same pass, µs; null where it was not measured.
    pub lower_us_per_io: Option<Estimate>,
    /// The upper bound less that, µs per request: what others did for this load (or beside it).
    pub elsewhere_us_per_io: Option<Estimate>,
    /// How far the calibrations before and after lie apart, as a share.
    pub calibration_change_rel: f64,
    /// The kernel's own accounting over the pass, for comparison, as shares of all CPU time.
    pub kernel: Option<KernelAccounting>,
    /// What makes the bound unsure here.
    pub doubts: Vec<String>,
}

/// The kernel's accounting of CPU time (/proc/stat), as shares of all processors' time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelAccounting {
    /// Neither used nor waited for: soakers count as nice or idle-priority user time, not here.
    pub idle: f64,
    /// Hardware and software interrupts.
    pub interrupts: f64,
    /// Taken by the host.
    pub steal: f64,
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
    /// Bytes of others, in the direction that was not requested; null where both were.
    #[serde(default)]
    pub other_bytes: Option<u64>,
    /// Requests that were merged into another before they reached the device.
    pub merges: u64,
    /// Additional device requests that splitting explains; null where other traffic blurs it.
    pub splits: Option<u64>,
    /// Time during which at least one request was in progress.
    pub busy_ms: f64,
    /// Mean requests in flight at the device.
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
    /// What batching adds to latencies; null where every request is handed over alone.
    pub batching: Option<Batching>,
}

/// Requests that are handed over in one call share one reading of the clock, taken before it: the
/// latency of each includes the time in which the kernel took the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Batching {
    /// Mean requests per hand-over.
    pub requests_per_call: f64,
    /// Mean time that the kernel took to take a batch, from batches handed over by a call of
    /// their own (one in some hundred); a latency is too long by at most this, on average.
    pub error_mean_ns: f64,
    /// The longest such time.
    pub error_max_ns: u64,
    /// Completions waited for at once: 1, or the smallest number that is as fast as any.
    pub complete_batch: u32,
    /// How long the first completion of such a wait was held back for the others, on average over
    /// one wait in some hundred; null where each was waited for alone.
    pub held_mean_ns: Option<f64>,
    /// The longest such time.
    pub held_max_ns: Option<u64>,
}
