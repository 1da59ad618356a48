//! The document of `limits`: every component on the path to a disk, its advertised and its measured
//! throughput, and which component is the bottleneck.
//!
//! The papers draw this as a picture with two numbers next to each part (Chung, Gray, Worthington, Horst
//! 2000, figure 1 and table 6; Riedel, van Ingen, Gray 1997, figures 1 and 11). An unknown number is a reason
//! here and never a guess. A ratio therefore exists only if both numbers do.

use crate::{Bytes, Environment, Estimate, Finding, Measured, Nanos, ServiceTimeFit, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a run of `limits`.
pub const LIMITS_SCHEMA: &str = "halfpower/limits/1";

/// Results of a run of `limits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsRun {
    /// [`LIMITS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target the hash of target and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// The disks that share the path and were read.
    pub targets: Vec<Target>,
    /// Conditions; null for a simulated target.
    pub environment: Option<Environment>,
    /// The path, from the processor to the medium.
    pub components: Vec<PathComponent>,
    /// Which component is the bottleneck.
    pub binding: Measured<Binding>,
    /// Rereads of a small area, on one target and on several.
    pub bus: Measured<BusTest>,
    /// Latency of a cached request compared with one that was read ahead.
    pub hits: Measured<HitTest>,
    /// The profile that supplied the device's limits; null if they were measured in this run.
    pub profile_id: Option<String>,
    /// Trials behind the numbers, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Conclusions.
    pub findings: Vec<Finding>,
}

/// Kind of a component on the path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// The processors, in their work for I/O requests.
    Processor,
    /// Main memory.
    Memory,
    /// The page cache: copies between it and the program.
    FileCache,
    /// A configured limit (a control group's).
    Throttle,
    /// The network to a server.
    Network,
    /// A bus or bridge between memory and controller.
    Bus,
    /// The link or bus between controller and disk.
    Link,
    /// The disk.
    Device,
}

// In the order of the path.
crate::words! { ComponentKind:
    Processor = "processor",
    Memory = "memory",
    FileCache = "file-cache",
    Throttle = "throttle",
    Network = "network",
    Bus = "bus",
    Link = "link",
    Device = "device",
}

/// One component of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathComponent {
    /// Its kind.
    pub kind: ComponentKind,
    /// Name of the component, for a reader.
    pub name: String,
    /// Peak advertised performance.
    pub pap: Measured<Advertised>,
    /// Real application performance, bytes per second.
    pub rap_bytes_per_s: Measured<Estimate>,
    /// Whether the component may reach a higher rate: nothing showed that it was the bottleneck.
    pub rap_is_lower_bound: bool,
    /// How it was measured.
    pub rap_method: String,
    /// Further rates, by test.
    pub others: Vec<NamedRate>,
    /// RAP divided by PAP; null if one of them is missing.
    pub ratio: Option<f64>,
    /// Whether the half-power point is reached: RAP at least PAP/2.
    pub half_power: HalfPower,
    /// How many such disks saturate this component with sequential reads; null for the disk itself, and if a
    /// rate is missing.
    pub disks: Option<Sizing>,
}

/// An advertised peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advertised {
    /// The peak.
    pub bytes_per_s: f64,
    /// Who states it, and how the value was derived.
    pub source: String,
}

/// A rate with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedRate {
    /// Name of the test.
    pub name: String,
    /// Bytes per second.
    pub bytes_per_s: Estimate,
}

/// Whether a component delivers half of its advertised peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HalfPower {
    /// The whole interval of the measured rate is at or above half of the peak.
    Reached,
    /// The whole interval is below it.
    Missed,
    /// The interval includes half of the peak, or the measured rate is only a lower bound below it.
    CannotTell,
    /// A rate is missing.
    NotKnown,
}

/// How many disks a component supports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizing {
    /// The component's rate divided by one disk's.
    pub quotient: f64,
    /// Number of disks that it supports at full speed.
    pub carried: u64,
    /// Number of disks that saturate it.
    pub saturating: u64,
    /// Whether the component's rate is a lower bound, so that it may support more.
    pub at_least: bool,
}

/// The bottleneck of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Binding {
    /// Names of the limiting components: one, or several that are indistinguishable.
    pub names: Vec<String>,
    /// The rate to which they limit the path.
    pub bytes_per_s: Estimate,
    /// The numbers that show it.
    pub because: String,
    /// Components that cannot be excluded, each with the reason.
    pub alternatives: Vec<String>,
}

/// Whether a cache served the rereads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheEvidence {
    /// Rereads are faster than first reads and sequential reads, by more than the intervals.
    Served,
    /// Rereads are no faster.
    NotServed,
    /// The intervals are too wide.
    CannotTell,
}

/// Whether the total rate still grows with the number of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// The last target added less than a quarter of one target's own rate.
    Stopped,
    /// It added more.
    Grows,
    /// The intervals are too wide.
    CannotTell,
    /// Only one target was tested.
    OneTarget,
}

/// Rate with a number of concurrent targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusPoint {
    /// Number of concurrent targets.
    pub targets: u32,
    /// Reread rate in bytes per second, over all targets.
    pub again_bytes_per_s: Estimate,
}

/// The disk-cache test: rereads of a small area at queue depth 2, on one target and on several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusTest {
    /// Request size.
    pub request_bytes: Bytes,
    /// Queue depth per target.
    pub depth: u32,
    /// Size of the area that is reread, per target.
    pub area_bytes: Bytes,
    /// First reads, at the same size and depth, on one target.
    pub first_bytes_per_s: Estimate,
    /// Maximum sequential read rate of one target: the rate of the medium.
    pub medium_bytes_per_s: Estimate,
    /// Reread rates, by rising number of targets.
    pub points: Vec<BusPoint>,
    /// Whether a cache served the rereads.
    pub evidence: CacheEvidence,
    /// Whether the total rate stopped growing.
    pub growth: Growth,
    /// Limit of the bus or controller. Known only if a cache served the rereads and the total stopped
    /// growing.
    pub limit_bytes_per_s: Measured<Estimate>,
}

/// One request size of the hit test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitRow {
    /// Request size.
    pub bytes: Bytes,
    /// Latency of a block that was read just before.
    pub again_ns: Measured<Estimate>,
    /// Latency of the next block, which the disk had time to read ahead.
    pub ahead_ns: Measured<Estimate>,
}

/// Latency of a cached block compared with one that was read ahead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitTest {
    /// Time between a completion and the next sequential request.
    pub delay_ns: Nanos,
    /// By rising request size.
    pub rows: Vec<HitRow>,
    /// Line through the latencies of cached blocks: fixed time and time per byte.
    pub again_fit: Measured<ServiceTimeFit>,
    /// Line through the latencies of blocks read ahead.
    pub ahead_fit: Measured<ServiceTimeFit>,
}
