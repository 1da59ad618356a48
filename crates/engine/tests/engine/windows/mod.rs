//! Tests that only Windows supports, and the Windows functions for the shared tests.

mod handles;
pub(crate) mod scratch;

pub(crate) use scratch::{scratch_file, scratch_file_with};

use record::EngineName;
use std::fs::File;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, GENERIC_READ, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, ReOpenFile,
};

/// Whether the engine's system calls exist: Windows has those of all engines in its table.
pub(crate) fn has_calls_of(_engine: EngineName) -> bool {
    true
}

/// The outcome of a write through a read-only handle.
pub(crate) const NOT_WRITABLE: i32 = -(ERROR_ACCESS_DENIED as i32);

/// The same file, opened read-only.
pub(crate) fn read_only(file: &File) -> File {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the handle is open, and the new one has no other owner.
    unsafe {
        let handle = ReOpenFile(file.as_raw_handle(), GENERIC_READ, share, 0);
        assert_ne!(handle, INVALID_HANDLE_VALUE);
        File::from_raw_handle(handle)
    }
}

/// Windows has no such limit in the required range.
pub(crate) fn allow_files(_count: u64) {}
