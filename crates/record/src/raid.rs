//! Disks bound together: levels, what is asked of targets that hold copies or parity, and what came of it.

use crate::{Bytes, Nanos, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How disks are bound together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaidLevel {
    /// Striped.
    Raid0,
    /// Every disk a copy.
    Raid1,
    /// Striped with one parity.
    Raid5,
    /// Striped with two parities.
    Raid6,
    /// Striped over pairs of copies.
    Raid10,
}

impl RaidLevel {
    /// The number after "RAID".
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid1 => 1,
            Self::Raid5 => 5,
            Self::Raid6 => 6,
            Self::Raid10 => 10,
        }
    }
}

/// Targets bound into one by the program, which hold copies or parity beside the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redundancy {
    /// [`RaidLevel::Raid1`] or [`RaidLevel::Raid5`].
    pub level: RaidLevel,
    /// Bytes of each target (leg) that are used, from its start: whole chunks.
    pub leg_bytes: Bytes,
    /// The leg that has failed, from 0: no request goes to it. Absent where all serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// How the failed leg is rebuilt while the load runs; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildPace>,
}

/// How fast a leg is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildPace {
    /// Bytes per second that are written to it at most; null: as fast as it goes.
    pub bytes_per_s: Option<Bytes>,
}

/// What an array of targets turned out to hold, and how its rebuild went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayResult {
    /// What comparing the legs found; absent where they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<LegCheck>,
    /// How the rebuild went; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildResult>,
}

/// What comparing the legs of an array found, row of chunks by row of chunks: copies that are equal, or
/// parity that is the exclusive or of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegCheck {
    /// Rows in which the legs agree.
    pub good: u64,
    /// Rows in which they do not.
    pub bad: u64,
    /// Rows that could not be compared, or not in full.
    pub unchecked: u64,
    /// Length of a row on each leg.
    pub row_bytes: Bytes,
    /// Why rows are unchecked, or what else there is to say; empty where nothing is.
    pub note: String,
    /// Rows that did not agree before the run, whose copies or parity were made then.
    pub made: u64,
    /// The first inconsistent rows, at most 16, in words.
    pub first_bad: Vec<String>,
}

/// How a failed leg was rebuilt beside the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildResult {
    /// Which leg, from 0.
    pub leg: u32,
    /// Bytes of it that are to be rebuilt.
    pub leg_bytes: Bytes,
    /// Bytes of it, from the start without a gap, that were rebuilt.
    pub rebuilt_bytes: Bytes,
    /// Bytes that were read of each leg for it, in order.
    pub read_bytes: Vec<Bytes>,
    /// Bytes that were written to it.
    pub written_bytes: Bytes,
    /// From the begin of the window to the end of the rebuild, or to where it was left off.
    pub duration_ns: Nanos,
    /// Mean rate of what was rebuilt.
    pub bytes_per_s: f64,
    /// Time for the whole leg: measured, or at that rate where it was not finished; null where nothing
    /// was rebuilt.
    pub whole_leg_ns: Option<Nanos>,
    /// Whether the whole leg was rebuilt.
    pub complete: bool,
    /// Steps that failed; the first ends the rebuild.
    pub errors: u64,
    /// What the same load came to just before, with the leg failed and without the rebuild; empty where
    /// that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<LoadFigures>,
}

/// What a direction of a load came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigures {
    /// Which direction.
    pub op: OpKind,
    /// Requests per second.
    pub iops: f64,
    /// Half-width of its 95 % interval, relative; null where it is not known.
    pub iops_ci95_rel: Option<f64>,
    /// Mean latency; null without requests.
    pub latency_mean_ns: Option<f64>,
    /// Half-width of its 95 % interval, relative; null where it is not known.
    pub latency_mean_ci95_rel: Option<f64>,
    /// Median; null with fewer than ten requests beyond.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile; null likewise.
    pub latency_p99_ns: Option<f64>,
}
