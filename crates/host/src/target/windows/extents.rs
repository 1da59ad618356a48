//! Where a file lies on its volume: not asked for on Windows.
//!
//! FSCTL_GET_RETRIEVAL_POINTERS would tell it on NTFS. No machine at hand could try that, and a wrong map
//! would be worse than none: placement is "not told", as on a file system without a map.

use crate::target::error::TargetError;
use record::{Bytes, Extents};
use std::os::windows::io::AsHandle;

/// The placement of a part of an open file: never told.
///
/// # Errors
/// None.
pub fn extents(
    _file: impl AsHandle,
    _offset: Bytes,
    _length: Bytes,
) -> Result<Option<Extents>, TargetError> {
    Ok(None)
}
