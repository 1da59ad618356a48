//! The trial document: one workload run once on one target.

use crate::{
    Bytes, Clients, CpuCost, DirectionResult, DropCache, Environment, Finding, HistogramSnapshot,
    Instead, LoadFigures, Measured, OpKind, Target, TrialResult, Workload, mean_latency_ns,
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

    /// Mean reads and writes in flight; `None` if another program measured the trial without latencies.
    #[must_use]
    pub fn mean_depth(&self) -> Option<f64> {
        let unmeasured = |one: &DirectionResult| {
            one.ios > 0 && one.latency_ns.is_none() && one.completion_ns.is_none()
        };
        let unknown = self.measured_by.is_some() && self.directions().any(unmeasured);
        (!unknown).then_some(self.result.concurrency)
    }

    /// Latencies of both directions.
    #[must_use]
    pub fn histogram(&self) -> HistogramSnapshot {
        self.directions()
            .fold(HistogramSnapshot::default(), |sum, next| sum.merged(&next.histogram))
    }
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
