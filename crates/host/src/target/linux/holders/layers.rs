//! Identifies the file of a path: its device and inode, and those in the layer where an overlay stores it.
//!
//! A file in an overlay has another device and inode than the file in the layer below. The layer is found
//! from the options of the mount. A layer that is not visible in this mount namespace (inside a container)
//! stays unknown; asking the kernel directly detects files that are open for writing there.

use crate::kernel::Roots;
use crate::kernel::mounts::{Mount, mount_of, mounts_of_process};
use rustix::fs::Stat;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Identifies a file, under any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl FileId {
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self { device: facts.dev(), inode: facts.ino() })
    }

    /// Reads a place such as `08:01:5678`: device numbers in hexadecimal, then the inode.
    pub(super) fn read(place: &str) -> Option<Self> {
        let mut place = place.split(':');
        let mut number = |radix| u64::from_str_radix(place.next()?, radix).ok();
        let (major, minor, inode) = (number(16)?, number(16)?, number(10)?);
        let device = rustix::fs::makedev(u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
        Some(Self { device, inode })
    }
}

/// A file with everything that identifies it.
#[derive(Clone, Debug)]
pub(super) struct FileNames {
    /// Absolute, with links resolved if possible.
    pub(super) path: PathBuf,
    /// The file itself, then the file in its layer.
    pub(super) ids: Vec<FileId>,
}

impl FileNames {
    pub(super) fn of_open_file(roots: &Roots, path: &Path, stat: &Stat) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let id = FileId { device: stat.st_dev, inode: stat.st_ino };
        Self::with_layer(&mounts_of_process(roots, "self"), path, Some(id))
    }

    pub(super) fn of_path(roots: &Roots, path: &Path) -> Option<Self> {
        let stat = rustix::fs::stat(path).ok()?;
        Some(Self::of_open_file(roots, path, &stat))
    }

    /// The file below a loop device: by the name that the kernel stored, and by its numbers if reported.
    pub(super) fn of_loop(roots: &Roots, path: PathBuf, told: Option<FileId>) -> Self {
        let id = told.or_else(|| FileId::of_path(&path));
        Self::with_layer(&mounts_of_process(roots, "self"), path, id)
    }

    /// The same file, and the one where an overlay among these mounts stores it.
    pub(super) fn with_layer(mounts: &[Mount], path: PathBuf, id: Option<FileId>) -> Self {
        let layer = layer_file(mounts, &path);
        Self { ids: id.into_iter().chain(layer).collect(), path }
    }

    /// Whether both are the same file. A file without numbers is identified by its path.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let by_number = self.ids.iter().any(|id| other.ids.contains(id));
        by_number || (self.ids.is_empty() || other.ids.is_empty()) && self.path == other.path
    }
}

/// The file in the topmost layer that contains it, if the path is on an overlay.
fn layer_file(mounts: &[Mount], path: &Path) -> Option<FileId> {
    if !mounts.iter().any(|mount| mount.kind == "overlay") {
        return None;
    }
    let mount = mount_of(mounts, path, None).filter(|mount| mount.kind == "overlay")?;
    let inside = Path::new("/").join(&mount.root).join(path.strip_prefix(&mount.point).ok()?);
    let inside = inside.strip_prefix("/").ok()?;
    layers(&mount.options).find_map(|layer| FileId::of_path(&layer.join(inside)))
}

/// The folders of an overlay, the writable one first (the kernel's overlayfs.rst).
fn layers(options: &str) -> impl Iterator<Item = PathBuf> {
    let of = |name: &'static str| {
        let values = options.split(',').filter_map(move |option| option.strip_prefix(name));
        values.flat_map(|list| list.split(':').filter(|layer| !layer.is_empty())).map(PathBuf::from)
    };
    of("upperdir=").chain(of("lowerdir=")).chain(of("lowerdir+=")).chain(of("datadir+="))
}
