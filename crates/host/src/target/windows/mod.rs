//! Targets on Windows: files and volumes by CreateFileW and the requests of winioctl.h.

pub(crate) mod capabilities;
mod claim;
pub(crate) mod descriptor;
pub(crate) mod drop_cache;
pub(crate) mod extents;
pub(crate) mod files;
pub(crate) mod layout;
pub(crate) mod open;
#[allow(unsafe_code, reason = "the calls of Windows")]
mod unsafe_calls;
