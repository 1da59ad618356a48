//! The document of `zones`: throughput against position on the medium.
//!
//! Disks that turn have more sectors on outer tracks than on inner ones, in bands of equal tracks
//! (Riedel, van Ingen, Gray 1997, figure 14; Chung, Gray, Worthington, Horst 2000, figure 2). What
//! a stream can count on is the rate of the slowest place. On media without bands the document
//! says so.

use crate::{Bytes, Environment, Estimate, Finding, Measured, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a zone map.
pub const ZONES_SCHEMA: &str = "halfpower/zones/1";

/// Throughput against position.
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
    /// What was read.
    pub target: Target,
    /// Conditions; null for a simulated target.
    pub environment: Option<Environment>,
    /// Request size.
    pub request_bytes: Bytes,
    /// Requests outstanding.
    pub depth: u32,
    /// Bytes read at a position in a visit.
    pub window_bytes: Bytes,
    /// Passes over all positions, each in an order of its own.
    pub passes: u32,
    /// The positions, by rising offset.
    pub positions: Vec<ZonePosition>,
    /// Mean over all positions, bytes per second.
    pub mean_bytes_per_s: Estimate,
    /// Stretches of equal rate, by rising offset: one where no step was found.
    pub bands: Vec<Band>,
    /// Share of maps without any effect of the position in which a step is found by chance.
    pub false_alarm_share: f64,
    /// Probability of a first step as clear as this one where the position has no effect.
    pub p_value: f64,
    /// How much slower the last band is than the first, as a share; of one band, its last tenth.
    pub inner_loss: Measured<Estimate>,
    /// The slowest position: what a stream over all of the target can count on.
    pub lowest: Measured<ZonePosition>,
    /// The members of an array alone, and what it gives of what they could; absent where the target is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Measured<ArrayZones>>,
    /// Trials behind the numbers.
    pub trial_ids: Vec<String>,
    /// Conclusions.
    pub findings: Vec<Finding>,
}

/// An array over its surface. A stripe waits for the last of its members, so that it can give their number
/// times the slowest, at each place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayZones {
    /// Number of members.
    pub count: u32,
    /// Bytes that lie together on a member.
    pub chunk_bytes: Bytes,
    /// Requests outstanding at a member that is read alone.
    pub member_depth: u32,
    /// What each member gives alone, at the same shares of its surface; one for all where they are alike.
    pub members: Vec<MemberZones>,
    /// What the array gives at its first places, as a share of the number of members times the slowest.
    pub first_share: Measured<Estimate>,
    /// The same at its last places.
    pub last_share: Measured<Estimate>,
    /// What the slowest member takes from what all members give together, as a share.
    pub slowest_cost: Measured<Estimate>,
}

/// A member of an array, read alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberZones {
    /// What was read.
    pub target: Target,
    /// The positions, by rising offset in the member.
    pub positions: Vec<ZonePosition>,
    /// Mean over all positions, bytes per second.
    pub mean_bytes_per_s: Estimate,
    /// Stretches of equal rate.
    pub bands: Vec<Band>,
    /// How much slower the last places are than the first, as a share.
    pub inner_loss: Measured<Estimate>,
    /// The slowest position.
    pub lowest: Measured<ZonePosition>,
}

/// One position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZonePosition {
    /// Where it begins in the target.
    pub offset_bytes: Bytes,
    /// Where that lies on the device; null where unknown or the file is not in one piece.
    pub device_offset_bytes: Option<Bytes>,
    /// Rate over the passes.
    pub bytes_per_s: Estimate,
}

/// A stretch of positions of equal rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// First position, from 0.
    pub first: u32,
    /// Last position.
    pub last: u32,
    /// Where it begins in the target.
    pub offset_bytes: Bytes,
    /// Rate over its positions.
    pub bytes_per_s: Estimate,
}
