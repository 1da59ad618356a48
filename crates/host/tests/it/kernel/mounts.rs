//! Tests the table of mounts, on machines made of files.

use host::kernel::Roots;
use host::kernel::mounts::{Mount, mount_of, read_mounts, unescape};
use std::ffi::OsString;
use std::path::Path;
use testkit::Fake;

const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:40 / /data rw,relatime - btrfs /dev/sdb1 rw,compress=zstd:3
24 22 8:1 /srv/x /data/bound rw,relatime - ext4 /dev/sda1 rw
25 22 0:50 / /with\\040space ro,relatime shared:2 master:1 - tmpfs tmpfs rw,size=4k
26 22 8:17 / /data rw,relatime - xfs /dev/sdb2 rw
";

fn mounts() -> Vec<Mount> {
    let fake = Fake::new();
    fake.proc("self/mountinfo", MOUNTS);
    read_mounts(&Roots::below(fake.root()))
}

#[test]
fn the_device_number_decides_among_covering_mounts() {
    let mounts = mounts();
    let kind = |path: &str, device| {
        mount_of(&mounts, Path::new(path), device).map(|mount| mount.kind.clone())
    };
    assert_eq!(kind("/data/f", Some((0, 40))).as_deref(), Some("btrfs"));
    assert_eq!(kind("/data/f", Some((8, 17))).as_deref(), Some("xfs"));
    assert_eq!(kind("/etc/f", Some((8, 1))).as_deref(), Some("ext4"));
}

#[test]
fn a_bind_mount_is_told_from_the_file_system_that_it_shows() {
    let mounts = mounts();
    let mount = mount_of(&mounts, Path::new("/data/bound/f"), Some((8, 1))).unwrap();
    assert_eq!(mount.point, Path::new("/data/bound"));
    assert_eq!(mount.root, Path::new("/srv/x"));
}

#[test]
fn an_unknown_number_falls_back_to_the_longest_and_latest_mount_point() {
    let mounts = mounts();
    let mount = mount_of(&mounts, Path::new("/data/f"), Some((0, 99))).unwrap();
    assert_eq!(mount.kind, "xfs");
    let mount = mount_of(&mounts, Path::new("/database/f"), Some((0, 99))).unwrap();
    assert_eq!(mount.point, Path::new("/"));
}

#[test]
fn escapes_are_undone_and_one_read_only_side_makes_the_mount_read_only() {
    let mounts = mounts();
    assert_eq!(mounts[3].point, Path::new("/with space"));
    assert_eq!(mounts[3].options, "ro,relatime,size=4k");
    assert_eq!(mounts[1].options, "rw,relatime,compress=zstd:3");
}

#[test]
fn broken_lines_are_left_out() {
    let fake = Fake::new();
    let broken = "22 1 8:1 / /\n22 1 8 / / rw - ext4 a rw\n23 1 8:2 / /x rw - ext4 a rw\n";
    fake.proc("self/mountinfo", broken);
    let read = read_mounts(&Roots::below(fake.root()));
    assert_eq!(read.iter().map(|mount| mount.device).collect::<Vec<_>>(), [(8, 2)]);
    assert_eq!(unescape(b"a\\04"), OsString::from("a\\04"));
    assert_eq!(unescape(b"\\777"), OsString::from("\\777"));
}
