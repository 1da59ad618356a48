//! The way of requests from a program to a medium, layer by layer.
//!
//! An observation keeps what the kernel said of it when the observation began ([`ObservedPath`]): which
//! file system, which volumes, which devices, down to the last that the kernel sees. A built device
//! waits for its slowest member, so that all of them are needed. Rejected: the sentences of
//! [`DeviceFacts::layers`](crate::DeviceFacts), which nothing can be concluded from.

use crate::FilesystemFacts;
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

/// A layer that is made of other devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Kernel name; of a btrfs its UUID.
    pub name: String,
    /// What it is.
    pub kind: VolumeKind,
    /// How data are spread (`raid0`), where the kernel tells.
    pub level: Option<String>,
    /// Kernel names of the devices right below; empty below a loop device whose file is in memory or
    /// on a network.
    pub members: Vec<String>,
}

/// A path that is observed, and what lies below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedPath {
    /// As the user named it.
    pub path: String,
    /// Its file system; null for a device.
    pub filesystem: Option<FilesystemFacts>,
    /// What is made of other devices, from the top.
    pub volumes: Vec<Volume>,
    /// Kernel names of all block devices, from the top: partitions, volumes and disks.
    pub devices: Vec<String>,
}
