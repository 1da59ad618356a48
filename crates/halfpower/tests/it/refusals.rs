//! Commands that might destroy data are refused: exit code 3, and no byte changes.
//!
//! The devices are loop devices and RAM disks, named as `--destroy-data-on` requires, so that only the danger
//! itself prevents the write. `devices.rs` tests the opposite, where the same command writes.

use crate::program::{halfpower, halfpower_in, names, run, unprivileged};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testkit::{LoopDevice, Mounted, Zram, disk_folder, partition, read_only, requires, swap_on};

const MIB: u64 = 1 << 20;

#[test]
fn writing_to_an_existing_file_without_the_users_word_is_refused_and_leaves_it_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("precious");
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    for rw in ["write", "randwrite", "rw", "randrw"] {
        for flag in ["", "--destroy-data-on precious"] {
            halfpower(&format!("run {} --rw {rw} {flag} --no-save", file.display()))
                .refuses(3, &["precious", "content would be lost", "--overwrite"]);
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), vec![7; 1 << 20]);
    assert_eq!(names(folder.path()), ["precious"]);
}

/// The kernel's name of a device.
fn kernel_name(device: &Path) -> String {
    device.file_name().unwrap().to_string_lossy().into_owned()
}

/// Checks that a write to `target` with the user's permission is refused with these words, and that `kept`
/// does not change.
#[track_caller]
fn is_refused(target: &Path, name: &str, kept: &Path, words: &[&str]) {
    let before = std::fs::read(kept).unwrap();
    for flags in ["--rw randwrite", "--rw rw --rwmixread 99 --overwrite --cache all"] {
        let words_of =
            format!("run {} {flags} --io-size 4m --runtime 60s --no-save", target.display());
        halfpower(&format!("{words_of} --destroy-data-on {name}")).refuses(3, words);
    }
    assert!(std::fs::read(kept).unwrap() == before, "{} has changed", kept.display());
}

/// The same for a device under its own name.
#[track_caller]
fn device_is_refused(device: &Path, words: &[&str]) {
    is_refused(device, &kernel_name(device), device, words);
}

#[test]
fn a_device_is_not_written_without_its_name_and_the_answer_says_what_to_type() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    std::fs::write(device.backing_file(), vec![7; 8 << 20]).unwrap();
    let name = kernel_name(device.path());
    let right = format!("add --destroy-data-on {name}");
    for flags in ["--rw randwrite", "--rw write --overwrite", "--rw rw --rwmixread 99"] {
        halfpower(&format!("run {} {flags} --no-save", device.path().display()))
            .refuses(3, &["/dev/loop", "all data on it would be lost", &right]);
    }
    for wrong in ["loop", "sda", "LOOP0", "/dev/loop", "*"] {
        let words = format!("run {} --rw write --destroy-data-on {wrong}", device.path().display());
        halfpower(&format!("{words} --no-save"))
            .refuses(3, &["--destroy-data-on names", "which is another device", &right]);
    }
    assert_eq!(std::fs::read(device.backing_file()).unwrap(), vec![7; 8 << 20]);
}

#[test]
fn a_mounted_device_is_refused_under_any_name() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(16 * MIB).unwrap();
    drop(Mounted::ext4(device.path()).unwrap());
    let mount = Mounted::with_options("ext4", device.path(), "ro").unwrap();
    let point = mount.path().display().to_string();
    device_is_refused(device.path(), &["is mounted at", &point, "umount"]);
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink(device.path(), &link).unwrap();
    is_refused(&link, &kernel_name(device.path()), device.path(), &["is mounted at", &point]);
    // Also without the flag, the message names the danger, not the flag.
    let ended = halfpower(&format!("run {} --rw write --no-save", device.path().display()));
    assert!(!ended.stderr.contains("add --destroy"), "{ended:?}");
    ended.refuses(3, &["is mounted at"]);
}

#[test]
fn a_mounted_device_is_refused_also_to_a_user_who_may_not_open_it() {
    requires!(Root, Loop, Mount, Ext4, Setpriv);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let words = format!("run {} --rw write --no-save", device.path().display());
    run(unprivileged(folder.path()), &words).refuses(4, &["Permission denied"]);
    let _mount = Mounted::ext4(device.path()).unwrap();
    run(unprivileged(folder.path()), &words).refuses(3, &["is mounted at"]);
}

/// A process that is killed and waited for on drop.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_device_that_is_mounted_in_another_namespace_is_refused() {
    requires!(Root, Loop, Mount, Ext4, Namespace);
    let device = LoopDevice::new(16 * MIB).unwrap();
    drop(Mounted::ext4(device.path()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (point, ready) = (folder.path().join("point"), folder.path().join("ready"));
    std::fs::create_dir(&point).unwrap();
    let script = format!(
        "mount -t ext4 -o ro {} {} && touch {} && exec sleep 60",
        device.path().display(),
        point.display(),
        ready.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    let holder = Holder(command.stdin(Stdio::null()).spawn().unwrap());
    for _ in 0..500 {
        if ready.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(ready.exists(), "it was not mounted");
    let words = ["is mounted at", "in the mount namespace of process", "nsenter"];
    device_is_refused(device.path(), &words);
    drop(holder);
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_so_is_the_partition() {
    requires!(Root, Loop, Mount, Ext4, Partitions);
    let device = LoopDevice::new(32 * MIB).unwrap();
    let (part, _part) = partition(device.path(), 1, 2048, 32_768).unwrap();
    drop(Mounted::ext4(&part).unwrap());
    let _mount = Mounted::with_options("ext4", &part, "ro").unwrap();
    let words = [&*kernel_name(&part), "is mounted at"];
    device_is_refused(device.path(), &words);
    device_is_refused(&part, &words);
}

#[test]
fn a_disk_with_partitions_is_refused_with_and_without_a_table() {
    requires!(Root, Loop, Partitions);
    let blank = LoopDevice::new(32 * MIB).unwrap();
    let (part, known) = partition(blank.path(), 1, 2048, 32_768).unwrap();
    device_is_refused(blank.path(), &["has partitions", &kernel_name(&part)]);
    drop(known);
    // One partition of an MBR table (UEFI 2.10, 5.2.3), which the kernel reads itself.
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let mut bytes = vec![0; 32 << 20];
    bytes[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 128, 0, 0]);
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(&image, bytes).unwrap();
    let device = LoopDevice::over(&image, &["--partscan"]).unwrap();
    device_is_refused(device.path(), &["MBR partition table", "wipefs"]);
}

#[test]
fn swap_on_a_device_is_refused() {
    requires!(Root, Loop, Swap);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let swap = swap_on(device.path()).unwrap();
    device_is_refused(device.path(), &["is in use as swap", "swapoff"]);
    drop(swap);
    device_is_refused(device.path(), &["contains swap space", "wipefs"]);
}

#[test]
fn swap_on_a_ram_disk_is_refused() {
    requires!(Root, Zram, Swap);
    let device = Zram::new(16 * MIB).unwrap();
    let swap = swap_on(device.path()).unwrap();
    device_is_refused(device.path(), &["is in use as swap", "swapoff"]);
    drop(swap);
}

#[test]
fn a_swap_file_is_refused_whatever_name_it_has() {
    requires!(Root, Disk, Mount, Swap);
    let folder = disk_folder().unwrap();
    let file = folder.path().join("swapfile");
    std::fs::write(&file, vec![0; 16 << 20]).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let _swap = swap_on(&file).unwrap();
    is_refused(&file, "loop0", &file, &["it is in use as swap", "swapoff"]);
    let other = folder.path().join("other");
    std::fs::hard_link(&file, &other).unwrap();
    is_refused(&other, "loop0", &file, &["it is in use as swap"]);
}

#[test]
fn the_file_below_a_loop_device_is_refused_whatever_name_it_has() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    let file = device.backing_file();
    let words = ["in use as the loop device", "losetup -d"];
    is_refused(&file, "loop0", &file, &words);
    let folder = tempfile::tempdir_in(file.parent().unwrap()).unwrap();
    let (link, hard) = (folder.path().join("link"), folder.path().join("hard"));
    symlink(&file, &link).unwrap();
    is_refused(&link, "loop0", &file, &words);
    std::fs::hard_link(&file, &hard).unwrap();
    is_refused(&hard, "loop0", &file, &words);
    // The name that the kernel knows is deleted.
    std::fs::remove_file(&file).unwrap();
    is_refused(&hard, "loop0", &hard, &words);
    // Restore the name, by which the device is detached on drop.
    std::fs::rename(&hard, &file).unwrap();
}

#[test]
fn a_device_below_a_loop_device_is_refused() {
    requires!(Root, Loop);
    let below = LoopDevice::new(8 * MIB).unwrap();
    let above = LoopDevice::over(below.path(), &[]).unwrap();
    let name = kernel_name(above.path());
    device_is_refused(below.path(), &["in use as the loop device", &name, "losetup -d"]);
}

#[test]
fn a_partition_of_a_disk_that_a_loop_device_uses_is_refused() {
    requires!(Root, Loop, Partitions);
    let below = LoopDevice::new(32 * MIB).unwrap();
    let (part, _part) = partition(below.path(), 1, 2048, 32_768).unwrap();
    let above = LoopDevice::over(below.path(), &[]).unwrap();
    let name = kernel_name(above.path());
    device_is_refused(&part, &["in use as the loop device", &name]);
}

#[test]
fn a_device_that_a_program_writes_to_is_refused_and_one_that_is_read_is_not() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    let open = std::fs::File::options().write(true).open(device.path()).unwrap();
    // The program is a different process than this test.
    device_is_refused(device.path(), &["open for writing", "process"]);
    drop(open);
    let _reader = std::fs::File::open(device.path()).unwrap();
    let name = kernel_name(device.path());
    let words =
        format!("run {} --rw randwrite --io-size 4m --runtime 60s", device.path().display());
    halfpower(&format!("{words} --destroy-data-on {name} --no-save")).expect(0);
}

#[test]
fn a_read_only_device_is_refused() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    {
        let _state = read_only(device.path()).unwrap();
        device_is_refused(device.path(), &["is read-only", "--setrw"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, vec![0; 8 << 20]).unwrap();
    let attached = LoopDevice::over(&image, &["--read-only"]).unwrap();
    device_is_refused(attached.path(), &["is read-only"]);
}

/// Signatures that can be made without tools: the format, the position (from the end if negative), and the
/// bytes. Positions and numbers are those of libblkid.
const SIGNATURES: &[(&str, i64, &[u8])] = &[
    ("GUID partition table", 512, b"EFI PART"),
    ("GUID partition table", 4096, b"EFI PART"),
    ("backup of a GUID partition table", -512, b"EFI PART"),
    ("MBR partition table", 510, b"\x55\xaa"),
    ("ext4", 1080, b"\x53\xef"),
    ("XFS", 0, b"XFSB"),
    ("btrfs", 0x1_0040, b"_BHRfS_M"),
    ("LVM physical volume", 512, b"LABELONE"),
    ("Linux RAID", 0, b"\xfc\x4e\x2b\xa9"),
    ("Linux RAID", 4096, b"\xfc\x4e\x2b\xa9"),
    ("Linux RAID", -8192, b"\xfc\x4e\x2b\xa9"),
    ("Linux RAID", -0x1_0000, b"\xfc\x4e\x2b\xa9"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("bcache", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("ZFS", 0x2_1000, b"\x0c\xb1\xba\0\0\0\0\0"),
    ("NTFS", 3, b"NTFS    "),
    ("FAT", 82, b"FAT32   "),
];

#[test]
fn a_device_that_bears_a_signature_is_refused_and_named_until_it_is_cleared() {
    requires!(Root, Loop);
    let size = 64 * MIB;
    let device = LoopDevice::new(size).unwrap();
    let open = || std::fs::File::options().write(true).open(device.path()).unwrap();
    for (name, position, bytes) in SIGNATURES {
        let at = position.checked_rem_euclid(size as i64).unwrap() as u64;
        open().write_all_at(bytes, at).unwrap();
        let wipe = format!("wipefs --all /dev/{}", kernel_name(device.path()));
        let words = ["contains", name, &*format!("at byte {at}"), &wipe];
        let words_of =
            format!("run {} --rw write --io-size 4m --runtime 60s", device.path().display());
        let name = kernel_name(device.path());
        halfpower(&format!("{words_of} --destroy-data-on {name} --no-save")).refuses(3, &words);
        let mut kept = vec![0; bytes.len()];
        std::fs::File::open(device.path()).unwrap().read_exact_at(&mut kept, at).unwrap();
        assert_eq!(&kept, bytes);
        open().write_all_at(&vec![0; bytes.len()], at).unwrap();
    }
}

#[test]
fn what_mkfs_writes_is_refused() {
    requires!(Root, Loop, Ext4);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device.path()).status().unwrap();
    assert!(made.success());
    device_is_refused(device.path(), &["contains", "ext4", "wipefs"]);
    let cleared = Command::new("wipefs").args(["-q", "-a"]).arg(device.path()).status().unwrap();
    assert!(cleared.success());
    let name = kernel_name(device.path());
    let words =
        format!("run {} --rw randwrite --io-size 4m --runtime 60s", device.path().display());
    halfpower(&format!("{words} --destroy-data-on {name} --no-save")).expect(0);
}

#[test]
fn what_mkfs_of_xfs_writes_is_refused() {
    requires!(Root, Loop, Xfs);
    let device = LoopDevice::new(512 * MIB).unwrap();
    let made = Command::new("mkfs.xfs").args(["-q", "-f"]).arg(device.path()).status().unwrap();
    assert!(made.success());
    device_is_refused(device.path(), &["contains", "XFS", "wipefs"]);
}

#[test]
fn what_mkfs_of_btrfs_writes_is_refused() {
    requires!(Root, Loop, Btrfs);
    let device = LoopDevice::new(256 * MIB).unwrap();
    let made = Command::new("mkfs.btrfs").args(["-q", "-f"]).arg(device.path()).output().unwrap();
    assert!(made.status.success());
    device_is_refused(device.path(), &["contains", "btrfs", "wipefs"]);
}

#[test]
fn a_blank_partition_of_a_disk_that_bears_a_file_system_as_a_whole_is_refused() {
    requires!(Root, Loop, Ext4, Partitions);
    let device = LoopDevice::new(32 * MIB).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device.path()).status().unwrap();
    assert!(made.success());
    // Its first blocks belong to the file system, and happen to be zeros.
    let (part, _part) = partition(device.path(), 1, 34_000, 8192).unwrap();
    assert!(std::fs::read(&part).unwrap().iter().all(|byte| *byte == 0));
    let disk = kernel_name(device.path());
    device_is_refused(&part, &[&disk, "contains", "ext4"]);
}

#[test]
fn a_node_elsewhere_of_a_device_in_use_is_refused() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(16 * MIB).unwrap();
    drop(Mounted::ext4(device.path()).unwrap());
    let _mount = Mounted::with_options("ext4", device.path(), "ro").unwrap();
    let folder = disk_folder().unwrap();
    let node: PathBuf = folder.path().join("node");
    let number = kernel_name(device.path()).trim_start_matches("loop").to_owned();
    let made = Command::new("mknod").arg(&node).args(["b", "7", &number]).status().unwrap();
    assert!(made.success());
    is_refused(&node, &kernel_name(device.path()), device.path(), &["is mounted at"]);
}

#[test]
fn a_test_file_that_would_crowd_out_others_is_refused_and_none_is_left() {
    requires!(Mount);
    let disk = Mounted::tmpfs(64 << 20).unwrap();
    let message = ["32 MiB", "must stay free", "free some space"];
    for verb in ["run", "check"] {
        halfpower_in(disk.path(), &format!("{verb} . --size 32m --no-save")).refuses(3, &message);
        assert_eq!(names(disk.path()), [""; 0]);
    }
    // The size of all files of the check, and not that of the first one.
    halfpower_in(disk.path(), "check . --no-save").refuses(3, &["256 MiB", "must stay free"]);
}
