//! The kernel facts that the checks of causes use, with the same names on every system.

use record::DeviceFacts;
use std::path::PathBuf;

/// A block device: a disk, a partition or a volume.
#[derive(Clone, Debug)]
pub struct BlockDevice {
    /// Kernel name.
    pub name: String,
    /// Its directory in sysfs, without links.
    pub directory: PathBuf,
    /// Directories in sysfs from its parent device up, the nearest first. For an NVMe disk with several
    /// paths, those of its first controller.
    pub above: Vec<PathBuf>,
    /// Facts from sysfs about it and the disk below.
    pub facts: DeviceFacts,
}

/// A target of a volume of the device mapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmTarget {
    /// Its kind (`crypt`, `thin-pool`).
    pub kind: String,
    /// Its line, as `dmsetup table` or `dmsetup status` prints it after the kind, without the key of an
    /// encrypted volume.
    pub line: String,
}

/// A line of the kernel's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Microseconds since the machine started.
    pub since_boot_us: u64,
    /// The message.
    pub text: String,
}
