//! The document of a disk that several hosts share: which host saturates it.

use crate::{Diagnosis, Estimate, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a shared disk's diagnosis.
pub const SHARED_SCHEMA: &str = "halfpower/shared/1";

/// One host's load on a shared disk, over the time that all recordings cover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedHost {
    /// Name of the host, or of the recording if that has no host name.
    pub host: String,
    /// Name of the disk on that host.
    pub device: String,
    /// How many seconds its clock is ahead of the first host's, estimated from when the latencies of both
    /// rise and fall.
    pub ahead_s: Measured<Estimate>,
    /// Its requests per second.
    pub per_s: f64,
    /// Its bytes per second.
    pub bytes_per_s: f64,
    /// Its mean latency, in nanoseconds; null without requests.
    pub latency_ns: Option<f64>,
    /// Its mean requests in flight.
    pub in_flight: f64,
    /// Share of all requests, 0 to 1.
    pub request_share: f64,
    /// Share of all bytes, 0 to 1.
    pub byte_share: f64,
    /// Latency of the other hosts during high load of this host, divided by that during low load. The
    /// threshold is the midpoint between its mean bytes in its quietest third and in its busiest tenth of the
    /// time.
    pub effect: Measured<Estimate>,
    /// Share of the other hosts' extra latency that occurs while this host has high load, 0 to 1; absent if
    /// they have none. The extra latency is the sum of the logarithms of latencies above the median during
    /// this host's low load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<f64>,
    /// Intervals of the common time that its recording lacks. They are excluded for all hosts.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_recorded: u64,
}

impl SharedHost {
    /// Minimum latency ratio at which a host is said to slow the others.
    pub const EFFECT_MIN: f64 = 1.2;

    /// Whether the others are certainly slower during its high load.
    #[must_use]
    pub fn slows_others(&self) -> bool {
        self.effect.value().is_some_and(|effect| effect.low > Self::EFFECT_MIN)
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The diagnosis of a disk that several hosts share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedDiagnosis {
    /// Always [`SHARED_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The hosts, largest effect on the others first.
    pub hosts: Vec<SharedHost>,
    /// The host that slows the others most, or why none is named.
    pub filled_by: Measured<String>,
    /// Intervals that all recordings cover and in which the hosts are compared; 0 in old documents.
    #[serde(default, skip_serializing_if = "is_none")]
    pub intervals: u64,
    /// Intervals among them that a host did not record, and that are excluded for all hosts.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// The disk under the load of all hosts together.
    pub whole: Diagnosis,
}
