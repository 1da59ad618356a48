//! What a path means as a target, and the descriptors that a run gets of it.
//!
//! A directory stands for a temporary file that has no name: O_TMPFILE, or where the file system
//! has none a file that is unlinked as soon as it exists, so that it is gone however the program
//! ends. What could destroy data is refused here, before anything is written: existing files
//! without the user's word or in use as storage, and block devices that are not named, in use or
//! not blank (`claim`). Rejected: named test files with a clean-up on exit (SIGKILL leaves them).

use crate::error::TargetError;
use crate::linux::claim::{claim, refuse_file_in_use};
use crate::linux::descriptor::{create_nameless, direct_alignment};
use crate::linux::handle::{Access, TargetHandle};
use crate::linux::testfile::default_test_size;
use kernel::Roots;
use kernel::device::{device_of, device_of_mount};
use kernel::filesystem::locate_filesystem;
use record::{
    Bytes, DeviceFacts, FilesystemFacts, Finding, FindingCode, Severity, Target, TargetKind,
};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat};
use std::path::Path;

/// Opens what a path stands for: a directory (a nameless test file in it, not yet written), a
/// regular file, or a block device.
///
/// `requested_size` is the size of the test file, or the least that an existing target must hold;
/// `min_request` is the largest request that will be made.
///
/// # Errors
/// [`TargetError::Refused`] for writing to a file or a block device without the user's word, or to
/// one that is in use or bears what somebody may need; [`TargetError::TooSmall`],
/// [`TargetError::NotATarget`], or what the system said.
pub fn open_target(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, TargetError> {
    // By name and before opening: to open a FIFO would wait for its writer.
    let stat = rustix::fs::stat(path).map_err(|cause| TargetError::system("open", path, cause))?;
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
            Err(TargetError::NotATarget { path: path.to_owned(), kind })
        }
    }
}

fn open_directory(
    roots: &Roots,
    path: &Path,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, TargetError> {
    let file = create_nameless(path)?;
    let (filesystem, device) = surroundings(roots, path, &file)?;
    let size = requested_size.unwrap_or_else(|| default_test_size(filesystem.free_bytes));
    check_size(path, size, min_request, None)?;
    Ok(handle(path, TargetKind::Directory, file, size, device, Some(filesystem), true))
}

fn open_file(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, TargetError> {
    let writable = matches!(access, Access::ReadWrite { overwrite: true, .. });
    let mode = if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let file = rustix::fs::open(path, mode | OFlags::CLOEXEC, Mode::empty())
        .map_err(|cause| TargetError::system("open", path, cause))?;
    let stat =
        rustix::fs::fstat(&file).map_err(|cause| TargetError::system("examine", path, cause))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(TargetError::NotATarget { path: path.to_owned(), kind: "changing target" });
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
            return Err(TargetError::Refused {
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
    let kind = TargetKind::File;
    let mut handle = handle(path, kind, file, size, device, Some(filesystem), writable);
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
) -> Result<TargetHandle, TargetError> {
    let file = match access {
        Access::ReadOnly => rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|cause| TargetError::system("open", path, cause))?,
        Access::ReadWrite { destroy, .. } => claim(roots, path, stat, destroy)?,
    };
    let writable = *access != Access::ReadOnly;
    let stat =
        rustix::fs::fstat(&file).map_err(|cause| TargetError::system("examine", path, cause))?;
    // The size of a device is where its end is; its stat says 0.
    let size = rustix::fs::seek(&file, SeekFrom::End(0))
        .map_err(|cause| TargetError::system("find the size of", path, cause))?;
    check_size(path, Bytes(size), min_request, requested_size)?;
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    let device = device_of(roots, major, minor);
    Ok(handle(path, TargetKind::BlockDevice, file, Bytes(size), device, None, writable))
}

fn handle(
    path: &Path,
    kind: TargetKind,
    file: OwnedFd,
    size_bytes: Bytes,
    device: Option<DeviceFacts>,
    filesystem: Option<FilesystemFacts>,
    writable: bool,
) -> TargetHandle {
    let path = path.to_string_lossy().into_owned();
    let facts = Target { path, kind, size_bytes, device, filesystem, extents: None };
    let alignment_bytes = direct_alignment(&file, facts.device.as_ref());
    let findings = target_findings(&facts);
    TargetHandle { file, facts, findings, alignment_bytes, writable }
}

/// The file system of an open file and the device below it.
fn surroundings(
    roots: &Roots,
    path: &Path,
    file: &OwnedFd,
) -> Result<(FilesystemFacts, Option<DeviceFacts>), TargetError> {
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
) -> Result<(), TargetError> {
    let needed = requested.unwrap_or_default().max(min_request);
    if size < needed || size.0 == 0 {
        let needed = needed.max(Bytes(1));
        return Err(TargetError::TooSmall { path: path.to_owned(), size, needed });
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

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Bytes = Bytes(4096);

    #[test]
    fn a_file_system_in_memory_or_with_compression_is_a_finding() {
        let target = |in_memory: bool, compresses: bool| Target {
            path: "x".to_owned(),
            kind: TargetKind::Directory,
            size_bytes: BLOCK,
            device: None,
            filesystem: Some(FilesystemFacts {
                kind: "somefs".to_owned(),
                mount_point: "/".to_owned(),
                options: String::new(),
                source: String::new(),
                size_bytes: BLOCK,
                free_bytes: BLOCK,
                block_bytes: BLOCK,
                in_memory,
                compresses,
                direct_alignment_bytes: None,
            }),
            extents: None,
        };
        let codes = |in_memory, compresses| -> Vec<FindingCode> {
            target_findings(&target(in_memory, compresses)).iter().map(|found| found.code).collect()
        };
        assert_eq!(codes(false, false), []);
        assert_eq!(codes(true, false), [FindingCode::NoDevice]);
        assert_eq!(codes(false, true), [FindingCode::CompressedFilesystem]);
    }

    #[test]
    fn a_rotational_flag_is_a_finding_only_where_it_cannot_be_believed() {
        let target = |rotational: Option<bool>, rotational_trusted: bool| Target {
            path: "x".to_owned(),
            kind: TargetKind::BlockDevice,
            size_bytes: BLOCK,
            device: Some(DeviceFacts { rotational, rotational_trusted, ..DeviceFacts::default() }),
            filesystem: None,
            extents: None,
        };
        let codes = |rotational, trusted| -> Vec<FindingCode> {
            target_findings(&target(rotational, trusted)).iter().map(|found| found.code).collect()
        };
        assert_eq!(codes(Some(true), false), [FindingCode::RotationalUntrusted]);
        assert_eq!(codes(Some(true), true), []);
        assert_eq!(codes(None, false), []);
    }
}
