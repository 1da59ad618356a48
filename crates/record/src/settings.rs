//! Settings for other programs, derived from a profile.

use crate::Measured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of settings.
pub const SETTINGS_SCHEMA: &str = "halfpower/settings/1";

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name in that program.
    pub name: String,
    /// The value in that program's syntax, or why there is none.
    pub value: Measured<String>,
    /// How it was derived from the profile, in one or two sentences; empty without a value.
    pub derivation: String,
    /// Lines of configuration; empty if it is only a fact, or has no value.
    pub lines: Vec<String>,
}

/// Settings for one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// [`SETTINGS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The program: `postgresql`, `mysql`, `etcd`, `linux` or `fio`.
    pub program: String,
    /// Where the settings go.
    pub place: String,
    /// Id of the profile.
    pub profile_id: String,
    /// Target of the profile.
    pub target: String,
    /// When the profile was measured, RFC 3339 in UTC; null for a simulated target.
    pub profile_time: Option<String>,
    /// Whether the profile is of a simulated device.
    pub simulated: bool,
    /// Lines before the settings.
    pub head: Vec<String>,
    /// The settings, in the order of output.
    pub settings: Vec<Setting>,
}
