//! Represents a simulated run as a command line, and the parts of a drive that can be switched off in it.
//!
//! Rows name their runs as command lines, so that a user can repeat a number by itself, and so that two
//! rows that need the same run share it. The caller executes them with the parser of `halfpower run`, so
//! that no second code path exists.

use std::fmt;

/// The arguments of one `halfpower run`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLine {
    /// The simulated target, as on the command line.
    pub target: String,
    /// The flags, one argument each.
    pub flags: Vec<String>,
}

impl RunLine {
    /// The same run on another target.
    #[must_use]
    pub fn on(&self, target: String) -> Self {
        Self { target, flags: self.flags.clone() }
    }

    /// All arguments in order, without `halfpower run`.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.target).chain(&self.flags).map(String::as_str)
    }
}

impl fmt::Display for RunLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "halfpower run")?;
        self.arguments().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// A part of the physics that can be switched off in every simulated drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// Arm movement takes no time.
    Seek,
    /// No rotational delay: every sector is under the head at once.
    Rotation,
    /// The drive reads nothing ahead.
    Readahead,
    /// The drive's cache does not merge writes.
    Coalesce,
    /// Requests never wait for a bus.
    Contention,
    /// Inner tracks are as fast as outer tracks.
    Zones,
}

impl Switch {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Seek,
        Self::Rotation,
        Self::Readahead,
        Self::Coalesce,
        Self::Contention,
        Self::Zones,
    ];

    /// Its name, also as the key of the target.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seek => "seek",
            Self::Rotation => "rotation",
            Self::Readahead => "readahead",
            Self::Coalesce => "coalesce",
            Self::Contention => "contention",
            Self::Zones => "zones",
        }
    }
}
