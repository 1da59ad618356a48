//! Examines the area of a target that a run will use.

use crate::target::error::TargetError;
use crate::target::findings::placement_findings;
use crate::target::handle::TargetHandle;
use crate::target::platform::extents::extents;
use record::{Bytes, FindingCode, Severity, TargetKind};

impl TargetHandle {
    /// Examines how an existing file is placed on its device within the area that a run will use; earlier
    /// findings on another area are dropped. For other kinds of target there is nothing to examine.
    ///
    /// # Errors
    /// If the file has a map of its placement that cannot be read.
    pub fn look_at_area(&mut self, offset: Bytes, length: Bytes) -> Result<(), TargetError> {
        if self.facts.kind != TargetKind::File {
            return Ok(());
        }
        self.facts.extents = extents(&self.file, offset, length)?;
        self.findings.retain(|finding| {
            !matches!(finding.code, FindingCode::UnwrittenExtents | FindingCode::Fragmented)
        });
        // Reading unwritten areas measures memory; writing them also measures allocation.
        let severity = if self.writable { Severity::Warning } else { Severity::Invalid };
        if let Some(extents) = &self.facts.extents {
            self.findings.extend(placement_findings(extents, length, severity));
        }
        Ok(())
    }
}
