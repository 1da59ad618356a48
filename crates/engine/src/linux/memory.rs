//! Allocates memory for buffers as anonymous mappings.

use crate::SystemError;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Maps zeroed, page-aligned memory. With `huge_pages`, the kernel is asked to use huge pages for it.
pub(crate) fn map_memory(bytes: usize, huge_pages: bool) -> Result<NonNull<u8>, SystemError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address chosen by the kernel aliases nothing.
    let base =
        unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
    if huge_pages {
        // SAFETY: the range was mapped just above.
        unsafe { madvise(base, bytes, Advice::LinuxHugepage) }?;
    }
    Ok(NonNull::new(base.cast()).ok_or(Errno::NOMEM)?)
}

/// Unmaps the memory.
///
/// # Safety
/// The memory must come from [`map_memory`] with the same length, and nothing may refer to it any more.
pub(crate) unsafe fn unmap_memory(base: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    let _ = unsafe { munmap(base.as_ptr().cast(), bytes) };
}
