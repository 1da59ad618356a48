//! Targets on Linux: examined by `/sys`, `/proc` and the ioctls of devices and file systems.

pub(crate) mod capabilities;
pub(crate) mod claim;
pub(crate) mod descriptor;
pub(crate) mod drop_cache;
pub(crate) mod extents;
pub(crate) mod files;
mod holders;
pub(crate) mod layout;
pub(crate) mod open;
mod stable_name;
#[allow(unsafe_code, reason = "calls that rustix has not")]
mod unsafe_calls;
