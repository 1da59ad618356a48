//! Loads that are spoken of rather than issued: what a prediction is asked about, and its answer.
//!
//! A [`crate::Workload`] says exactly which requests are made. A load that is observed, planned or
//! predicted is known by its shares and its rate only, and need not be one that can be issued.

use crate::{Bytes, Estimate, OpKind, SizeShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where the requests of a class go, as far as models tell them apart.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// Each after the one before.
    Sequential,
    /// Anywhere.
    Random,
    /// Served by a cache of the device.
    Hit,
}

impl Locality {
    /// The word of a sentence: "random", "sequential", "cached".
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Hit => "cached",
        }
    }
}

/// Requests of one kind within a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixClass {
    /// Operation.
    pub op: OpKind,
    /// Where they go.
    pub locality: Locality,
    /// Bytes of each.
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
    /// Requests of one kind and size.
    #[must_use]
    pub fn one(op: OpKind, locality: Locality, bytes: u64) -> Self {
        Self { classes: vec![MixClass { op, locality, bytes, share: 1.0 }] }
    }

    /// Share of the requests for which something holds, 0 to 1.
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

    /// Its requests of one direction, as a mix of their own; `None` without any.
    #[must_use]
    pub fn of(&self, op: OpKind) -> Option<Self> {
        let all = self.share(|class| class.op == op);
        let own = self.classes.iter().filter(|class| class.op == op);
        let classes = own.map(|class| MixClass { share: class.share / all, ..*class }).collect();
        (all > 0.0).then_some(Self { classes })
    }

    /// Its sizes with shares that are whole percents and all together.
    #[must_use]
    pub fn size_shares(&self) -> Vec<SizeShare> {
        let all: f64 = self.classes.iter().map(|class| class.share).sum();
        let percent =
            |bytes: u64| (self.share(|class| class.bytes == bytes) / all * 100.0).round() as u8;
        let sizes = self.sizes().into_iter();
        let mut shares: Vec<SizeShare> = sizes
            .map(|bytes| SizeShare { bytes: Bytes(bytes), percent: percent(bytes) })
            .filter(|share| share.percent > 0)
            .collect();
        let sum: u32 = shares.iter().map(|size| u32::from(size.percent)).sum();
        if let Some(first) = shares.first_mut() {
            first.percent = (u32::from(first.percent) + 100).saturating_sub(sum) as u8;
        }
        shares
    }

    /// The request sizes, by rising size.
    #[must_use]
    pub fn sizes(&self) -> BTreeSet<u64> {
        self.classes.iter().map(|class| class.bytes).collect()
    }
}

/// How much of a mix is offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// Requests per second from many independent users (Poisson).
    PoissonPerS(f64),
    /// Requests per second at equal distances.
    ConstantPerS(f64),
    /// A constant number of requests outstanding, at least 1.
    Depth(f64),
}

impl Offered {
    /// Whether requests arrive whatever the device does.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Depth(_))
    }
}

/// The models, from simple to good.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelName {
    /// `U = X S` alone, with the service time at saturation: no queue.
    UtilizationLaw,
    /// One exponential server.
    Mm1,
    /// One server with the measured variance of its times.
    Mg1,
    /// Service rate by depth from the measured curves, weighted by the mix.
    LoadDependent,
    /// The same with the interference in mixed trials and the variance of service times.
    MixCapacity,
    /// The same with what open-loop trials of the profile saw beyond it.
    Calibrated,
}

impl ModelName {
    /// All of them, from simple to good.
    pub const ALL: [Self; 6] = [
        Self::UtilizationLaw,
        Self::Mm1,
        Self::Mg1,
        Self::LoadDependent,
        Self::MixCapacity,
        Self::Calibrated,
    ];

    /// The words in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UtilizationLaw => "utilization law",
            Self::Mm1 => "M/M/1",
            Self::Mg1 => "M/G/1",
            Self::LoadDependent => "load-dependent",
            Self::MixCapacity => "mix capacity",
            Self::Calibrated => "calibrated",
        }
    }
}

/// What a mix at a rate or depth would see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// By which model.
    pub model: ModelName,
    /// The mix.
    pub mix: Mix,
    /// What was offered.
    pub offered: Offered,
    /// Mean latency of all requests.
    pub latency_ns: Estimate,
    /// Mean latency of reads; null where there are none or the model does not tell.
    pub read_latency_ns: Option<Estimate>,
    /// Mean latency of writes, likewise.
    pub write_latency_ns: Option<Estimate>,
    /// Mean latency of one request alone.
    pub unloaded_latency_ns: Estimate,
    /// Part of the latency that is there because requests find the device at rest; absent where no lone
    /// reads were measured, and where requests do not rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_rest_ns: Option<Estimate>,
    /// Mean time beyond the unloaded latency.
    pub queue_ns: f64,
    /// Median; absent where the profile has no ground for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Estimate>,
    /// 90th percentile, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<Estimate>,
    /// 99th percentile; null where the profile has no ground for one.
    pub p99_ns: Option<Estimate>,
    /// Requests per second that get through.
    pub iops: Estimate,
    /// Mean requests in flight.
    pub concurrency: f64,
    /// Share of time with at least one request in flight, 0 to 1.
    pub utilization: f64,
    /// Rate as a share of the maximum for this mix, 0 to 1.
    pub saturation: f64,
    /// The largest rate of this mix.
    pub max_iops: Estimate,
    /// Half-width of the interval of the mean within the profile's own run, as a share: what another
    /// run on another file would differ by is not in it.
    #[serde(default)]
    pub in_run_rel: f64,
    /// What the profile did not measure and the model therefore extrapolated, a clause each.
    pub extrapolated: Vec<String>,
}

/// The end of a clause of [`Prediction::extrapolated`] whose load lies between measured ones.
pub const MEASURED_AROUND: &str = ", which were measured";
