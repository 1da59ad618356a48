//! The two directions of a request, and what stands in place of a write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Read or write, of one request.
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

impl OpKind {
    /// Reads first.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// The word in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The word for several of them.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

/// What a job does where another would write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Instead {
    /// It tells a device that a part of it is not needed any more, or gives a part of a file back.
    Trim,
    /// It makes durable what was written, at the times of a recording.
    Flush,
}
