//! Allocates memory for buffers as committed pages of VirtualAlloc, which are aligned for any sector size.

use super::{NOT_SUPPORTED, Privilege, last_error};
use crate::SystemError;
use std::ptr::NonNull;
use windows_sys::Win32::System::Memory::{
    GetLargePageMinimum, MEM_COMMIT, MEM_LARGE_PAGES, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE,
    VirtualAlloc, VirtualFree,
};

/// Obtains the privilege for large pages. Returns the length of a large page in bytes.
///
/// # Errors
/// ERROR_NOT_SUPPORTED if the processor or system has no large pages, ERROR_NOT_ALL_ASSIGNED if the account
/// may not lock pages in memory.
pub fn allow_large_pages() -> Result<usize, SystemError> {
    // SAFETY: the call has no parameters.
    match unsafe { GetLargePageMinimum() } {
        0 => Err(NOT_SUPPORTED),
        bytes => Privilege::LockMemory.switch_on().map(|()| bytes),
    }
}

/// Maps zeroed, page-aligned memory. With `huge_pages`, it uses only large pages.
pub(crate) fn map_memory(bytes: usize, huge_pages: bool) -> Result<NonNull<u8>, SystemError> {
    let (how, bytes) = match huge_pages {
        true => (MEM_LARGE_PAGES, bytes.next_multiple_of(allow_large_pages()?)),
        false => (0, bytes),
    };
    let how = MEM_RESERVE | MEM_COMMIT | how;
    // SAFETY: new pages at an address chosen by the system alias nothing.
    let base = unsafe { VirtualAlloc(std::ptr::null(), bytes, how, PAGE_READWRITE) };
    NonNull::new(base.cast()).ok_or_else(last_error)
}

/// Releases the memory.
///
/// # Safety
/// The memory must come from [`map_memory`], and nothing may refer to it any more.
pub(crate) unsafe fn unmap_memory(base: NonNull<u8>, _bytes: usize) {
    // SAFETY: the caller guarantees the requirements. With a length of 0, the call releases everything that
    // was reserved.
    let _ = unsafe { VirtualFree(base.as_ptr().cast(), 0, MEM_RELEASE) };
}
