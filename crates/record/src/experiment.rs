//! The experiment document: a plan of trials, and the trials that were run.
//!
//! The whole plan is saved before the first trial starts. Each trial is saved when it ends, with its position
//! in the plan. After any kind of end, the missing trials are therefore known. The summary (cells, sizes
//! reached, effects) is computed from the plan and the trials. The document includes it, so that a reader
//! does not need halfpower.

use crate::{Advice, Environment, Estimate, Finding, Target, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` value of an experiment.
pub const EXPERIMENT_SCHEMA: &str = "halfpower/experiment/1";

/// One planned trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// Number of its block, from 0. Each block contains every combination once.
    pub block: u32,
    /// Levels of the axes, by name: `bs` = `64k`, `cache` = `device`, ….
    pub levels: BTreeMap<String, String>,
    /// The workload.
    pub workload: Workload,
    /// Seed of the trial.
    pub seed: u64,
    /// How the file is prepared before the trial, for treatments that differ in that: `written`,
    /// `preallocated`, `append`, …; null if the file is used as it is.
    pub preparation: Option<String>,
    /// The targets, as named on the command line, if they differ from those of the experiment (the first of
    /// several, a simulated target with other keys); otherwise empty.
    #[serde(default)]
    pub targets: Vec<String>,
}

/// A completed trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoneTrial {
    /// Its index in [`Experiment::plan`].
    pub position: u32,
    /// Id of its document.
    pub trial_id: String,
    /// Further quantities that the preset measured, such as the time of the final flush, by name, with the
    /// unit at the end.
    pub extras: BTreeMap<String, f64>,
}

/// All trials of one combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentCell {
    /// Levels of the axes.
    pub levels: BTreeMap<String, String>,
    /// Number of valid trials, one per block.
    pub trials: u32,
    /// Requests per second: the mean over blocks, with an interval from the variance between blocks. With one
    /// block, the interval is that within the trial, if known.
    pub iops: Estimate,
    /// Bytes per second, computed likewise.
    pub bytes_per_s: Estimate,
    /// Mean latency, computed likewise.
    pub latency_ns: Estimate,
    /// CPU time per request (the lower bound), computed likewise; null if not measured.
    pub cpu_us_per_io: Option<Estimate>,
    /// Largest minus smallest rate of the blocks, divided by their mean; null with one block.
    pub spread_rel: Option<f64>,
    /// Further quantities that the preset measured, by name, with the unit at the end.
    pub extras: BTreeMap<String, Estimate>,
}

/// The smallest request sizes that reach a share of the maximum throughput, at one queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReachedSizes {
    /// Levels of all axes except the request size.
    pub levels: BTreeMap<String, String>,
    /// Maximum throughput at any size and depth with otherwise equal levels. It replaces the advertised peak
    /// if that is unknown.
    pub maximum_bytes_per_s: f64,
    /// The half-power point: the smallest size from which all sizes reach half of the maximum; null if the
    /// largest size does not.
    pub half_bytes: Option<u64>,
    /// The same for 95 % of the maximum.
    pub most_bytes: Option<u64>,
}

/// The quantity in which two levels are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectMeasure {
    /// Bytes per second.
    Throughput,
    /// Mean latency.
    Latency,
    /// CPU time per request (the lower bound).
    Cpu,
    /// Bytes per second, including the time of the flush that makes them durable. That time is zero if each
    /// write was already durable. Not measured for writes that nothing makes durable.
    Flushed,
}

crate::words! { EffectMeasure:
    Throughput = "throughput",
    Latency = "latency",
    Cpu = "cpu",
    Flushed = "flushed",
}

/// Effect of one level of an axis compared with another, with all other levels equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentEffect {
    /// The axis.
    pub axis: String,
    /// The level that is compared.
    pub level: String,
    /// The level that it is compared with.
    pub base: String,
    /// Levels of other axes, if the effect is computed separately for them.
    pub within: BTreeMap<String, String>,
    /// The quantity that is compared.
    pub measure: EffectMeasure,
    /// Value at the level divided by the value at the base: the geometric mean over the combinations that
    /// have both. The interval is from the variance between blocks; with one block there is none.
    pub ratio: Estimate,
    /// Number of combinations that have both.
    pub combinations: u32,
    /// Whether the effect is established: the interval excludes 1 and the change is above 3 %. Null with
    /// fewer than three blocks, which are inconclusive.
    pub found: Option<bool>,
}

/// A set of trials planned together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target, the hash of design, target and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of order and requests.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// Name of the preset or of the design file.
    pub design: String,
    /// The design as text (TOML), from which it can be repeated.
    pub design_text: String,
    /// The user's note; empty without one.
    pub note: String,
    /// The targets.
    pub targets: Vec<Target>,
    /// Conditions; null for a simulated target, or if several machines ran the load.
    pub environment: Option<Environment>,
    /// Names of the machines that ran the load together; absent for one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Names of the axes, in the order of the design.
    pub axes: Vec<String>,
    /// All trials, in the order in which they are run.
    pub plan: Vec<PlannedTrial>,
    /// The trials that were run. In the store, each trial has its position; this list is filled when it is
    /// read.
    pub done: Vec<DoneTrial>,
    /// Results, one per combination, in the order of the design.
    #[serde(default)]
    pub cells: Vec<ExperimentCell>,
    /// Half-power and 95 % points, if the design has an axis of request sizes.
    #[serde(default)]
    pub reached: Vec<ReachedSizes>,
    /// The effects that the design requests.
    #[serde(default)]
    pub effects: Vec<ExperimentEffect>,
    /// Recommended levels, as far as the effects show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// Findings on machine and targets before the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup_findings: Vec<Finding>,
    /// Findings, including those of the setup.
    pub findings: Vec<Finding>,
}
