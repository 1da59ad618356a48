//! What a machine can or cannot measure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that a measurement can rely on, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// What it is called.
    pub name: String,
    /// Whether it is there.
    pub available: bool,
    /// What was found, or what the system said.
    pub detail: String,
    /// What is lost without it and what to do; empty where nothing needs doing.
    pub remedy: String,
}

impl Capability {
    /// An entry; the remedy is kept only where something is missing.
    #[must_use]
    pub fn of(name: &str, available: bool, detail: impl Into<String>, remedy: &str) -> Self {
        let remedy = if available { String::new() } else { remedy.to_owned() };
        Self { name: name.to_owned(), available, detail: detail.into(), remedy }
    }
}
