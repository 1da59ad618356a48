//! Lists every block device of the machine and its components, as sysfs describes them.
//!
//! The file of a loop device is read from the device itself (LOOP_GET_STATUS64), which returns the file's
//! device and inode. Names change, are mounted elsewhere, or belong to another mount namespace. If the
//! device cannot be opened, the name in sysfs is used.

use super::layers::{FileId, FileNames};
use crate::kernel::device::{numbers, whole_disk};
use crate::kernel::read::{base_name, device_numbers, names, number, text};
use crate::kernel::{self, Roots};
use crate::target::linux::unsafe_calls::loop_status;
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Unit of sizes and starts in sysfs, in bytes.
const SECTOR_BYTES: u64 = 512;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Its directory in sysfs, with links resolved.
    pub(crate) directory: PathBuf,
    pub(crate) numbers: (u32, u32),
}

impl Node {
    pub(crate) fn find(roots: &Roots, numbers: (u32, u32)) -> Option<Self> {
        Self::at(kernel::device::directory(roots, numbers)?)
    }

    fn at(directory: PathBuf) -> Option<Self> {
        let numbers = device_numbers(&directory)?;
        Some(Self { name: base_name(&directory), directory, numbers })
    }

    pub(crate) fn disk(&self) -> Option<Self> {
        let disk = whole_disk(&self.directory);
        (disk != self.directory).then(|| Self::at(disk)).flatten()
    }

    /// Whether the kernel rejects writes to it.
    pub(crate) fn read_only(&self) -> bool {
        number(&self.directory.join("ro")) == Some(1)
    }
}

/// The file or device below a loop device.
#[derive(Clone, Debug)]
pub(super) enum Below {
    File(FileNames),
    /// By its kernel name.
    Device(String),
}

/// A block device and its relations to others, by their kernel names.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) node: Node,
    /// The disk of a partition, and its byte range there.
    pub(super) on_disk: Option<(String, Range<u64>)>,
    /// Devices that it is built of (device mapper, md).
    pub(super) slaves: Vec<String>,
    /// Devices that are built on it.
    pub(super) holders: Vec<String>,
    /// The file or device below a loop device, and the byte range that it exposes.
    pub(super) below: Option<(Below, Range<u64>)>,
    /// The name of a disk that is equal on every path to it (WWID).
    pub(super) world_wide: Option<String>,
    /// Where a zram device writes incompressible pages.
    pub(super) writes_back_to: Option<PathBuf>,
}

/// All block devices, including partitions.
pub(super) fn read(roots: &Roots) -> Vec<Block> {
    let mut directories: Vec<PathBuf> = ["class/block", "block"]
        .iter()
        .flat_map(|list| {
            let list = roots.sys.join(list);
            names(&list).into_iter().filter_map(move |name| fs::canonicalize(list.join(name)).ok())
        })
        .collect();
    directories.sort();
    directories.dedup();
    let nodes: Vec<Node> = directories.into_iter().filter_map(Node::at).collect();
    nodes.iter().map(|node| describe(roots, node, &nodes)).collect()
}

fn describe(roots: &Roots, node: &Node, all: &[Node]) -> Block {
    let directory = &node.directory;
    let size = number(&directory.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
    let on_disk = node.disk().map(|disk| {
        let start = number(&directory.join("start")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
        (disk.name, start..start.saturating_add(size))
    });
    let world_wide = ["wwid", "device/wwid"].iter().find_map(|name| text(&directory.join(name)));
    let back = text(&directory.join("backing_dev")).filter(|name| name != "none");
    Block {
        on_disk,
        slaves: names(&directory.join("slaves")),
        holders: names(&directory.join("holders")),
        below: below_loop(roots, node, all),
        world_wide,
        writes_back_to: back.map(PathBuf::from),
        node: node.clone(),
    }
}

fn below_loop(roots: &Roots, node: &Node, all: &[Node]) -> Option<(Below, Range<u64>)> {
    let settings = node.directory.join("loop");
    let path = PathBuf::from(text(&settings.join("backing_file"))?);
    let start = number(&settings.join("offset")).unwrap_or(0);
    let limit = number(&settings.join("sizelimit")).filter(|bytes| *bytes > 0);
    // Without a limit, it grows with the file below.
    let range = start..limit.map_or(u64::MAX, |bytes| start.saturating_add(bytes));
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(roots.dev.join(&node.name), flags, Mode::empty());
    let below = match opened.ok().and_then(|device| loop_status(&device).ok()) {
        Some(status) if status.block_device != 0 => {
            let wanted = numbers(status.block_device);
            Below::Device(all.iter().find(|other| other.numbers == wanted)?.name.clone())
        }
        Some(status) => {
            let id = FileId { device: status.device, inode: status.inode };
            Below::File(FileNames::of_loop(roots, path, Some(id)))
        }
        None => match device_by_path(roots, &path, all) {
            Some(device) => Below::Device(device.name.clone()),
            None => Below::File(FileNames::of_loop(roots, path, None)),
        },
    };
    Some((below, range))
}

/// The device of a path below /dev, through links such as those of /dev/mapper.
pub(super) fn device_by_path<'a>(
    roots: &Roots,
    printed: &Path,
    all: impl IntoIterator<Item = &'a Node>,
) -> Option<&'a Node> {
    let name = printed.starts_with("/dev").then(|| {
        let node = roots.locate(printed);
        base_name(&fs::canonicalize(&node).unwrap_or(node))
    })?;
    all.into_iter().find(|node| node.name == name)
}
