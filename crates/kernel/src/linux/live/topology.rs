//! What a name in diskstats is: a disk, a part of one, or built of others.
//!
//! The same request is counted on a partition, on its disk, on a logical volume above and on the
//! loop device above that. Who adds devices up must know this, so each device says of which others
//! of the observation it repeats the requests. sysfs tells (`partition`, `slaves`); on a machine
//! without it, the old short lines are known to be partitions, and nothing else is guessed from
//! names: `nvme0n1p1` would pass, `sda1` and `md127` would not be told apart.
//!
//! Rejected: following a loop device to the disk below its file. What it asks of that disk is the
//! file system's choice; its sentence in the facts says what it lies on.

use super::doubt;
use crate::linux::device::{device_of, device_of_mount, whole_disk};
use crate::linux::diskstats::DiskstatsLine;
use crate::linux::mounts::{mount_of, read_mounts};
use crate::linux::roots::{Roots, base_name, names};
use record::ObservedDevice;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Describes the device of a line. `release` is that of the kernel.
pub(crate) fn describe(roots: &Roots, line: &DiskstatsLine, release: &str) -> ObservedDevice {
    let name = &line.device;
    let directory = directory(roots, name);
    let built_of = directory.as_deref().map(built_of).unwrap_or_default();
    let busy_doubt = if built_of.is_empty() {
        line.busy_ms.and_then(|_| doubt::of_kernel(release))
    } else {
        Some(doubt::of_stack(name, &built_of))
    };
    ObservedDevice {
        name: name.clone(),
        facts: device_of(roots, line.major, line.minor).filter(|facts| facts.name == *name),
        partition_of: match &directory {
            Some(directory) => partition_of(directory),
            None => old_partition_of(line),
        },
        built_of,
        busy_doubt,
    }
}

fn directory(roots: &Roots, name: &str) -> Option<PathBuf> {
    // The kernel writes a slash in a name as an exclamation mark there (`cciss!c0d0`).
    let name = name.replace('/', "!");
    fs::canonicalize(roots.sys.join("class/block").join(name)).ok()
}

/// The disk that a partition is a part of.
fn partition_of(directory: &Path) -> Option<String> {
    let disk = whole_disk(directory);
    (disk != directory).then(|| base_name(&disk).replace('!', "/"))
}

/// What a device is built of; a partition is built of nothing, its disk may be.
fn built_of(directory: &Path) -> Vec<String> {
    let slaves = names(&directory.join("slaves"));
    slaves.iter().map(|slave| slave.replace('!', "/")).collect()
}

/// The disk of a line of the old form, which only partitions had.
fn old_partition_of(line: &DiskstatsLine) -> Option<String> {
    let disk = line.device.trim_end_matches(|character: char| character.is_ascii_digit());
    (line.busy_ms.is_none() && !disk.is_empty() && disk != line.device).then(|| disk.to_owned())
}

/// The names in diskstats that a user means: a kernel name, a device node or a link to one, or a
/// path on a file system, for which its device stands. With the devices that it is built of, down to
/// the disks, because those tell more. Empty where nothing of the kind is known.
pub(crate) fn meant(roots: &Roots, text: &str, lines: &[DiskstatsLine]) -> Vec<String> {
    let known = |name: &str| lines.iter().any(|line| line.device == name);
    let bare = text.strip_prefix("/dev/").unwrap_or(text);
    let name = if known(bare) { Some(bare.to_owned()) } else { device_below(roots, text) };
    let mut found: Vec<String> = name.into_iter().filter(|name| known(name)).collect();
    let mut next = 0;
    while let Some(name) = found.get(next) {
        next += 1;
        let below = directory(roots, name).map(|directory| built_of(&directory));
        for name in below.unwrap_or_default() {
            if known(&name) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// Where file systems that can be written are mounted, by the names of the devices that they are on,
/// from the partition or volume down to the disks; the shortest path where there are several.
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
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let numbers = (rustix::fs::major(number), rustix::fs::minor(number));
    let mounts = read_mounts(roots);
    let real = fs::canonicalize(path).ok()?;
    let mount = mount_of(&mounts, &real, Some(numbers));
    device_of_mount(roots, numbers, mount).map(|facts| facts.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::diskstats::parse_diskstats;
    use testkit::Fake;

    const LINES: &str = "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n8 1 sda1 0 0 0 0 0 0 0 0 0 0 0\n\
                         253 0 dm-0 0 0 0 0 0 0 0 0 0 0 0\n9 0 md0 0 0 0 0 0 0 0 0 0 0 0\n";

    /// md0 on dm-0 on sda1, a partition of sda.
    fn stack() -> Fake {
        let fake = Fake::new();
        fake.block("pci/block/sda", "8:0", 1000);
        fake.block("pci/block/sda/sda1", "8:1", 900);
        fake.sys("devices/pci/block/sda/sda1/partition", "1");
        fake.block("virtual/block/dm-0", "253:0", 800);
        fake.sys_link("devices/virtual/block/dm-0/slaves/sda1", "devices/pci/block/sda/sda1");
        fake.block("virtual/block/md0", "9:0", 800);
        fake.sys_link("devices/virtual/block/md0/slaves/dm-0", "devices/virtual/block/dm-0");
        fake
    }

    #[test]
    fn each_layer_names_what_it_repeats() {
        let fake = stack();
        let lines = parse_diskstats(LINES).unwrap();
        let of = |index: usize| describe(&Roots::below(fake.root()), &lines[index], "6.12.0");
        let [disk, part, volume, array] = [0, 1, 2, 3].map(of);
        assert_eq!((disk.built_of.len(), disk.partition_of, disk.busy_doubt), (0, None, None));
        assert_eq!(disk.facts.unwrap().disk, "sda");
        assert_eq!(part.partition_of.as_deref(), Some("sda"));
        assert_eq!(volume.built_of, ["sda1"]);
        assert_eq!(array.built_of, ["dm-0"]);
        assert!(array.busy_doubt.unwrap().contains("timer ticks"));
        assert_eq!(array.facts.unwrap().leaves, ["sda"]);
    }

    #[test]
    fn a_name_that_now_belongs_to_other_numbers_has_no_facts_of_the_old_device() {
        let fake = stack();
        let line = parse_diskstats("8 1 sdb 0 0 0 0 0 0 0 0 0 0 0").unwrap().remove(0);
        assert_eq!(describe(&Roots::below(fake.root()), &line, "6.12.0").facts, None);
    }

    #[test]
    fn without_sysfs_only_the_old_short_lines_are_known_as_partitions() {
        let fake = Fake::new();
        let lines = parse_diskstats("3 1 hda1 1 8 1 8\n9 127 md127 0 0 0 0 0 0 0 0 0 0 0").unwrap();
        let old = describe(&Roots::below(fake.root()), &lines[0], "2.6.18");
        assert_eq!(old.partition_of.as_deref(), Some("hda"));
        assert_eq!(describe(&Roots::below(fake.root()), &lines[1], "2.6.18").partition_of, None);
    }

    #[test]
    fn a_file_system_is_found_from_every_device_below_it_and_read_only_ones_are_not() {
        let fake = stack();
        fake.proc(
            "self/mountinfo",
            "30 1 9:0 / /srv/data rw - ext4 /dev/md0 rw\n31 1 9:0 /x /srv rw - ext4 /dev/md0 rw\n\
             32 1 8:0 / /snap ro - squashfs /dev/sda ro\n33 1 0:5 / / rw - tmpfs tmpfs rw\n",
        );
        let points = mount_points(&Roots::below(fake.root()));
        let of = |name: &str| points.get(name).map(|path| path.display().to_string());
        assert_eq!(of("md0").as_deref(), Some("/srv"));
        assert_eq!(of("sda").as_deref(), Some("/srv"));
        assert_eq!(of("sdb"), None);
    }

    #[test]
    fn a_named_volume_comes_with_what_it_is_built_of() {
        let fake = stack();
        let lines = parse_diskstats(LINES).unwrap();
        assert_eq!(meant(&Roots::below(fake.root()), "md0", &lines), ["md0", "dm-0", "sda1"]);
        assert_eq!(meant(&Roots::below(fake.root()), "/dev/sda", &lines), ["sda"]);
        assert_eq!(meant(&Roots::below(fake.root()), "sdz", &lines), [""; 0]);
        assert_eq!(meant(&Roots::below(fake.root()), "/no/such/path", &lines), [""; 0]);
    }
}
