//! Creates the handles of a target: temporary files, reopened with the flags of a cache mode.
//!
//! The modes use the papers' own flags: FILE_FLAG_NO_BUFFERING to bypass the file cache,
//! FILE_FLAG_WRITE_THROUGH for writes that end on the device.

use crate::target::error::TargetError;
use crate::target::handle::TargetHandle;
use crate::target::windows::files::sync_data;
use crate::target::windows::unsafe_calls::{create_file, reopen_file};
use engine::OwnedFile;
use record::{Bytes, CacheMode, DeviceFacts, quoted};
use std::io::ErrorKind;
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_NO_BUFFERING, FILE_FLAG_WRITE_THROUGH,
};

/// Alignment if neither file system nor device reports one. Disks with sectors of 4096 bytes are common,
/// and this alignment is valid for smaller ones too.
const SAFE_ALIGNMENT_BYTES: u64 = 4_096;
/// Number of file names to try.
const NAME_ATTEMPTS: u32 = 16;

/// A file in `directory` that is deleted with its last handle, however the program ends.
pub(crate) fn create_nameless(directory: &Path) -> Result<OwnedFile, TargetError> {
    let failed =
        |cause: std::io::Error| TargetError::system("create a test file in", directory, cause);
    let mut taken = None;
    for attempt in 0..NAME_ATTEMPTS {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let name = format!(".halfpower-{}-{now}-{attempt}", std::process::id());
        let made = create_file(
            &directory.join(name),
            GENERIC_READ | GENERIC_WRITE,
            CREATE_NEW,
            FILE_FLAG_DELETE_ON_CLOSE,
        );
        match made {
            Ok(file) => return Ok(file),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => taken = Some(cause),
            Err(cause) => return Err(failed(cause)),
        }
    }
    Err(failed(taken.unwrap_or_else(|| ErrorKind::AlreadyExists.into())))
}

/// A new handle of the target with the flags of a cache mode.
///
/// # Errors
/// The system's error, or [`TargetError::Refused`] for writing to a target opened for reading.
pub fn reopen(
    handle: &TargetHandle,
    cache: CacheMode,
    write: bool,
) -> Result<OwnedFile, TargetError> {
    let path = PathBuf::from(&handle.facts.path);
    if write && !handle.writable {
        let what = format!("writing to {}", quoted(&path));
        return Err(TargetError::refused(
            what,
            "it was opened for reading only",
            "request read access",
        ));
    }
    let mut flags = 0;
    if cache.direct() {
        flags |= FILE_FLAG_NO_BUFFERING;
    }
    if cache.synchronous() {
        flags |= FILE_FLAG_WRITE_THROUGH;
    }
    let access = if write { GENERIC_READ | GENERIC_WRITE } else { GENERIC_READ };
    reopen_file(&handle.file, access, flags).map_err(TargetError::failing("reopen", &path))
}

/// The alignment of offsets, lengths and memory that FILE_FLAG_NO_BUFFERING requires, in bytes: the
/// device's sector, or 4096 if unknown.
#[must_use]
pub fn direct_alignment(_file: impl AsHandle, device: Option<&DeviceFacts>) -> u64 {
    device.and_then(|device| device.logical_block_bytes).unwrap_or(SAFE_ALIGNMENT_BYTES)
}

/// Drops the cached pages of a file, as the papers' cacheflush does: Windows purges its cache of a file
/// when the file is opened without buffering while no process maps it. Dirty pages are written first if the
/// handle allows writing. This affects the whole file, not an area, and the system does not report what is
/// left.
///
/// # Errors
/// If writing the dirty pages fails.
pub fn drop_clean_pages(
    file: &OwnedFile,
    _offset: Bytes,
    _length: Bytes,
) -> Result<(), TargetError> {
    let name = Path::new("the target");
    match sync_data(file) {
        // A handle for reading alone has nothing to write back.
        Err(cause) if cause.kind() != ErrorKind::PermissionDenied => {
            return Err(TargetError::system("write back the pages of", name, cause));
        }
        _ => {}
    }
    let purged = reopen_file(file, GENERIC_READ, FILE_FLAG_NO_BUFFERING);
    purged.map(drop).map_err(TargetError::failing("open without buffering", name))
}
