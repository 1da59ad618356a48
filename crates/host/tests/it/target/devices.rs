//! Tests the crate with the kernel of this machine: loop devices, mounts, a real disk's counters.
//!
//! Each test first checks whether the machine allows it, and otherwise prints why it was skipped. Attached
//! devices and mounts are removed when their guards are dropped, even after a failure.

use engine::Probe;
use host::kernel::{RealProbe, Roots, device::device_of, device_in_flight_activity};
use host::target::{
    Access, TargetError, TargetHandle, drop_clean_pages, extents, open_target, reopen,
    write_test_file,
};
use record::{Bytes, CacheMode, FindingCode, TargetKind};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use tempfile::TempDir;

const BLOCK: Bytes = Bytes(4096);
const MIB: u64 = 1 << 20;

/// Tests that attach or mount run one at a time.
static DEVICES: Mutex<()> = Mutex::new(());

fn devices() -> MutexGuard<'static, ()> {
    DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn skip(name: &str, reason: impl std::fmt::Display) {
    testkit::skip(name, &reason.to_string());
}

/// Runs a program; returns its output, or its error message.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

struct Loop {
    node: PathBuf,
    _file: TempDir,
}

impl Loop {
    fn attach(
        bytes: u64,
        prepare: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<Self, String> {
        let directory = TempDir::new().map_err(|error| error.to_string())?;
        let image = directory.path().join("image");
        let file = File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(bytes).map_err(|error| error.to_string())?;
        let image = image.to_string_lossy().into_owned();
        prepare(&image)?;
        let node = run("losetup", &["--find", "--show", &image])?;
        Ok(Self { node: node.into(), _file: directory })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run("losetup", &["--detach", &self.node.to_string_lossy()]);
    }
}

struct Mounted {
    point: TempDir,
}

impl Mounted {
    fn new(arguments: &[&str]) -> Result<Self, String> {
        let point = TempDir::new().map_err(|error| error.to_string())?;
        let path = point.path().to_string_lossy().into_owned();
        run("mount", &[arguments, &[&path]].concat())?;
        Ok(Self { point })
    }

    fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run("umount", &[&self.point.path().to_string_lossy()]);
    }
}

fn open(path: &Path, size: Option<u64>) -> Result<TargetHandle, TargetError> {
    open_target(&Roots::default(), path, &Access::ReadOnly, size.map(Bytes), BLOCK)
}

#[test]
fn a_loop_device_and_its_partition_are_read_only_targets_with_their_facts() {
    let _lock = devices();
    let attached = match Loop::attach(8 * MIB, |_| Ok(())) {
        Ok(attached) => attached,
        Err(reason) => return skip("loop device facts", reason),
    };
    let handle = open(&attached.node, None).unwrap();
    assert_eq!(handle.facts.kind, TargetKind::BlockDevice);
    assert_eq!(handle.facts.size_bytes, Bytes(8 * MIB));
    assert!(!handle.writable && handle.facts.filesystem.is_none());
    let device = handle.facts.device.unwrap();
    assert_eq!(device.link.as_deref(), Some("loop"));
    assert_eq!(device.size_bytes, Bytes(8 * MIB));
    assert!(device.virtual_disk && !device.rotational_trusted);
    assert!(device.layers[0].contains("/image"), "{:?}", device.layers);

    let write = Access::ReadWrite { overwrite: true, destroy: Vec::new(), keep: Vec::new() };
    let refused = open_target(&Roots::default(), &attached.node, &write, None, BLOCK).unwrap_err();
    assert_eq!(refused.exit_code(), 3);

    // Registered directly with the kernel: many kernels do not read partition tables of loop devices.
    let name = attached.node.to_string_lossy().into_owned();
    if let Err(reason) = run("addpart", &[&name, "1", "2048", "4096"]) {
        return skip("partition of a loop device", reason);
    }
    let partition = open(Path::new(&format!("{name}p1")), None).map(|handle| handle.facts);
    run("delpart", &[&name, "1"]).unwrap();
    let partition = partition.unwrap();
    assert_eq!(partition.size_bytes, Bytes(4096 * 512));
    let facts = partition.device.unwrap();
    assert_eq!(facts.disk, device.disk);
    assert!(facts.name.ends_with("p1"), "{}", facts.name);
    assert!(facts.layers[0].contains("starts at 1 MiB"), "{:?}", facts.layers);
}

#[test]
fn holes_and_unwritten_extents_of_a_real_file_are_found_and_a_full_file_has_none() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("holes");
    let file = File::create(&path).unwrap();
    file.write_all_at(&vec![1; MIB as usize], 0).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    if let Err(cause) = rustix::fs::fallocate(&file, flags, 2 * MIB, MIB) {
        return skip("holes of a real file", cause);
    }
    file.sync_all().unwrap();
    let Some(map) = extents(&file, Bytes(0), Bytes(3 * MIB)).unwrap() else {
        return skip("holes of a real file", "the file system has no FIEMAP");
    };
    assert_eq!(map.hole_bytes, Bytes(MIB));
    assert_eq!(map.unwritten_bytes, Bytes(MIB));
    assert!(map.count >= 2, "{map:?}");

    let codes = |size: Option<u64>| -> Vec<FindingCode> {
        open(&path, size).unwrap().findings.iter().map(|finding| finding.code).collect()
    };
    assert!(codes(None).contains(&FindingCode::UnwrittenExtents));
    assert!(!codes(Some(MIB)).contains(&FindingCode::UnwrittenExtents));
}

#[test]
fn a_map_longer_than_one_answer_of_the_kernel_is_read_whole() {
    let directory = TempDir::new().unwrap();
    let file = File::create(directory.path().join("comb")).unwrap();
    let teeth = 1200;
    for tooth in 0..teeth {
        file.write_all_at(&[1; 4096], tooth * 16_384).unwrap();
    }
    file.sync_all().unwrap();
    let size = (teeth - 1) * 16_384 + 4096;
    let Some(map) = extents(&file, Bytes(0), Bytes(size)).unwrap() else {
        return skip("a long extent map", "the file system has no FIEMAP");
    };
    if map.hole_bytes == Bytes(0) {
        return skip("a long extent map", "the file system allocates in larger units");
    }
    assert_eq!(map.count, teeth);
    assert_eq!(map.hole_bytes, Bytes((teeth - 1) * 12_288));
}

#[test]
fn a_file_system_that_refuses_o_direct_is_named_with_the_flag_to_use() {
    let path = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if !path.exists() {
        return skip("O_DIRECT refused", "sysfs has no such file here");
    }
    let handle = open(path, None).unwrap();
    let error = reopen(&handle, CacheMode::Device, false).unwrap_err();
    assert!(
        matches!(&error, TargetError::DirectRefused { filesystem, .. } if filesystem == "sysfs")
    );
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("--cache all"), "{error}");
    assert!(reopen(&handle, CacheMode::All, false).is_ok());
}

#[test]
fn a_read_only_file_system_gives_no_test_file_and_says_why() {
    let _lock = devices();
    let mounted = match Mounted::new(&["-t", "tmpfs", "-o", "ro,size=1m", "halfpower-test"]) {
        Ok(mounted) => mounted,
        Err(reason) => return skip("read-only file system", reason),
    };
    let error = open(mounted.path(), None).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(
        text.contains("Read-only file system") && text.contains("mounted read-write"),
        "{text}"
    );
}

#[test]
fn a_directory_in_memory_has_no_device_and_a_finding() {
    let _lock = devices();
    let mounted = match Mounted::new(&["-t", "tmpfs", "-o", "size=8m", "halfpower-test"]) {
        Ok(mounted) => mounted,
        Err(reason) => return skip("file system in memory", reason),
    };
    let handle = open(mounted.path(), Some(4 * MIB)).unwrap();
    let filesystem = handle.facts.filesystem.as_ref().unwrap();
    assert!(filesystem.in_memory && handle.facts.device.is_none());
    assert_eq!(filesystem.size_bytes, Bytes(8 * MIB));
    assert_eq!(Path::new(&filesystem.mount_point), fs::canonicalize(mounted.path()).unwrap());
    assert!(handle.findings.iter().any(|finding| finding.code == FindingCode::NoDevice));
}

#[test]
fn a_small_file_system_is_not_filled() {
    let _lock = devices();
    let made = Loop::attach(16 * MIB, |image| run("mkfs.ext4", &["-q", image]).map(drop)).and_then(
        |attached| {
            let mounted = Mounted::new(&[&attached.node.to_string_lossy()])?;
            Ok((mounted, attached))
        },
    );
    let (mounted, attached) = match made {
        Ok(made) => made,
        Err(reason) => return skip("small file system", reason),
    };
    let mut handle = open(mounted.path(), Some(4 * MIB)).unwrap();
    let device = handle.facts.device.clone().unwrap();
    assert_eq!(Path::new("/dev").join(&device.disk), attached.node);
    let free = handle.facts.filesystem.as_ref().unwrap().free_bytes;
    let error =
        write_test_file(&mut handle, Bytes(4 * MIB), 1, &mut |_, _| {}, &|| false).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("must stay free"), "{error}");
    drop(handle);
    let after = open(mounted.path(), Some(4 * MIB)).unwrap();
    assert_eq!(after.facts.filesystem.as_ref().unwrap().free_bytes, free);
}

#[test]
fn reads_past_the_cache_show_on_the_disks_own_counters() {
    let directory = TempDir::new().unwrap();
    let mut handle = open(directory.path(), Some(16 * MIB)).unwrap();
    let Some(disk) = handle.facts.device.clone() else {
        return skip("device counters", "no block device under the temporary directory");
    };
    let outcome = write_test_file(&mut handle, Bytes(16 * MIB), 1, &mut |_, _| {}, &|| false);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        return testkit::skip("counters of the disk", &error.to_string());
    }
    outcome.unwrap();
    let file = match reopen(&handle, CacheMode::Device, false) {
        Ok(file) => file,
        Err(reason) => return skip("device counters", reason),
    };
    let mut probe = RealProbe::new(Roots::default(), std::slice::from_ref(&disk));
    let before = probe.sample();
    let mut memory = vec![0u8; (MIB + 4096) as usize];
    let start = memory.as_ptr().align_offset(4096);
    for index in 0..16 {
        let buffer = &mut memory[start..start + MIB as usize];
        assert_eq!(rustix::io::pread(&file, buffer, index * MIB), Ok(MIB as usize));
    }
    let after = probe.sample();
    let Some((before, after)) = before.device.zip(after.device) else {
        return skip("device counters", probe.facts().no_device_reason);
    };
    assert!(after.bytes[0] - before.bytes[0] >= 16 * MIB, "{before:?} {after:?}");
    assert!(after.ios[0] > before.ios[0]);
    assert!(after.busy_ns >= before.busy_ns && after.weighted_ns >= before.weighted_ns);
    let activity = device_in_flight_activity(&Roots::default(), &disk, 20).unwrap();
    assert!((0.0..=1.0).contains(&activity.busy_share), "{activity:?}");
    assert!(activity.interval.0 >= 20_000_000);
}

#[test]
fn the_disk_under_a_real_file_is_described_as_sysfs_and_statfs_have_it() {
    let directory = TempDir::new().unwrap();
    let handle = open(directory.path(), None).unwrap();
    let filesystem = handle.facts.filesystem.as_ref().unwrap();
    let size = rustix::fs::statvfs(directory.path()).unwrap();
    assert_eq!(filesystem.size_bytes, Bytes(size.f_blocks * size.f_frsize));
    let Some(disk) = &handle.facts.device else {
        return skip("disk under a file", "no block device under the temporary directory");
    };
    let sectors = fs::read_to_string(format!("/sys/class/block/{}/size", disk.disk)).unwrap();
    assert_eq!(disk.size_bytes, Bytes(sectors.trim().parse::<u64>().unwrap() * 512));
    let (major, minor) = disk.major_minor.split_once(':').unwrap();
    let again =
        device_of(&Roots::default(), (major.parse().unwrap(), minor.parse().unwrap())).unwrap();
    assert_eq!(again.disk, disk.disk);
    assert!(disk.logical_block_bytes.is_some_and(u64::is_power_of_two));
}

#[test]
fn dropping_clean_pages_takes_a_written_file_out_of_the_page_cache() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, vec![1u8; 4 * MIB as usize]).unwrap();
    let overwrite = Access::ReadWrite { overwrite: true, destroy: Vec::new(), keep: Vec::new() };
    let handle = open_target(&Roots::default(), &path, &overwrite, None, BLOCK).unwrap();
    let Some(disk) = handle.facts.device.clone() else {
        return skip("dropping pages", "no block device under the temporary directory");
    };
    drop_clean_pages(&handle.file, Bytes(0), Bytes(4 * MIB)).unwrap();
    let mut probe = RealProbe::new(Roots::default(), &[disk]);
    let before = probe.sample();
    fs::read(&path).unwrap();
    let after = probe.sample();
    let Some((before, after)) = before.device.zip(after.device) else {
        return skip("dropping pages", probe.facts().no_device_reason);
    };
    assert!(after.bytes[0] - before.bytes[0] >= 4 * MIB, "{before:?} {after:?}");
}
