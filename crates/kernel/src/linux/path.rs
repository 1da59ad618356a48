//! All devices below a path, down to the last that the kernel sees.
//!
//! A file system can be on several devices (btrfs names one of them as the source of its mount), a
//! volume is built of others, a partition is a part of a disk, and the file of a loop device lies on
//! a file system again. Each device is visited once, so that a circle ends. Rejected: the first
//! device alone, which is healthy while the array waits for another one.

use crate::linux::device::{btrfs_members, btrfs_of, device_of_mount, numbers, whole_disk};
use crate::linux::filesystem::locate_filesystem;
use crate::linux::mounts::{Mount, mount_of, read_mounts};
use crate::linux::roots::{Roots, base_name, names, text};
use record::{FilesystemFacts, ObservedPath, Volume, VolumeKind};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a user means by a kernel name, a device node or a link to one, or a path on a file system,
/// with everything below it. `known` says which kernel names there are; `devices` holds no others,
/// and is empty where nothing of the kind is known.
pub(crate) fn observed_path(
    roots: &Roots,
    named: &str,
    known: &dyn Fn(&str) -> bool,
) -> ObservedPath {
    let bare = named.strip_prefix("/dev/").unwrap_or(named);
    let mut filesystem = None;
    let mut walk = Walk { roots, volumes: Vec::new(), devices: Vec::new() };
    if known(bare) {
        walk.devices.push(bare.to_owned());
    } else {
        walk.below_path(Path::new(named));
        filesystem = filesystem_of(roots, Path::new(named));
    }
    let mut next = 0;
    while let Some(name) = walk.devices.get(next).cloned() {
        next += 1;
        walk.below_device(&name);
    }
    walk.devices.retain(|name| known(name));
    let (volumes, devices) = (walk.volumes, walk.devices);
    ObservedPath { path: named.to_owned(), filesystem, layout: None, volumes, devices }
}

/// The directory of a device in sysfs.
pub(crate) fn directory(roots: &Roots, name: &str) -> Option<PathBuf> {
    // The kernel writes a slash in a name as an exclamation mark there (`cciss!c0d0`).
    let name = name.replace('/', "!");
    fs::canonicalize(roots.sys.join("class/block").join(name)).ok()
}

/// What a device is built of; a partition is built of nothing, its disk may be.
pub(crate) fn built_of(roots: &Roots, name: &str) -> Vec<String> {
    let slaves = directory(roots, name).map(|directory| names(&directory.join("slaves")));
    slaves.unwrap_or_default().iter().map(|slave| slave.replace('!', "/")).collect()
}

/// The file system of a path; `None` for a device node.
fn filesystem_of(roots: &Roots, path: &Path) -> Option<FilesystemFacts> {
    if fs::metadata(path).ok()?.file_type().is_block_device() {
        return None;
    }
    // Without the right to read it, too.
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    locate_filesystem(roots, path, file).ok().map(|(filesystem, _)| filesystem)
}

struct Walk<'a> {
    roots: &'a Roots,
    volumes: Vec<Volume>,
    /// Those that were met, each once; those behind the current one are still to be visited.
    devices: Vec<String>,
}

impl Walk<'_> {
    fn meet(&mut self, names: &[String]) {
        for name in names {
            if !self.devices.contains(name) {
                self.devices.push(name.clone());
            }
        }
    }

    fn volume(
        &mut self,
        name: &str,
        kind: VolumeKind,
        level: Option<String>,
        members: Vec<String>,
    ) {
        self.meet(&members);
        self.volumes.push(Volume { name: name.to_owned(), kind, level, members });
    }

    /// The device of a node, or those of the file system of a path; their names.
    fn below_path(&mut self, path: &Path) -> Vec<String> {
        let (Ok(real), Ok(facts)) = (fs::canonicalize(path), fs::metadata(path)) else {
            return Vec::new();
        };
        let numbers =
            numbers(if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() });
        let mounts = read_mounts(self.roots);
        let mount = mount_of(&mounts, &real, Some(numbers));
        self.below_mount(numbers, mount)
    }

    /// The devices of a file system.
    fn below_mount(&mut self, numbers: (u32, u32), mount: Option<&Mount>) -> Vec<String> {
        let Some(facts) = device_of_mount(self.roots, numbers, mount) else { return Vec::new() };
        let name = facts.name.replace('!', "/");
        let btrfs = btrfs_of(self.roots, &facts.name);
        let members = btrfs.as_ref().map(|id| btrfs_members(self.roots, id)).unwrap_or_default();
        if let Some(id) = btrfs.filter(|_| members.len() > 1) {
            let members: Vec<String> = members.iter().map(|it| it.replace('!', "/")).collect();
            let level = btrfs_level(self.roots, &id);
            self.volume(&id, VolumeKind::Btrfs, level, members.clone());
            return members;
        }
        self.meet(std::slice::from_ref(&name));
        vec![name]
    }

    fn below_device(&mut self, name: &str) {
        let Some(directory) = directory(self.roots, name) else { return };
        let disk = whole_disk(&directory);
        if disk != directory {
            return self.meet(&[base_name(&disk).replace('!', "/")]);
        }
        let members = built_of(self.roots, name);
        if !members.is_empty() {
            let level = text(&disk.join("md/level"));
            let kind = match (&level, disk.join("dm").exists()) {
                (Some(_), _) => VolumeKind::Md,
                (None, true) => VolumeKind::DeviceMapper,
                (None, false) => VolumeKind::Other,
            };
            return self.volume(name, kind, level, members);
        }
        if let Some(file) = text(&disk.join("loop/backing_file")) {
            let members = self.below_file(&file);
            self.volume(name, VolumeKind::Loop, None, members);
        }
    }

    /// The devices below the file of a loop device. The kernel prints its path; where that is gone or
    /// of another mount namespace, the longest mount point still tells the file system.
    fn below_file(&mut self, printed: &str) -> Vec<String> {
        let path = self.roots.locate(Path::new(printed));
        if path.exists() {
            return self.below_path(&path);
        }
        let mounts = read_mounts(self.roots);
        let Some(mount) = mount_of(&mounts, Path::new(printed), None) else { return Vec::new() };
        self.below_mount(mount.device, Some(mount))
    }
}

/// How a btrfs spreads data: the profiles for which it has space.
fn btrfs_level(roots: &Roots, id: &str) -> Option<String> {
    let data = roots.sys.join("fs/btrfs").join(id).join("allocation/data");
    let levels: Vec<String> =
        names(&data).into_iter().filter(|name| data.join(name).is_dir()).collect();
    (!levels.is_empty()).then(|| levels.join("+"))
}
