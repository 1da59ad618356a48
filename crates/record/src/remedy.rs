//! Notes and advice of a diagnosis.

use crate::{CauseCode, Change, Estimate, Evidence, Measured, Mix, Offered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition that looks like a problem but is none, or that misleads a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteCode {
    /// Latencies rose because requests became larger.
    SizesGrew,
    /// The page cache writes in bursts that no process waits for.
    WriteBackBursts,
    /// Latencies in this source include those of discards.
    DiscardsIncluded,
    /// The hypervisor took CPU time from this machine; waiting for it counts as latency.
    Steal,
    /// The device is busy almost all the time, but far from its limit.
    BusyNotSaturated,
    /// The busy counter of this kernel is unreliable.
    BusyDoubtful,
    /// Requests are no longer sequential, or the device became slower.
    PatternChanged,
    /// Requests are split: a sign of fragmentation.
    SplitRequests,
    /// Files are fragmented, and it is unknown whether requests are sequential.
    ScatteredFiles,
    /// The profile may be of another device.
    ProfileDoubtful,
    /// The measurement of the profile is invalid.
    ProfileInvalid,
    /// Settings differ from those of the profile.
    ConditionsChanged,
    /// The source lacks figures that a conclusion requires.
    FiguresMissing,
    /// No individual request was timed, so the slowest ones are unknown.
    MeansOnly,
    /// The profile measured no writes. The few writes of the observation are excluded from the verdict.
    ReadsAlone,
    /// A fact of the system is unusual, but harmless here as far as the numbers show.
    HarmlessFact,
}

/// A note on an observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Code of the note.
    pub code: NoteCode,
    /// The note in one or two sentences.
    pub claim: String,
    /// The numbers that support it.
    pub evidence: Vec<Evidence>,
}

/// What can be done: the seven strategies of Friedman's table 6, and more.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Table 6: faster disks.
    FasterDisks,
    /// Table 6: more disks.
    MoreDisks,
    /// Table 6: a disk array.
    DiskArray,
    /// Table 6: cached disks.
    CachedDisks,
    /// Table 6: host-based caching.
    HostCache,
    /// Table 6: load balancing.
    LoadBalancing,
    /// Table 6: defragmentation.
    Defragmentation,
    /// A larger queue depth.
    DeeperQueue,
    /// A smaller queue depth.
    ShallowerQueue,
    /// Larger requests.
    LargerRequests,
    /// Direct I/O, or earlier write-back in smaller amounts.
    DirectIo,
    /// Another I/O scheduler.
    Scheduler,
    /// More read-ahead.
    ReadAhead,
    /// Files allocated at full length before they are filled.
    Preallocation,
    /// Files stored without compression.
    Uncompressed,
    /// Requests aligned to the device's blocks.
    Alignment,
    /// A higher cap.
    RaiseCap,
    /// A larger number of requests that the kernel gives the device at once.
    MoreTags,
    /// A neighbour moved or limited.
    MoveNeighbour,
    /// The device restored to the performance of its profile.
    Restore,
    /// What a system check found, corrected.
    PutRight,
}

/// What a strategy changes, as predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Mean latency now.
    pub latency_before_ns: f64,
    /// Mean latency after the change.
    pub latency_after_ns: Estimate,
    /// Requests per second now.
    pub iops_before: f64,
    /// Requests per second after the change.
    pub iops_after: Estimate,
}

/// The load of an episode, in the form that `predict` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeLoad {
    /// The requests.
    pub mix: Mix,
    /// The offered load.
    pub offered: Offered,
    /// Other offered loads that the counters allow.
    pub alternatives: Vec<Offered>,
    /// Requests per second, as counted.
    pub iops: f64,
    /// Latency divided by that of the profiled device, at least 1.
    pub slowdown: f64,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The strategy.
    pub strategy: Strategy,
    /// The change, in the form that `predict` takes; null if the models cannot represent it.
    pub change: Option<Change>,
    /// What to do, in words; includes a command if there is one.
    pub action: String,
    /// The cause that it addresses.
    pub cause: CauseCode,
    /// Name of the check that found the cause; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Index of the episode that it is for.
    pub episode: u32,
    /// The predicted effect.
    pub effect: Measured<Effect>,
    /// Share of the time per request that it saves, which ranks the advice; null if not predicted. The time
    /// is the latency, or the time between completions if the rate is what grows.
    pub gain: Option<f64>,
    /// What the prediction assumes.
    pub assumes: String,
    /// What it costs.
    pub cost: String,
    /// How to check that it works.
    pub how_to_check: String,
}

impl Remedy {
    /// The name of the cause in print, as [`crate::Cause::name`].
    #[must_use]
    pub fn cause_name(&self) -> String {
        self.check.clone().unwrap_or_else(|| self.cause.name())
    }
}
