//! What would become of a load if something about its device were different.
//!
//! A document of one load before, and of the same load after each change by itself and after all of
//! them together. Each carries what it takes for granted, what it costs and what would refute it,
//! because a figure about something that does not exist yet can only be judged by these. Where the
//! change could be simulated, the simulated figure stands beside the computed one, with the
//! difference or the assumption that breaks.

use crate::{Estimate, Measured, Mix, Offered, RaidLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a what-if.
pub const WHATIF_SCHEMA: &str = "halfpower/whatif/1";

/// Something that is different.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Every request takes this share less, 0 to 1.
    Faster(f64),
    /// An array of such disks in place of one.
    Array {
        /// Disks, parity and copies included.
        disks: u32,
        /// How they are bound.
        raid: RaidLevel,
        /// Bytes that lie together on a disk.
        chunk_bytes: u64,
    },
    /// A cache of the device serves a share of the reads.
    CacheHit {
        /// Share of the random reads, 0 to 1.
        share: f64,
        /// What such a read takes; null: as long as re-reads took when the device was profiled.
        hit_ns: Option<f64>,
    },
    /// The host's memory serves a share of the reads, 0 to 1.
    HostCache(f64),
    /// The host has more memory for its cache, which serves a share of the reads.
    Memory {
        /// How much more.
        bytes: u64,
        /// The share, 0 to 1, by the reuse in requests that were recorded.
        share: f64,
    },
    /// A further share of the requests is sequential, 0 to 1, taken from random ones.
    Sequential(f64),
    /// A constant number of requests outstanding.
    Depth(f64),
    /// Requests of another size, the same bytes per second.
    RequestBytes(u64),
    /// A limit on requests per second ahead of the device.
    Cap(f64),
    /// No limit ahead of the device: programs may ask for as much as it serves side by side.
    Uncapped,
    /// The device as fast as when it was profiled.
    AsProfiled,
    /// A share of the requests goes to another device.
    Without {
        /// Share of the requests, 0 to 1.
        share: f64,
        /// The process that issues them; null where no process is named.
        process: Option<u32>,
    },
    /// The same requests per second, independent of each other instead of in bursts.
    Independent,
}

/// A load and what it sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadState {
    /// The requests of the programs.
    pub mix: Mix,
    /// How much of them.
    pub offered: Offered,
    /// Mean latency as the programs see it, requests that memory serves included.
    pub latency_ns: Estimate,
    /// Requests of the programs per second that get through.
    pub iops: Estimate,
    /// The largest rate of them.
    pub max_iops: Estimate,
    /// Rate as a share of the largest one, 0 to 1.
    pub saturation: f64,
    /// Mean requests of the programs in progress.
    pub concurrency: f64,
}

/// What the simulator says of the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedState {
    /// The simulated device.
    pub device: String,
    /// Mean latency.
    pub latency_ns: f64,
    /// Requests per second.
    pub iops: f64,
    /// Requests behind it.
    pub requests: u64,
    /// Computed over simulated latency, minus one.
    pub difference_rel: f64,
    /// Which assumption breaks; null where the two agree.
    pub breaks: Option<String>,
}

/// A change and what it makes of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfCase {
    /// The changes, one, or all of them together.
    pub changes: Vec<Change>,
    /// The load after them, or why nothing can be said.
    pub after: Measured<LoadState>,
    /// Latency after over before; its interval leaves out the model's error, which is in both.
    pub latency_ratio: Option<Estimate>,
    /// What the figures take for granted.
    pub assumes: Vec<String>,
    /// What it costs.
    pub cost: Vec<String>,
    /// How to check the figures.
    pub how_to_check: Vec<String>,
    /// What was seen that speaks for or against its being possible.
    pub evidence: Vec<String>,
    /// The simulation; null where none was asked for.
    pub simulated: Option<Measured<SimulatedState>>,
}

/// A device among which load is moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalancedDevice {
    /// Its name.
    pub device: String,
    /// Requests per second before.
    pub iops_before: f64,
    /// And after.
    pub iops_after: f64,
    /// Share of its largest rate before, 0 to 1.
    pub saturation_before: f64,
    /// And after.
    pub saturation_after: f64,
    /// Mean latency before; null at or above its largest rate.
    pub latency_before_ns: Option<Estimate>,
    /// And after.
    pub latency_after_ns: Option<Estimate>,
}

/// A part of a load that changes its device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// Requests per second that move.
    pub iops: f64,
    /// Their share of all requests of the device that they leave, 0 to 1.
    pub share: f64,
}

/// Load moved from full devices to those with room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    /// The devices.
    pub devices: Vec<BalancedDevice>,
    /// What moves; empty where nothing would be gained.
    pub moves: Vec<Move>,
    /// Devices that could not take part, and why.
    pub left_out: Vec<String>,
    /// What the figures take for granted.
    pub assumes: String,
    /// What it costs.
    pub cost: String,
    /// How to check the figures.
    pub how_to_check: String,
}

/// What was observed of the load before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedLoad {
    /// Id of the observation.
    pub observation_id: String,
    /// The device.
    pub device: String,
    /// When the stretch of time began, as in the observation.
    pub begin_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Mean latency that was counted; null where the source does not tell.
    pub latency_ns: Option<f64>,
    /// Whether the share of sequential requests was traced; otherwise it is the one that explains
    /// the latency best.
    pub sequential_traced: bool,
    /// Least memory that was available; null where the source does not tell.
    pub memory_available_bytes: Option<u64>,
}

/// A load that a device does not sustain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnsustainedLoad {
    /// The requests.
    pub mix: Mix,
    /// How many are offered.
    pub offered: Offered,
    /// What the device does at most.
    pub why: String,
}

/// What would become of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// [`WHATIF_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The profile; null where load is only moved between devices with profiles of their own.
    pub profile_id: Option<String>,
    /// What it was made of.
    pub target: Option<String>,
    /// Whether the profile is of a simulated device.
    pub simulated: bool,
    /// What was observed; null for a load that the user stated.
    pub observed: Option<ObservedLoad>,
    /// The load as it is, by the model; null where load is only moved.
    pub before: Option<LoadState>,
    /// The load as it is, where the device does not sustain it, which leaves no state before; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_unsustained: Option<UnsustainedLoad>,
    /// The same simulated; null where none was asked for.
    pub before_simulated: Option<Measured<SimulatedState>>,
    /// What of it the profile did not measure.
    pub extrapolated: Vec<String>,
    /// Each change by itself, then all of them together.
    pub cases: Vec<WhatIfCase>,
    /// Load moved between devices; null where that was not asked for.
    pub balance: Option<Balance>,
}
