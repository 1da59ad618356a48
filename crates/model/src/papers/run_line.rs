//! A simulated run as the command that anyone can type, and what can be switched off in it.
//!
//! Rows name their runs as command lines, so that what stands behind a number can be repeated by
//! itself, and so that two rows which need the same run share it. This crate does not carry them
//! out: whoever calls it does, with the parser of `halfpower run`, so that there is no second path.

use std::fmt;

/// The arguments of one `halfpower run`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLine {
    /// The simulated target.
    pub target: String,
    /// The flags.
    pub flags: Vec<String>,
}

impl RunLine {
    /// The same on another target.
    #[must_use]
    pub fn on(&self, target: String) -> Self {
        Self { target, flags: self.flags.clone() }
    }

    /// All arguments in order, the program and its verb left out.
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

/// A part of the physics that can be left out of every simulated drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// Arm movement takes no time.
    Seek,
    /// Every sector is under the head at once.
    Rotation,
    /// The drive reads nothing ahead.
    Readahead,
    /// The drive's cache does not join writes.
    Coalesce,
    /// Nobody waits for a bus.
    Contention,
    /// The disk is as fast inside as outside.
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

    /// Its name, also that of the target's key.
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
