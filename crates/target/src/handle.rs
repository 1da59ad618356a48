//! An open target: its file, what was learnt about it, and what may be done to it.

use crate::error::TargetError;
use crate::findings::placement_findings;
use crate::platform::extents::extents;
use engine::OwnedFile;
use record::{Bytes, Finding, FindingCode, Severity, Target, TargetKind};

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

impl TargetHandle {
    /// Learns how an existing file lies on its device within the area that a run will use; what
    /// was found of another area is forgotten. Other kinds of target have nothing to learn.
    ///
    /// # Errors
    /// If the map of the file exists and cannot be read.
    pub fn look_at_area(&mut self, offset: Bytes, length: Bytes) -> Result<(), TargetError> {
        if self.facts.kind != TargetKind::File {
            return Ok(());
        }
        self.facts.extents = extents(&self.file, offset, length)?;
        self.findings.retain(|finding| {
            !matches!(finding.code, FindingCode::UnwrittenExtents | FindingCode::Fragmented)
        });
        // Reading what was never written measures memory; writing there measures allocation too.
        let severity = if self.writable { Severity::Warning } else { Severity::Invalid };
        if let Some(extents) = &self.facts.extents {
            self.findings.extend(placement_findings(extents, length, severity));
        }
        Ok(())
    }
}
