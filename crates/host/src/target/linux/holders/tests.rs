//! Tests the users of a device, on fake machines.

use super::processes::is_for_writing;
use super::*;
use crate::target::linux::unsafe_calls::{Writers, has_writers};
use rustix::fd::AsFd;
use std::fs;
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
        fake.sys(&format!("devices/x/sda/sda{part}/start"), &(50 * (part - 1)).to_string());
    }
    fake
}

fn roots(fake: &Fake) -> Roots {
    Roots::below(fake.root())
}

fn node(fake: &Fake, numbers: (u32, u32)) -> Node {
    Node::find(&roots(fake), numbers).unwrap()
}

/// Why each of sda, sda1, sda2 and sdb cannot be written; empty if it can.
fn whys(fake: &Fake) -> [String; 4] {
    [(8, 0), (8, 1), (8, 2), (8, 16)].map(|numbers| why(fake, numbers))
}

/// Why one device cannot be written; empty if it can.
fn why(fake: &Fake, numbers: (u32, u32)) -> String {
    let (roots, node) = (roots(fake), node(fake, numbers));
    let question = Question { roots: &roots, keep: &[] };
    question.device(&node, Moment::InHand).map(|found| found.why).unwrap_or_default()
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
    let disk = "sda has the partition sda1, which is mounted at \"/mnt\" (ext4)";
    assert_eq!(whys(&fake), [disk, mounted, "", ""]);
}

#[test]
fn a_mounted_disk_takes_all_its_partitions() {
    let fake = machine();
    fake.proc("self/mountinfo", "20 1 8:0 / /mnt rw - ext4 /dev/sda rw\n");
    let mounted = "sda is mounted at \"/mnt\" (ext4)";
    let part =
        |name: &str| format!("{name} is a partition of sda, which is mounted at \"/mnt\" (ext4)");
    assert_eq!(whys(&fake), [mounted, &part("sda1"), &part("sda2"), ""]);
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
    let disk = "sda has the partition sda2, which is a part of dm-0 (vg-data)";
    assert_eq!(whys(&fake), [disk, "", held, "sdb is in use as swap"]);
}

#[test]
fn a_loop_device_and_btrfs_above_a_device_are_named() {
    let fake = machine();
    attach(&fake, 4, "/dev/sdb", 0);
    fake.sys("fs/btrfs/1234-5678/devices/sda2/size", "1");
    let part = "sda2 is a part of the mounted btrfs file system 1234-5678";
    let disk = format!("sda has the partition sda2, which {}", &part[5..]);
    assert_eq!(whys(&fake), [&*disk, "", part, "sdb is in use as the loop device loop4"]);
}

#[test]
fn a_descriptor_for_writing_differs_from_one_for_reading() {
    for (flags, expected) in [("0100000", false), ("0100001", true), ("0100002", true)] {
        let facts = format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t25\n");
        assert_eq!(is_for_writing(&facts), expected, "{flags}");
    }
}

/// Attaches a loop device of 50 sectors over a file or device, starting at a byte offset.
fn attach(fake: &Fake, number: u32, file: &str, offset: u64) {
    fake.block(&format!("virtual/loop{number}"), &format!("7:{number}"), 50);
    let settings = format!("devices/virtual/loop{number}/loop");
    fake.sys(&format!("{settings}/backing_file"), file);
    fake.sys(&format!("{settings}/offset"), &offset.to_string());
    fake.sys(&format!("{settings}/sizelimit"), "25600");
}

#[test]
fn what_lies_below_a_loop_device_is_asked_too() {
    let fake = machine();
    attach(&fake, 0, "/dev/sdb", 0);
    attach(&fake, 1, "/dev/loop0", 512);
    fake.proc("self/mountinfo", "20 1 8:16 / /mnt rw - ext4 /dev/sdb rw\n");
    let expected =
        "loop1 is stored on loop0, which is stored on sdb, which is mounted at \"/mnt\" (ext4)";
    assert_eq!(why(&fake, (7, 1)), expected);
}

#[test]
fn two_loop_devices_over_one_file_share_it_where_their_bytes_overlap() {
    let fake = machine();
    let file = fake.path("image").display().to_string();
    attach(&fake, 0, &file, 0);
    attach(&fake, 1, &file, 512);
    fake.proc("self/mountinfo", "20 1 7:0 / /mnt rw - ext4 /dev/loop0 rw\n");
    let shared = format!(
        "loop1 is stored on {file:?}, which is in use as the loop device loop0, which is mounted at \
         \"/mnt\" (ext4)"
    );
    assert_eq!(why(&fake, (7, 1)), shared);
    attach_again(&fake, 1, &file, 25_600);
    assert_eq!(why(&fake, (7, 1)), "");
}

fn attach_again(fake: &Fake, number: u32, file: &str, offset: u64) {
    let settings = format!("devices/virtual/loop{number}/loop");
    fake.sys(&format!("{settings}/backing_file"), file);
    fake.sys(&format!("{settings}/offset"), &offset.to_string());
}

#[test]
fn a_volume_is_free_beside_a_mounted_neighbour_on_the_same_member() {
    let fake = machine();
    for (number, point) in [(0, "root"), (1, "free")] {
        fake.block(&format!("virtual/dm-{number}"), &format!("253:{number}"), 20);
        fake.sys(&format!("devices/virtual/dm-{number}/dm/name"), point);
        fake.sys_link(&format!("devices/virtual/dm-{number}/slaves/sda2"), "devices/x/sda/sda2");
        fake.sys_link(
            &format!("devices/x/sda/sda2/holders/dm-{number}"),
            &format!("devices/virtual/dm-{number}"),
        );
    }
    fake.proc("self/mountinfo", "20 1 253:0 / / rw - ext4 /dev/mapper/root rw\n");
    assert_eq!(why(&fake, (253, 1)), "");
    let part = why(&fake, (8, 2));
    assert_eq!(part, "sda2 is a part of dm-0, which is mounted at \"/\" (ext4)");
}

#[test]
fn the_same_disk_on_another_path_counts() {
    let fake = machine();
    for disk in ["sda", "sdb"] {
        fake.sys(&format!("devices/x/{disk}/device/wwid"), "naa.5000c500a1b2c3d4\n");
    }
    fake.proc("self/mountinfo", "20 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n");
    let expected = "sdb is the same disk as sda on another path, which has the partition sda1, \
                    which is mounted at \"/mnt\" (ext4)";
    assert_eq!(why(&fake, (8, 16)), expected);
}

#[test]
fn zram_and_servers_in_the_kernel_are_users() {
    let fake = machine();
    fake.block("virtual/zram0", "252:0", 100);
    fake.sys("devices/virtual/zram0/backing_dev", "/dev/sdb\n");
    assert_eq!(why(&fake, (8, 16)), "sdb receives the pages that zram0 writes back");
    let fake = machine();
    fake.sys("kernel/config/nvmet/subsystems/one/namespaces/1/device_path", "/dev/sdb\n");
    assert_eq!(why(&fake, (8, 16)), "sdb is exported to other machines or guests (NVMe target)");
}

/// Why a file of this fake machine cannot be written.
fn why_file(fake: &Fake, path: &Path) -> String {
    let roots = roots(fake);
    let (file, stat) = (fs::File::open(path).unwrap(), rustix::fs::stat(path).unwrap());
    let question = Question { roots: &roots, keep: &[] };
    let found = question.file(file.as_fd(), &stat, path, Moment::Before);
    found.map(|found| found.why).unwrap_or_default()
}

#[test]
fn a_file_that_an_nfs_client_has_open_for_writing_is_in_use() {
    let fake = machine();
    let path = fake.path("image");
    fs::write(&path, "data").unwrap();
    let stat = rustix::fs::stat(&path).unwrap();
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let line = |access: &str| {
        format!(
            "- 0x1: {{ type: open, access: {access}, deny: --, superblock: \
             \"{major:02x}:{minor:02x}:{}\", filename: \"image\" }}\n",
            stat.st_ino
        )
    };
    fake.proc("fs/nfsd/clients/3/states", &line("r-"));
    assert_eq!(why_file(&fake, &path), "");
    fake.proc("fs/nfsd/clients/3/states", &line("rw"));
    let why = "it is open for writing by a client of this machine's NFS server";
    assert_eq!(why_file(&fake, &path), why);
}

#[test]
fn a_file_below_an_overlay_is_the_file_that_the_overlay_shows() {
    let fake = machine();
    let (upper, merged) = (fake.path("upper"), fake.path("merged"));
    for folder in [&upper, &merged] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("image"), "data").unwrap();
    }
    attach(&fake, 0, merged.join("image").to_str().unwrap(), 0);
    assert_eq!(why_file(&fake, &upper.join("image")), "");
    let (point, layer) = (merged.display(), upper.display());
    fake.proc(
        "self/mountinfo",
        &format!("20 1 0:40 / {point} rw - overlay overlay rw,lowerdir=/x,upperdir={layer}\n"),
    );
    let used = "it is in use as the loop device loop0";
    assert_eq!(why_file(&fake, &upper.join("image")), used);
    // A second name of the same file.
    fs::hard_link(upper.join("image"), fake.path("other")).unwrap();
    assert_eq!(why_file(&fake, &fake.path("other")), used);
}

#[test]
fn a_file_that_this_process_has_open_for_writing_is_seen_by_the_kernel_alone() {
    let fake = machine();
    let path = fake.path("image");
    let writer = fs::File::create(&path).unwrap();
    let asked = has_writers(fs::File::open(&path).unwrap());
    if asked == Writers::Unknown {
        return testkit::skip("leases", "the file system of temporary files has none");
    }
    assert!(why_file(&fake, &path).contains("according to the kernel"));
    drop(writer);
    assert_eq!(why_file(&fake, &path), "");
}
