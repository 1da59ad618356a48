//! Removes the cached pages of an area from memory before a buffered run.
//!
//! Only the papers' cacheflush is available: opening the file again without buffering makes Windows purge
//! its cache of it. The remaining pages are not reported, so both counts are null. Rejected: reading a file
//! as large as memory, because the system file cache has its own working set, which such a file need not
//! fill.

use crate::kernel::Roots;
use crate::target::error::TargetError;
use crate::target::handle::Area;
use crate::target::windows::descriptor::drop_clean_pages;
use record::{Bytes, CacheDropped, DropCache};
use std::os::windows::io::AsHandle;
use std::path::PathBuf;

/// Bytes of an area that are cached: Windows does not report it.
#[must_use]
pub fn resident_bytes(_file: impl AsHandle, _offset: Bytes, _length: Bytes) -> Option<Bytes> {
    None
}

/// Bytes of an area that are only in memory: Windows does not report it.
#[must_use]
pub fn unwritten_bytes(_file: impl AsHandle, _offset: Bytes, _length: Bytes) -> Option<Bytes> {
    None
}

/// Removes the areas from the file cache; dirty data is written first.
///
/// # Errors
/// The system's error, or [`TargetError::Refused`] for a method that only Linux has.
pub fn drop_cache(
    _roots: &Roots,
    method: DropCache,
    areas: &[Area<'_>],
    _directories: &[PathBuf],
    _cancel: &dyn Fn() -> bool,
) -> Result<Option<CacheDropped>, TargetError> {
    match method {
        DropCache::None => return Ok(None),
        DropCache::Dontneed => {
            for area in areas {
                drop_clean_pages(area.file, area.offset, area.length)?;
            }
        }
        DropCache::ScratchRead | DropCache::DropCaches => {
            return Err(TargetError::refused(
                "this way of dropping the cache".to_owned(),
                "Windows does not support it",
                "use --drop-cache dontneed, which purges the cached pages by opening the file \
                 unbuffered",
            ));
        }
    }
    Ok(Some(CacheDropped { method, resident_before_bytes: None, resident_after_bytes: None }))
}
