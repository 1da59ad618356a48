//! An open target: its file, what was learnt about it, and what may be done to it.

use crate::target::in_use::InUse;
use engine::OwnedFile;
use record::{Bytes, Finding, Target};

/// What may be done to an existing target. A directory's test file is always written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    ReadOnly,
    /// Writes too.
    ReadWrite {
        /// Whether the user said that an existing file may be overwritten.
        overwrite: bool,
        /// Stable names of the block devices whose data the user said may be destroyed.
        destroy: Vec<String>,
        /// Files of the command itself (its database, its inputs), which are never a target.
        keep: Vec<InUse>,
    },
}

/// An open target with everything that was learnt about it.
#[derive(Debug)]
pub struct TargetHandle {
    /// The file; all descriptors of a run are made from it.
    pub file: OwnedFile,
    /// Facts for the record. For a directory, the size is that of the test file to come, and
    /// extents are there once it is written.
    pub facts: Target,
    /// What the facts mean for the numbers.
    pub findings: Vec<Finding>,
    /// Alignment that O_DIRECT asks of offsets and lengths, in bytes.
    pub alignment_bytes: u64,
    /// Whether `file` may be written.
    pub writable: bool,
}

/// A part of a target, and its open file.
#[derive(Clone, Copy, Debug)]
pub struct Area<'a> {
    /// Open for reading at least.
    pub file: &'a OwnedFile,
    /// Its start.
    pub offset: Bytes,
    /// Its length.
    pub length: Bytes,
}
