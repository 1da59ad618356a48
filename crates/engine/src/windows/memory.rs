//! Memory for buffers: committed pages of VirtualAlloc, whose starts suit any sector.

use super::{NOT_SUPPORTED, Privilege, last_error};
use crate::SystemError;
use std::ptr::NonNull;
use windows_sys::Win32::System::Memory::{
    GetLargePageMinimum, MEM_COMMIT, MEM_LARGE_PAGES, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE,
    VirtualAlloc, VirtualFree,
};

/// Makes sure that this process may have large pages; their length in bytes.
///
/// # Errors
/// ERROR_NOT_SUPPORTED where the processor or system has none, ERROR_NOT_ALL_ASSIGNED where the account may not
/// lock pages in memory.
pub fn allow_large_pages() -> Result<usize, SystemError> {
    // SAFETY: the call takes nothing.
    match unsafe { GetLargePageMinimum() } {
        0 => Err(NOT_SUPPORTED),
        bytes => Privilege::LockMemory.switch_on().map(|()| bytes),
    }
}

/// Maps so many bytes, which read as zeros, from a page's start on; in large pages alone with `huge_pages`.
pub(crate) fn map_memory(bytes: usize, huge_pages: bool) -> Result<NonNull<u8>, SystemError> {
    let (how, bytes) = match huge_pages {
        true => (MEM_LARGE_PAGES, bytes.next_multiple_of(allow_large_pages()?)),
        false => (0, bytes),
    };
    let how = MEM_RESERVE | MEM_COMMIT | how;
    // SAFETY: fresh pages at an address of the system's choice alias nothing.
    let base = unsafe { VirtualAlloc(std::ptr::null(), bytes, how, PAGE_READWRITE) };
    NonNull::new(base.cast()).ok_or_else(last_error)
}

/// Gives it back.
///
/// # Safety
/// It must come from [`map_memory`], and nothing may refer to it any more.
pub(crate) unsafe fn unmap_memory(base: NonNull<u8>, _bytes: usize) {
    // SAFETY: as the caller promises; all that was reserved is released with a length of 0.
    let _ = unsafe { VirtualFree(base.as_ptr().cast(), 0, MEM_RELEASE) };
}
