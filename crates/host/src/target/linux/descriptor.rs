//! Creates the descriptors of a target: unnamed files, reopened with the flags of a cache mode.
//!
//! Every run reopens the target's file through `/proc/self/fd` with the flags of its cache mode. The flags
//! are read back, because a file system may accept O_DIRECT and ignore it.

use crate::kernel::filesystem::direct_alignment_told;
use crate::target::error::TargetError;
use crate::target::handle::TargetHandle;
use record::{Bytes, CacheMode, DeviceFacts};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Alignment if neither kernel nor device reports one: the smallest block size of disks.
const SMALLEST_BLOCK_BYTES: u64 = 512;
/// Number of names to try for a file that is unlinked at once.
const NAME_ATTEMPTS: u32 = 16;

/// An unnamed file in `directory`.
pub(crate) fn create_nameless(directory: &Path) -> Result<OwnedFd, TargetError> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        Err(cause) if let Some(kind) = of_the_kernel(directory) => {
            let path = directory.to_owned();
            Err(TargetError::NoDisk { path, kind, cause: cause.into() })
        }
        // The three errors by which file systems and old kernels report that O_TMPFILE is not supported.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => create_unlinked(directory),
        outcome => outcome.map_err(TargetError::failing("create a test file in", directory)),
    }
}

/// The virtual file system of the kernel that a directory belongs to, which has no files on a disk
/// (`linux/magic.h`).
fn of_the_kernel(directory: &Path) -> Option<&'static str> {
    const VIEWS: [(u32, &str); 9] = [
        (0x9fa0, "proc"),
        (0x6265_6572, "sysfs"),
        (0x0027_e0eb, "cgroup"),
        (0x6367_7270, "cgroup2"),
        (0x6462_6720, "debugfs"),
        (0x7472_6163, "tracefs"),
        (0x7363_6673, "securityfs"),
        (0xcafe_4a11, "bpf"),
        (0x1cd1, "devpts"),
    ];
    let magic = rustix::fs::statfs(directory).ok()?.f_type as u32;
    VIEWS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Creates a file under an unused name and unlinks it immediately.
pub(super) fn create_unlinked(directory: &Path) -> Result<OwnedFd, TargetError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let failed = TargetError::failing("create a test file in", directory);
    for attempt in 0..NAME_ATTEMPTS {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let name = format!(".halfpower-{}-{}-{attempt}", std::process::id(), now.tv_nsec);
        let path = directory.join(name);
        match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                let unlinked = rustix::fs::unlink(&path);
                unlinked.map_err(TargetError::failing("unlink the test file", &path))?;
                return Ok(file);
            }
            Err(Errno::EXIST) => {}
            Err(other) => return Err(failed(other)),
        }
    }
    Err(failed(Errno::EXIST))
}

/// A new descriptor of the target with the flags of a cache mode, verified.
///
/// # Errors
/// [`TargetError::DirectRefused`] or [`TargetError::FlagsIgnored`] if the file system does not support the
/// mode, [`TargetError::Refused`] for writing to a target opened for reading.
pub fn reopen(
    handle: &TargetHandle,
    cache: CacheMode,
    write: bool,
) -> Result<OwnedFd, TargetError> {
    let path = PathBuf::from(&handle.facts.path);
    if write && !handle.writable {
        let what = format!("writing to {path:?}");
        return Err(TargetError::refused(
            what,
            "it was opened for reading only",
            "request read access",
        ));
    }
    let mut wanted = OFlags::empty();
    wanted.set(OFlags::DIRECT, cache.direct());
    wanted.set(DSYNC, cache.synchronous());
    let mode = if write { OFlags::RDWR } else { OFlags::RDONLY };
    let link = format!("/proc/self/fd/{}", handle.file.as_raw_fd());
    let file = rustix::fs::open(&link, mode | wanted | OFlags::CLOEXEC, Mode::empty()).map_err(
        |cause| match cause {
            Errno::INVAL if cache.direct() => {
                let filesystem = handle.facts.filesystem.as_ref();
                let filesystem = filesystem.map_or("none", |filesystem| &filesystem.kind);
                TargetError::DirectRefused { path: path.clone(), filesystem: filesystem.to_owned() }
            }
            cause => TargetError::system("reopen", &path, cause),
        },
    )?;
    let got =
        rustix::fs::fcntl_getfl(&file).map_err(TargetError::failing("read the flags of", &path))?;
    let missing = missing_flags(wanted, got);
    if missing.is_empty() { Ok(file) } else { Err(TargetError::FlagsIgnored { path, missing }) }
}

/// The system's O_DSYNC. In rustix 1.1, the raw backend uses O_SYNC for it, which also commits the
/// modification times: a more expensive write than requested.
pub(super) const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);

/// The names of the wanted flags that a descriptor lacks.
pub(super) fn missing_flags(wanted: OFlags, got: OFlags) -> String {
    [(OFlags::DIRECT, "O_DIRECT"), (DSYNC, "O_DSYNC")]
        .iter()
        .filter(|(flag, _)| wanted.contains(*flag) && !got.contains(*flag))
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" and ")
}

/// The alignment of offsets, lengths and memory that O_DIRECT requires, in bytes: as the kernel reports it
/// per file (STATX_DIOALIGN, Linux 6.1), otherwise the device's logical block, otherwise 512.
#[must_use]
pub fn direct_alignment(file: impl AsFd, device: Option<&DeviceFacts>) -> u64 {
    // Zero means no O_DIRECT on this file. The block is still the unit of the device.
    let told = direct_alignment_told(&file).filter(|alignment| *alignment > 0);
    told.or_else(|| device.and_then(|device| device.logical_block_bytes))
        .unwrap_or(SMALLEST_BLOCK_BYTES)
}

/// Drops the clean pages of an area from the page cache. Dirty pages are written first if the descriptor
/// allows writing. Pages that another process maps stay, which is not an error.
///
/// # Errors
/// If writing the dirty pages fails.
pub fn drop_clean_pages(file: impl AsFd, offset: Bytes, length: Bytes) -> Result<(), TargetError> {
    let name = PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    let flags =
        rustix::fs::fcntl_getfl(&file).map_err(TargetError::failing("read the flags of", &name))?;
    if flags.intersects(OFlags::RDWR | OFlags::WRONLY) {
        let written = rustix::fs::fdatasync(&file);
        written.map_err(TargetError::failing("write back the pages of", &name))?;
    }
    let outcome = rustix::fs::fadvise(&file, offset.0, NonZeroU64::new(length.0), Advice::DontNeed);
    outcome.map_err(TargetError::failing("drop the cached pages of", &name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn the_way_without_tmpfile_leaves_no_name_either() {
        let directory = TempDir::new().unwrap();
        let file = create_unlinked(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_nlink, 0);
        assert_eq!(rustix::io::pwrite(&file, b"abc", 0), Ok(3));
    }

    #[test]
    fn flags_that_a_descriptor_does_not_carry_are_named() {
        let both = OFlags::DIRECT | DSYNC;
        assert_eq!(missing_flags(both, OFlags::RDWR), "O_DIRECT and O_DSYNC");
        assert_eq!(missing_flags(both, OFlags::DIRECT), "O_DSYNC");
        assert_eq!(missing_flags(OFlags::DIRECT, both), "");
    }
}
