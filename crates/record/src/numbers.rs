//! The figures of an episode or of a moment, and the two ways to split a latency.

use crate::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters over a period of time. Null means that the source does not report the figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Completed requests.
    pub requests: f64,
    /// Requests per second.
    pub iops: Option<f64>,
    /// Share of reads, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean bytes of a request.
    pub request_bytes: Option<f64>,
    /// Mean latency, without discards and flushes if the source allows it.
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
    /// `utilization / iops`: the mean time between completions while busy. This is the service time of a
    /// device that serves one request at a time.
    pub service_ns: f64,
    /// Latency minus `service_ns`, not below 0.
    pub queue_ns: f64,
}

/// The split by the profile: the latency of a single request, and what the load adds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibrated {
    /// Latency of a request of this mix at queue depth 1.
    pub unloaded_ns: f64,
    /// Expected latency at the concurrency that was observed while the device was busy.
    pub expected_ns: Estimate,
    /// Expected latency at this rate with Poisson arrivals; null at or above the maximum rate.
    pub expected_at_rate_ns: Option<Estimate>,
    /// Latency minus `unloaded_ns`, not below 0: time spent waiting for other requests.
    pub queue_ns: f64,
    /// Latency divided by the expected latency.
    pub latency_ratio: f64,
    /// Rate divided by the maximum rate of this mix.
    pub saturation: f64,
    /// The maximum rate of this mix.
    pub max_iops: f64,
    /// Share of sequential requests that these figures assume, 0 to 1.
    pub sequential_share: f64,
    /// Whether that share was traced. Otherwise it is the share that explains the latency best.
    pub sequential_traced: bool,
}

/// Figures that other tools print, and whose names mislead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misleading {
    /// Windows' % Disk Time: the summed latencies of all requests divided by the time, capped at 100.
    pub disk_time_percent: Option<f64>,
    /// Average queue length (`aqu-sz`, Avg. Disk Queue Length): the same, uncapped.
    pub queue_length: Option<f64>,
    /// iostat's `svctm`: utilization divided by rate.
    pub svctm_ns: Option<f64>,
    /// iostat's `%util`.
    pub iostat_busy_percent: Option<f64>,
}

/// The slowest requests of an episode at the device, measured by the tracer, and those of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Share of the requests that are faster, 0 to 1: 0.999, or 0.99 with too few requests.
    pub share: f64,
    /// Device time that this share does not exceed, in nanoseconds.
    pub latency_ns: f64,
    /// Expected device time, in nanoseconds: `expected_share` of the profile's requests do not exceed it
    /// under this load.
    pub expected_ns: f64,
    /// Equal to `share`, or less if the profile has too few requests. Null if the profile has none of this
    /// kind; the expected time then assumes an exponential distribution with the expected mean.
    pub expected_share: Option<f64>,
    /// Requests that took at least twice `expected_ns`.
    pub longer: u64,
    /// All requests.
    pub requests: u64,
    /// Intervals with such requests.
    pub intervals: u32,
    /// All traced intervals.
    pub of_intervals: u32,
}

impl Tail {
    /// A tail of at least this many times the expected time is long.
    pub const LONG_FROM: f64 = 2.0;

    /// Whether the tail is longer than expected.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.latency_ns >= Self::LONG_FROM * self.expected_ns
    }

    /// Whether both tails are at the same percentile.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        self.expected_share == Some(self.share)
    }

    /// Whether the tail is not long, compared with the profile's own requests.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.expected_share.is_some() && !self.is_long()
    }
}
