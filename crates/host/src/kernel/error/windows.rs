//! Remedies for the error codes of Windows.

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_CRC, ERROR_DISK_FULL, ERROR_FILE_NOT_FOUND, ERROR_HANDLE_DISK_FULL,
    ERROR_INVALID_FUNCTION, ERROR_INVALID_NAME, ERROR_IO_DEVICE, ERROR_LOCK_VIOLATION,
    ERROR_NOT_READY, ERROR_NOT_SUPPORTED, ERROR_PATH_NOT_FOUND, ERROR_PRIVILEGE_NOT_HELD,
    ERROR_SHARING_VIOLATION, ERROR_WRITE_PROTECT,
};

/// The remedy for a system error.
pub(super) fn remedy(cause: &std::io::Error) -> &'static str {
    let code = cause.raw_os_error().and_then(|code| u32::try_from(code).ok()).unwrap_or_default();
    match code {
        ERROR_FILE_NOT_FOUND | ERROR_PATH_NOT_FOUND | ERROR_INVALID_NAME => "check the path",
        ERROR_ACCESS_DENIED | ERROR_PRIVILEGE_NOT_HELD => {
            "run as a user with the permission (disks and volumes need an administrator), or name a \
             target that you own"
        }
        ERROR_WRITE_PROTECT => "name a directory on a writable volume",
        ERROR_DISK_FULL | ERROR_HANDLE_DISK_FULL => "free some space, or use a smaller --size",
        ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION => {
            "another program has the target open; end that program, or name another target"
        }
        ERROR_CRC | ERROR_IO_DEVICE | ERROR_NOT_READY => {
            "the device failed or was removed; check the system's event log"
        }
        ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED => {
            "the file system or driver of the target does not support this; name a target on \
             another volume"
        }
        _ => "check the system's event log, or name another target",
    }
}
