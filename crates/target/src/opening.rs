//! What is alike on all systems when a path is opened as a target: the test file of a directory, the word
//! that an existing file needs, and the handle with its facts.

use crate::default_size::default_test_size;
use crate::error::TargetError;
use crate::findings::target_findings;
use crate::handle::{Access, TargetHandle};
use crate::in_use::{Identity, InUse, same_file};
use engine::OwnedFile;
use kernel::Roots;
use kernel::filesystem::locate_filesystem;
use record::{Bytes, DeviceFacts, FilesystemFacts, Target, TargetKind, quoted};
use std::fs::File;
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

    /// Refuses a target that the command itself uses for something else.
    pub(crate) fn refuse_kept(
        &self,
        keep: &[InUse],
        identity: Identity,
    ) -> Result<(), TargetError> {
        let kept = keep.iter().find(|kept| same_file(identity, self.path, &kept.path));
        kept.map_or(Ok(()), |kept| {
            let why = format!("it is {}, which the run would destroy", kept.role);
            Err(TargetError::refused(self.writing(), &why, "name another target"))
        })
    }

    /// Refuses a database of results, of whatever user, and the logs beside one: no flag says that it may go.
    pub(crate) fn refuse_database(&self, file: File) -> Result<(), TargetError> {
        let failed = TargetError::failing("read", self.path);
        let mut is = is_database(file).map_err(failed)?;
        let name = self.path.to_string_lossy();
        if let Some(beside) = name.strip_suffix("-wal").or_else(|| name.strip_suffix("-shm")) {
            is |= File::open(beside).is_ok_and(|file| is_database(file).unwrap_or(false));
        }
        if !is {
            return Ok(());
        }
        let why = "it is a database of halfpower's results, which would be lost";
        let remedy = "name another target; who wants to lose it deletes it (rm)";
        Err(TargetError::refused(self.writing(), why, remedy))
    }

    /// Refuses to write to an existing file without the user's word.
    pub(crate) fn check_overwrite(&self) -> Result<(), TargetError> {
        let Access::ReadWrite { overwrite: false, destroy, .. } = self.access else {
            return Ok(());
        };
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

/// Whether a file begins as a database of results: SQLite's first words, and our mark in them
/// (<https://sqlite.org/fileformat.html>, section 1.3).
fn is_database(file: File) -> std::io::Result<bool> {
    const MARK_AT: usize = 68;
    let mut head = Vec::new();
    input::at_most(file, MARK_AT as u64 + 4, &mut head)?;
    let mark = head.get(MARK_AT..).unwrap_or_default();
    Ok(head.starts_with(b"SQLite format 3\0") && mark == record::DATABASE_MARK.as_slice())
}
