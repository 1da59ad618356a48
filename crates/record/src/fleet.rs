//! The document of a fleet: which devices are slower than their peers, since when, and what the slow devices
//! have in common.

use crate::{Estimate, Finding, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` value of a fleet's diagnosis.
pub const FLEET_SCHEMA: &str = "halfpower/fleet/1";

/// Labels that identify a device of a fleet, as its source names them: `instance`, `device`, `model` and so
/// on.
pub type FleetLabels = BTreeMap<String, String>;

/// A period in which something was slower than its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSlowness {
    /// Latency divided by that of the peers under the same load. The interval includes the variation between
    /// healthy devices.
    pub ratio: Estimate,
    /// First second of the period, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second after its end.
    pub end_s: u64,
    /// Whether it lasts until the end of the data.
    pub lasts: bool,
    /// Distance from the peers, in standard deviations of healthy devices.
    pub score: f64,
    /// Probability that this is not chance, 0 to 1.
    pub confidence: f64,
}

/// What a device is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetYardstick {
    /// Its peers under the same load.
    Peers,
    /// Its own ratio to its peers at other times.
    OwnPast,
}

/// A device that is slower than its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDevice {
    /// Labels of the device.
    pub labels: FleetLabels,
    /// The comparison that shows it best.
    pub against: FleetYardstick,
    /// Whether only the slowest fifth of the intervals of each window shows it. The ratio is then for that
    /// fifth.
    pub now_and_then: bool,
    /// How much slower, and when.
    pub slow: FleetSlowness,
}

/// Devices that are slow together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetCommon {
    /// The label that they share.
    pub label: String,
    /// Its value.
    pub value: String,
    /// Labels and values that the same devices share. The counters cannot show which of them is responsible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<(String, String)>,
    /// Number of compared devices with this label.
    pub devices: u32,
    /// Number of those that are slow together.
    pub slow_devices: u32,
    /// How much slower, and when.
    pub slow: FleetSlowness,
}

/// A group of devices that are peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetKind {
    /// Labels that they share.
    pub labels: FleetLabels,
    /// Number of devices.
    pub devices: u32,
    /// Number of devices that could be compared.
    pub compared: u32,
    /// Standard deviation between healthy devices, as a logarithm of the ratio.
    pub level_deviation: f64,
    /// The same for one window of one device.
    pub noise_deviation: f64,
    /// Smallest lasting ratio that these rules call slow; null if nothing was compared.
    pub smallest_ratio: Option<f64>,
}

/// Devices without a conclusion, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLeftOut {
    /// The reason.
    pub reason: String,
    /// Number of devices.
    pub devices: u32,
    /// Some of them by name.
    pub examples: Vec<String>,
}

impl FleetLeftOut {
    /// Maximum number of devices named as examples.
    const EXAMPLES: usize = 5;

    /// An entry for these devices, with the first few by name; `None` for an empty list.
    #[must_use]
    pub fn of(reason: &str, names: &[String]) -> Option<Self> {
        (!names.is_empty()).then(|| Self {
            reason: reason.to_owned(),
            devices: names.len() as u32,
            examples: names.iter().take(Self::EXAMPLES).cloned().collect(),
        })
    }
}

/// A device that was compared with its own profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetByProfile {
    /// Labels of the device.
    pub labels: FleetLabels,
    /// Id of the profile, whose device has the same serial number.
    pub profile_id: String,
    /// The verdict on the worst episode, or on the longest if none is worse than healthy.
    pub verdict: Verdict,
    /// Probability of that verdict, 0 to 1.
    pub probability: f64,
    /// The verdict in a sentence, with its numbers.
    pub claim: String,
    /// First second of that episode, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second after its end.
    pub end_s: u64,
    /// Whether the device is also listed as slower than its peers by itself.
    pub slow_by_peers: bool,
}

/// The diagnosis of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDiagnosis {
    /// Always [`FLEET_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Source of the counters.
    pub source: String,
    /// Whether the fleet is simulated.
    pub simulated: bool,
    /// First second of the data, since 1970-01-01 UTC.
    pub begin_s: u64,
    /// The second after the last.
    pub end_s: u64,
    /// Length of a window in seconds.
    pub window_s: u64,
    /// Number of devices in the data.
    pub devices: u32,
    /// Accepted share of healthy devices among those called slow, 0 to 1.
    pub false_share: f64,
    /// What slow devices have in common, largest first.
    pub common: Vec<FleetCommon>,
    /// Devices that are slow by themselves, most certain first.
    pub slow: Vec<FleetDevice>,
    /// Devices that have a saved profile, compared with it. Only this comparison shows a cause that slows all
    /// devices of a kind alike. Empty if no profile has the serial number of any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_profile: Vec<FleetByProfile>,
    /// Groups of peers.
    pub kinds: Vec<FleetKind>,
    /// Devices without a conclusion.
    pub left_out: Vec<FleetLeftOut>,
    /// Findings that limit the trust in it.
    pub findings: Vec<Finding>,
}
