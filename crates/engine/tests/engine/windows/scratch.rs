//! Files for tests that can be opened again, which the usual temporary files do not allow.

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// Deletes the file with its last handle (winbase.h).
const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;

/// A file that is deleted with its last handle, opened with these flags.
pub(crate) fn scratch_file_with(flags: u32) -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("halfpower-test-{}-{number}", std::process::id());
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE | flags)
        .open(std::env::temp_dir().join(name))
        .unwrap()
}

/// A file that is deleted with its last handle.
pub(crate) fn scratch_file() -> File {
    scratch_file_with(0)
}
