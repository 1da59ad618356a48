//! What a path means as a target, and the descriptors that a run gets of it.
//!
//! A directory stands for a temporary file that has no name: O_TMPFILE, or where the file system
//! has none a file that is unlinked as soon as it exists, so that it is gone however the program
//! ends. Every run then reopens the same file through `/proc/self/fd` with the flags of its cache
//! mode, and the flags are read back, because a file system may take O_DIRECT and drop it.
//!
//! What could destroy data is refused here, before anything is written: existing files without the
//! user's word or in use as storage, and block devices that are not named, in use or not blank
//! (`claim`).
//! Rejected: named test files with a clean-up on exit (SIGKILL leaves them), and deciding by the
//! caller's flags alone (a second caller would forget).

use crate::claim::{claim, refuse_file_in_use};
use crate::device::{device_of, device_of_mount};
use crate::error::HostError;
use crate::extents::{extents_of_area, findings as extent_findings};
use crate::filesystem::{direct_alignment_told, locate_filesystem};
use crate::roots::Roots;
use crate::testfile::default_test_size;
use record::{
    Bytes, CacheMode, DeviceFacts, FilesystemFacts, Finding, FindingCode, Severity, Target,
    TargetKind,
};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Advice, FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Alignment where neither kernel nor device tells one: the smallest block that disks have.
const SMALLEST_BLOCK_BYTES: u64 = 512;
/// Names that are tried for a file that is unlinked at once.
const NAME_ATTEMPTS: u32 = 16;

/// What may be done to an existing target. A directory's test file is always written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    ReadOnly,
    /// Writes too.
    ReadWrite {
        /// Whether the user said that an existing file may be overwritten.
        overwrite: bool,
        /// Stable names of the block devices whose data the user said may be destroyed.
        destroy: Vec<String>,
    },
}

/// An open target with everything that was learnt about it.
#[derive(Debug)]
pub struct TargetHandle {
    /// The file; all descriptors of a run are made from it.
    pub file: OwnedFd,
    /// Facts for the record. For a directory, the size is that of the test file to come, and
    /// extents are there once it is written.
    pub facts: Target,
    /// What the facts mean for the numbers.
    pub findings: Vec<Finding>,
    /// Alignment that O_DIRECT asks of offsets and lengths, in bytes.
    pub alignment_bytes: u64,
    /// Whether `file` may be written.
    pub writable: bool,
}

impl TargetHandle {
    /// Learns how an existing file lies on its device within the area that a run will use; what
    /// was found of another area is forgotten. Other kinds of target have nothing to learn.
    ///
    /// # Errors
    /// If the map of the file exists and cannot be read.
    pub fn look_at_area(&mut self, offset: Bytes, length: Bytes) -> Result<(), HostError> {
        if self.facts.kind != TargetKind::File {
            return Ok(());
        }
        self.facts.extents = extents_of_area(&self.file, offset, length)?;
        self.findings.retain(|finding| {
            !matches!(finding.code, FindingCode::UnwrittenExtents | FindingCode::Fragmented)
        });
        // Reading what was never written measures memory; writing there measures allocation too.
        let severity = if self.writable { Severity::Warning } else { Severity::Invalid };
        if let Some(extents) = &self.facts.extents {
            self.findings.extend(extent_findings(extents, length, severity));
        }
        Ok(())
    }

    /// Whether a run on it destroys what was on a block device.
    #[must_use]
    pub fn destroys(&self) -> bool {
        self.writable && self.facts.kind == TargetKind::BlockDevice
    }

    /// The path as the user gave it.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&self.facts.path)
    }
}

/// Opens what a path stands for: a directory (a nameless test file in it, not yet written), a
/// regular file, or a block device.
///
/// `requested_size` is the size of the test file, or the least that an existing target must hold;
/// `min_request` is the largest request that will be made.
///
/// # Errors
/// [`HostError::Refused`] for writing to a file or a block device without the user's word, or to
/// one that is in use or bears what somebody may need; [`HostError::TooSmall`],
/// [`HostError::NotATarget`], or what the system said.
pub fn open_target(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, HostError> {
    // By name and before opening: to open a FIFO would wait for its writer.
    let stat = rustix::fs::stat(path).map_err(|cause| HostError::system("open", path, cause))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => open_directory(roots, path, requested_size, min_request),
        FileType::RegularFile => open_file(roots, path, access, requested_size, min_request),
        FileType::BlockDevice => {
            open_device(roots, path, &stat, access, requested_size, min_request)
        }
        other => {
            let kind = match other {
                FileType::CharacterDevice => "character device",
                FileType::Fifo => "pipe",
                FileType::Socket => "socket",
                _ => "file of an unknown kind",
            };
            Err(HostError::NotATarget { path: path.to_owned(), kind })
        }
    }
}

fn open_directory(
    roots: &Roots,
    path: &Path,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, HostError> {
    let file = create_nameless(path)?;
    let (filesystem, device) = surroundings(roots, path, &file)?;
    let size = requested_size.unwrap_or_else(|| default_test_size(filesystem.free_bytes));
    check_size(path, size, min_request, None)?;
    let facts = Target {
        path: path.to_string_lossy().into_owned(),
        kind: TargetKind::Directory,
        size_bytes: size,
        device,
        filesystem: Some(filesystem),
        extents: None,
    };
    Ok(handle(file, facts, true))
}

fn open_file(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, HostError> {
    let writable = matches!(access, Access::ReadWrite { overwrite: true, .. });
    let mode = if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let file = rustix::fs::open(path, mode | OFlags::CLOEXEC, Mode::empty())
        .map_err(|cause| HostError::system("open", path, cause))?;
    let stat =
        rustix::fs::fstat(&file).map_err(|cause| HostError::system("examine", path, cause))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(HostError::NotATarget { path: path.to_owned(), kind: "changing target" });
    }
    if let Access::ReadWrite { overwrite, destroy } = access {
        // The danger before the flag: who types the flag would only be refused again.
        refuse_file_in_use(roots, path, &stat)?;
        if !overwrite {
            let why = if destroy.is_empty() {
                "it exists, and its content would be lost"
            } else {
                "it exists, its content would be lost, and --destroy-data-on speaks of block \
                 devices only"
            };
            return Err(HostError::Refused {
                what: format!("writing to the file {path:?}"),
                why: why.to_owned(),
                remedy: "give --overwrite if nobody needs it, or name a directory to get a \
                         temporary test file"
                    .to_owned(),
            });
        }
    }
    let size = Bytes(u64::try_from(stat.st_size).unwrap_or(0));
    check_size(path, size, min_request, requested_size)?;
    let (filesystem, device) = surroundings(roots, path, &file)?;
    let facts = Target {
        path: path.to_string_lossy().into_owned(),
        kind: TargetKind::File,
        size_bytes: size,
        device,
        filesystem: Some(filesystem),
        extents: None,
    };
    let mut handle = handle(file, facts, writable);
    handle.look_at_area(Bytes(0), requested_size.unwrap_or(size))?;
    Ok(handle)
}

fn open_device(
    roots: &Roots,
    path: &Path,
    stat: &Stat,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, HostError> {
    let file = match access {
        Access::ReadOnly => rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|cause| HostError::system("open", path, cause))?,
        Access::ReadWrite { destroy, .. } => claim(roots, path, stat, destroy)?,
    };
    let writable = *access != Access::ReadOnly;
    let stat =
        rustix::fs::fstat(&file).map_err(|cause| HostError::system("examine", path, cause))?;
    // The size of a device is where its end is; its stat says 0.
    let size = rustix::fs::seek(&file, SeekFrom::End(0))
        .map_err(|cause| HostError::system("find the size of", path, cause))?;
    check_size(path, Bytes(size), min_request, requested_size)?;
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    let facts = Target {
        path: path.to_string_lossy().into_owned(),
        kind: TargetKind::BlockDevice,
        size_bytes: Bytes(size),
        device: device_of(roots, major, minor),
        filesystem: None,
        extents: None,
    };
    Ok(handle(file, facts, writable))
}

fn handle(file: OwnedFd, facts: Target, writable: bool) -> TargetHandle {
    let alignment_bytes = direct_alignment(&file, facts.device.as_ref());
    let findings = target_findings(&facts);
    TargetHandle { file, facts, findings, alignment_bytes, writable }
}

/// The file system of an open file and the device below it.
fn surroundings(
    roots: &Roots,
    path: &Path,
    file: &OwnedFd,
) -> Result<(FilesystemFacts, Option<DeviceFacts>), HostError> {
    let (filesystem, mount, numbers) = locate_filesystem(roots, path, file)?;
    let device =
        if filesystem.in_memory { None } else { device_of_mount(roots, numbers, Some(&mount)) };
    Ok((filesystem, device))
}

/// `size` must hold one request, and what was asked for.
fn check_size(
    path: &Path,
    size: Bytes,
    min_request: Bytes,
    requested: Option<Bytes>,
) -> Result<(), HostError> {
    let needed = requested.unwrap_or_default().max(min_request);
    if size < needed || size.0 == 0 {
        let needed = needed.max(Bytes(1));
        return Err(HostError::TooSmall { path: path.to_owned(), size, needed });
    }
    Ok(())
}

/// What kind, file system and device mean for the numbers.
fn target_findings(facts: &Target) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(filesystem) = &facts.filesystem {
        if filesystem.in_memory {
            findings.push(Finding::new(
                FindingCode::NoDevice,
                Severity::Warning,
                format!(
                    "The {} lives in memory: there is no device, and the numbers are those of memory.",
                    filesystem.kind
                ),
                "Name a directory on a disk.",
            ));
        }
        if filesystem.compresses {
            findings.push(Finding::new(
                FindingCode::CompressedFilesystem,
                // What it came to in a run is judged there, by the device's counters.
                Severity::Info,
                format!(
                    "The {} compresses what compresses (mount options {}); random data does not.",
                    filesystem.kind, filesystem.options
                ),
                "Name a directory that is not compressed to measure without it.",
            ));
        }
    }
    if let Some(device) = &facts.device
        && let Some(rotational) = device.rotational
        && !device.rotational_trusted
    {
        findings.push(Finding::new(
            FindingCode::RotationalUntrusted,
            Severity::Info,
            format!(
                "The kernel calls {} {}: with {} that says nothing.",
                device.disk,
                if rotational { "rotational" } else { "not rotational" },
                device.driver.as_deref().unwrap_or("an unknown driver"),
            ),
            "Judge by the measured times.",
        ));
    }
    findings
}

/// A file in `directory` that has no name.
pub(crate) fn create_nameless(directory: &Path) -> Result<OwnedFd, HostError> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        // The three ways in which file systems and old kernels say that they have none.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => create_unlinked(directory),
        outcome => {
            outcome.map_err(|cause| HostError::system("make a test file in", directory, cause))
        }
    }
}

/// Creates a file under a name that nobody has and unlinks it before anything else is done.
fn create_unlinked(directory: &Path) -> Result<OwnedFd, HostError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let mut cause = Errno::EXIST;
    for attempt in 0..NAME_ATTEMPTS {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let name = format!(".halfpower-{}-{}-{attempt}", std::process::id(), now.tv_nsec);
        let path = directory.join(name);
        match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                rustix::fs::unlink(&path)
                    .map_err(|cause| HostError::system("unlink the test file", &path, cause))?;
                return Ok(file);
            }
            Err(Errno::EXIST) => cause = Errno::EXIST,
            Err(other) => {
                cause = other;
                break;
            }
        }
    }
    Err(HostError::system("make a test file in", directory, cause))
}

/// A new descriptor of the target with the flags of a cache mode, verified.
///
/// # Errors
/// [`HostError::DirectRefused`] or [`HostError::FlagsIgnored`] where the file system does not do
/// what the mode needs, [`HostError::Refused`] for writing to a target opened for reading.
pub fn reopen(handle: &TargetHandle, cache: CacheMode, write: bool) -> Result<OwnedFd, HostError> {
    let path = handle.path();
    if write && !handle.writable {
        return Err(HostError::Refused {
            what: format!("writing to {path:?}"),
            why: "it was opened for reading only".to_owned(),
            remedy: "ask for reads".to_owned(),
        });
    }
    let wanted = cache_flags(cache);
    let mode = if write { OFlags::RDWR } else { OFlags::RDONLY };
    let link = format!("/proc/self/fd/{}", handle.file.as_raw_fd());
    let file = rustix::fs::open(&link, mode | wanted | OFlags::CLOEXEC, Mode::empty()).map_err(
        |cause| match cause {
            Errno::INVAL if cache.direct() => {
                HostError::DirectRefused { path: path.clone(), filesystem: filesystem_kind(handle) }
            }
            cause => HostError::system("open for a run", &path, cause),
        },
    )?;
    let got = rustix::fs::fcntl_getfl(&file)
        .map_err(|cause| HostError::system("read the flags of", &path, cause))?;
    let missing = missing_flags(wanted, got);
    if missing.is_empty() { Ok(file) } else { Err(HostError::FlagsIgnored { path, missing }) }
}

/// The system's O_DSYNC. That of rustix 1.1 is O_SYNC on its raw backend, which also commits the
/// times of change: a dearer write than the one asked for.
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);

/// The open flags of a cache mode.
fn cache_flags(cache: CacheMode) -> OFlags {
    let mut flags = OFlags::empty();
    flags.set(OFlags::DIRECT, cache.direct());
    flags.set(DSYNC, cache.synchronous());
    flags
}

/// The names of the wanted flags that a descriptor does not have.
fn missing_flags(wanted: OFlags, got: OFlags) -> String {
    [(OFlags::DIRECT, "O_DIRECT"), (DSYNC, "O_DSYNC")]
        .iter()
        .filter(|(flag, _)| wanted.contains(*flag) && !got.contains(*flag))
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" and ")
}

fn filesystem_kind(handle: &TargetHandle) -> String {
    let filesystem = handle.facts.filesystem.as_ref();
    filesystem.map_or_else(|| "none".to_owned(), |filesystem| filesystem.kind.clone())
}

/// What O_DIRECT asks of offsets, lengths and memory, in bytes: as the kernel tells per file
/// (STATX_DIOALIGN, Linux 6.1), else the device's logical block, else 512.
#[must_use]
pub fn direct_alignment(file: impl AsFd, device: Option<&DeviceFacts>) -> u64 {
    // Zero: no O_DIRECT on this file. The block still is the unit of the device.
    let told = direct_alignment_told(&file).filter(|alignment| *alignment > 0);
    told.or_else(|| device.and_then(|device| device.logical_block_bytes))
        .unwrap_or(SMALLEST_BLOCK_BYTES)
}

/// Drops the clean pages of an area from the page cache; dirty ones are written first where the
/// descriptor may write. Pages that somebody else maps stay, which is no error.
///
/// # Errors
/// If writing the dirty pages fails.
pub fn drop_clean_pages(file: impl AsFd, offset: Bytes, length: Bytes) -> Result<(), HostError> {
    let name = || PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    let flags = rustix::fs::fcntl_getfl(&file)
        .map_err(|cause| HostError::system("read the flags of", &name(), cause))?;
    if flags.intersects(OFlags::RDWR | OFlags::WRONLY) {
        rustix::fs::fdatasync(&file)
            .map_err(|cause| HostError::system("write back the pages of", &name(), cause))?;
    }
    let outcome = rustix::fs::fadvise(&file, offset.0, NonZeroU64::new(length.0), Advice::DontNeed);
    outcome.map_err(|cause| HostError::system("drop the cached pages of", &name(), cause))
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
