//! The document of a disk that several hosts share: who fills it.

use crate::{Diagnosis, Estimate, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a shared disk's diagnosis.
pub const SHARED_SCHEMA: &str = "halfpower/shared/1";

/// One host's part in a shared disk, over the time that all recordings cover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedHost {
    /// The host, or the recording where that names none.
    pub host: String,
    /// The disk's name there.
    pub device: String,
    /// By how many seconds its clock is ahead of the first host's, from when the latencies of both rise
    /// and fall.
    pub ahead_s: Measured<Estimate>,
    /// Its requests per second.
    pub per_s: f64,
    /// Its bytes per second.
    pub bytes_per_s: f64,
    /// Its mean latency, in nanoseconds; null without requests.
    pub latency_ns: Option<f64>,
    /// Its requests in flight, on average.
    pub in_flight: f64,
    /// Share of all requests, 0 to 1.
    pub request_share: f64,
    /// Share of all bytes, 0 to 1.
    pub byte_share: f64,
    /// Latency of the other hosts while it asks for much over that while it asks for little: above and
    /// below the middle between its mean bytes in the calmest third and in the loudest tenth of the time.
    pub effect: Measured<Estimate>,
    /// Share of all that the others wait longer (sums of the logarithms of latencies above the median while this host
    /// asks for little) that lies in the time in which it asks for much, 0 to 1; absent where they never do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<f64>,
    /// Intervals of the common time that its recording lacks. They are left out for all hosts.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_recorded: u64,
}

impl SharedHost {
    /// Ratio of latencies from which on a host is said to slow the others.
    pub const EFFECT_MIN: f64 = 1.2;

    /// Whether the others are slower while it asks for much, beyond doubt.
    #[must_use]
    pub fn slows_others(&self) -> bool {
        self.effect.value().is_some_and(|effect| effect.low > Self::EFFECT_MIN)
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What is said of a disk that several hosts share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedDiagnosis {
    /// Always [`SHARED_SCHEMA`].
    pub schema: String,
    /// Version of the program that concluded.
    pub halfpower_version: String,
    /// The hosts, the largest effect on the others first.
    pub hosts: Vec<SharedHost>,
    /// The host that slows the others most; or why none is named.
    pub filled_by: Measured<String>,
    /// Intervals of the time that all recordings cover, in which the hosts are compared; 0 in documents of before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub intervals: u64,
    /// Those of them that a host did not record, and that are left out for all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// The disk under the load of all hosts together.
    pub whole: Diagnosis,
}
