//! Operations on open files other than reading and writing.

use crate::kernel;
use engine::OwnedFile;
use engine::input;
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// The number of the file system that contains a file.
pub(crate) fn file_system_number(facts: &Metadata) -> u64 {
    facts.dev()
}

/// Free space for an ordinary user, in the file system of the file.
pub(crate) fn free_bytes(file: &OwnedFile, _directory: &Path) -> Result<u64> {
    let space = rustix::fs::fstatvfs(file)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Reserves blocks for the beginning of a file, if its file system supports that.
pub(crate) fn allocate(file: &OwnedFile, length: u64) -> Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// Flushes the data of a file to the device.
pub(crate) fn sync_data(file: &OwnedFile) -> Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// What identifies a file or a device, under any name; `None` if it cannot be examined.
#[must_use]
pub fn identity(path: &Path) -> Option<(u64, u64, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some(match facts.rdev() {
        0 => (facts.dev(), facts.ino(), 0),
        device => (0, 0, device),
    })
}

pub(crate) fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}

/// Major numbers of devices that can receive a result as a stream: terminals (4, 5, pts from 136 to 143).
const TERMINALS: [u32; 10] = [4, 5, 136, 137, 138, 139, 140, 141, 142, 143];
/// /dev/null, /dev/zero, /dev/full.
const SINKS: [(u32, u32); 3] = [(1, 3), (1, 5), (1, 7)];

/// Whether a special file can receive a result without losing any data: a pipe, a terminal, /dev/null.
/// Other devices act on what is written to them (flash memory, a tape, a watchdog).
pub(crate) fn is_stream(facts: &Metadata) -> bool {
    let numbers = kernel::device::numbers(facts.rdev());
    let is_device = facts.file_type().is_char_device();
    !is_device || SINKS.contains(&numbers) || TERMINALS.contains(&numbers.0)
}

/// Opens such a stream for writing. For a pipe, waits until a program reads it, or a signal arrives.
pub(crate) fn open_stream(path: &Path) -> Result<File> {
    const PAUSE: Duration = Duration::from_millis(20);
    let waiting = OFlags::NONBLOCK.bits() as i32;
    loop {
        match File::options().write(true).custom_flags(waiting).open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                input::give_up_at_signal()?;
                std::thread::sleep(PAUSE);
            }
            Ok(file) => {
                rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
                return Ok(file);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether a file is a named pipe.
#[must_use]
pub fn is_pipe(facts: &Metadata) -> bool {
    facts.file_type().is_fifo()
}

/// The same open file, for calls of the standard library.
///
/// # Errors
/// The system's error.
pub fn duplicate(file: &OwnedFile) -> Result<File> {
    Ok(File::from(file.try_clone()?))
}

/// Extends a file by blocks without contents; by a hole if the file system cannot reserve blocks.
///
/// # Errors
/// The system's error.
pub fn reserve(file: &File, start: u64, length: u64) -> Result<()> {
    if rustix::fs::fallocate(file, FallocateFlags::empty(), start, length).is_err() {
        file.set_len(start + length)?;
    }
    file.sync_all()
}

/// Reserves the blocks of the beginning of a file without writing them.
///
/// # Errors
/// The system's error: a hole is not an alternative here.
pub fn preallocate(file: &File, length: u64) -> Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length)?)
}

/// Checks that unwritten blocks of a file can be marked as valid.
///
/// # Errors
/// Always, with the reason: Linux has no such call.
pub fn allow_valid_data() -> std::result::Result<(), String> {
    Err("only Windows has SetFileValidData; on Linux blocks that were never written read as zeros \
         (preallocated)"
        .to_owned())
}

/// Marks unwritten blocks of a file as valid, which Linux does not support.
///
/// # Errors
/// Always.
pub fn set_valid_data(_file: &File, _length: u64) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}
