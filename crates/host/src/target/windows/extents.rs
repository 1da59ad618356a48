//! The placement of a file on its volume: not read on Windows.
//!
//! FSCTL_GET_RETRIEVAL_POINTERS would report it on NTFS. No machine was available to test that, and a wrong
//! map would be worse than none. So placement is unknown, as on a file system without a map.

use crate::target::error::TargetError;
use record::{Bytes, Extents};
use std::os::windows::io::AsHandle;

/// The placement of a part of an open file: always unknown.
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
