//! Loop devices and the files or devices below them.
//!
//! Which file a loop device is on is asked of the device itself (LOOP_GET_STATUS64), which answers
//! with the file's device and inode: names change, are bound to other places, or belong to another
//! mount namespace. Where the device cannot be opened, the name in sysfs has to do.
//! Rejected: the name alone, which a hard link or a rename defeats.

use crate::linux::unsafe_calls::{LoopStatus, loop_status};
use kernel::Roots;
use kernel::device;
use kernel::read::{base_name, names, text};
use rustix::fs::{Mode, OFlags, Stat};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopDevice {
    pub(crate) name: String,
    /// The name of what is below it, as the kernel kept it.
    file: PathBuf,
    /// What is below it; `None` where it could not be asked.
    status: Option<LoopStatus>,
}

impl LoopDevice {
    /// Whether the file with this state and this name (absolute, without links) is below it.
    pub(crate) fn is_on_file(&self, stat: &Stat, path: &Path) -> bool {
        match &self.status {
            Some(status) => status.device == stat.st_dev && status.inode == stat.st_ino,
            None => self.file == path,
        }
    }

    /// Whether the block device with this number and this kernel name is below it.
    pub(crate) fn is_on_device(&self, numbers: (u32, u32), name: &str) -> bool {
        match &self.status {
            Some(status) => {
                status.block_device != 0 && device::numbers(status.block_device) == numbers
            }
            None => self.file.starts_with("/dev") && base_name(&self.file) == name,
        }
    }
}

/// The loop devices that are bound to something.
pub(crate) fn bound_loops(roots: &Roots) -> Vec<LoopDevice> {
    let block = roots.sys.join("block");
    let bound = |name: String| {
        let file = text(&block.join(&name).join("loop/backing_file"))?;
        let node = roots.dev.join(&name);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open(&node, flags, Mode::empty());
        let status = opened.ok().and_then(|device| loop_status(&device).ok());
        Some(LoopDevice { name, file: file.into(), status })
    };
    names(&block).into_iter().filter_map(bound).collect()
}
