//! The documents of `predict` and of `show validate`.

use crate::{
    CommitPrediction, Environment, Estimate, Finding, Mix, ModelName, Nanos, Offered, Prediction,
    Target,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a prediction.
pub const PREDICTION_SCHEMA: &str = "halfpower/prediction/1";
/// The `schema` value of a validation.
pub const VALIDATION_SCHEMA: &str = "halfpower/validation/1";

/// The error of a model over trials that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAccuracy {
    /// The model.
    pub model: ModelName,
    /// Median of the absolute relative errors of the mean latency below 70 % of the largest
    /// rate; null without such trials.
    pub median_rel: Option<f64>,
    /// The same at and above it.
    pub loaded_median_rel: Option<f64>,
    /// Trials behind the first.
    pub trials: u32,
}

/// A target for latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The mean is at most this.
    MeanNs(f64),
    /// The 99th percentile is at most this.
    P99Ns(f64),
}

/// The highest rate that keeps an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveAnswer {
    /// The objective.
    pub objective: Objective,
    /// What is predicted at that rate; null where none keeps it, or none can be told.
    pub at: Option<Prediction>,
    /// Why not; null where there is one.
    pub not: Option<String>,
}

/// What a data sheet says of a load. Nothing of it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SheetPrediction {
    /// Name of the drive.
    pub name: String,
    /// Mean seek of the mix.
    pub seek_ns: f64,
    /// Half a revolution, as far as the mix needs one.
    pub rotation_ns: f64,
    /// Transfer.
    pub transfer_ns: f64,
    /// Controller, bus and firmware.
    pub overhead_ns: f64,
    /// Their sum: the mean service time.
    pub service_ns: f64,
    /// 1 / service time.
    pub max_per_s: f64,
    /// U = X S.
    pub utilization: f64,
    /// Mean latency by M/M/1.
    pub latency_ns: f64,
    /// Its 99th percentile by M/M/1.
    pub p99_ns: f64,
    /// Highest rate that keeps the objective; null without one.
    pub highest_per_s: Option<f64>,
}

/// What a load would see, by all models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionDocument {
    /// [`PREDICTION_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The profile; null for a data sheet.
    pub profile_id: Option<String>,
    /// When that was measured; null for a simulated one and for a data sheet.
    pub profile_time: Option<String>,
    /// What was measured; null for a data sheet.
    pub target: Option<String>,
    /// Bytes of the area that was measured; absent for a data sheet and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_bytes: Option<u64>,
    /// Whether the profile is that of a simulated device.
    pub simulated: bool,
    /// The mix.
    pub mix: Mix,
    /// What is offered; null where only an objective was asked about.
    pub offered: Option<Offered>,
    /// The model to go by; null for a data sheet.
    pub advised: Option<ModelName>,
    /// What the models say, from simple to good.
    pub predictions: Vec<Prediction>,
    /// How far each lies from the profile's own open-loop trials, each of which it was not fitted
    /// to; the best first, empty where the profile has none.
    pub accuracy: Vec<ModelAccuracy>,
    /// The objectives asked about.
    pub objectives: Vec<ObjectiveAnswer>,
    /// How the device does now, which the predictions follow; null where that was not asked for.
    pub since_profile: Option<SinceProfile>,
    /// The data sheet's answer, where one was asked.
    pub sheet: Option<SheetPrediction>,
    /// What sessions that commit would see, where that was asked instead of requests; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitPrediction>,
    /// The same at lighter and heavier loads of the same kind, the lightest first; absent where only an
    /// objective was asked about and in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<PredictedPoint>,
}

/// What is predicted at one place of a range of loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedPoint {
    /// Arrivals per second, requests outstanding, or sessions: what was asked about.
    pub at: f64,
    /// Mean latency of a request; of sessions that of a commit.
    pub latency_ns: Estimate,
    /// 99th percentile; null where the model has no ground for one.
    pub p99_ns: Option<Estimate>,
    /// Requests, or commits, per second.
    pub per_s: Estimate,
}

/// How far a device has moved since it was profiled, by some of the profile's own loads, run again.
/// Each ratio says how fast it is now over then: 1.1 is a tenth more requests per second, or that
/// more times quicker. It is the median over the loads of its kind with the interval of that; null
/// with fewer than six of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinceProfile {
    /// Of loops of one random read at a time, by their rates.
    pub qd1_ratio: Option<Estimate>,
    /// Of deep loops of random reads, by their rates.
    pub reads_ratio: Option<Estimate>,
    /// Of deep loops of random writes, by their rates.
    pub writes_ratio: Option<Estimate>,
    /// Of deep mixed loops, by their rates, beyond `reads_ratio` and `writes_ratio`.
    pub mixes_ratio: Option<Estimate>,
    /// Of open loads that leave the device room, by their latencies (then over now), beyond
    /// what the same rate is another share of now.
    pub open_ratio: Option<Estimate>,
    /// Least ratio that deep loops of a kind showed at a moment; null where none was looked at.
    pub least_deep_ratio: Option<f64>,
    /// See above.
    pub most_deep_ratio: Option<f64>,
    /// The trials.
    pub trial_ids: Vec<String>,
}

/// What one model said of a load before it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrediction {
    /// The model.
    pub model: ModelName,
    /// Mean latency; null where it says that the load is too much.
    pub latency_ns: Option<f64>,
}

/// One load of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationTrial {
    /// The mix.
    pub mix: Mix,
    /// Arrivals per second, Poisson.
    pub rate_per_s: f64,
    /// What the advised model said of the device as profiled; null where it had no answer.
    pub prediction: Option<Prediction>,
    /// What all models said of that.
    pub foretold: Vec<ModelPrediction>,
    /// Mean over visits of what all models said right before each; empty where not measured.
    pub foretold_now: Vec<ModelPrediction>,
    /// Mean latencies measured, one per visit.
    pub measured_ns: Vec<f64>,
    /// 99th percentiles measured, one per visit with enough requests.
    pub measured_p99_ns: Vec<f64>,
    /// Distance of the first two over their mean; null with fewer.
    pub repeat_rel: Option<f64>,
    /// Largest rate predicted of the device as profiled.
    pub max_iops: Estimate,
    /// Mean over visits of the same right before each; null where that was not measured.
    pub max_iops_now: Option<f64>,
    /// Largest rates measured in a closed loop, one per visit.
    pub measured_max_iops: Vec<f64>,
    /// The trials.
    pub trial_ids: Vec<String>,
    /// Why visits do not count, each once.
    pub left_out: Vec<String>,
}

impl ValidationTrial {
    /// Mean latency over the visits; `None` without one that counts.
    #[must_use]
    pub fn latency_ns(&self) -> Option<f64> {
        mean(&self.measured_ns)
    }

    /// Largest rate over the visits, likewise.
    #[must_use]
    pub fn largest_per_s(&self) -> Option<f64> {
        mean(&self.measured_max_iops)
    }

    /// What a model said last before the visits, of the device as it then was if that is known.
    #[must_use]
    pub fn foretold_ns(&self, model: ModelName) -> Option<f64> {
        let latest = if self.foretold_now.is_empty() { &self.foretold } else { &self.foretold_now };
        latest.iter().find(|one| one.model == model)?.latency_ns
    }

    /// The largest rate predicted, likewise.
    #[must_use]
    pub fn foretold_per_s(&self) -> f64 {
        self.max_iops_now.unwrap_or(self.max_iops.value)
    }

    /// The rate as a share of the largest one that was measured, else of the predicted one.
    #[must_use]
    pub fn share_of_largest(&self) -> f64 {
        self.rate_per_s / self.largest_per_s().unwrap_or(self.max_iops.value)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What a validation comes to, and what was to be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationSummary {
    /// The model that the profile advises.
    pub advised: ModelName,
    /// Errors of all models, of the device right before a load where measured, else as profiled.
    pub accuracy: Vec<ModelAccuracy>,
    /// Median of what visits to one load differ by, below 70 % of the largest rate.
    pub repeat_rel: Option<f64>,
    /// The same at and above it.
    pub loaded_repeat_rel: Option<f64>,
    /// Median absolute error of the largest rate, likewise.
    pub max_iops_rel: Option<f64>,
    /// Median of what visits to one largest rate differ by.
    pub max_iops_repeat_rel: Option<f64>,
    /// Goal for the advised model below 70 %.
    pub goal_rel: f64,
    /// Goal for the largest rate.
    pub max_iops_goal_rel: f64,
    /// Whether both are reached; null where one could not be told.
    pub reached: Option<bool>,
    /// What it comes to with the device as profiled, where `accuracy` follows the device since.
    pub as_profiled: Option<AsProfiled>,
    /// Share of the loads whose measured mean lies within the predicted interval.
    pub within_interval: Option<f64>,
}

/// A validation's errors where predictions do not follow what the device did since it was profiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsProfiled {
    /// Median absolute error of the advised model below 70 % of the largest rate.
    pub latency_rel: Option<f64>,
    /// The same of the largest rate.
    pub max_iops_rel: Option<f64>,
    /// Whether both goals would be reached.
    pub reached: Option<bool>,
}

/// A profile held against loads that are no part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// [`VALIDATION_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target the hash of profile and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of the loads and of their requests.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// The profile.
    pub profile_id: String,
    /// The target.
    pub target: Target,
    /// Conditions; null for a simulated target.
    pub environment: Option<Environment>,
    /// Measuring time that was used.
    pub measured_ns: Nanos,
    /// The loads, in the order in which they were drawn.
    pub trials: Vec<ValidationTrial>,
    /// How far the device itself has moved; null on a simulated target, whose time begins anew.
    pub since_profile: Option<SinceProfile>,
    /// What it comes to.
    pub summary: ValidationSummary,
    /// Conclusions.
    pub findings: Vec<Finding>,
}
