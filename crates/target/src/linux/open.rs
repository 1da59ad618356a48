//! What a path means as a target, and the descriptors that a run gets of it.
//!
//! A directory stands for a temporary file that has no name: O_TMPFILE, or where the file system
//! has none a file that is unlinked as soon as it exists, so that it is gone however the program
//! ends. What could destroy data is refused here, before anything is written: existing files
//! without the user's word or in use as storage, and block devices that are not named, in use or
//! not blank (`claim`). Rejected: named test files with a clean-up on exit (SIGKILL leaves them).

use crate::error::TargetError;
use crate::handle::{Access, TargetHandle};
use crate::linux::claim::claim;
use crate::linux::descriptor::{create_nameless, direct_alignment};
use crate::linux::in_use::{Use, file_use};
use crate::opening::Opening;
use kernel::Roots;
use kernel::device::{device_of, numbers};
use kernel::filesystem::locate_filesystem;
use record::{Bytes, TargetKind};
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
    let stat = rustix::fs::stat(path).map_err(TargetError::failing("open", path))?;
    let opening = Opening {
        roots,
        path,
        access,
        requested_size,
        min_request,
        alignment: |file, device| direct_alignment(file, device),
    };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => return opening.directory(create_nameless(path)?),
        FileType::RegularFile => return opening.file(),
        FileType::BlockDevice => return opening.device(&stat),
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        _ => "file of an unknown kind",
    };
    Err(TargetError::NotATarget { path: path.to_owned(), kind })
}

impl Opening<'_> {
    fn file(&self) -> Result<TargetHandle, TargetError> {
        let path = self.path;
        let writable = matches!(self.access, Access::ReadWrite { overwrite: true, .. });
        let mode = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let file = rustix::fs::open(path, mode | OFlags::CLOEXEC, Mode::empty())
            .map_err(TargetError::failing("open", path))?;
        let stat = rustix::fs::fstat(&file).map_err(TargetError::failing("examine", path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TargetError::NotATarget { path: path.to_owned(), kind: "changing target" });
        }
        // The danger before the flag: who types the flag would only be refused again.
        if *self.access != Access::ReadOnly
            && let Some(Use { why, remedy }) = file_use(self.roots, &stat, path)
        {
            return Err(TargetError::Refused { what: self.writing(), why, remedy });
        }
        self.check_overwrite()?;
        let size = Bytes(u64::try_from(stat.st_size).unwrap_or(0));
        let (filesystem, device) = locate_filesystem(self.roots, path, &file)?;
        let mut handle =
            self.handle(TargetKind::File, file, size, device, Some(filesystem), writable)?;
        handle.look_at_area(Bytes(0), self.requested_size.unwrap_or(size))?;
        Ok(handle)
    }

    fn device(&self, stat: &Stat) -> Result<TargetHandle, TargetError> {
        let (path, flags) = (self.path, OFlags::RDONLY | OFlags::CLOEXEC);
        let file = match self.access {
            Access::ReadOnly => rustix::fs::open(path, flags, Mode::empty())
                .map_err(TargetError::failing("open", path))?,
            Access::ReadWrite { destroy, .. } => claim(self.roots, path, stat, destroy)?,
        };
        let writable = *self.access != Access::ReadOnly;
        let stat = rustix::fs::fstat(&file).map_err(TargetError::failing("examine", path))?;
        // The size of a device is where its end is; its stat says 0.
        let size = rustix::fs::seek(&file, SeekFrom::End(0))
            .map_err(TargetError::failing("find the size of", path))?;
        let device = device_of(self.roots, numbers(stat.st_rdev));
        self.handle(TargetKind::BlockDevice, file, Bytes(size), device, None, writable)
    }
}
