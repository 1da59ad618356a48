//! Settings of other programs that follow from a profile, each with its derivation.

use crate::Measured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of settings.
pub const SETTINGS_SCHEMA: &str = "halfpower/settings/1";

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name there.
    pub name: String,
    /// The value as it is written there, or why there is none.
    pub value: Measured<String>,
    /// How it follows from the profile, a sentence or two; empty without a value.
    pub derivation: String,
    /// What to write there; empty where it is only a part of another setting, or has no value.
    pub lines: Vec<String>,
}

/// Settings for one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// [`SETTINGS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// For which program: `postgresql`, `mysql`, `etcd`, `linux`, `io.cost`, `scylla` or `fio`.
    pub program: String,
    /// Where they belong.
    pub place: String,
    /// The profile.
    pub profile_id: String,
    /// What it was made of.
    pub target: String,
    /// When, RFC 3339 in UTC; null for a simulated target.
    pub profile_time: Option<String>,
    /// Whether it is of a simulated device.
    pub simulated: bool,
    /// Lines ahead of the settings.
    pub head: Vec<String>,
    /// The settings, in the order in which they are written.
    pub settings: Vec<Setting>,
}
