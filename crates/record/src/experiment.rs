//! The experiment document: a plan of trials, and which of them were run.
//!
//! The plan is kept in full before the first trial starts. Each trial is kept as it ends, with its
//! place in the plan, so that after any kind of end the missing ones are those without a trial.
//! What the trials come to together (cells, sizes reached, effects) is a function of plan and
//! trials, and stands in the document so that whoever reads it needs no program of ours.

use crate::{Advice, Environment, Estimate, Finding, Target, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` value of an experiment.
pub const EXPERIMENT_SCHEMA: &str = "halfpower/experiment/1";

/// One trial that is to be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// The block that it belongs to, from 0. Each block holds every combination once.
    pub block: u32,
    /// What its axes are set to, by name: `bs` = `64k`, `cache` = `device`, ….
    pub levels: BTreeMap<String, String>,
    /// What is asked of the target.
    pub workload: Workload,
    /// Its seed.
    pub seed: u64,
    /// What is done with the file before the trial, for arms that differ in that: `written`,
    /// `preallocated`, `append`, ….; null where it is used as it is.
    pub preparation: Option<String>,
    /// The targets as they are named on the command line, where they differ from those of the
    /// experiment (the first of several, a simulated one with other keys); else empty.
    #[serde(default)]
    pub targets: Vec<String>,
}

/// A trial that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoneTrial {
    /// Its place in [`Experiment::plan`].
    pub position: u32,
    /// Id of its document.
    pub trial_id: String,
    /// Quantities that the preset measured beside those of the trial document (seconds of the final
    /// flush, dirty pages at most), by name with its unit last.
    pub extras: BTreeMap<String, f64>,
}

/// All trials of one combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentCell {
    /// What the axes are set to.
    pub levels: BTreeMap<String, String>,
    /// Trials, one per block; those that were not valid are left out.
    pub trials: u32,
    /// Requests per second: mean over blocks, interval from the variance between them. With one
    /// block that within the trial, if it is known.
    pub iops: Estimate,
    /// Bytes per second, likewise.
    pub bytes_per_s: Estimate,
    /// Mean latency, likewise.
    pub latency_ns: Estimate,
    /// CPU time per request (the lower bound), likewise; null where not measured.
    pub cpu_us_per_io: Option<Estimate>,
    /// Largest less smallest rate of the blocks, over their mean; null with one block.
    pub spread_rel: Option<f64>,
    /// What the preset measured beside, by name with its unit last.
    pub extras: BTreeMap<String, Estimate>,
}

/// The smallest request sizes that reach a share of the largest throughput, at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReachedSizes {
    /// What all axes but the request size are set to.
    pub levels: BTreeMap<String, String>,
    /// Largest throughput at any size and depth with otherwise the same levels: it stands for the
    /// advertised peak where none is known.
    pub maximum_bytes_per_s: f64,
    /// The smallest size from which on all reach half of it: the half-power point; null where the
    /// largest does not.
    pub half_bytes: Option<u64>,
    /// The same for 95 % of it.
    pub most_bytes: Option<u64>,
}

/// What is compared of two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectMeasure {
    /// Bytes per second.
    Throughput,
    /// Mean latency.
    Latency,
    /// CPU time per request (the lower bound).
    Cpu,
    /// Bytes per second with the time of the flush that makes them durable, which is none where each
    /// write already was. Of writes that nothing makes durable it is not measured.
    Flushed,
}

impl EffectMeasure {
    /// The word of a design.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Cpu => "cpu",
            Self::Flushed => "flushed",
        }
    }
}

/// What one level of an axis does against another, all else equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentEffect {
    /// The axis.
    pub axis: String,
    /// The level that is compared.
    pub level: String,
    /// The level that it is compared with.
    pub base: String,
    /// What other axes are set to, where the effect is told apart by them.
    pub within: BTreeMap<String, String>,
    /// What is compared.
    pub measure: EffectMeasure,
    /// That of the level over that of the base: geometric mean over the combinations that have
    /// both, interval from the variance between blocks. With one block no interval.
    pub ratio: Estimate,
    /// Combinations that have both.
    pub combinations: u32,
    /// Whether the blocks tell it from none: the interval excludes 1 and the change is above 3 %.
    /// Null with less than three blocks, which cannot tell.
    pub found: Option<bool>,
}

/// A set of trials planned together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target the hash of design, target and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of order and requests.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// Name of the preset, or of the file.
    pub design: String,
    /// The design as text (TOML), with which it can be repeated.
    pub design_text: String,
    /// The note given with it; empty without.
    pub note: String,
    /// The targets.
    pub targets: Vec<Target>,
    /// Conditions; null for a simulated target, and where several machines made it.
    pub environment: Option<Environment>,
    /// The machines that made the load together, by name; absent where one did alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Names of the axes, in the order of the design.
    pub axes: Vec<String>,
    /// All trials, in the order in which they are run.
    pub plan: Vec<PlannedTrial>,
    /// Those that were run. In the store the trials know their place; this is filled when it is read.
    pub done: Vec<DoneTrial>,
    /// What the trials come to, a combination each, in the order of the design.
    #[serde(default)]
    pub cells: Vec<ExperimentCell>,
    /// Half-power and 95 % points, where the design has an axis of request sizes.
    #[serde(default)]
    pub reached: Vec<ReachedSizes>,
    /// The effects that the design asks about.
    #[serde(default)]
    pub effects: Vec<ExperimentEffect>,
    /// What to use, as far as the effects tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// What was found of machine and targets before the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup_findings: Vec<Finding>,
    /// Conclusions, with those of the setup.
    pub findings: Vec<Finding>,
}
