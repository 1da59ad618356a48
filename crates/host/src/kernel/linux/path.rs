//! Finds all devices below a path, down to the last that the kernel sees.
//!
//! A file system can be on several devices (btrfs names one of them as the source of its mount), a volume
//! is built of others, a partition is a part of a disk, and the file of a loop device is on a file system
//! again. Each device is visited once, so that cycles end. Rejected: the first device alone, which is
//! healthy while the array waits for another one.

use crate::kernel::linux::device::{btrfs_members, btrfs_of, device_of_mount, numbers, whole_disk};
use crate::kernel::linux::filesystem::locate_filesystem;
use crate::kernel::linux::mounts::{Mount, is_export, mount_of, read_mounts};
use crate::kernel::read::{Roots, base_name, names, number, text};
use record::{ArrayState, FilesystemFacts, LVM_ONCE, ObservedPath, Volume, VolumeKind};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Resolves a kernel name, a device node or a link to one, or a path on a file system, with everything
/// below it. `known` tells which kernel names exist; `devices` contains only those, and may be empty.
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
    walk.finish(named, filesystem, known)
}

/// The mounted file systems that are themselves built of several devices, so that no kernel device
/// represents them; each at one of its mount points.
pub(crate) fn built_file_systems(roots: &Roots, known: &dyn Fn(&str) -> bool) -> Vec<ObservedPath> {
    let mut found: Vec<ObservedPath> = Vec::new();
    for mount in read_mounts(roots).iter().filter(|mount| mount.kind == "btrfs") {
        let mut walk = Walk { roots, volumes: Vec::new(), devices: Vec::new() };
        walk.below_mount(mount.device, Some(mount));
        let Some(volume) = walk.volumes.first() else { continue };
        let same = |path: &ObservedPath| path.volumes.iter().any(|it| it.name == volume.name);
        if found.iter().any(same) {
            continue;
        }
        // For another machine, only the list of mounts is available here.
        let here = *roots == Roots::default();
        let filesystem = here.then(|| filesystem_of(roots, &mount.point)).flatten();
        found.push(walk.finish(&mount.point.to_string_lossy(), filesystem, known));
    }
    found
}

pub(crate) fn directory(roots: &Roots, name: &str) -> Option<PathBuf> {
    // In sysfs the kernel writes a slash in a name as an exclamation mark (`cciss!c0d0`).
    let name = name.replace('/', "!");
    fs::canonicalize(roots.sys.join("class/block").join(name)).ok()
}

/// Whether a device is a software array (md).
pub(crate) fn is_array(roots: &Roots, name: &str) -> bool {
    directory(roots, name).is_some_and(|directory| directory.join("md").exists())
}

/// The devices that a device is built of. A partition is built of none, but its disk may be.
pub(crate) fn built_of(roots: &Roots, name: &str) -> Vec<String> {
    let slaves = directory(roots, name).map(|directory| names(&directory.join("slaves")));
    slaves.unwrap_or_default().iter().map(|slave| slave.replace('!', "/")).collect()
}

/// The file system of a path; `None` for a device node.
fn filesystem_of(roots: &Roots, path: &Path) -> Option<FilesystemFacts> {
    if fs::metadata(path).ok()?.file_type().is_block_device() {
        return None;
    }
    // Works without read permission too.
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    locate_filesystem(roots, path, file).ok().map(|(filesystem, _)| filesystem)
}

struct Walk<'a> {
    roots: &'a Roots,
    volumes: Vec<Volume>,
    /// Devices found so far, each once; those after the current one are not yet visited.
    devices: Vec<String>,
}

impl Walk<'_> {
    /// Visits the devices below those found.
    fn finish(
        mut self,
        named: &str,
        filesystem: Option<FilesystemFacts>,
        known: &dyn Fn(&str) -> bool,
    ) -> ObservedPath {
        let mut next = 0;
        while let Some(name) = self.devices.get(next).cloned() {
            next += 1;
            self.below_device(&name);
        }
        self.devices.retain(|name| known(name));
        let (volumes, devices) = (self.volumes, self.devices);
        ObservedPath { path: named.to_owned(), filesystem, layout: None, volumes, devices }
    }

    fn meet(&mut self, names: &[String]) {
        for name in names {
            if !self.devices.contains(name) {
                self.devices.push(name.clone());
            }
        }
    }

    fn volume(&mut self, volume: Volume) {
        self.meet(&volume.members);
        self.volumes.push(volume);
    }

    /// The device of a node, or those of the file system of a path; returns their names.
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

    fn below_mount(&mut self, numbers: (u32, u32), mount: Option<&Mount>) -> Vec<String> {
        let Some(facts) = device_of_mount(self.roots, numbers, mount) else {
            // The export of a file server is a device by its name; the caller knows whether it counts.
            let export = mount.filter(|mount| is_export(&mount.kind));
            let source: Vec<String> =
                export.map(|mount| mount.source.clone()).into_iter().collect();
            self.meet(&source);
            return source;
        };
        let name = facts.name.replace('!', "/");
        let btrfs = btrfs_of(self.roots, &facts.name);
        let members = btrfs.as_ref().map(|id| btrfs_members(self.roots, id)).unwrap_or_default();
        let state = btrfs.as_ref().map(|id| btrfs_state(self.roots, id));
        let several = members.len() > 1 || state.as_ref().is_some_and(|state| state.missing > 0);
        if let Some(id) = btrfs.filter(|_| several) {
            let members: Vec<String> = members.iter().map(|it| it.replace('!', "/")).collect();
            let level = btrfs_level(self.roots, &id);
            self.volume(Volume {
                name: id,
                kind: VolumeKind::Btrfs,
                level,
                state,
                members: members.clone(),
            });
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
            let level = level.or_else(|| lvm_level(self.roots, &disk, &members));
            let kind = match ["md", "dm"].map(|kind| disk.join(kind).exists()) {
                [true, _] => VolumeKind::Md,
                [_, true] => VolumeKind::DeviceMapper,
                _ => VolumeKind::Other,
            };
            let name = name.to_owned();
            return self.volume(Volume { name, kind, level, state: None, members });
        }
        if let Some(file) = text(&disk.join("loop/backing_file")) {
            let members = self.below_file(&file);
            let (name, kind) = (name.to_owned(), VolumeKind::Loop);
            self.volume(Volume { name, kind, level: None, state: None, members });
        }
    }

    /// The devices below the file of a loop device. The kernel prints its path. If that no longer exists,
    /// or is in another mount namespace, the longest mount point still shows the file system.
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

/// Missing devices of a btrfs, and its background work.
fn btrfs_state(roots: &Roots, id: &str) -> ArrayState {
    let directory = roots.sys.join("fs/btrfs").join(id);
    let members = directory.join("devinfo");
    let lacks = |member: &String| number(&members.join(member).join("missing")) == Some(1);
    let missing = names(&members).iter().filter(|member| lacks(member)).count();
    // The other operations do not read or write the members.
    let quiet = ["none", "balance paused", "swap activate", "device add", "resize"];
    let work = text(&directory.join("exclusive_operation"));
    ArrayState { missing: missing as u32, work: work.filter(|it| !quiet.contains(&it.as_str())) }
}

/// How a logical volume distributes data, if that can be derived. Mirrors, parity, snapshots, caches and
/// thin pools are built on other device-mapper volumes; a volume directly on several disks is none of
/// these. Asking the mapper itself needs a privilege.
fn lvm_level(roots: &Roots, disk: &Path, members: &[String]) -> Option<String> {
    let lvm = text(&disk.join("dm/uuid"))?.starts_with("LVM-");
    let mapped = |member: &String| {
        directory(roots, member).is_none_or(|member| whole_disk(&member).join("dm").exists())
    };
    let right_away = lvm && members.len() > 1 && !members.iter().any(mapped);
    right_away.then(|| LVM_ONCE.to_owned())
}

/// How a btrfs distributes data: the profiles for which it has space.
fn btrfs_level(roots: &Roots, id: &str) -> Option<String> {
    let data = roots.sys.join("fs/btrfs").join(id).join("allocation/data");
    let levels: Vec<String> =
        names(&data).into_iter().filter(|name| data.join(name).is_dir()).collect();
    (!levels.is_empty()).then(|| levels.join("+"))
}
