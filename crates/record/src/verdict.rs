//! The verdicts on a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict on a device, in the order of the tests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A limit above the device caps its rate.
    Capped,
    /// Requests take longer than the profile allows, and much of their latency is waiting.
    SlowAndOverloaded,
    /// Requests take longer than the profile allows.
    Slow,
    /// The device performs as in its profile, but gets more requests than it can serve at once.
    Overloaded,
    /// The device performs as in its profile and has spare capacity: look elsewhere.
    NotTheDisk,
    /// The device performs as in its profile under a considerable load.
    Healthy,
    /// No verdict: too little I/O, or no matching profile.
    NotEnoughEvidence,
}

impl Verdict {
    /// Whether requests take longer than expected, overloaded or not.
    #[must_use]
    pub fn is_slow(self) -> bool {
        matches!(self, Self::Slow | Self::SlowAndOverloaded)
    }

    /// Whether the device gets more requests than it can serve.
    #[must_use]
    pub fn is_overloaded(self) -> bool {
        matches!(self, Self::Overloaded | Self::SlowAndOverloaded)
    }

    /// Whether the device is slow, overloaded or capped.
    #[must_use]
    pub fn is_trouble(self) -> bool {
        self.is_slow() || self.is_overloaded() || self == Self::Capped
    }

    /// Whether the device performs as it should, under any load.
    #[must_use]
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Healthy | Self::NotTheDisk)
    }
}
