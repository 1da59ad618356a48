//! Targets on Linux, judged by `/sys`, `/proc` and the ioctls of devices and file systems.

pub(crate) mod capabilities;
pub(crate) mod claim;
pub(crate) mod descriptor;
pub(crate) mod drop_cache;
pub(crate) mod extents;
pub(crate) mod handle;
mod in_use;
pub(crate) mod layout;
mod loops;
pub(crate) mod open;
pub(crate) mod rounding;
mod stable_name;
pub(crate) mod testfile;
mod unsafe_calls;
