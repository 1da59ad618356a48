//! What is alike on all systems when a path is opened as a target: the test file of a directory, the word
//! that an existing file needs, and the handle with its facts.

use crate::default_size::default_test_size;
use crate::error::TargetError;
use crate::findings::target_findings;
use crate::handle::{Access, TargetHandle};
use engine::OwnedFile;
use kernel::Roots;
use kernel::filesystem::locate_filesystem;
use record::{Bytes, DeviceFacts, FilesystemFacts, Target, TargetKind, quoted};
use std::path::Path;

/// What is asked of a path.
pub(crate) struct Opening<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) path: &'a Path,
    pub(crate) access: &'a Access,
    pub(crate) requested_size: Option<Bytes>,
    pub(crate) min_request: Bytes,
    /// Alignment that requests past the cache need, as the system tells it.
    pub(crate) alignment: fn(&OwnedFile, Option<&DeviceFacts>) -> u64,
}

impl Opening<'_> {
    /// A test file without a name in a directory, not yet written.
    pub(crate) fn directory(&self, file: OwnedFile) -> Result<TargetHandle, TargetError> {
        let (filesystem, device) = locate_filesystem(self.roots, self.path, &file)?;
        let size = self.requested_size.unwrap_or_else(|| default_test_size(filesystem.free_bytes));
        self.handle(TargetKind::Directory, file, size, device, Some(filesystem), true)
    }

    /// What is refused of a file.
    pub(crate) fn writing(&self) -> String {
        format!("writing to the file {}", quoted(self.path))
    }

    /// Refuses to write to an existing file without the user's word.
    pub(crate) fn check_overwrite(&self) -> Result<(), TargetError> {
        let Access::ReadWrite { overwrite: false, destroy } = self.access else { return Ok(()) };
        let why = if destroy.is_empty() {
            "it exists, and its content would be lost"
        } else {
            "it exists, its content would be lost, and --destroy-data-on speaks of block \
             devices only"
        };
        let remedy = "give --overwrite if nobody needs it, or name a directory to get a \
                      temporary test file";
        Err(TargetError::refused(self.writing(), why, remedy))
    }

    /// The handle of a target that holds one request, and what was asked for.
    pub(crate) fn handle(
        &self,
        kind: TargetKind,
        file: OwnedFile,
        size: Bytes,
        device: Option<DeviceFacts>,
        filesystem: Option<FilesystemFacts>,
        writable: bool,
    ) -> Result<TargetHandle, TargetError> {
        let needed = self.requested_size.unwrap_or_default().max(self.min_request).max(Bytes(1));
        if size < needed {
            return Err(TargetError::TooSmall { path: self.path.to_owned(), size, needed });
        }
        let path = self.path.to_string_lossy().into_owned();
        let facts = Target {
            path,
            kind,
            size_bytes: size,
            device,
            filesystem,
            extents: None,
            file_hash: None,
        };
        let alignment_bytes = (self.alignment)(&file, facts.device.as_ref());
        let findings = target_findings(&facts);
        Ok(TargetHandle { file, facts, findings, alignment_bytes, writable })
    }
}
