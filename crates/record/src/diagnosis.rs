//! The diagnosis document: what the counters of an observation mean, held against profiles.
//!
//! A diagnosis is a function of an observation and of profiles, so it has no time of its own and
//! its id is a hash of what it was made of: drawn again years later it is the same. It keeps the
//! numbers of each interval beside its conclusions, because a reader who doubts one wants to see
//! the moments that it rests on, and because two ways to split a latency (Friedman's and the
//! calibrated one) can only be judged side by side. A conclusion that the evidence leaves open
//! carries its alternatives; there is no score that would pick one of them in silence.

use crate::schema::word;
use crate::{
    CauseCode, Change, ComparedCondition, Confidence, DeviceFacts, Doubt, Estimate, Evidence,
    FactNotRead, Finding, IoGroup, LayerKind, Measured, Mix, Offered, OpKind, PathMap,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a diagnosis.
pub const DIAGNOSIS_SCHEMA: &str = "halfpower/diagnosis/1";

/// What is the matter with a device, in the order in which it is asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A limit above the device holds its rate.
    Capped,
    /// It takes longer than its profile allows, and much of what a request takes is waiting.
    SlowAndOverloaded,
    /// It takes longer than its profile allows.
    Slow,
    /// It does what its profile says, and is asked for more than it can do at once.
    Overloaded,
    /// It does what its profile says, and has much to spare: look elsewhere.
    NotTheDisk,
    /// It does what its profile says, under a load worth the name.
    Healthy,
    /// Nothing can be said: too little I/O, or no profile that fits.
    NotEnoughEvidence,
}

impl Verdict {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }

    /// Whether requests take longer than expected, overloaded or not.
    #[must_use]
    pub fn is_slow(self) -> bool {
        matches!(self, Self::Slow | Self::SlowAndOverloaded)
    }

    /// Whether the device gets more requests than it can serve.
    #[must_use]
    pub fn is_overloaded(self) -> bool {
        matches!(self, Self::Overloaded | Self::SlowAndOverloaded)
    }

    /// Whether the device does what it should, much asked or little.
    #[must_use]
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Healthy | Self::NotTheDisk)
    }
}

/// How a profile came to stand for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// Model and serial number.
    Serial,
    /// Model and size, where there is no serial number.
    ModelAndSize,
    /// The simulated device is the same.
    Simulated,
    /// The model alone: the profile is of another device of it.
    Model,
    /// The name alone, which another disk may bear tomorrow.
    Name,
    /// The user chose it, and nothing that is known speaks for or against it.
    Choice,
}

/// The profile that a device is held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedProfile {
    /// Its id.
    pub profile_id: String,
    /// What it was made of.
    pub target: String,
    /// When, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Why it stands for this device.
    pub by: MatchedBy,
    /// Why it may not; null where nothing speaks against it.
    pub doubt: Option<String>,
    /// Why what it measured does not count; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Conditions that the profile states and that are others now: first as profiled, then as
    /// observed. Only what both tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<ComparedCondition>,
}

/// What the counters of a stretch of time say. Null is "the source does not tell".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Completed requests.
    pub requests: f64,
    /// Requests per second.
    pub iops: f64,
    /// Reads among them, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean bytes of a request.
    pub request_bytes: Option<f64>,
    /// Mean latency, discards and flushes left out where the source allows it.
    pub latency_ns: Option<f64>,
    /// Mean latency of reads.
    pub read_latency_ns: Option<f64>,
    /// Mean latency of writes.
    pub write_latency_ns: Option<f64>,
    /// Mean requests in flight.
    pub concurrency: Option<f64>,
    /// Share of time with a request in flight, 0 to 1.
    pub utilization: Option<f64>,
}

/// Friedman's split of the latency: U, S = U/X, Q = R - S.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UtilizationLaw {
    /// Utilization, 0 to 1.
    pub utilization: f64,
    /// `utilization / iops`: the mean spacing of completions while busy, which is the service time
    /// of a device that does one thing at a time.
    pub service_ns: f64,
    /// Latency less that, not below 0.
    pub queue_ns: f64,
}

/// The split by the profile: what a lone request takes, and what the load adds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibrated {
    /// What a request of this mix takes with no other in progress.
    pub unloaded_ns: f64,
    /// What it takes at the concurrency that was seen while the device was busy.
    pub expected_ns: Estimate,
    /// What it would take at this rate with Poisson arrivals; null at or above the largest rate.
    pub expected_at_rate_ns: Option<Estimate>,
    /// Latency less `unloaded_ns`, not below 0: waiting, in line or behind others.
    pub queue_ns: f64,
    /// Latency over what was expected of it.
    pub latency_ratio: f64,
    /// Rate over the largest of this mix.
    pub saturation: f64,
    /// The largest rate of this mix.
    pub max_iops: f64,
    /// Share of sequential requests that these figures assume, 0 to 1.
    pub sequential_share: f64,
    /// Whether that share was traced. Otherwise it is the one that explains the latency best.
    pub sequential_traced: bool,
}

/// Counters that others print, and that are not what their names say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misleading {
    /// Windows' % Disk Time: the latencies of all requests over the time, cut at 100.
    pub disk_time_percent: Option<f64>,
    /// Average queue length (`aqu-sz`, Avg. Disk Queue Length): the same, not cut.
    pub queue_length: Option<f64>,
    /// iostat's `svctm`: utilization over rate.
    pub svctm_ns: Option<f64>,
    /// iostat's `%util`.
    pub iostat_busy_percent: Option<f64>,
}

/// An interval of a device, or several in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When it began, as in the observation.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Place of its episode in [`DeviceDiagnosis::episodes`].
    pub episode: u32,
    /// What the counters say.
    pub numbers: Numbers,
    /// Friedman's split; null without requests or without a busy counter.
    pub utilization_law: Option<UtilizationLaw>,
    /// The calibrated split; null without requests or without a profile that fits.
    pub calibrated: Option<Box<Calibrated>>,
    /// What others would print.
    pub misleading: Misleading,
}

/// How much goes on in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Next to nothing.
    Idle,
    /// Less than half of what the device can do; without a profile, of what it did at its busiest.
    Quiet,
    /// More than that.
    Busy,
}

/// A hypothesis of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HypothesisName {
    /// What it claims, in a few words.
    pub name: String,
    /// The layer of the path that it is about; null of something that is in no list.
    pub layer: Option<LayerKind>,
}

/// Where what is expected of a device comes from, the best first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// A profile of this device.
    Profile,
    /// A profile of another device of the same model.
    Model,
    /// What was recorded of this device before.
    Past,
    /// What others of its kind did at the same time.
    Peers,
    /// What the observation itself shows of lone requests, and what a device of its kind does.
    Observation,
    /// What a device of its kind does, alone.
    Class,
}

/// What a verdict is measured against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Which rung of the ladder.
    pub rung: Rung,
    /// What it says, a sentence.
    pub says: String,
    /// Why no better one serves, and what one would add; absent of the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<String>,
}

/// Whether programs get what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// It was looked for, and nobody waits for more than the device does.
    Met,
    /// Somebody waits for what the device does not do, or has not got.
    Unmet,
    /// This source does not show it.
    #[default]
    Unknown,
}

/// Another explanation that the evidence does not exclude.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// What it would make of the device.
    pub verdict: Verdict,
    /// The hypothesis that speaks for it most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<HypothesisName>,
    /// What leaves it open: the first reason, where there are several.
    pub doubt: Doubt,
    /// How probable it is, 0 to 1, beside the verdict and the other alternatives.
    pub probability: f64,
    /// What it says, a sentence.
    pub because: String,
    /// What would decide.
    pub decided_by: String,
}

/// A verdict that the figures rule out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excluded {
    /// Which.
    pub verdict: Verdict,
    /// The figures that rule it out, in a sentence or more.
    pub because: String,
}

/// A cause that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Which.
    pub code: CauseCode,
    /// Name of the check that found it, for [`CauseCode::SystemFact`]; absent for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// A sentence.
    pub claim: String,
    /// The numbers that it rests on.
    pub evidence: Vec<Evidence>,
    /// Since when, RFC 3339 in UTC, where its source tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Cause {
    /// A cause that the rules of the diagnosis name.
    #[must_use]
    pub fn of(code: CauseCode, claim: String, evidence: Vec<Evidence>) -> Self {
        Self { code, check: None, claim, evidence, since: None }
    }

    /// Its name in print: of the check that found it, else of its code.
    #[must_use]
    pub fn name(&self) -> String {
        self.check.clone().unwrap_or_else(|| self.code.name())
    }
}

/// A stretch of time in which a device was used alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// When it began, as in the observation.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Intervals of the observation in it.
    pub intervals: u32,
    /// Share of the observed time of this device, 0 to 1.
    pub share_of_time: f64,
    /// How much goes on.
    pub activity: Activity,
    /// What is the matter.
    pub verdict: Verdict,
    /// How sure that is: certain from a probability of 0.995 on, almost certain from 0.95 on, likely from
    /// 0.7 on.
    pub confidence: Confidence,
    /// How probable the verdict is, 0 to 1: its share among scenarios drawn at random in which the
    /// evidence leaves the same alternatives open.
    pub probability: f64,
    /// The hypothesis that speaks for it most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<HypothesisName>,
    /// The verdict in a sentence, with its numbers.
    pub claim: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What else the evidence allows.
    pub alternatives: Vec<Alternative>,
    /// What it rules out. A verdict in neither list could not be tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
    /// Why it is so, as far as that shows.
    pub causes: Vec<Cause>,
    /// Reads and writes apart; empty where there was one of them alone, or no profile of both.
    pub operations: Vec<OperationVerdict>,
    /// Its slowest requests; null without a tracer, or where too few requests were seen or the
    /// profile has no load like it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The counters.
    pub numbers: Numbers,
    /// Half-width of the 95 % interval of the latency as a share of it, from how it moved
    /// within the episode; null with too few intervals.
    pub response_ci95_rel: Option<f64>,
    /// Friedman's split.
    pub utilization_law: Option<UtilizationLaw>,
    /// The calibrated split.
    pub calibrated: Option<Calibrated>,
    /// What others would print.
    pub misleading: Misleading,
    /// Who used the device, the busiest first; empty where that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<IoGroup>,
    /// What the profile did not measure and the expectation therefore extrapolated.
    pub extrapolated: Vec<String>,
    /// What the verdict is measured against; null where nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Whether programs get what they ask for.
    #[serde(default)]
    pub demand: Demand,
    /// The load that advice is about; null without a profile that fits.
    pub load: Option<EpisodeLoad>,
}

impl Episode {
    /// From this probability on an alternative is named beside the verdict, where room is for a few words.
    const NEAR: f64 = 0.1;
    /// From this probability on it is told at all.
    const TOLD: f64 = 0.01;
    /// From this many times the probability of the verdict on an alternative is as good as it.
    const AS_GOOD: f64 = 0.4;

    /// Alternatives that explain the evidence about as well as the verdict does.
    pub fn as_good(&self) -> impl Iterator<Item = &Alternative> {
        let least = Self::AS_GOOD * self.probability;
        self.alternatives.iter().filter(move |other| other.probability >= least)
    }

    /// Alternatives that a page has room for. Those that are less probable are in the document alone.
    pub fn told(&self) -> impl Iterator<Item = &Alternative> {
        self.alternatives.iter().filter(|other| other.probability >= Self::TOLD)
    }

    /// Alternatives that are less probable than those as good, and too probable to stay in the small print.
    pub fn near(&self) -> impl Iterator<Item = &Alternative> {
        let most = Self::AS_GOOD * self.probability;
        let near = move |probability: f64| (Self::NEAR..most).contains(&probability);
        self.alternatives.iter().filter(move |other| near(other.probability))
    }
}

/// The slowest requests of an episode at the device, by the tracer, beside those of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Share of the requests that is quicker, 0 to 1: 0.999, or 0.99 where there are too few.
    pub share: f64,
    /// Time at the device that this share does not exceed, nanoseconds.
    pub latency_ns: f64,
    /// What the slowest are held against, nanoseconds: what `expected_share` of the profile's requests
    /// does not exceed under this load.
    pub expected_ns: f64,
    /// `share`; or less, where the profile has too few requests for that; null where it has none like
    /// them, and exponential times with the expected mean stand for it.
    pub expected_share: Option<f64>,
    /// Requests that took at least twice as long as expected of the slowest.
    pub longer: u64,
    /// All requests.
    pub requests: u64,
    /// Intervals with such requests.
    pub intervals: u32,
    /// All intervals that were traced.
    pub of_intervals: u32,
}

impl Tail {
    /// It is long from this many times the expected one on.
    pub const LONG_FROM: f64 = 2.0;

    /// Whether it is longer than what it is held against.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.latency_ns >= Self::LONG_FROM * self.expected_ns
    }

    /// Whether like is held against like.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        self.expected_share == Some(self.share)
    }

    /// Whether it is as it should be: not long, by the profile's own requests.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.expected_share.is_some() && !self.is_long()
    }
}

/// What is the matter with one operation of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationVerdict {
    /// Which.
    pub op: OpKind,
    /// What is the matter with it.
    pub verdict: Verdict,
    /// Requests per second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
    /// The mean that the profile expects of it beside the other operation.
    pub expected_ns: f64,
    /// Whether its rate or throughput was the same in every interval.
    pub constant: bool,
}

/// How much of the time had a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictShare {
    /// The verdict.
    pub verdict: Verdict,
    /// Share of the observed time, 0 to 1.
    pub share_of_time: f64,
}

/// What looks like trouble and is none, or misleads whoever looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteCode {
    /// Latencies rose because requests grew.
    SizesGrew,
    /// The page cache writes in bursts for which nobody waits.
    WriteBackBursts,
    /// Latencies of the source hold those of discards.
    DiscardsIncluded,
    /// The host took CPU time from this machine; waiting for it counts as latency.
    Steal,
    /// The device is busy nearly all the time, and far from its limit.
    BusyNotSaturated,
    /// The busy counter of this kernel cannot be trusted.
    BusyDoubtful,
    /// Requests stopped to be sequential, or the device became slower.
    PatternChanged,
    /// Requests are split: a sign of fragmentation.
    SplitRequests,
    /// Files lie in pieces, and whether requests are sequential is not known.
    ScatteredFiles,
    /// Whether this is the device of the profile is open.
    ProfileDoubtful,
    /// What the profile measured does not count.
    ProfileInvalid,
    /// Settings are not those of the profile.
    ConditionsChanged,
    /// The source lacks figures that a conclusion needs.
    FiguresMissing,
    /// No single request was timed, so that the slowest ones are not known.
    MeansOnly,
    /// The profile measured no writes, and the few that there were are left out of the verdict.
    ReadsAlone,
    /// A fact of the system is unusual and does no harm here, as far as the numbers show.
    HarmlessFact,
}

impl NoteCode {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }
}

/// One note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Which.
    pub code: NoteCode,
    /// A sentence or two.
    pub claim: String,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
}

/// What can be done: the seven strategies of Friedman's table 6, and what came later.
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
    /// More requests outstanding.
    DeeperQueue,
    /// Fewer requests outstanding.
    ShallowerQueue,
    /// Larger requests.
    LargerRequests,
    /// Past the page cache, or writing back earlier and less at a time.
    DirectIo,
    /// Another I/O scheduler.
    Scheduler,
    /// More read-ahead.
    ReadAhead,
    /// Files written in full length before they are filled.
    Preallocation,
    /// Files stored as they are, without compression.
    Uncompressed,
    /// Requests on the device's block boundaries.
    Alignment,
    /// A higher cap.
    RaiseCap,
    /// More requests that the kernel gives the device at once.
    MoreTags,
    /// A neighbour moved or limited.
    MoveNeighbour,
    /// The device brought back to what it did when it was profiled.
    Restore,
    /// What a check of the system found put right.
    PutRight,
}

impl Strategy {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }
}

/// What a strategy changes, as predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Mean latency now.
    pub latency_before_ns: f64,
    /// And after it.
    pub latency_after_ns: Estimate,
    /// Requests per second now.
    pub iops_before: f64,
    /// And after it.
    pub iops_after: Estimate,
}

/// The load of an episode, as `predict` asks about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeLoad {
    /// The requests.
    pub mix: Mix,
    /// How much is asked for, as programs ask.
    pub offered: Offered,
    /// What the counters do not exclude beside it.
    pub alternatives: Vec<Offered>,
    /// Requests per second that were counted.
    pub iops: f64,
    /// Time of a request over that of the profiled device, from 1.
    pub slowdown: f64,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The strategy.
    pub strategy: Strategy,
    /// What it changes, as `predict` takes it; null where the models know no such change.
    pub change: Option<Change>,
    /// What to do, in words; a command where there is one.
    pub action: String,
    /// The cause that it answers.
    pub cause: CauseCode,
    /// Name of the check that found it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The episode that it is for.
    pub episode: u32,
    /// What it would change.
    pub effect: Measured<Effect>,
    /// Share of the time per request that it saves (of the latency, or of the time between
    /// completions where the rate is what grows), which ranks advice; null where not predicted.
    pub gain: Option<f64>,
    /// What the prediction assumes.
    pub assumes: String,
    /// What it costs.
    pub cost: String,
    /// How to check that it works.
    pub how_to_check: String,
}

impl Remedy {
    /// The name of the cause in print, as [`Cause::name`].
    #[must_use]
    pub fn cause_name(&self) -> String {
        self.check.clone().unwrap_or_else(|| self.cause.name())
    }
}

/// What is the matter with one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceDiagnosis {
    /// Its name in the observation.
    pub device: String,
    /// Model, where the source tells.
    pub model: Option<String>,
    /// What the machine says of it; null for sources that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<DeviceFacts>,
    /// The profile that it was held against, or why there is none.
    pub profile: Measured<MatchedProfile>,
    /// Observed time.
    pub duration_ns: u64,
    /// Verdicts with their share of the time, the largest first.
    pub shares: Vec<VerdictShare>,
    /// Episodes in order of time.
    pub episodes: Vec<Episode>,
    /// Place of the worst one; null where none is worse than healthy.
    pub worst: Option<u32>,
    /// Share of the reads that a cache of the device serves, estimated from their latency.
    pub hit_share: Measured<Estimate>,
    /// Why the two splits of the latency agree or differ on this device.
    pub splits_compared: String,
    /// False friends and doubts.
    pub notes: Vec<Note>,
    /// What to do, by falling gain; empty where nothing is wrong.
    pub advice: Vec<Remedy>,
    /// Its intervals, or of a long recording 2,000 means over several of them.
    pub series: Vec<Moment>,
}

impl DeviceDiagnosis {
    /// Place of the episode that a page is about: the worst, else the longest with a verdict, else the longest; none of
    /// a device without episodes.
    #[must_use]
    pub fn shown(&self) -> Option<usize> {
        let longest = |judged: bool| {
            let all = self.episodes.iter().enumerate();
            let candidates =
                all.filter(|(_, episode)| !judged || episode.verdict != Verdict::NotEnoughEvidence);
            candidates.max_by_key(|(_, episode)| episode.duration_ns).map(|(index, _)| index)
        };
        let worst = self.worst.map(|index| index as usize);
        worst.or_else(|| longest(true)).or_else(|| longest(false))
    }

    /// That episode.
    #[must_use]
    pub fn shown_episode(&self) -> Option<&Episode> {
        self.episodes.get(self.shown()?)
    }
}

/// What an observation means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// A hash of observation and profiles.
    pub id: String,
    /// That of the observation.
    pub time: Option<String>,
    /// Id of the observation.
    pub observation_id: String,
    /// What it was read from.
    pub source: String,
    /// The machine, where the source says.
    pub host: Option<String>,
    /// One for each device that is not part of another.
    pub devices: Vec<DeviceDiagnosis>,
    /// The way to each path or device, layer by layer, with the causes on it; empty where the source
    /// tells nothing of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathMap>,
    /// Checks that could not be made, so that what they look for stays possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<FactNotRead>,
    /// Devices of the observation that were left out, and why.
    pub left_out: Vec<String>,
    /// Findings of the observation: what its source lacks, resets, broken lines.
    pub findings: Vec<Finding>,
}
