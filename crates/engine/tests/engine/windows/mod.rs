//! What only Windows has, and its way to make the files of the shared tests.

mod handles;

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::sync::atomic::{AtomicU32, Ordering};
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, GENERIC_READ, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_DELETE_ON_CLOSE, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, ReOpenFile,
};

/// The outcome of a write through a handle that may only read.
pub(crate) const NOT_WRITABLE: i32 = -(ERROR_ACCESS_DENIED as i32);

/// A file that goes away with its last handle, opened with these flags.
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

/// A file that goes away with its last handle.
pub(crate) fn scratch_file() -> File {
    scratch_file_with(0)
}

/// The same file, open for reading only.
pub(crate) fn read_only(file: &File) -> File {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the handle is open; the new one is ours alone.
    unsafe {
        let handle = ReOpenFile(file.as_raw_handle(), GENERIC_READ, share, 0);
        assert_ne!(handle, INVALID_HANDLE_VALUE);
        File::from_raw_handle(handle)
    }
}

/// Windows has no such limit below what is asked for.
pub(crate) fn allow_files(_count: u64) {}
