//! The two directions of a request, and the operations that can replace a write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a request reads or writes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
}

crate::words! { OpKind: Read = "read", Write = "write" }

impl OpKind {
    /// The plural.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

/// What a job does instead of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Instead {
    /// Tells a device that a range is no longer needed, or frees a range of a file.
    Trim,
    /// Flushes written data at the times of a recording.
    Flush,
}
