//! Wraps every unsafe call of this module, so that callers are safe.

use crate::kernel::unsafe_calls::wide;
use std::ffi::c_void;
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CreateFileW, FILE_ALLOCATION_INFO, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FileAllocationInfo, GetFileInformationByHandle, ReOpenFile,
    SetFileInformationByHandle, SetFileValidData,
};

/// Allows other programs any access to the file.
const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

fn opened(file: *mut c_void) -> Result<OwnedHandle> {
    if file == INVALID_HANDLE_VALUE || file.is_null() {
        return Err(Error::last_os_error());
    }
    // SAFETY: callers pass a handle that a call has just opened, and that no other code has.
    Ok(unsafe { OwnedHandle::from_raw_handle(file) })
}

/// Opens a file by its name, shared with all other programs.
pub(crate) fn create_file(path: &Path, access: u32, how: u32, flags: u32) -> Result<OwnedHandle> {
    let path = wide(path.as_os_str());
    // SAFETY: the path ends with a zero and lives during the call; no other pointer is given.
    opened(unsafe { CreateFileW(path.as_ptr(), access, SHARED, null(), how, flags, null_mut()) })
}

/// Opens the same file again, with other rights and flags.
pub(crate) fn reopen_file(file: impl AsHandle, access: u32, flags: u32) -> Result<OwnedHandle> {
    // SAFETY: the handle lives during the call, which takes no pointer.
    opened(unsafe { ReOpenFile(file.as_handle().as_raw_handle(), access, SHARED, flags) })
}

/// Volume and number of an open file: equal for two names of one file.
pub(crate) fn file_number(file: impl AsHandle) -> Result<(u64, u64)> {
    // SAFETY: the structure is live and contains only integers, for which zeros are valid.
    let (done, facts) = unsafe {
        let mut facts: BY_HANDLE_FILE_INFORMATION = zeroed();
        let done = GetFileInformationByHandle(file.as_handle().as_raw_handle(), &raw mut facts);
        (done, facts)
    };
    if done == 0 {
        return Err(Error::last_os_error());
    }
    let number = u64::from(facts.nFileIndexHigh) << 32 | u64::from(facts.nFileIndexLow);
    Ok((u64::from(facts.dwVolumeSerialNumber), number))
}

pub(crate) fn reserve_clusters(file: impl AsHandle, length: u64) -> Result<()> {
    let bytes = i64::try_from(length).unwrap_or(i64::MAX);
    let asked = FILE_ALLOCATION_INFO { AllocationSize: bytes };
    // SAFETY: the structure is live, of the named type, and has the given length.
    let done = unsafe {
        SetFileInformationByHandle(
            file.as_handle().as_raw_handle(),
            FileAllocationInfo,
            (&raw const asked).cast(),
            size_of::<FILE_ALLOCATION_INFO>() as u32,
        )
    };
    if done == 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Marks the beginning of a file as valid, whatever the contents of its clusters.
pub(crate) fn tell_valid_data(file: impl AsHandle, length: u64) -> Result<()> {
    let bytes = i64::try_from(length).unwrap_or(i64::MAX);
    // SAFETY: the handle lives during the call, which takes no pointer.
    let done = unsafe { SetFileValidData(file.as_handle().as_raw_handle(), bytes) };
    if done == 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
