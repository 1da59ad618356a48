//! Opens a path as a target, and creates the descriptors of a run.
//!
//! A directory stands for a temporary file without a name, created by O_TMPFILE. If the file system does
//! not support that, a file is unlinked immediately after creation, so that it disappears however the
//! program ends. Anything that could destroy data is refused here, before anything is written. That applies
//! to existing files without the user's permission or in use as storage, and to block devices that are not
//! named, in use or not blank (`claim`). Rejected: named test files with a clean-up on exit (SIGKILL leaves
//! them).

use crate::kernel::device::{device_of, numbers};
use crate::kernel::filesystem::locate_filesystem;
use crate::kernel::{KernelError, Roots};
use crate::target::error::TargetError;
use crate::target::handle::{Access, TargetHandle};
use crate::target::in_use::{InUse, refuse_kept};
use crate::target::linux::claim::claim;
use crate::target::linux::descriptor::{create_nameless, direct_alignment};
use crate::target::linux::files::{duplicate, identity};
use crate::target::linux::holders::{Moment, Question, Use};
use crate::target::opening::Opening;
use record::{Bytes, TargetKind};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat};
use std::io::ErrorKind;
use std::path::Path;

/// Opens a path: a directory (with an unnamed, unwritten test file), a regular file, or a block device.
///
/// `requested_size` is the size of the test file, or the minimum size of an existing target; `min_request`
/// is the size of the largest request.
///
/// # Errors
/// [`TargetError::Refused`] for writing to a file or a block device without the user's permission, or to
/// one that is in use or has a signature; [`TargetError::TooSmall`], [`TargetError::NotATarget`], or the
/// system's error.
pub fn open_target(
    roots: &Roots,
    path: &Path,
    access: &Access,
    requested_size: Option<Bytes>,
    min_request: Bytes,
) -> Result<TargetHandle, TargetError> {
    // By name and before opening, because opening a FIFO would wait for its writer.
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
        let (file, stat) = match self.access {
            Access::ReadOnly => self.open_file(OFlags::RDONLY)?,
            Access::ReadWrite { keep, .. } => self.claim_file(keep)?,
        };
        let writable = *self.access != Access::ReadOnly;
        let size = Bytes(u64::try_from(stat.st_size).unwrap_or(0));
        let (filesystem, device) = locate_filesystem(self.roots, path, &file)?;
        let mut handle =
            self.handle(TargetKind::File, file, size, device, Some(filesystem), writable)?;
        handle.look_at_area(Bytes(0), self.requested_size.unwrap_or(size))?;
        Ok(handle)
    }

    fn open_file(&self, flags: OFlags) -> Result<(OwnedFd, Stat), TargetError> {
        let path = self.path;
        let file = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(TargetError::failing("open", path))?;
        let stat = rustix::fs::fstat(&file).map_err(TargetError::failing("examine", path))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            _ => Err(TargetError::NotATarget { path: path.to_owned(), kind: "changing target" }),
        }
    }

    /// Opens a regular file for writing, if its contents are not needed. It is checked on a descriptor for
    /// reading; the one for writing is made from that, so that both are the same file. Then the tables are
    /// read again.
    fn claim_file(&self, keep: &[InUse]) -> Result<(OwnedFd, Stat), TargetError> {
        let path = self.path;
        let refused = |why: String, remedy: &str| TargetError::Refused {
            what: self.writing(),
            why,
            remedy: remedy.to_owned(),
        };
        let used = |found: Use| refused(found.why, &found.remedy);
        // Before opening: closing it would release the locks of the database that this program has open.
        refuse_kept(identity, path, keep)?;
        if let Some(kind) = pseudo_file_system(path)? {
            let why = format!(
                "it is not a file on a disk but a part of {kind}, and writing to it \
                         changes this system"
            );
            return Err(refused(why, "name a file on a disk"));
        }
        let leased = |cause: TargetError| match &cause {
            TargetError::Kernel(KernelError::System { cause, .. })
                if cause.kind() == ErrorKind::WouldBlock =>
            {
                let why = "another program holds a lease on it".to_owned();
                refused(why, "end that program first (/proc/locks names it)")
            }
            _ => cause,
        };
        let (file, stat) = self.open_file(OFlags::RDONLY | OFlags::NONBLOCK).map_err(leased)?;
        let question = Question { roots: self.roots, keep };
        if let Some(found) = question.file(file.as_fd(), &stat, path, Moment::Before) {
            return Err(used(found));
        }
        let copy = duplicate(&file).map_err(TargetError::failing("examine", path))?;
        self.refuse_own_files(copy)?;
        // Report the danger before the missing flag: with the flag, the user would only be refused again.
        self.check_overwrite()?;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let written = rustix::fs::open(&link, flags, Mode::empty())
            .map_err(TargetError::failing("open", path))
            .map_err(leased)?;
        if let Some(found) = question.file(written.as_fd(), &stat, path, Moment::InHand) {
            return Err(used(found));
        }
        rustix::fs::fcntl_setfl(&written, OFlags::empty())
            .map_err(TargetError::failing("open", path))?;
        Ok((written, stat))
    }

    fn device(&self, stat: &Stat) -> Result<TargetHandle, TargetError> {
        let (path, flags) = (self.path, OFlags::RDONLY | OFlags::CLOEXEC);
        let file = match self.access {
            Access::ReadOnly => rustix::fs::open(path, flags, Mode::empty())
                .map_err(TargetError::failing("open", path))?,
            Access::ReadWrite { destroy, keep, .. } => {
                claim(&Question { roots: self.roots, keep }, path, stat, destroy)?
            }
        };
        let writable = *self.access != Access::ReadOnly;
        let stat = rustix::fs::fstat(&file).map_err(TargetError::failing("examine", path))?;
        // The size of a device is its end; its stat gives 0.
        let size = rustix::fs::seek(&file, SeekFrom::End(0))
            .map_err(TargetError::failing("find the size of", path))?;
        let device = device_of(self.roots, numbers(stat.st_rdev));
        self.handle(TargetKind::BlockDevice, file, Bytes(size), device, None, writable)
    }
}

/// File systems whose files are settings and states of the kernel or the firmware, by the number from
/// statfs(2) (linux/magic.h). Writing to such a file changes the machine, not a disk.
const PSEUDO: [(u64, &str); 16] = [
    (0x9fa0, "/proc"),
    (0x6265_6572, "/sys"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xde5e_81e4, "the firmware's variables"),
    (0x27_e0eb, "control groups"),
    (0x6367_7270, "control groups"),
    (0xcafe_4a11, "bpf"),
    (0x6265_6570, "configfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x6165_676c, "pstore"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x6e73_6673, "namespaces"),
];

fn pseudo_file_system(path: &Path) -> Result<Option<&'static str>, TargetError> {
    let facts = rustix::fs::statfs(path).map_err(TargetError::failing("examine", path))?;
    let kind = facts.f_type as u64 & u64::from(u32::MAX);
    Ok(PSEUDO.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name))
}
