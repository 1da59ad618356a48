//! Memory for buffers: anonymous mappings.

use crate::SystemError;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Maps so many bytes, which read as zeros, from a page's start on; with `huge_pages` the kernel is asked
/// for those.
pub(crate) fn map_memory(bytes: usize, huge_pages: bool) -> Result<NonNull<u8>, SystemError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice aliases nothing.
    let base =
        unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
    if huge_pages {
        // SAFETY: the range was mapped just above.
        unsafe { madvise(base, bytes, Advice::LinuxHugepage) }?;
    }
    Ok(NonNull::new(base.cast()).ok_or(Errno::NOMEM)?)
}

/// Gives it back.
///
/// # Safety
/// It must come from [`map_memory`] with the same length, and nothing may refer to it any more.
pub(crate) unsafe fn unmap_memory(base: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    let _ = unsafe { munmap(base.as_ptr().cast(), bytes) };
}
