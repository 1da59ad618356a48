//! The way of requests from a program to a medium, layer by layer.
//!
//! An observation keeps what the kernel said of it when the observation began ([`ObservedPath`]): which
//! file system, which volumes, which devices, down to the last that the kernel sees. A built device
//! waits for its slowest member, so that all of them are needed. A diagnosis draws the way ([`PathMap`])
//! and puts the cause on it, because what cannot be seen may be the cause as well. Rejected: the sentences of
//! [`DeviceFacts::layers`](crate::DeviceFacts), which nothing can be concluded from.

use crate::schema::word;
use crate::{ArrayState, Bytes, FilesystemFacts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who spreads requests over other devices, or hands them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeKind {
    /// A btrfs file system, over its devices.
    Btrfs,
    /// A software array (md).
    Md,
    /// A volume of the device mapper (LVM, encryption, multipath).
    DeviceMapper,
    /// A loop device, over the devices that its file lies on.
    Loop,
    /// Another driver that is built on devices (bcache).
    Other,
}

/// The level of a logical volume that keeps each block once; which of both it is is not told.
pub const LVM_ONCE: &str = "linear or striped";

/// A layer that is made of other devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Kernel name; of a btrfs its UUID.
    pub name: String,
    /// What it is.
    pub kind: VolumeKind,
    /// How data are spread (`raid0`), where the kernel tells.
    pub level: Option<String>,
    /// How it is, where it is a btrfs (a software array says so in its device's facts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ArrayState>,
    /// Names of the devices right below; empty below a loop device whose file is in memory.
    pub members: Vec<String>,
}

/// How files lie on what is below them: of the file that was named, or of the largest in and below a
/// directory, as far as a quick look finds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileLayout {
    /// Files that were looked at.
    pub files: u32,
    /// Their bytes, as far as they were looked at.
    pub bytes: Bytes,
    /// Extents that hold these.
    pub extents: u64,
    /// Bytes that are stored compressed.
    pub compressed_bytes: Bytes,
    /// Bytes without an extent or never written: they read as zeros, without access to the device.
    pub absent_bytes: Bytes,
}

impl FileLayout {
    /// Mean bytes of an extent; `None` without one.
    #[must_use]
    pub fn extent_bytes(&self) -> Option<f64> {
        let held = self.bytes.0.saturating_sub(self.absent_bytes.0);
        (self.extents > 0).then(|| held as f64 / self.extents as f64)
    }

    /// Share of the bytes that is compressed, 0 to 1.
    #[must_use]
    pub fn compressed_share(&self) -> f64 {
        self.compressed_bytes.0 as f64 / self.bytes.0.max(1) as f64
    }
}

/// A path that is observed, and what lies below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedPath {
    /// As the user named it.
    pub path: String,
    /// Its file system; null for a device.
    pub filesystem: Option<FilesystemFacts>,
    /// How its largest files lie; null for a device, and where the file system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<FileLayout>,
    /// What is made of other devices, from the top.
    pub volumes: Vec<Volume>,
    /// Kernel names of all block devices, from the top: partitions, volumes and disks.
    pub devices: Vec<String>,
}

/// A layer on the way from a program to a medium, from the top.
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
    /// A layer that is made of other devices.
    Volume,
    /// The I/O scheduler.
    Scheduler,
    /// The queue of the block layer and its tags.
    Queue,
    /// The device.
    Device,
    /// What the kernel does not see: a host, a network, the inside of a drive.
    Below,
}

impl LayerKind {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }
}

/// What is known of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathLayer {
    /// Which.
    pub kind: LayerKind,
    /// Kernel names of the devices that it belongs to; empty where it belongs to the whole path.
    pub devices: Vec<String>,
    /// What it is now; null where it is out of sight.
    pub now: Option<String>,
    /// What it was when the profile was made, where that is something else; null where it is the
    /// same, or not known.
    pub at_profiling: Option<String>,
    /// What it can explain.
    pub can_explain: String,
    /// What the checks of causes read of it, a text for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Names of the causes that were found in it, the worst first.
    pub causes: Vec<String>,
}

/// The way from a program to a medium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMap {
    /// The path, or the name of the device.
    pub path: String,
    /// Its layers, from the top.
    pub layers: Vec<PathLayer>,
}
