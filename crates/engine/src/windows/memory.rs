//! Memory for buffers: committed pages of VirtualAlloc, whose starts suit any sector.

use super::{NOT_SUPPORTED, last_error};
use crate::SystemError;
use std::ptr::NonNull;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

/// Maps so many bytes, which read as zeros, from a page's start on. Large pages take a privilege that no
/// account has by default, and are refused.
pub(crate) fn map_memory(bytes: usize, huge_pages: bool) -> Result<NonNull<u8>, SystemError> {
    if huge_pages {
        return Err(NOT_SUPPORTED);
    }
    // SAFETY: fresh pages at an address of the system's choice alias nothing.
    let base =
        unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
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
