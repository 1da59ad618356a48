//! An open target: its file, the facts about it, and the permitted access.

use crate::target::in_use::InUse;
use engine::OwnedFile;
use record::{Bytes, Finding, Target};

/// Permitted access to an existing target. A directory's test file is always written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    ReadOnly,
    /// Writes too.
    ReadWrite {
        /// Whether the user permits overwriting an existing file.
        overwrite: bool,
        /// Stable names of the block devices whose data the user permits to destroy.
        destroy: Vec<String>,
        /// Files of the command itself (its database, its inputs), which can never be a target.
        keep: Vec<InUse>,
    },
}

/// An open target with all facts about it.
#[derive(Debug)]
pub struct TargetHandle {
    /// The file; all descriptors of a run are made from it.
    pub file: OwnedFile,
    /// Facts for the record. For a directory, the size is that of the future test file, and extents are set
    /// once it is written.
    pub facts: Target,
    /// Effects of the facts on the numbers.
    pub findings: Vec<Finding>,
    /// Alignment of offsets and lengths that O_DIRECT requires, in bytes.
    pub alignment_bytes: u64,
    /// Whether `file` may be written.
    pub writable: bool,
}

/// A part of a target, and its open file.
#[derive(Clone, Copy, Debug)]
pub struct Area<'a> {
    /// Open at least for reading.
    pub file: &'a OwnedFile,
    /// First byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: Bytes,
}
