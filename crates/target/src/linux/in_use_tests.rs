//! Tests of who uses a device, on fake machines.

use super::*;
use std::os::unix::fs::symlink;
use testkit::Fake;

/// Two drives; the first has two partitions.
fn machine() -> Fake {
    let fake = Fake::new();
    for (name, numbers) in [("sda", "8:0"), ("sdb", "8:16")] {
        fake.block(&format!("x/{name}"), numbers, 100);
        fake.sys_link(&format!("block/{name}"), &format!("devices/x/{name}"));
    }
    for part in [1, 2] {
        fake.block(&format!("x/sda/sda{part}"), &format!("8:{part}"), 50);
        fake.sys(&format!("devices/x/sda/sda{part}/partition"), &part.to_string());
    }
    fake
}

fn roots(fake: &Fake) -> Roots {
    Roots::below(fake.root())
}

fn node(fake: &Fake, numbers: (u32, u32)) -> Node {
    Node::find(&roots(fake), numbers).unwrap()
}

/// Why each of sda, sda1, sda2 and sdb cannot be written; empty where it can.
fn whys(fake: &Fake) -> [String; 4] {
    [(8, 0), (8, 1), (8, 2), (8, 16)].map(|numbers| {
        device_use(&roots(fake), &node(fake, numbers)).map(|found| found.why).unwrap_or_default()
    })
}

#[test]
fn nobody_uses_a_device_of_which_no_table_speaks() {
    let fake = machine();
    fake.proc("self/mountinfo", "20 1 0:30 / / rw - tmpfs none rw\n");
    fake.proc("swaps", "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 1 0 -2\n");
    assert_eq!(whys(&fake), [""; 4]);
}

#[test]
fn a_mounted_partition_takes_its_disk_and_itself_but_not_its_neighbour() {
    let fake = machine();
    fake.proc("self/mountinfo", "20 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n");
    let mounted = "sda1 is mounted at \"/mnt\" (ext4)";
    assert_eq!(whys(&fake), [mounted, mounted, "", ""]);
}

#[test]
fn a_mounted_disk_takes_all_its_partitions() {
    let fake = machine();
    fake.proc("self/mountinfo", "20 1 8:0 / /mnt rw - ext4 /dev/sda rw\n");
    let mounted = "sda is mounted at \"/mnt\" (ext4)";
    assert_eq!(whys(&fake), [mounted, mounted, mounted, ""]);
}

#[test]
fn a_mount_whose_number_is_of_no_device_is_found_by_its_source_through_a_link() {
    let fake = machine();
    let dev = roots(&fake).dev;
    fs::create_dir_all(dev.join("mapper")).unwrap();
    fs::write(dev.join("sdb"), "").unwrap();
    symlink("../sdb", dev.join("mapper/data")).unwrap();
    fake.proc("self/mountinfo", "20 1 0:31 / /mnt rw - btrfs /dev/mapper/data rw\n");
    assert_eq!(whys(&fake), ["", "", "", "sdb is mounted at \"/mnt\" (btrfs)"]);
}

#[test]
fn a_mount_in_another_namespace_is_found_with_its_process() {
    let fake = machine();
    for (process, namespace) in [("self", "mnt:[1]"), ("7", "mnt:[1]"), ("9", "mnt:[2]")] {
        let process = roots(&fake).proc.join(process);
        fs::create_dir_all(process.join("ns")).unwrap();
        symlink(namespace, process.join("ns/mnt")).unwrap();
    }
    fake.proc("9/mountinfo", "20 1 8:16 / /inside rw - xfs /dev/sdb rw\n");
    let found = "sdb is mounted at \"/inside\" in the mount namespace of process 9";
    assert_eq!(whys(&fake), ["", "", "", found]);
}

#[test]
fn swap_and_holders_are_named() {
    let fake = machine();
    fake.proc("swaps", "Filename Type Size Used Priority\n/dev/sdb partition 1 0 -2\n");
    fake.sys("devices/x/sda/sda2/holders/dm-0/dm/name", "vg-data\n");
    let held = "sda2 is a part of dm-0 (vg-data)";
    assert_eq!(whys(&fake), [held, "", held, "sdb is in use as swap"]);
}

#[test]
fn a_loop_device_and_btrfs_above_a_device_are_named() {
    let fake = machine();
    fake.sys("block/loop4/loop/backing_file", "/dev/sdb\n");
    fake.sys("fs/btrfs/1234-5678/devices/sda2/size", "1");
    let part = "sda2 is a part of the mounted btrfs file system 1234-5678";
    assert_eq!(whys(&fake), [part, "", part, "sdb is in use as the loop device loop4"]);
}

#[test]
fn a_program_that_writes_to_a_device_is_told_from_one_that_reads() {
    let fake = Fake::new();
    for (flags, expected) in [("0100000", false), ("0100001", true), ("0100002", true)] {
        fake.proc("9/fdinfo/3", &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t25\n"));
        assert_eq!(writes(&roots(&fake).proc.join("9/fdinfo/3")), expected, "{flags}");
    }
}
