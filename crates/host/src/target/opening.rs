//! The parts of opening a target that are equal on all systems: the test file of a directory, the
//! permission for an existing file, and the handle with its facts.

use crate::kernel::Roots;
use crate::kernel::filesystem::locate_filesystem;
use crate::target::default_size::default_test_size;
use crate::target::error::TargetError;
use crate::target::findings::target_findings;
use crate::target::handle::{Access, TargetHandle};
use engine::OwnedFile;
use engine::input;
use record::{Bytes, DeviceFacts, FilesystemFacts, Target, TargetKind, quoted, shell_word};
use std::fs::File;
use std::path::Path;
use workload::fio;

/// A request to open a path as a target.
pub(crate) struct Opening<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) path: &'a Path,
    pub(crate) access: &'a Access,
    pub(crate) requested_size: Option<Bytes>,
    pub(crate) min_request: Bytes,
    /// The alignment of direct requests, as the system reports it.
    pub(crate) alignment: fn(&OwnedFile, Option<&DeviceFacts>) -> u64,
}

impl Opening<'_> {
    /// An unnamed test file in a directory, not yet written.
    pub(crate) fn directory(&self, file: OwnedFile) -> Result<TargetHandle, TargetError> {
        let (filesystem, device) = locate_filesystem(self.roots, self.path, &file)?;
        let size = self.requested_size.unwrap_or_else(|| default_test_size(filesystem.free_bytes));
        self.handle(TargetKind::Directory, file, size, device, Some(filesystem), true)
    }

    /// The refused action on a file, for messages.
    pub(crate) fn writing(&self) -> String {
        format!("writing to the file {}", quoted(self.path))
    }

    /// Refuses files that this program reads and keeps, whichever user owns them: a job file, a database of
    /// results, the logs next to one. No flag permits overwriting them.
    pub(crate) fn refuse_own_files(&self, file: File) -> Result<(), TargetError> {
        let failed = TargetError::failing("read", self.path);
        let mut bytes = Vec::new();
        input::at_most(file, fio::JOB_FILE_BYTES_MAX as u64 + 1, &mut bytes).map_err(failed)?;
        if fio::looks_like_job_file(&bytes) {
            let why = "it is a fio job file, which would be lost";
            let file = shell_word(&self.path.to_string_lossy());
            let remedy = format!("name another target, or run the file: halfpower run {file}");
            return Err(TargetError::refused(self.writing(), why, &remedy));
        }
        let mut is = is_database(&bytes);
        let name = self.path.to_string_lossy();
        let logs = ["-wal", "-shm", "-journal"];
        if let Some(beside) = logs.iter().find_map(|log| name.strip_suffix(log)) {
            let mut head = Vec::new();
            let read = File::open(beside)
                .and_then(|file| input::at_most(file, DATABASE_HEAD_BYTES as u64, &mut head));
            is |= read.is_ok() && is_database(&head);
        }
        if !is {
            return Ok(());
        }
        let why = "it is a database of halfpower results, which would be lost";
        let remedy = "name another target, or delete the database yourself (rm)";
        Err(TargetError::refused(self.writing(), why, remedy))
    }

    /// Refuses to write to an existing file without the user's permission.
    pub(crate) fn check_overwrite(&self) -> Result<(), TargetError> {
        let Access::ReadWrite { overwrite: false, destroy, .. } = self.access else {
            return Ok(());
        };
        let why = if destroy.is_empty() {
            "it exists, and its content would be lost"
        } else {
            "it exists and its content would be lost; --destroy-data-on applies only to block \
             devices"
        };
        let remedy = "add --overwrite if its content is no longer needed, or name a directory to \
                      get a temporary test file";
        Err(TargetError::refused(self.writing(), why, remedy))
    }

    /// The handle of a target that is large enough for one request and for the requested size.
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
            test_file: None,
        };
        let alignment_bytes = (self.alignment)(&file, facts.device.as_ref());
        let findings = target_findings(&facts);
        Ok(TargetHandle { file, facts, findings, alignment_bytes, writable })
    }
}

/// First bytes of a database that identify the program it belongs to.
const DATABASE_HEAD_BYTES: usize = 72;

/// Whether a file with this beginning is a database of results: SQLite's magic, and our mark at the end of
/// its header (<https://sqlite.org/fileformat.html>, section 1.3).
#[must_use]
pub fn is_database(begin: &[u8]) -> bool {
    let head = begin.get(..DATABASE_HEAD_BYTES).unwrap_or_default();
    head.starts_with(b"SQLite format 3\0") && head.ends_with(record::DATABASE_MARK.as_slice())
}
