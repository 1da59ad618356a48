//! The path of requests from a program to a medium, layer by layer.
//!
//! An observation saves what the kernel reported when it began ([`ObservedPath`]): the file system, the
//! volumes, and the devices down to the last one that the kernel sees. All members of a device are included,
//! because it waits for its slowest member. A diagnosis draws the path ([`PathMap`]) and marks the causes on
//! it. It also names layers below the last device, such as a hypervisor's storage, because one of them may be the
//! cause. Rejected: the
//! sentences of [`DeviceFacts::layers`](crate::DeviceFacts), from which no conclusion can be computed.

use crate::{ArrayState, Bytes, FilesystemFacts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of layer spreads requests over other devices, or passes them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeKind {
    /// A btrfs file system on its devices.
    Btrfs,
    /// A software array (md).
    Md,
    /// A volume of the device mapper (LVM, encryption, multipath).
    DeviceMapper,
    /// A loop device, on the devices that contain its file.
    Loop,
    /// Another driver that uses block devices (bcache).
    Other,
}

/// The level of a logical volume that stores each block once. Linear and striped are not distinguished.
pub const LVM_ONCE: &str = "linear or striped";

/// A layer that consists of other devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Kernel name; for btrfs, its UUID.
    pub name: String,
    /// Its kind.
    pub kind: VolumeKind,
    /// How data are spread (`raid0`), if the kernel reports it.
    pub level: Option<String>,
    /// Its state, if it is btrfs (a software array has its state in the facts of its device).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ArrayState>,
    /// Names of the devices directly below; empty for a loop device whose file is in memory.
    pub members: Vec<String>,
}

/// Placement of files: of the named file, or of the largest files in and below a directory, as far as a quick
/// search finds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileLayout {
    /// Number of files examined.
    pub files: u32,
    /// Their bytes, as far as they were examined.
    pub bytes: Bytes,
    /// Number of extents that contain these bytes.
    pub extents: u64,
    /// Bytes that are stored compressed.
    pub compressed_bytes: Bytes,
    /// Bytes without an extent or never written. They are read as zeros without the device.
    pub absent_bytes: Bytes,
}

impl FileLayout {
    /// Mean extent size in bytes; `None` without extents.
    #[must_use]
    pub fn extent_bytes(&self) -> Option<f64> {
        let held = self.bytes.0.saturating_sub(self.absent_bytes.0);
        (self.extents > 0).then(|| held as f64 / self.extents as f64)
    }

    /// Share of the bytes that are compressed, 0 to 1.
    #[must_use]
    pub fn compressed_share(&self) -> f64 {
        self.compressed_bytes.0 as f64 / self.bytes.0.max(1) as f64
    }
}

/// An observed path, and the layers below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedPath {
    /// As the user named it.
    pub path: String,
    /// Its file system; null for a device.
    pub filesystem: Option<FilesystemFacts>,
    /// Placement of its largest files; null for a device, and if the file system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<FileLayout>,
    /// Layers that consist of other devices, from the top.
    pub volumes: Vec<Volume>,
    /// Kernel names of all block devices, from the top: partitions, volumes and disks.
    pub devices: Vec<String>,
}

/// A layer on the path from a program to a medium, from the top.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Programs, and the limits of their control groups.
    Program,
    /// The file and its extents.
    File,
    /// The file system.
    FileSystem,
    /// The page cache and write-back.
    PageCache,
    /// A layer that consists of other devices.
    Volume,
    /// The I/O scheduler.
    Scheduler,
    /// The queue of the block layer and its tags.
    Queue,
    /// The device.
    Device,
    /// What the kernel cannot see: a hypervisor, a network, the inside of a drive.
    Below,
}

/// A layer and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathLayer {
    /// Its kind.
    pub kind: LayerKind,
    /// Kernel names of its devices; empty if it belongs to the whole path.
    pub devices: Vec<String>,
    /// Its current state; null if it is not visible.
    pub now: Option<String>,
    /// Its state when the profile was made, if it differs; null if it is the same, or unknown.
    pub at_profiling: Option<String>,
    /// What it could explain.
    pub can_explain: String,
    /// Facts that the system checks read about it, one text each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Names of the causes found in it, worst first.
    pub causes: Vec<String>,
}

/// The path from a program to a medium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMap {
    /// The path, or the name of the device.
    pub path: String,
    /// Its layers, from the top.
    pub layers: Vec<PathLayer>,
}
