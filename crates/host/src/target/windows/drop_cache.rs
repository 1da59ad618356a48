//! How cached pages of an area are got out of memory before a buffered run.
//!
//! Only the papers' cacheflush is there: opening the file once more without buffering has Windows purge what it
//! caches of it. What is left is not told, so both counts are null. Rejected: reading a file as large as
//! memory, because the system file cache has a working set of its own that such a file need not fill.

use crate::kernel::Roots;
use crate::target::error::TargetError;
use crate::target::handle::Area;
use crate::target::windows::descriptor::drop_clean_pages;
use record::{Bytes, CacheDropped, DropCache};
use std::os::windows::io::AsHandle;
use std::path::PathBuf;

/// Bytes of an area that are cached: Windows does not tell.
#[must_use]
pub fn resident_bytes(_file: impl AsHandle, _offset: Bytes, _length: Bytes) -> Option<Bytes> {
    None
}

/// Bytes of an area that are in memory alone: Windows does not tell.
#[must_use]
pub fn unwritten_bytes(_file: impl AsHandle, _offset: Bytes, _length: Bytes) -> Option<Bytes> {
    None
}

/// Gets the areas out of the file cache; what is dirty is written first.
///
/// # Errors
/// What the system said, and [`TargetError::Refused`] for a method that only Linux has.
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
