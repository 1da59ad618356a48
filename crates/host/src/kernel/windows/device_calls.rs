//! Facts from drives and volumes for the checks of causes: none on Windows.

use crate::kernel::device_lines::{BlockDevice, DmTarget, LogLine};
use crate::kernel::read::Roots;
use std::path::Path;

/// Block devices as in sysfs: none.
#[must_use]
pub fn block_devices(_roots: &Roots) -> Vec<BlockDevice> {
    Vec::new()
}

/// Mounts as in procfs: none.
#[must_use]
pub fn mounted(_roots: &Roots) -> Vec<(String, String)> {
    Vec::new()
}

/// A word of a mounts file.
#[must_use]
pub fn mount_word(word: &str) -> String {
    word.to_owned()
}

fn none<T>() -> Result<T, String> {
    Err("it is available on Linux only".to_owned())
}

/// The health log of an NVMe drive.
///
/// # Errors
/// Always: not supported here.
pub fn nvme_health(_roots: &Roots, _name: &str) -> Result<Vec<u8>, String> {
    none()
}

/// Whether an NVMe drive enters lower-power states by itself.
///
/// # Errors
/// Always: not supported here.
pub fn nvme_saves_power(_roots: &Roots, _name: &str) -> Result<bool, String> {
    none()
}

/// The targets of a volume.
///
/// # Errors
/// Always: there are none.
pub fn dm_lines(_roots: &Roots, _directory: &Path, _table: bool) -> Result<Vec<DmTarget>, String> {
    none()
}

/// The kernel's log.
///
/// # Errors
/// Always: not supported here.
pub fn kernel_log(_roots: &Roots) -> Result<Vec<LogLine>, String> {
    none()
}
