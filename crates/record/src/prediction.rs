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

/// Error of a model over trials that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAccuracy {
    /// The model.
    pub model: ModelName,
    /// Median absolute relative error of the mean latency below 70 % of the maximum rate; null without such
    /// trials.
    pub median_rel: Option<f64>,
    /// The same at 70 % and above.
    pub loaded_median_rel: Option<f64>,
    /// Number of trials behind `median_rel`.
    pub trials: u32,
}

/// A latency objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The mean is at most this, in nanoseconds.
    MeanNs(f64),
    /// The 99th percentile is at most this, in nanoseconds.
    P99Ns(f64),
}

/// The highest rate that meets an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveAnswer {
    /// The objective.
    pub objective: Objective,
    /// The prediction at that rate; null if no rate meets it, or if this is unknown.
    pub at: Option<Prediction>,
    /// Why there is no such rate; null if there is one.
    pub not: Option<String>,
}

/// Prediction from a data sheet. Nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SheetPrediction {
    /// Name of the drive.
    pub name: String,
    /// Mean seek time of the mix.
    pub seek_ns: f64,
    /// Rotational latency: half a revolution, for the share of requests that need one.
    pub rotation_ns: f64,
    /// Transfer time.
    pub transfer_ns: f64,
    /// Time in controller, bus and firmware.
    pub overhead_ns: f64,
    /// Sum of the four: the mean service time.
    pub service_ns: f64,
    /// Maximum rate: 1 / service time.
    pub max_per_s: f64,
    /// Utilization: U = X S.
    pub utilization: f64,
    /// Mean latency by M/M/1.
    pub latency_ns: f64,
    /// Its 99th percentile by M/M/1.
    pub p99_ns: f64,
    /// Highest rate that meets the objective; null without an objective.
    pub highest_per_s: Option<f64>,
}

/// Predictions of all models for one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionDocument {
    /// [`PREDICTION_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The profile; null for a data sheet.
    pub profile_id: Option<String>,
    /// When the profile was measured; null for a simulated one and for a data sheet.
    pub profile_time: Option<String>,
    /// Target of the profile; null for a data sheet.
    pub target: Option<String>,
    /// Bytes of the area that was measured; absent for a data sheet and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_bytes: Option<u64>,
    /// Whether the profile is of a simulated device.
    pub simulated: bool,
    /// The mix.
    pub mix: Mix,
    /// The offered load; null if only an objective was requested.
    pub offered: Option<Offered>,
    /// The recommended model; null for a data sheet.
    pub advised: Option<ModelName>,
    /// The predictions, from the simplest model to the most accurate.
    pub predictions: Vec<Prediction>,
    /// Error of each model on the profile's own open-loop trials that it was not fitted to, best first; empty
    /// if the profile has none.
    pub accuracy: Vec<ModelAccuracy>,
    /// The requested objectives.
    pub objectives: Vec<ObjectiveAnswer>,
    /// Change of the device since the profile, which the predictions follow; null if not requested.
    pub since_profile: Option<SinceProfile>,
    /// Prediction from a data sheet, if requested.
    pub sheet: Option<SheetPrediction>,
    /// Prediction for sessions that commit, if requested instead of requests; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitPrediction>,
    /// The same at lighter and heavier loads of the same kind, lightest first; absent if only an objective
    /// was requested, and in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<PredictedPoint>,
}

/// Prediction at one point of a range of loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedPoint {
    /// Arrivals per second, queue depth, or number of sessions, as requested.
    pub at: f64,
    /// Mean latency of a request, or of a commit for sessions.
    pub latency_ns: Estimate,
    /// 99th percentile; null if the model has too few data for one.
    pub p99_ns: Option<Estimate>,
    /// Requests or commits per second.
    pub per_s: Estimate,
}

/// Change of a device since its profile, measured with some of the profile's own loads. Each ratio is the
/// speed now divided by the speed then: 1.1 means a tenth more requests per second, or latencies that are
/// shorter by that factor. It is the median over the loads of its kind, with the interval of the median; null
/// with fewer than six loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinceProfile {
    /// Rate ratio for random reads at queue depth 1.
    pub qd1_ratio: Option<Estimate>,
    /// Rate ratio for random reads at large queue depths.
    pub reads_ratio: Option<Estimate>,
    /// Rate ratio for random writes at large queue depths.
    pub writes_ratio: Option<Estimate>,
    /// Rate ratio for mixed loads at large queue depths, beyond `reads_ratio` and `writes_ratio`.
    pub mixes_ratio: Option<Estimate>,
    /// Latency ratio (then divided by now) for open loads below saturation, beyond the effect of the changed
    /// maximum rate.
    pub open_ratio: Option<Estimate>,
    /// Smallest ratio that loads of one kind at large queue depths showed at one time; null if none was
    /// tested.
    pub least_deep_ratio: Option<f64>,
    /// The largest such ratio.
    pub most_deep_ratio: Option<f64>,
    /// Ids of the trials.
    pub trial_ids: Vec<String>,
}

/// Prediction of one model for a load, made before the load was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrediction {
    /// The model.
    pub model: ModelName,
    /// Mean latency; null if the model predicts an overload.
    pub latency_ns: Option<f64>,
}

/// One load of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationTrial {
    /// The mix.
    pub mix: Mix,
    /// Arrivals per second, Poisson.
    pub rate_per_s: f64,
    /// Prediction of the recommended model for the device as profiled; null if it had none.
    pub prediction: Option<Prediction>,
    /// Predictions of all models for the device as profiled.
    pub foretold: Vec<ModelPrediction>,
    /// Predictions of all models immediately before each visit, as the mean over visits; empty if not made.
    pub foretold_now: Vec<ModelPrediction>,
    /// Measured mean latencies, one per visit.
    pub measured_ns: Vec<f64>,
    /// Measured 99th percentiles, one per visit with enough requests.
    pub measured_p99_ns: Vec<f64>,
    /// Difference between the first two divided by their mean; null with fewer than two.
    pub repeat_rel: Option<f64>,
    /// Predicted maximum rate of the device as profiled.
    pub max_iops: Estimate,
    /// Predicted maximum rate immediately before each visit, as the mean over visits; null if not made.
    pub max_iops_now: Option<f64>,
    /// Maximum rates measured in a closed loop, one per visit.
    pub measured_max_iops: Vec<f64>,
    /// Ids of the trials.
    pub trial_ids: Vec<String>,
    /// Why visits were excluded, each reason once.
    pub left_out: Vec<String>,
}

impl ValidationTrial {
    /// Mean latency over the valid visits; `None` without any.
    #[must_use]
    pub fn latency_ns(&self) -> Option<f64> {
        mean(&self.measured_ns)
    }

    /// Mean of the maximum rates over the visits; `None` without any.
    #[must_use]
    pub fn largest_per_s(&self) -> Option<f64> {
        mean(&self.measured_max_iops)
    }

    /// A model's last prediction before the visits, for the device at that time if available.
    #[must_use]
    pub fn foretold_ns(&self, model: ModelName) -> Option<f64> {
        let latest = if self.foretold_now.is_empty() { &self.foretold } else { &self.foretold_now };
        latest.iter().find(|one| one.model == model)?.latency_ns
    }

    /// The last predicted maximum rate, for the device at that time if available.
    #[must_use]
    pub fn foretold_per_s(&self) -> f64 {
        self.max_iops_now.unwrap_or(self.max_iops.value)
    }

    /// The rate as a share of the measured maximum, or of the predicted one if that is missing.
    #[must_use]
    pub fn share_of_largest(&self) -> f64 {
        self.rate_per_s / self.largest_per_s().unwrap_or(self.max_iops.value)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Results of a validation, and its goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationSummary {
    /// The model that the profile recommends.
    pub advised: ModelName,
    /// Errors of all models, with the predictions from immediately before a load if made, otherwise as
    /// profiled.
    pub accuracy: Vec<ModelAccuracy>,
    /// Median difference between visits to one load, below 70 % of the maximum rate.
    pub repeat_rel: Option<f64>,
    /// The same at 70 % and above.
    pub loaded_repeat_rel: Option<f64>,
    /// Median absolute relative error of the maximum rate.
    pub max_iops_rel: Option<f64>,
    /// Median difference between visits to one maximum rate.
    pub max_iops_repeat_rel: Option<f64>,
    /// Goal for the error of the recommended model below 70 %.
    pub goal_rel: f64,
    /// Goal for the error of the maximum rate.
    pub max_iops_goal_rel: f64,
    /// Whether both goals are met; null if one is unknown.
    pub reached: Option<bool>,
    /// Results with the device as profiled, if `accuracy` follows the device since then.
    pub as_profiled: Option<AsProfiled>,
    /// Share of the loads whose measured mean is within the predicted interval.
    pub within_interval: Option<f64>,
}

/// Errors of a validation if predictions ignore how the device changed since its profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsProfiled {
    /// Median absolute error of the recommended model below 70 % of the maximum rate.
    pub latency_rel: Option<f64>,
    /// The same for the maximum rate.
    pub max_iops_rel: Option<f64>,
    /// Whether both goals would be met.
    pub reached: Option<bool>,
}

/// A profile compared with loads that are not part of it.
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
    /// Measuring time used.
    pub measured_ns: Nanos,
    /// The loads, in the order in which they were drawn.
    pub trials: Vec<ValidationTrial>,
    /// Change of the device since the profile; null for a simulated target, whose time restarts.
    pub since_profile: Option<SinceProfile>,
    /// Summary of the results.
    pub summary: ValidationSummary,
    /// Findings.
    pub findings: Vec<Finding>,
}
