//! The document of `zones`: throughput as a function of the position on the medium.
//!
//! Rotating disks have more sectors on outer tracks than on inner ones, in bands of equal tracks (Riedel, van
//! Ingen, Gray 1997, figure 14; Chung, Gray, Worthington, Horst 2000, figure 2). A stream can only rely on
//! the rate of the slowest position. For media without bands, the document says so.

use crate::{Bytes, Environment, Estimate, Finding, Measured, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a zone map.
pub const ZONES_SCHEMA: &str = "halfpower/zones/1";

/// Throughput as a function of position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZoneMap {
    /// [`ZONES_SCHEMA`].
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
    /// The target that was read.
    pub target: Target,
    /// Conditions; null for a simulated target.
    pub environment: Option<Environment>,
    /// Request size.
    pub request_bytes: Bytes,
    /// Queue depth.
    pub depth: u32,
    /// Bytes read per position and visit.
    pub window_bytes: Bytes,
    /// Passes over all positions, each in a different order.
    pub passes: u32,
    /// The positions, by rising offset.
    pub positions: Vec<ZonePosition>,
    /// Mean over all positions, bytes per second.
    pub mean_bytes_per_s: Estimate,
    /// Bands of equal rate, by rising offset; one band if no step was found.
    pub bands: Vec<Band>,
    /// Probability that a map without any effect of the position shows a step by chance.
    pub false_alarm_share: f64,
    /// Probability of a first step as clear as this one if the position has no effect.
    pub p_value: f64,
    /// How much slower the last band is than the first, as a share; with one band, its last tenth.
    pub inner_loss: Measured<Estimate>,
    /// The slowest position: the rate that a stream over the whole target can rely on.
    pub lowest: Measured<ZonePosition>,
    /// The members of an array measured separately, and how much of their speed the array reaches; absent if
    /// the target is not an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Measured<ArrayZones>>,
    /// Ids of the trials.
    pub trial_ids: Vec<String>,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// An array over its whole range. A stripe waits for its slowest member. At each position, the maximum is
/// therefore the number of members times the slowest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayZones {
    /// Number of members.
    pub count: u32,
    /// Contiguous bytes per member.
    pub chunk_bytes: Bytes,
    /// Queue depth for a member that is read alone.
    pub member_depth: u32,
    /// Rates of each member alone, at the same relative positions; one entry for all if they are alike.
    pub members: Vec<MemberZones>,
    /// Rate of the array at its first positions, as a share of the number of members times the slowest.
    pub first_share: Measured<Estimate>,
    /// The same at its last positions.
    pub last_share: Measured<Estimate>,
    /// Loss of the array's rate through its slowest member, as a share of the members' total.
    pub slowest_cost: Measured<Estimate>,
}

/// A member of an array, read alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberZones {
    /// The member that was read.
    pub target: Target,
    /// The positions, by rising offset in the member.
    pub positions: Vec<ZonePosition>,
    /// Mean over all positions, bytes per second.
    pub mean_bytes_per_s: Estimate,
    /// Bands of equal rate.
    pub bands: Vec<Band>,
    /// How much slower the last positions are than the first, as a share.
    pub inner_loss: Measured<Estimate>,
    /// The slowest position.
    pub lowest: Measured<ZonePosition>,
}

/// One position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZonePosition {
    /// Its start in the target.
    pub offset_bytes: Bytes,
    /// Its start on the device; null if unknown, or if the file is fragmented.
    pub device_offset_bytes: Option<Bytes>,
    /// Rate over the passes.
    pub bytes_per_s: Estimate,
}

/// Consecutive positions of equal rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Index of the first position, from 0.
    pub first: u32,
    /// Index of the last position.
    pub last: u32,
    /// Its start in the target.
    pub offset_bytes: Bytes,
    /// Mean rate over its positions.
    pub bytes_per_s: Estimate,
}
