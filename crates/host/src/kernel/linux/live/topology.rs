//! Classifies the names in diskstats: a disk, a part of one, or built of others.
//!
//! The same request is counted on a partition, on its disk, on a logical volume above and on a loop device
//! above that. So each device lists the devices whose requests it repeats. sysfs gives this (`partition`,
//! `slaves`). Without sysfs, the old short lines are partitions; nothing else is guessed from names. A loop
//! device repeats no requests: the file system decides what it requests from the disk below.

use crate::kernel::linux::device::{device_of, device_of_mount, whole_disk};
use crate::kernel::linux::diskstats::DiskstatsLine;
use crate::kernel::linux::mounts::{is_export, read_mounts};
use crate::kernel::linux::path::{built_of, directory};
use crate::kernel::read::{Roots, base_name};
use record::{DeviceFacts, ObservedDevice, kernel_busy_doubt};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Describes the device of a line; `release` is that of the kernel.
pub(crate) fn describe(
    roots: &Roots,
    line: &DiskstatsLine,
    release: Option<&str>,
) -> ObservedDevice {
    let name = &line.device;
    if line.remote {
        let facts = DeviceFacts::export(name);
        return ObservedDevice { name: name.clone(), facts: Some(facts), ..Default::default() };
    }
    let built_of = built_of(roots, name);
    let busy_doubt = if built_of.is_empty() {
        line.busy_ms.and_then(|_| kernel_busy_doubt(release?))
    } else {
        // This applies to every kernel.
        Some(format!(
            "the device {name} has no request queue, so the kernel counts its times in timer \
             ticks; the times of {} have a finer resolution",
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
            // Only partitions had lines in the old format.
            None => {
                let disk = name.trim_end_matches(|character: char| character.is_ascii_digit());
                let old = line.busy_ms.is_none() && !disk.is_empty() && disk != name;
                old.then(|| disk.to_owned())
            }
        },
        built_of,
        busy_doubt,
        ..ObservedDevice::default()
    }
}

/// Mount points of writable file systems, by the names of the devices below them, from the partition or
/// volume down to the disks; the shortest path if there are several.
#[must_use]
pub fn mount_points(roots: &Roots) -> BTreeMap<String, PathBuf> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for mount in read_mounts(roots) {
        let read_only = mount.options.split(',').any(|option| option == "ro");
        let device = device_of_mount(roots, mount.device, Some(&mount));
        let export = || is_export(&mount.kind).then(|| DeviceFacts::export(&mount.source));
        let Some(facts) = device.or_else(export).filter(|_| !read_only) else { continue };
        for name in facts.leaves.into_iter().chain([facts.disk, facts.name]) {
            let known = found.entry(name).or_insert_with(|| mount.point.clone());
            if mount.point.as_os_str().len() < known.as_os_str().len() {
                known.clone_from(&mount.point);
            }
        }
    }
    found
}
