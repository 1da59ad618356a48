//! The diagnosis document: what the counters of an observation mean, compared with profiles.
//!
//! A diagnosis is computed from an observation and from profiles. It has no time of its own, and its id is a
//! hash of its inputs: computed again years later, it is the same. It includes the numbers of each interval,
//! so that a reader who doubts a conclusion can see the moments that support it. It also includes both ways
//! to split a latency (Friedman's and the calibrated one), which can only be judged side by side. If the
//! evidence leaves a conclusion open, the diagnosis lists the alternatives. There is no score that picks one
//! of them silently.

use crate::{
    Calibrated, CauseCode, ComparedCondition, Confidence, DeviceFacts, Doubt, EpisodeLoad,
    Estimate, Evidence, FactNotRead, Finding, IoGroup, LayerKind, Measured, Misleading, Note,
    Numbers, OpKind, PathLayer, PathMap, Remedy, Tail, UtilizationLaw, Verdict, counted,
    hex_digest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a diagnosis.
pub const DIAGNOSIS_SCHEMA: &str = "halfpower/diagnosis/1";

/// How a profile was matched to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// Model and serial number.
    Serial,
    /// Model and size, if there is no serial number.
    ModelAndSize,
    /// The simulated device is the same.
    Simulated,
    /// The model alone: the profile was measured on another device of this model.
    Model,
    /// The device name alone, which another disk may have after a reboot.
    Name,
    /// The user chose the profile, and no known fact confirms or contradicts it.
    Choice,
}

/// The profile that a device is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedProfile {
    /// Its id.
    pub profile_id: String,
    /// Target of the profile.
    pub target: String,
    /// When the profile was measured, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// How it was matched to this device.
    pub by: MatchedBy,
    /// Why the match may be wrong; null if nothing speaks against it.
    pub doubt: Option<String>,
    /// Why its measurement is invalid; absent if it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Conditions that have changed: first as profiled, then as observed. Only conditions that both sides
    /// report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<ComparedCondition>,
}

/// One interval of a device, or several consecutive ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When it began, on the observation's clock.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Index of its episode in [`DeviceDiagnosis::episodes`].
    pub episode: u32,
    /// The counters.
    pub numbers: Numbers,
    /// Friedman's split; null without requests or without a busy counter.
    pub utilization_law: Option<UtilizationLaw>,
    /// The calibrated split; null without requests or without a matching profile.
    pub calibrated: Option<Box<Calibrated>>,
    /// What other tools would print.
    pub misleading: Misleading,
}

/// How busy a device is in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Almost no requests.
    Idle,
    /// Less than half of what the device can do, or, without a profile, of its busiest interval.
    Quiet,
    /// More than that.
    Busy,
}

/// A hypothesis of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HypothesisName {
    /// What it claims, in a few words.
    pub name: String,
    /// The layer of the path that it concerns; null for a hypothesis that is not in the list.
    pub layer: Option<LayerKind>,
}

impl HypothesisName {
    /// The hypothesis that the recording itself, and not the load, has too few data for a verdict.
    pub const TOO_FEW_DATA: &str = "too few data";
    /// What to do about it. The verdict's claim names the gap.
    pub const RECORD_AGAIN: &str =
        "Record again: for longer, with the missing counters, or with a finer resolution.";
}

/// Source of the expected latency, best first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// A profile of this device.
    Profile,
    /// A profile of another device of the same model.
    Model,
    /// Earlier recordings of this device.
    Past,
    /// Other devices of its kind at the same time.
    Peers,
    /// Requests at queue depth 1 in the observation itself, and what is typical for a device of its kind.
    Observation,
    /// Only what is typical for a device of its kind.
    Class,
}

/// What a verdict is measured against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Its source.
    pub rung: Rung,
    /// A sentence that describes it.
    pub says: String,
    /// Why no better baseline is available, and what one would add; absent for the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<String>,
}

/// Whether the device serves all the I/O that programs request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// It was checked: no program waits for more than the device serves.
    Met,
    /// A program waits for I/O that the device does not serve or has not received.
    Unmet,
    /// The source does not show this.
    #[default]
    Unknown,
}

/// Another explanation that the evidence does not exclude.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// The verdict that it implies.
    pub verdict: Verdict,
    /// The hypothesis that supports it most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<HypothesisName>,
    /// Why it stays possible. If there are several reasons, the first one.
    pub doubt: Doubt,
    /// Its probability, 0 to 1, among the verdict and all alternatives.
    pub probability: f64,
    /// A sentence that explains it.
    pub because: String,
    /// What would decide between it and the verdict.
    pub decided_by: String,
}

/// A verdict that the numbers rule out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excluded {
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers that rule it out, in one or more sentences.
    pub because: String,
}

/// A cause that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Code of the cause.
    pub code: CauseCode,
    /// Name of the check that found it, for [`CauseCode::SystemFact`]; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The cause in one sentence.
    pub claim: String,
    /// The numbers that support it.
    pub evidence: Vec<Evidence>,
    /// Since when, RFC 3339 in UTC, if the source reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Cause {
    /// A cause found by the rules of the diagnosis, not by a system check.
    #[must_use]
    pub fn of(code: CauseCode, claim: String, evidence: Vec<Evidence>) -> Self {
        Self { code, check: None, claim, evidence, since: None }
    }

    /// Its printed name: that of the check that found it, otherwise that of its code.
    #[must_use]
    pub fn name(&self) -> String {
        self.check.clone().unwrap_or_else(|| self.code.name())
    }
}

/// A period in which the load on a device stays similar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// When it began, on the observation's clock.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Number of intervals of the observation in it.
    pub intervals: u32,
    /// Its share of the device's observed time, 0 to 1.
    pub share_of_time: f64,
    /// How busy the device was.
    pub activity: Activity,
    /// The verdict.
    pub verdict: Verdict,
    /// How certain the verdict is: certain from a probability of 0.995, almost certain from 0.95, likely from
    /// 0.7.
    pub confidence: Confidence,
    /// Probability of the verdict, 0 to 1: its share among randomly drawn scenarios in which the evidence
    /// leaves the same alternatives open.
    pub probability: f64,
    /// The hypothesis that supports it most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<HypothesisName>,
    /// The verdict in a sentence, with its numbers.
    pub claim: String,
    /// The numbers that support it.
    pub evidence: Vec<Evidence>,
    /// Other verdicts that the evidence allows.
    pub alternatives: Vec<Alternative>,
    /// Verdicts that it rules out. A verdict in neither list could not be tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
    /// The causes that were found.
    pub causes: Vec<Cause>,
    /// Verdicts for reads and writes separately; empty if only one of them occurred, or no profile covers
    /// both.
    pub operations: Vec<OperationVerdict>,
    /// Its slowest requests; null without a tracer, with too few requests, or if the profile has no similar
    /// load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The counters.
    pub numbers: Numbers,
    /// Half-width of the 95 % interval of the latency as a share of it, from the variation within the
    /// episode; null with too few intervals.
    pub response_ci95_rel: Option<f64>,
    /// Friedman's split.
    pub utilization_law: Option<UtilizationLaw>,
    /// The calibrated split.
    pub calibrated: Option<Calibrated>,
    /// What other tools would print.
    pub misleading: Misleading,
    /// Who used the device, the busiest first; empty if the source does not count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<IoGroup>,
    /// What the profile did not measure, so that the expected value is an extrapolation.
    pub extrapolated: Vec<String>,
    /// What the verdict is compared with; null without an expected value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Whether the device serves all the I/O that programs request.
    #[serde(default)]
    pub demand: Demand,
    /// The load that advice refers to; null without a matching profile.
    pub load: Option<EpisodeLoad>,
}

impl Episode {
    /// Minimum probability at which an alternative is listed next to the verdict where space is short.
    const NEAR: f64 = 0.1;
    /// Minimum probability at which an alternative is printed at all.
    const TOLD: f64 = 0.01;
    /// An alternative explains the evidence as well as the verdict from this share of the verdict's
    /// probability.
    const AS_GOOD: f64 = 0.4;

    /// Probability that the device is slow, overloaded or capped, 0 to 1.
    #[must_use]
    pub fn trouble_probability(&self) -> f64 {
        let others = self.alternatives.iter().map(|other| (other.verdict, other.probability));
        let all = others.chain([(self.verdict, self.probability)]);
        all.filter(|(verdict, _)| verdict.is_trouble()).map(|(_, probability)| probability).sum()
    }

    /// Whether the device is more probably slow, overloaded or capped than not: by the verdict, or by all
    /// alternatives to it together.
    #[must_use]
    pub fn is_likely_trouble(&self) -> bool {
        self.verdict.is_trouble() || self.verdict.is_fine() && self.trouble_probability() > 0.5
    }

    /// Whether the device is fine by the verdict, but slow, overloaded or capped by alternatives that explain the
    /// evidence as well.
    #[must_use]
    pub fn may_be_trouble(&self) -> bool {
        let named = || self.as_good().any(|other| other.verdict.is_trouble());
        self.verdict.is_fine() && (self.is_likely_trouble() || named())
    }

    /// Alternatives that explain the evidence about as well as the verdict does.
    pub fn as_good(&self) -> impl Iterator<Item = &Alternative> {
        let least = Self::AS_GOOD * self.probability;
        self.alternatives.iter().filter(move |other| other.probability >= least)
    }

    /// Alternatives that a page shows. Less probable ones are only in the document.
    pub fn told(&self) -> impl Iterator<Item = &Alternative> {
        self.alternatives.iter().filter(|other| other.probability >= Self::TOLD)
    }

    /// Alternatives that explain the evidence less well than the verdict, but are too probable for the small
    /// print.
    pub fn near(&self) -> impl Iterator<Item = &Alternative> {
        let most = Self::AS_GOOD * self.probability;
        let near = move |probability: f64| (Self::NEAR..most).contains(&probability);
        self.alternatives.iter().filter(move |other| near(other.probability))
    }
}

/// The verdict on one operation of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationVerdict {
    /// The operation.
    pub op: OpKind,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Requests per second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
    /// Its mean latency in nanoseconds that the profile predicts, next to the other operation; without a profile,
    /// the most probable one.
    pub expected_ns: f64,
    /// Whether its rate or throughput was the same in every interval.
    pub constant: bool,
}

/// Share of the time with one verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictShare {
    /// The verdict.
    pub verdict: Verdict,
    /// Share of the observed time, 0 to 1.
    pub share_of_time: f64,
}

/// The diagnosis of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceDiagnosis {
    /// Its name in the observation.
    pub device: String,
    /// The named device whose requests it serves; absent if the user named this device, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<String>,
    /// Model, if the source reports it.
    pub model: Option<String>,
    /// What the machine reports about it; null for sources that do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<DeviceFacts>,
    /// The profile that it was compared with, or why there is none.
    pub profile: Measured<MatchedProfile>,
    /// Why the newest profile of this device is not used, and what to do; absent if it is, or if none exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_profile: Option<String>,
    /// Observed time.
    pub duration_ns: u64,
    /// Verdicts with their share of the time, the largest first.
    pub shares: Vec<VerdictShare>,
    /// Episodes in order of time.
    pub episodes: Vec<Episode>,
    /// Index of the worst episode; null if each is more probably healthy than not.
    pub worst: Option<u32>,
    /// Share of the reads that a cache of the device serves, estimated from their latency.
    pub hit_share: Measured<Estimate>,
    /// Why the two splits of the latency agree or differ on this device.
    pub splits_compared: String,
    /// Misleading conditions and doubts.
    pub notes: Vec<Note>,
    /// Advice, largest gain first; empty if nothing is wrong.
    pub advice: Vec<Remedy>,
    /// Its intervals. A long recording has 2,000 means over several intervals.
    pub series: Vec<Moment>,
}

impl DeviceDiagnosis {
    /// Index of the episode that a page shows: the worst, otherwise the longest with a verdict, otherwise the
    /// longest. `None` for a device without episodes.
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

    /// The episode at that index.
    #[must_use]
    pub fn shown_episode(&self) -> Option<&Episode> {
        self.episodes.get(self.shown()?)
    }

    /// Whether a remedy is for the shown episode.
    #[must_use]
    pub fn is_for_shown(&self, remedy: &Remedy) -> bool {
        self.shown() == Some(remedy.episode as usize)
    }

    /// The advice as it is printed: the remedies for the shown episode first, otherwise in the order of
    /// [`Self::advice`].
    #[must_use]
    pub fn remedies(&self) -> Vec<&Remedy> {
        let (shown, others): (Vec<_>, Vec<_>) =
            self.advice.iter().partition(|remedy| self.is_for_shown(remedy));
        [shown, others].concat()
    }

    /// The remedy to print if only one is: the first for the shown episode, otherwise the first of all.
    #[must_use]
    pub fn first_remedy(&self) -> Option<&Remedy> {
        let mut all = self.advice.iter();
        all.find(|remedy| self.is_for_shown(remedy)).or_else(|| self.advice.first())
    }
}

/// The diagnosis of an observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Hash of the observation and the profiles.
    pub id: String,
    /// Time of the observation.
    pub time: Option<String>,
    /// Id of the observation.
    pub observation_id: String,
    /// Source of the observation.
    pub source: String,
    /// Host name, if the source reports it.
    pub host: Option<String>,
    /// One per device that is not part of another.
    pub devices: Vec<DeviceDiagnosis>,
    /// The I/O path to each target or device, layer by layer, with the causes on it; empty if the source does
    /// not report the path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathMap>,
    /// Checks that could not be made. What they look for remains possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<FactNotRead>,
    /// Devices of the observation that were excluded, and why.
    pub left_out: Vec<String>,
    /// Findings on the observation: missing figures, counter resets, damaged lines.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Keeps only these devices, as if only they had been observed. Others were peers.
    pub fn keep_only(&mut self, names: &[String]) {
        let before = self.devices.len();
        self.devices.retain(|device| names.contains(&device.device));
        let on_layer = |layer: &PathLayer| layer.devices.iter().any(|name| names.contains(name));
        self.paths.retain(|path| path.layers.iter().any(on_layer));
        let others = before - self.devices.len();
        let counted = counted(others as f64, "other device");
        self.left_out.extend((others > 0).then(|| format!("{counted} of the recording")));
        self.id = hex_digest(&format!("{} of {}", self.id, names.join(" ")));
    }
}
