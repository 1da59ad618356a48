//! What a machine can or cannot measure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that a measurement may depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// Name of the capability.
    pub name: String,
    /// Whether the machine has it.
    pub available: bool,
    /// What was found, or the system's error message.
    pub detail: String,
    /// What the user loses without it and what to do; empty if nothing needs doing.
    pub remedy: String,
}

impl Capability {
    /// Creates an entry. The remedy is dropped if the capability is available.
    #[must_use]
    pub fn of(name: &str, available: bool, detail: impl Into<String>, remedy: &str) -> Self {
        let remedy = if available { String::new() } else { remedy.to_owned() };
        Self { name: name.to_owned(), available, detail: detail.into(), remedy }
    }

    /// Creates an entry of an attempt: the capability is available if it succeeded.
    #[must_use]
    pub fn tried(
        name: &str,
        outcome: Result<impl Into<String>, impl Into<String>>,
        remedy: &str,
    ) -> Self {
        match outcome {
            Ok(found) => Self::of(name, true, found, ""),
            Err(lack) => Self::of(name, false, lack, remedy),
        }
    }
}
