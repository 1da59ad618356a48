//! What a name in diskstats is: a disk, a part of one, or built of others.
//!
//! The same request is counted on a partition, on its disk, on a logical volume above and on the
//! loop device above that, so each device says of which others it repeats the requests. sysfs tells
//! (`partition`, `slaves`); without it, the old short lines are known to be partitions, and nothing
//! else is guessed from names. Rejected: following a loop device to the disk below its file, of
//! which it asks what the file system chooses.

use crate::linux::device::{device_of, device_of_mount, numbers, whole_disk};
use crate::linux::diskstats::DiskstatsLine;
use crate::linux::mounts::{mount_of, read_mounts};
use crate::linux::roots::{Roots, base_name, names};
use record::{ObservedDevice, kernel_busy_doubt};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Describes the device of a line. `release` is that of the kernel.
pub(crate) fn describe(
    roots: &Roots,
    line: &DiskstatsLine,
    release: Option<&str>,
) -> ObservedDevice {
    let name = &line.device;
    let built_of = built_of(roots, name);
    let busy_doubt = if built_of.is_empty() {
        line.busy_ms.and_then(|_| kernel_busy_doubt(release?))
    } else {
        // Whatever the kernel.
        Some(format!(
            "the kernel keeps the times of {name} in timer ticks, as it has no queue of its own; \
             those of {} are finer",
            built_of.join(", ")
        ))
    };
    ObservedDevice {
        name: name.clone(),
        facts: device_of(roots, line.numbers).filter(|facts| facts.name == *name),
        partition_of: match directory(roots, name) {
            Some(directory) => {
                let disk = whole_disk(&directory);
                (disk != directory).then(|| base_name(&disk).replace('!', "/"))
            }
            // Only partitions had lines of the old form.
            None => {
                let disk = name.trim_end_matches(|character: char| character.is_ascii_digit());
                let old = line.busy_ms.is_none() && !disk.is_empty() && disk != name;
                old.then(|| disk.to_owned())
            }
        },
        built_of,
        busy_doubt,
    }
}

pub(crate) fn directory(roots: &Roots, name: &str) -> Option<PathBuf> {
    // The kernel writes a slash in a name as an exclamation mark there (`cciss!c0d0`).
    let name = name.replace('/', "!");
    fs::canonicalize(roots.sys.join("class/block").join(name)).ok()
}

/// What a device is built of; a partition is built of nothing, its disk may be.
fn built_of(roots: &Roots, name: &str) -> Vec<String> {
    let slaves = directory(roots, name).map(|directory| names(&directory.join("slaves")));
    slaves.unwrap_or_default().iter().map(|slave| slave.replace('!', "/")).collect()
}

/// The names in diskstats that a user means: a kernel name, a device node or a link to one, or a
/// path on a file system, for which its device stands. With the devices that it is built of, down
/// to the disks, because those tell more. Empty where nothing of the kind is known.
pub(crate) fn meant(roots: &Roots, text: &str, lines: &[DiskstatsLine]) -> Vec<String> {
    let known = |name: &str| lines.iter().any(|line| line.device == name);
    let bare = text.strip_prefix("/dev/").unwrap_or(text);
    let name = if known(bare) { Some(bare.to_owned()) } else { device_below(roots, text) };
    let mut found: Vec<String> = name.into_iter().filter(|name| known(name)).collect();
    let mut next = 0;
    while let Some(name) = found.get(next) {
        next += 1;
        for name in built_of(roots, name) {
            if known(&name) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// Where file systems that can be written are mounted, by the names of the devices that they are
/// on, from the partition or volume down to the disks; the shortest path where there are several.
#[must_use]
pub fn mount_points(roots: &Roots) -> BTreeMap<String, PathBuf> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for mount in read_mounts(roots) {
        let read_only = mount.options.split(',').any(|option| option == "ro");
        let device = device_of_mount(roots, mount.device, Some(&mount));
        let Some(facts) = device.filter(|_| !read_only) else { continue };
        for name in facts.leaves.into_iter().chain([facts.disk, facts.name]) {
            let known = found.entry(name).or_insert_with(|| mount.point.clone());
            if mount.point.as_os_str().len() < known.as_os_str().len() {
                known.clone_from(&mount.point);
            }
        }
    }
    found
}

/// The device of a node, or the one that the file system of a path is on.
fn device_below(roots: &Roots, text: &str) -> Option<String> {
    let path = Path::new(text);
    let facts = fs::metadata(path).ok()?;
    let numbers =
        numbers(if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() });
    let mounts = read_mounts(roots);
    let real = fs::canonicalize(path).ok()?;
    let mount = mount_of(&mounts, &real, Some(numbers));
    device_of_mount(roots, numbers, mount).map(|facts| facts.name)
}
