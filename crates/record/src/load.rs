//! Loads as models describe them, and the predictions for them.
//!
//! A [`crate::Workload`] specifies exactly which requests are issued. An observed, planned or predicted load
//! is known only by its shares and its rate, and it may not be possible to issue it.

use crate::{Estimate, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where the requests of a class go, as far as models distinguish.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// Each request follows the previous one.
    Sequential,
    /// Any position.
    Random,
    /// Served by a cache in the device.
    Hit,
}

crate::words! { Locality: Sequential = "sequential", Random = "random", Hit = "cached" }

/// Requests of one kind within a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixClass {
    /// Operation.
    pub op: OpKind,
    /// Where they go.
    pub locality: Locality,
    /// Bytes per request.
    pub bytes: u64,
    /// Share of all requests, more than 0; the shares of a mix add up to 1.
    pub share: f64,
}

/// A mix of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mix {
    /// Its classes.
    pub classes: Vec<MixClass>,
}

impl Mix {
    /// A mix of requests of one kind and size.
    #[must_use]
    pub fn one(op: OpKind, locality: Locality, bytes: u64) -> Self {
        Self { classes: vec![MixClass { op, locality, bytes, share: 1.0 }] }
    }

    /// Share of the requests for which `of` is true, 0 to 1.
    pub fn share(&self, of: impl Fn(&MixClass) -> bool) -> f64 {
        self.classes.iter().filter(|class| of(class)).map(|class| class.share).sum()
    }

    /// Share of reads.
    #[must_use]
    pub fn reads(&self) -> f64 {
        self.share(|class| class.op == OpKind::Read)
    }

    /// Mean bytes of a request.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.classes.iter().map(|class| class.share * class.bytes as f64).sum()
    }

    /// Its requests of one direction, as a mix; `None` without any.
    #[must_use]
    pub fn of(&self, op: OpKind) -> Option<Self> {
        let all = self.share(|class| class.op == op);
        let own = self.classes.iter().filter(|class| class.op == op);
        let classes = own.map(|class| MixClass { share: class.share / all, ..*class }).collect();
        (all > 0.0).then_some(Self { classes })
    }

    /// The request sizes, by rising size.
    #[must_use]
    pub fn sizes(&self) -> BTreeSet<u64> {
        self.classes.iter().map(|class| class.bytes).collect()
    }
}

/// The offered load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// Requests per second from many independent users (Poisson).
    PoissonPerS(f64),
    /// Requests per second at equal intervals.
    ConstantPerS(f64),
    /// A constant queue depth, at least 1.
    Depth(f64),
}

impl Offered {
    /// Whether requests arrive independently of completions.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Depth(_))
    }
}

/// The models, from simple to accurate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelName {
    /// Only `U = X S`, with the service time at saturation: no queue.
    UtilizationLaw,
    /// One server with exponential service times.
    Mm1,
    /// One server with the measured variance of service times.
    Mg1,
    /// Service rate by queue depth from the measured curves, weighted by the mix.
    LoadDependent,
    /// The same, plus the interference in mixed trials and the variance of service times.
    MixCapacity,
    /// The same, plus a correction from the profile's open-loop trials.
    Calibrated,
}

crate::words! { ModelName:
    UtilizationLaw = "utilization law",
    Mm1 = "M/M/1",
    Mg1 = "M/G/1",
    LoadDependent = "load-dependent",
    MixCapacity = "mix capacity",
    Calibrated = "calibrated",
}

/// Predicted performance of a mix at a rate or queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The model.
    pub model: ModelName,
    /// The mix.
    pub mix: Mix,
    /// The offered load.
    pub offered: Offered,
    /// Mean latency of all requests.
    pub latency_ns: Estimate,
    /// Mean latency of reads; null without reads, or if the model does not predict it.
    pub read_latency_ns: Option<Estimate>,
    /// Mean latency of writes; null without writes, or if the model does not predict it.
    pub write_latency_ns: Option<Estimate>,
    /// Mean latency at queue depth 1.
    pub unloaded_latency_ns: Estimate,
    /// Part of the latency that occurs because requests find the device idle; absent if the profile has no
    /// single reads with pauses, and if the device is not idle between requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_rest_ns: Option<Estimate>,
    /// Mean latency beyond `unloaded_latency_ns`.
    pub queue_ns: f64,
    /// Median; absent if the profile has too few data for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Estimate>,
    /// 90th percentile; absent if the profile has too few data for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<Estimate>,
    /// 99th percentile; null if the profile has too few data for one.
    pub p99_ns: Option<Estimate>,
    /// Completed requests per second.
    pub iops: Estimate,
    /// Mean requests in flight.
    pub concurrency: f64,
    /// Share of time with at least one request in flight, 0 to 1.
    pub utilization: f64,
    /// Rate as a share of the maximum for this mix, 0 to 1.
    pub saturation: f64,
    /// The maximum rate of this mix.
    pub max_iops: Estimate,
    /// Half-width of the interval of the mean within the profile's own run, as a share. It excludes the
    /// difference that another run on another file would have.
    #[serde(default)]
    pub in_run_rel: f64,
    /// What the profile did not measure, so that the model extrapolated; one clause each.
    pub extrapolated: Vec<String>,
}

/// The end of an entry in [`Prediction::extrapolated`], for a load between measured ones.
pub const MEASURED_AROUND: &str = ", which were measured";
