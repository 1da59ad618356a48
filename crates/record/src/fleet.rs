//! The document of a fleet: which devices are slower than their peers, since when, and what the slow
//! ones have in common.

use crate::{Estimate, Finding, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` value of a fleet's diagnosis.
pub const FLEET_SCHEMA: &str = "halfpower/fleet/1";

/// What tells a device of a fleet from the others, as its source names it: `instance`, `device`, `model`
/// and so on.
pub type FleetLabels = BTreeMap<String, String>;

/// A stretch of time in which something was slower than its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSlowness {
    /// Latency over that of the peers at the same work; the interval includes what healthy devices
    /// differ by.
    pub ratio: Estimate,
    /// First second of it, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second behind it.
    pub end_s: u64,
    /// Whether it lasts until the end of what was read.
    pub lasts: bool,
    /// Its distance from the peers, in standard deviations of what healthy ones differ by.
    pub score: f64,
    /// How likely it is that this is no chance, 0 to 1.
    pub confidence: f64,
}

/// What a device is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetYardstick {
    /// Its peers at the same work.
    Peers,
    /// What it was to its peers in the rest of the time.
    OwnPast,
}

/// A device that is slower than its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDevice {
    /// Which it is.
    pub labels: FleetLabels,
    /// What shows it best.
    pub against: FleetYardstick,
    /// Whether the slowest fifth of the intervals of each window shows it, and the ratio is of that.
    pub now_and_then: bool,
    /// How slow, and when.
    pub slow: FleetSlowness,
}

/// Devices that are slow together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetCommon {
    /// The label that they share.
    pub label: String,
    /// Its value.
    pub value: String,
    /// Labels and values that the same devices share, so that the counters do not tell which it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<(String, String)>,
    /// Devices that have it and were compared.
    pub devices: u32,
    /// Those of them that are slow with the others.
    pub slow_devices: u32,
    /// How slow, and when.
    pub slow: FleetSlowness,
}

/// Devices that are each other's peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetKind {
    /// Labels that they share.
    pub labels: FleetLabels,
    /// How many there are.
    pub devices: u32,
    /// How many of them could be compared.
    pub compared: u32,
    /// Standard deviation of what healthy ones differ by, as a logarithm of the ratio.
    pub level_deviation: f64,
    /// The same of one window of one device.
    pub noise_deviation: f64,
    /// Smallest lasting ratio that these rules call slow; null where nothing was compared.
    pub smallest_ratio: Option<f64>,
}

/// Devices of which nothing is said, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLeftOut {
    /// Why.
    pub reason: String,
    /// How many.
    pub devices: u32,
    /// Some of them by name.
    pub examples: Vec<String>,
}

impl FleetLeftOut {
    /// Devices that are named of those of which nothing is said.
    const EXAMPLES: usize = 5;

    /// These devices, the first few by name; `None` of none.
    #[must_use]
    pub fn of(reason: &str, names: &[String]) -> Option<Self> {
        (!names.is_empty()).then(|| Self {
            reason: reason.to_owned(),
            devices: names.len() as u32,
            examples: names.iter().take(Self::EXAMPLES).cloned().collect(),
        })
    }
}

/// A device that was held against its own profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetByProfile {
    /// Which it is.
    pub labels: FleetLabels,
    /// The profile, whose device has the same serial number.
    pub profile_id: String,
    /// The diagnosis of the worst episode, or of the longest where none is worse than healthy.
    pub verdict: Verdict,
    /// How probable that verdict is, 0 to 1.
    pub probability: f64,
    /// The verdict in a sentence, with its numbers.
    pub claim: String,
    /// First second of that episode, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second behind it.
    pub end_s: u64,
    /// Whether the device stands among those that are slower than their peers, by itself.
    pub slow_by_peers: bool,
}

/// What is said of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDiagnosis {
    /// Always [`FLEET_SCHEMA`].
    pub schema: String,
    /// Version of the program that concluded.
    pub halfpower_version: String,
    /// Where the counters came from.
    pub source: String,
    /// Whether the fleet is a simulated one.
    pub simulated: bool,
    /// First second that was read, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second behind the last.
    pub end_s: u64,
    /// Length of a window.
    pub window_s: u64,
    /// Devices that were read.
    pub devices: u32,
    /// Share of the devices called slow that healthy ones may make up, 0 to 1.
    pub false_share: f64,
    /// What slow devices have in common, the largest first.
    pub common: Vec<FleetCommon>,
    /// Devices that are slow by themselves, the surest first.
    pub slow: Vec<FleetDevice>,
    /// Devices of which a profile is kept, held against it: what slows all devices of a kind alike shows
    /// there alone. Empty where no profile has the serial number of any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_profile: Vec<FleetByProfile>,
    /// Groups of peers.
    pub kinds: Vec<FleetKind>,
    /// Devices of which nothing is said.
    pub left_out: Vec<FleetLeftOut>,
    /// What stands in the way of believing it.
    pub findings: Vec<Finding>,
}
