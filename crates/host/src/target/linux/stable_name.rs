//! Finds the names of a device that do not depend on the order in which the kernel found the disks.
//!
//! `/dev/sda` may be another disk after a reboot or a change of cables. So a name that permits writing must
//! belong to the disk itself: its link in `/dev/disk/by-id`, its serial number, its world-wide id, or the
//! name of a device-mapper volume. A number that two disks share is not used. Devices that are created on
//! demand and hold no data of their own (loop, zram, RAM disks) have only the kernel's name. Rejected:
//! model and size (two drives bought together have the same).

use crate::kernel::Roots;
use crate::kernel::device::{serial, whole_disk};
use crate::kernel::read::{base_name, names, number, text};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Kernel names of devices that have no other name.
const KERNEL_NAMED: [&str; 4] = ["loop", "zram", "ram", "nullb"];
/// Links that contain only a number are listed after those that a reader recognizes.
const BARE_IDS: [&str; 4] = ["wwn-", "nvme-eui.", "nvme-uuid.", "scsi-3"];
/// The folder of the links, as users write it.
const BY_ID: &str = "/dev/disk/by-id";
/// The folder of the device nodes, as users write it.
const NODES: &str = "/dev";

/// The stable names of a block device, given its directory in sysfs; the one to report comes first.
pub(crate) fn stable_names(roots: &Roots, directory: &Path) -> Vec<String> {
    let disk = whole_disk(directory);
    // A partition adds its number, as udev does.
    let part = number(&directory.join("partition"));
    let with_part = |name: String| match part {
        Some(part) => format!("{name}-part{part}"),
        None => name,
    };
    let mut found = links(roots, &base_name(directory));
    let block = roots.sys.join("block");
    let all = names(&block).into_iter().filter_map(|name| fs::canonicalize(block.join(name)).ok());
    let others: Vec<PathBuf> = all.filter(|other| *other != disk).collect();
    let unique = |id: fn(&Path) -> Option<String>| {
        id(&disk).filter(|name| !others.iter().any(|other| id(other).as_ref() == Some(name)))
    };
    found.extend([unique(serial), unique(wwid)].into_iter().flatten().map(with_part));
    found.extend(text(&directory.join("dm/name")));
    if KERNEL_NAMED.contains(&base_name(&disk).trim_end_matches(|c: char| c.is_ascii_digit())) {
        found.push(base_name(directory));
    }
    let mut seen = HashSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found
}

/// Whether the user typed one of the names, or the path of one: in the folder of the links, or, of a device
/// with this kernel name that has no other name, its node.
pub(crate) fn is_one_of(typed: &str, names: &[String], kernel: &str) -> bool {
    let linked = Path::new(typed).strip_prefix(BY_ID).ok().and_then(Path::to_str);
    let bare = if is_kernel_name(typed, kernel) { kernel } else { linked.unwrap_or(typed) };
    names.iter().any(|name| name == bare)
}

/// Whether the user typed this kernel name, or the path of its node.
pub(crate) fn is_kernel_name(typed: &str, kernel: &str) -> bool {
    Path::new(typed).strip_prefix(NODES).unwrap_or(Path::new(typed)) == Path::new(kernel)
}

/// The links in by-id that refer to a kernel name.
fn links(roots: &Roots, kernel: &str) -> Vec<String> {
    let folder = roots.dev.join("disk/by-id");
    let mut links = names(&folder);
    links.retain(|link| {
        fs::read_link(folder.join(link)).is_ok_and(|target| base_name(&target) == kernel)
    });
    links.sort_by_cached_key(|link| BARE_IDS.iter().any(|begin| link.starts_with(begin)));
    links
}

/// The world-wide id, from the places used by NVMe and SCSI.
fn wwid(disk: &Path) -> Option<String> {
    text(&disk.join("wwid")).or_else(|| text(&disk.join("device/wwid")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use testkit::Fake;

    fn directory(fake: &Fake, name: &str) -> PathBuf {
        fs::canonicalize(Roots::below(fake.root()).sys.join("class/block").join(name)).unwrap()
    }

    fn names_of(fake: &Fake, name: &str) -> Vec<String> {
        stable_names(&Roots::below(fake.root()), &directory(fake, name))
    }

    fn two_disks() -> Fake {
        let fake = Fake::new();
        for (name, numbers, serial) in [("sda", "8:0", "S1"), ("sdb", "8:16", "S2")] {
            fake.block(&format!("x/{name}"), numbers, 100);
            fake.sys_link(&format!("block/{name}"), &format!("devices/x/{name}"));
            fake.sys(&format!("devices/x/{name}/device/serial"), serial);
        }
        fake.sys("devices/x/sda/device/wwid", "naa.5000\n");
        fake.block("x/sda/sda2", "8:2", 50);
        fake.sys("devices/x/sda/sda2/partition", "2\n");
        fake
    }

    #[test]
    fn a_disk_is_named_by_its_links_its_serial_number_and_its_world_wide_id() {
        let fake = two_disks();
        let by_id = Roots::below(fake.root()).dev.join("disk/by-id");
        fs::create_dir_all(&by_id).unwrap();
        for (link, node) in
            [("wwn-0x5000", "sda"), ("ata-ACME_S1", "sda"), ("ata-ACME_S1-part2", "sda2")]
        {
            symlink(format!("../../{node}"), by_id.join(link)).unwrap();
        }
        assert_eq!(names_of(&fake, "sda"), ["ata-ACME_S1", "wwn-0x5000", "S1", "naa.5000"]);
        assert_eq!(names_of(&fake, "sda2"), ["ata-ACME_S1-part2", "S1-part2", "naa.5000-part2"]);
        assert_eq!(names_of(&fake, "sdb"), ["S2"]);
    }

    #[test]
    fn a_serial_number_that_two_disks_share_names_neither() {
        let fake = two_disks();
        fake.sys("devices/x/sdb/device/serial", "S1");
        assert_eq!(names_of(&fake, "sdb"), [""; 0]);
        assert_eq!(names_of(&fake, "sda"), ["naa.5000"]);
    }

    #[test]
    fn the_kernels_name_is_stable_for_devices_that_are_made_by_hand_only() {
        let fake = Fake::new();
        for (name, numbers) in
            [("loop3", "7:3"), ("zram0", "253:0"), ("nvme0n1", "259:0"), ("vda", "254:0")]
        {
            fake.block(&format!("virtual/block/{name}"), numbers, 100);
        }
        fake.block("virtual/block/loop3/loop3p1", "259:1", 50);
        fake.sys("devices/virtual/block/loop3/loop3p1/partition", "1");
        fake.block("virtual/block/dm-0", "252:0", 100);
        fake.sys("devices/virtual/block/dm-0/dm/name", "vg-spare\n");
        assert_eq!(names_of(&fake, "loop3"), ["loop3"]);
        assert_eq!(names_of(&fake, "loop3p1"), ["loop3p1"]);
        assert_eq!(names_of(&fake, "zram0"), ["zram0"]);
        assert_eq!(names_of(&fake, "dm-0"), ["vg-spare"]);
        assert_eq!(names_of(&fake, "nvme0n1"), [""; 0]);
        assert_eq!(names_of(&fake, "vda"), [""; 0]);
    }

    #[test]
    fn a_name_matches_whole_with_or_without_its_folder() {
        let names = ["ata-ACME_S1".to_owned(), "S1".to_owned()];
        for (typed, right) in [
            ("S1", true),
            ("/dev/disk/by-id/ata-ACME_S1", true),
            ("S", false),
            ("s1", false),
            ("", false),
            ("/dev/sda", false),
            ("/dev/S1", false),
            ("/dev/disk/S1", false),
        ] {
            assert_eq!(is_one_of(typed, &names, "sda"), right, "{typed}");
        }
    }

    #[test]
    fn the_path_of_a_device_without_another_name_is_its_name() {
        let names = ["loop3".to_owned()];
        for (typed, right) in [
            ("loop3", true),
            ("/dev/loop3", true),
            ("/dev/loop33", false),
            ("/dev/loop", false),
            ("/dev/disk/loop3", false),
            ("/tmp/loop3", false),
            ("dev/loop3", false),
        ] {
            assert_eq!(is_one_of(typed, &names, "loop3"), right, "{typed}");
        }
        assert!(!is_one_of("/dev/loop3", &["loop4".to_owned()], "loop4"));
    }
}
