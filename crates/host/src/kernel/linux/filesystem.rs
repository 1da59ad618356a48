//! Describes the file system of an open file: its mount, its size, and two properties that distort numbers.
//!
//! A file system in memory has no device to measure, and one that compresses stores less than was written.
//! Both are derived from type and options, as the kernel prints them. Free space is what an ordinary user
//! may use (`f_bavail`), even for root: the reserve keeps a system running that other users have filled.
//! Rejected: statfs' magic numbers for the type, which cannot distinguish ext3 from ext4 and become
//! outdated.

use crate::kernel::error::KernelError;
use crate::kernel::linux::device::{device_of_mount, numbers};
use crate::kernel::linux::mounts::{mount_of, read_mounts};
use crate::kernel::read::Roots;
use record::{Bytes, DeviceFacts, FilesystemFacts};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
use std::fs;
use std::path::Path;

/// Types that keep files in memory.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// Types that always store compressed data.
const ALWAYS_COMPRESSED: [&str; 3] = ["squashfs", "erofs", "cramfs"];

/// Describes the file system of an open file, and the device below it, which one in memory does not have.
/// `path` is the name by which the file was opened; it distinguishes bind mounts.
///
/// # Errors
/// If the system gives no size, or no mount matches.
pub fn locate_filesystem(
    roots: &Roots,
    path: &Path,
    file: impl AsFd,
) -> Result<(FilesystemFacts, Option<DeviceFacts>), KernelError> {
    let stat = rustix::fs::fstat(&file)
        .map_err(|cause| KernelError::system("query the file system of", path, cause))?;
    let numbers = numbers(stat.st_dev);
    let size = rustix::fs::fstatvfs(&file)
        .map_err(|cause| KernelError::system("query the free space of", path, cause))?;
    let mounts = read_mounts(roots);
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mount = mount_of(&mounts, &absolute, Some(numbers)).ok_or_else(|| {
        let problem = format!("{path:?} is not on a known mount; check that /proc is mounted");
        KernelError::Lacks { file: "/proc/self/mountinfo", problem }
    })?;
    // Whether the file itself is marked for compression (chattr +c), whatever the mount options.
    let marked = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|statx| statx.stx_attributes.contains(StatxAttributes::COMPRESSED));
    let facts = FilesystemFacts {
        kind: mount.kind.clone(),
        mount_point: mount.point.to_string_lossy().into_owned(),
        options: mount.options.clone(),
        source: mount.source.clone(),
        size_bytes: Bytes(size.f_blocks.saturating_mul(size.f_frsize)),
        free_bytes: Bytes(size.f_bavail.saturating_mul(size.f_frsize)),
        block_bytes: Bytes(size.f_frsize),
        in_memory: IN_MEMORY.contains(&mount.kind.as_str()),
        compresses: compresses(&mount.kind, &mount.options) || marked,
        direct_alignment_bytes: direct_alignment_told(&file),
    };
    let on_disk = !facts.in_memory;
    let device = on_disk.then(|| device_of_mount(roots, numbers, Some(mount))).flatten();
    Ok((facts, device))
}

/// The alignment in bytes that O_DIRECT requires of offsets, lengths and memory on this file, as the kernel
/// reports it (STATX_DIOALIGN, Linux 6.1); 0 if the file does not support direct I/O, `None` if the kernel
/// does not report it.
pub fn direct_alignment_told(file: impl AsFd) -> Option<u64> {
    let statx = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    told.then(|| u64::from(statx.stx_dio_offset_align.max(statx.stx_dio_mem_align)))
}

fn compresses(kind: &str, options: &str) -> bool {
    let option = |wanted: &[&str]| {
        options.split(',').any(|option| {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            wanted.contains(&name) && !matches!(value, "no" | "none" | "off")
        })
    };
    match kind {
        "btrfs" => option(&["compress", "compress-force"]),
        "bcachefs" => option(&["compression", "background_compression"]),
        // f2fs compresses only files with a listed extension; a star lists them all.
        "f2fs" => option(&["compress_algorithm"]) && options.contains("compress_extension=*"),
        "ubifs" => !options.contains("compr=none"),
        _ => ALWAYS_COMPRESSED.contains(&kind),
    }
}
