//! Enables privileges of this process: an account may hold a privilege that each program must still enable.

use super::last_error;
use crate::SystemError;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, LUID};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED,
    TOKEN_ADJUST_PRIVILEGES, TOKEN_PRIVILEGES, TOKEN_QUERY,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// A privilege that halfpower can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Lock pages in memory, which large pages require.
    LockMemory,
    /// Manage volumes: mark clusters of a file as valid that were never written.
    ManageVolume,
}

impl Privilege {
    /// Its name in winnt.h.
    fn name(self) -> &'static str {
        match self {
            Self::LockMemory => "SeLockMemoryPrivilege",
            Self::ManageVolume => "SeManageVolumePrivilege",
        }
    }

    /// Enables it for this process.
    ///
    /// # Errors
    /// The system's error: ERROR_NOT_ALL_ASSIGNED if the account does not hold it.
    pub fn switch_on(self) -> Result<(), SystemError> {
        let name: Vec<u16> = self.name().encode_utf16().chain([0]).collect();
        let (mut token, mut id): (HANDLE, LUID) = (null_mut(), LUID::default());
        let rights = TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY;
        // SAFETY: the handle of this process needs no closing, and the token variable is valid.
        if unsafe { OpenProcessToken(GetCurrentProcess(), rights, &raw mut token) } == 0 {
            return Err(last_error());
        }
        // SAFETY: a new handle with no other owner.
        let token = unsafe { OwnedHandle::from_raw_handle(token) };
        // SAFETY: the name ends with a zero, and the id variable is valid.
        if unsafe { LookupPrivilegeValueW(null(), name.as_ptr(), &raw mut id) } == 0 {
            return Err(last_error());
        }
        let wanted = TOKEN_PRIVILEGES {
            PrivilegeCount: 1,
            Privileges: [LUID_AND_ATTRIBUTES { Luid: id, Attributes: SE_PRIVILEGE_ENABLED }],
        };
        // SAFETY: the structure is valid and contains as many privileges as it states. The previous state is
        // not requested.
        let adjusted = unsafe {
            let token = token.as_raw_handle();
            AdjustTokenPrivileges(token, 0, &raw const wanted, 0, null_mut(), null_mut())
        };
        // The call also succeeds if nothing was enabled. Only the last error shows that.
        match last_error() {
            error if adjusted == 0 || error.code() != 0 => Err(error),
            _ => Ok(()),
        }
    }
}
