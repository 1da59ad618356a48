//! Rate and latency of a profile as functions of queue depth and request size.

use crate::{Estimate, OpKind, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One queue depth of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthPoint {
    /// Queue depth.
    pub depth: u32,
    /// Requests per second.
    pub iops: Estimate,
    /// Mean latency.
    pub latency_ns: Estimate,
    /// 99th percentile of the latency; null with too few requests.
    pub p99_ns: Option<f64>,
    /// CPU time charged to the program per request.
    pub cpu_us_per_io: Option<f64>,
}

/// Rate and latency as functions of queue depth, at one request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthCurve {
    /// Operation (random requests).
    pub op: OpKind,
    /// Request size.
    pub bs_bytes: u64,
    /// The points, by rising depth.
    pub points: Vec<DepthPoint>,
    /// Smallest depth that reaches four fifths of the maximum rate; null if the rate still grows at the last
    /// depth, if no other depth reaches that much, or if the rates are too uncertain.
    pub knee: Option<u32>,
    /// Gain of the last doubling of depth, as a share, above which the rate counts as still growing.
    pub knee_gain: f64,
    /// Maximum rate of the curve.
    pub max_iops: Estimate,
    /// Queue depth of the maximum.
    pub max_depth: u32,
}

/// One request size of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePoint {
    /// Request size.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_s: Estimate,
    /// Requests per second.
    pub iops: Estimate,
    /// Mean latency.
    pub latency_ns: Estimate,
    /// CPU time charged to the program per request.
    pub cpu_us_per_io: Option<f64>,
}

/// Throughput as a function of request size, at one queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCurve {
    /// Operation.
    pub op: OpKind,
    /// Pattern.
    pub pattern: Pattern,
    /// Queue depth.
    pub depth: u32,
    /// The points, by rising size.
    pub points: Vec<SizePoint>,
    /// Half of the maximum throughput measured in this direction and pattern, at any size and depth. It
    /// replaces PAP/2, because no advertised peak is known.
    pub half_of_max_bytes_per_s: f64,
    /// The smallest size that reaches it; null if none does.
    pub half_power_bytes: Option<u64>,
}
