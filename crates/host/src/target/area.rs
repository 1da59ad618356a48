//! What is learnt of the area of a target that a run will use.

use crate::target::error::TargetError;
use crate::target::findings::placement_findings;
use crate::target::handle::TargetHandle;
use crate::target::platform::extents::extents;
use record::{Bytes, FindingCode, Severity, TargetKind};

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
