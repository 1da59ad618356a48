//! Predicts how a load behaves after changes to its device.
//!
//! The document has one load before the changes, after each change alone, and after all of them together.
//! Each case states its assumptions, its cost and how to check it, because only these allow a judgement on
//! something that does not exist yet.

use crate::{Estimate, Measured, Mix, Offered, RaidLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a what-if.
pub const WHATIF_SCHEMA: &str = "halfpower/whatif/1";

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Every request is faster by this share, 0 to 1.
    Faster(f64),
    /// An array of such disks instead of one.
    Array {
        /// Number of disks, including parity and copies.
        disks: u32,
        /// How they are combined.
        raid: RaidLevel,
        /// Contiguous bytes per disk.
        chunk_bytes: u64,
    },
    /// A cache of the device serves a share of the reads.
    CacheHit {
        /// Share of the random reads, 0 to 1.
        share: f64,
        /// Latency of such a read; null for that of rereads in the profile.
        hit_ns: Option<f64>,
    },
    /// The host's memory serves this share of the reads, 0 to 1.
    HostCache(f64),
    /// The host has more memory for its page cache, which serves a share of the reads.
    Memory {
        /// Additional bytes.
        bytes: u64,
        /// The share, 0 to 1, computed from the reuse in recorded requests.
        share: f64,
    },
    /// This further share of the requests is sequential instead of random, 0 to 1.
    Sequential(f64),
    /// A constant queue depth.
    Depth(f64),
    /// Requests of another size, at the same bytes per second.
    RequestBytes(u64),
    /// A limit on requests per second above the device.
    Cap(f64),
    /// No limit above the device: programs may use the device's full queue depth.
    Uncapped,
    /// The device is as fast as in its profile.
    AsProfiled,
    /// A share of the requests goes to another device.
    Without {
        /// Share of the requests, 0 to 1.
        share: f64,
        /// The process that issues them; null if no process is named.
        process: Option<u32>,
    },
    /// The same requests per second, independent of each other instead of in bursts.
    Independent,
}

/// A load and its predicted performance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadState {
    /// The requests of the programs.
    pub mix: Mix,
    /// The offered load.
    pub offered: Offered,
    /// Mean latency that the programs see, including requests served from memory.
    pub latency_ns: Estimate,
    /// Completed requests of the programs per second.
    pub iops: Estimate,
    /// Maximum rate of the programs' requests.
    pub max_iops: Estimate,
    /// Rate as a share of the maximum, 0 to 1.
    pub saturation: f64,
    /// Mean requests of the programs in flight.
    pub concurrency: f64,
}

/// One case: changes and the load after them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfCase {
    /// The changes: one, or all together.
    pub changes: Vec<Change>,
    /// The load after the changes, or why it is unknown.
    pub after: Measured<LoadState>,
    /// Latency after divided by latency before. The interval excludes errors that both share.
    pub latency_ratio: Option<Estimate>,
    /// Assumptions of the figures.
    pub assumes: Vec<String>,
    /// Cost of the changes.
    pub cost: Vec<String>,
    /// How to check the figures.
    pub how_to_check: Vec<String>,
    /// Observations for or against the feasibility.
    pub evidence: Vec<String>,
}

/// A device that takes part in load balancing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalancedDevice {
    /// Its name.
    pub device: String,
    /// Requests per second before.
    pub iops_before: f64,
    /// Requests per second after.
    pub iops_after: f64,
    /// Rate as a share of its maximum before, 0 to 1.
    pub saturation_before: f64,
    /// Rate as a share of its maximum after.
    pub saturation_after: f64,
    /// Mean latency before; null at or above its maximum rate.
    pub latency_before_ns: Option<Estimate>,
    /// Mean latency after.
    pub latency_after_ns: Option<Estimate>,
}

/// A part of a load that moves to another device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// The device that it leaves.
    pub from: String,
    /// The device that it moves to.
    pub to: String,
    /// Requests per second that move.
    pub iops: f64,
    /// Their share of all requests of the old device, 0 to 1.
    pub share: f64,
}

/// Load moved from saturated devices to devices with spare capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    /// The devices.
    pub devices: Vec<BalancedDevice>,
    /// The moves; empty if none would help.
    pub moves: Vec<Move>,
    /// Devices that were excluded, and why.
    pub left_out: Vec<String>,
    /// Assumptions of the figures.
    pub assumes: String,
    /// Cost of the moves.
    pub cost: String,
    /// How to check the figures.
    pub how_to_check: String,
}

/// The load as it was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedLoad {
    /// Id of the observation.
    pub observation_id: String,
    /// The device.
    pub device: String,
    /// When the period began, on the observation's clock.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Mean latency as counted; null if the source does not report it.
    pub latency_ns: Option<f64>,
    /// Whether the share of sequential requests was traced. Otherwise it is the share that explains the
    /// latency best.
    pub sequential_traced: bool,
    /// Minimum of the available memory; null if the source does not report it.
    pub memory_available_bytes: Option<u64>,
}

/// A load that exceeds what a device can sustain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnsustainedLoad {
    /// The requests.
    pub mix: Mix,
    /// The offered load.
    pub offered: Offered,
    /// A sentence with the maximum that the device sustains.
    pub why: String,
}

/// Predictions for changes to a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// [`WHATIF_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Id of the profile; null if load only moves between devices that have their own profiles.
    pub profile_id: Option<String>,
    /// Target of the profile.
    pub target: Option<String>,
    /// Whether the profile is of a simulated device.
    pub simulated: bool,
    /// The observed load; null for a load that the user specified.
    pub observed: Option<ObservedLoad>,
    /// The current load, by the model; null if load is only moved.
    pub before: Option<LoadState>,
    /// The current load if the device cannot sustain it, so that `before` is missing; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_unsustained: Option<UnsustainedLoad>,
    /// Parts of the load that the profile did not measure.
    pub extrapolated: Vec<String>,
    /// Each change by itself, then all of them together.
    pub cases: Vec<WhatIfCase>,
    /// Load moved between devices; null if not requested.
    pub balance: Option<Balance>,
}
