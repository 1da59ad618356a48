//! Targets with copies or parity: RAID levels, how the program combines targets, and what a check of them
//! found.

use crate::{Bytes, Nanos, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How disks are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaidLevel {
    /// Striped.
    Raid0,
    /// Every disk has a copy.
    Raid1,
    /// Striped, with one parity.
    Raid5,
    /// Striped, with two parities.
    Raid6,
    /// Striped over mirrored pairs.
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

/// Targets that the program combines into one, with copies or parity in addition to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redundancy {
    /// [`RaidLevel::Raid1`] or [`RaidLevel::Raid5`].
    pub level: RaidLevel,
    /// Bytes used on each target (leg), from its start: whole chunks.
    pub leg_bytes: Bytes,
    /// The failed leg, from 0, which gets no requests; absent if all legs work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// How the failed leg is rebuilt during the load; absent without a rebuild.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildPace>,
}

/// Speed of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildPace {
    /// Maximum bytes per second written to the leg; null for as fast as possible.
    pub bytes_per_s: Option<Bytes>,
}

/// State of an array of targets, and the result of its rebuild.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayResult {
    /// Result of comparing the legs; absent if they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<LegCheck>,
    /// Result of the rebuild; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildResult>,
}

/// Result of comparing the legs of an array, one row of chunks at a time: whether copies are equal, or parity
/// is the exclusive-or of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegCheck {
    /// Rows in which the legs match.
    pub good: u64,
    /// Rows in which they do not match.
    pub bad: u64,
    /// Rows that could not be compared, or only partly.
    pub unchecked: u64,
    /// Length of a row on each leg, in bytes.
    pub row_bytes: Bytes,
    /// Why rows are unchecked, or another remark; empty if there is none.
    pub note: String,
    /// Rows that did not match before the run and were repaired then.
    pub made: u64,
    /// Descriptions of the first inconsistent rows, at most 16.
    pub first_bad: Vec<String>,
}

/// Result of rebuilding a failed leg during the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildResult {
    /// The leg, from 0.
    pub leg: u32,
    /// Bytes of it that must be rebuilt.
    pub leg_bytes: Bytes,
    /// Bytes of it that were rebuilt, from its start without a gap.
    pub rebuilt_bytes: Bytes,
    /// Bytes read from each leg for the rebuild, in the order of the legs.
    pub read_bytes: Vec<Bytes>,
    /// Bytes written to the leg.
    pub written_bytes: Bytes,
    /// Time from the start of the window to the end of the rebuild, or to where it stopped.
    pub duration_ns: Nanos,
    /// Mean rate of the rebuild.
    pub bytes_per_s: f64,
    /// Time for the whole leg: measured, or extrapolated from the rate if unfinished; null if nothing was
    /// rebuilt.
    pub whole_leg_ns: Option<Nanos>,
    /// Whether the whole leg was rebuilt.
    pub complete: bool,
    /// Failed steps; the first one ends the rebuild.
    pub errors: u64,
    /// Results of the same load just before, with the leg failed and without the rebuild; empty if not
    /// measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<LoadFigures>,
}

/// Results for one direction of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigures {
    /// The direction.
    pub op: OpKind,
    /// Requests per second.
    pub iops: f64,
    /// Half-width of its 95 % interval, relative; null if unknown.
    pub iops_ci95_rel: Option<f64>,
    /// Mean latency; null without requests.
    pub latency_mean_ns: Option<f64>,
    /// Half-width of its 95 % interval, relative; null if unknown.
    pub latency_mean_ci95_rel: Option<f64>,
    /// Median; null with fewer than ten requests beyond it.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile; null with fewer than ten requests beyond it.
    pub latency_p99_ns: Option<f64>,
}
