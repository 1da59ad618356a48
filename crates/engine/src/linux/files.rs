//! File operations by plain calls: pread, pwrite, and other operations at an offset.

use super::system_call::call;
use crate::{Act, EngineError, Setup, SystemError, Transfer};
use rustix::fs::{FallocateFlags, FileType, fallocate, fdatasync, fstat, fsync};
use rustix::io::{Errno, pread, pwrite};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// An open file, closed when it is dropped.
pub type OwnedFile = OwnedFd;
/// An open file whose owner keeps it open.
pub type RawFile = RawFd;

/// Types that can be used in [`Setup::files`].
pub trait AsRawFile {
    /// The same file, valid while this value lives.
    fn as_raw_file(&self) -> RawFile;
}

impl<T: AsFd> AsRawFile for T {
    fn as_raw_file(&self) -> RawFile {
        self.as_fd().as_raw_fd()
    }
}

impl From<Errno> for SystemError {
    fn from(errno: Errno) -> Self {
        Self::new(errno.raw_os_error())
    }
}

/// Name of plain calls in documents.
pub(crate) const PLAIN_CALLS: &str = "pread/pwrite";

#[derive(Debug)]
pub(crate) struct Files(Vec<RawFd>);

impl Files {
    /// Opens them for calls of one thread.
    pub(crate) fn of_a_thread(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self(setup.files.clone()))
    }

    /// Opens them for concurrent calls of several threads.
    pub(crate) fn of_threads(setup: &Setup) -> Result<Self, EngineError> {
        Self::of_a_thread(setup)
    }

    /// Carries out a transfer. Returns the bytes, or a negated error number.
    #[inline]
    pub(crate) fn carry_out(&self, transfer: &Transfer) -> i32 {
        carry_out(self.0[transfer.file as usize], transfer)
    }
}

/// Reads at an offset. Returns the number of bytes, 0 at the end of the file.
pub(crate) fn read_at(file: RawFile, memory: &mut [u8], offset: u64) -> Result<usize, SystemError> {
    // SAFETY: the owner of the file keeps the descriptor open.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    loop {
        match pread(file, &mut *memory, offset) {
            Err(Errno::INTR) => {}
            other => return other.map_err(SystemError::from),
        }
    }
}

/// Writes at an offset. Returns the number of bytes.
pub(crate) fn write_at(file: RawFile, memory: &[u8], offset: u64) -> Result<usize, SystemError> {
    // SAFETY: as above.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    loop {
        match pwrite(file, memory, offset) {
            Err(Errno::INTR) => {}
            other => return other.map_err(SystemError::from),
        }
    }
}

/// How the first file of a setup is trimmed: a device by a discard, a file by punching a hole.
pub(crate) fn trim_act(setup: &Setup) -> Result<Act, EngineError> {
    let block_device = setup.files.first().is_some_and(|&file| {
        // SAFETY: the owner of the files keeps the descriptor open while the engine exists.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_block_device())
    });
    Ok(if block_device { Act::Discard } else { Act::PunchHole })
}

/// Waits for writes already in progress, writes the rest of the file to the device, and waits for that.
pub(crate) const WRITE_OUT: libc::c_uint = libc::SYNC_FILE_RANGE_WAIT_BEFORE
    | libc::SYNC_FILE_RANGE_WRITE
    | libc::SYNC_FILE_RANGE_WAIT_AFTER;

fn write_out(file: BorrowedFd<'_>) -> Result<(), Errno> {
    let arguments = [file.as_raw_fd() as usize, 0, 0, WRITE_OUT as usize, 0];
    // SAFETY: the call takes a descriptor and numbers. A length of 0 means to the end of the file.
    unsafe { call(libc::SYS_sync_file_range, arguments) }.map(drop)
}

/// Frees a range of a file in its file system without changing its length.
pub(crate) const PUNCH_HOLE: FallocateFlags =
    FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// The ioctl request of [`discard`] (linux/fs.h, BLKDISCARD), which takes a start and a length in bytes.
const BLKDISCARD: usize = 0x1277;

fn discard(device: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    let range = [start, bytes];
    let arguments = [device.as_raw_fd() as usize, BLKDISCARD, range.as_ptr() as usize, 0, 0];
    // SAFETY: the kernel reads two words at the address, which are valid during the call.
    unsafe { call(libc::SYS_ioctl, arguments) }.map(drop)
}

/// Carries out a transfer by one system call. Returns the bytes, or a negated error number.
#[inline]
pub(crate) fn carry_out(file: RawFd, transfer: &Transfer) -> i32 {
    // SAFETY: the owner of the files keeps the descriptor open while the engine exists.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    let length = transfer.bytes as usize;
    loop {
        let result = match transfer.act {
            Act::Read => {
                // SAFETY: the address is valid for this length until the transfer completes (the contract of
                // `Transfer`), and nothing else refers to the memory during the call.
                let memory = unsafe { std::slice::from_raw_parts_mut(transfer.address, length) };
                pread(file, memory, transfer.offset)
            }
            Act::Write => {
                // SAFETY: as above.
                let memory = unsafe { std::slice::from_raw_parts(transfer.address, length) };
                pwrite(file, memory, transfer.offset)
            }
            Act::Fsync => fsync(file).map(|()| 0),
            Act::Fdatasync => fdatasync(file).map(|()| 0),
            Act::WriteOut => write_out(file).map(|()| 0),
            Act::PunchHole => {
                fallocate(file, PUNCH_HOLE, transfer.offset, transfer.bytes.into()).map(|()| 0)
            }
            Act::Discard => discard(file, transfer.offset, transfer.bytes.into()).map(|()| 0),
        };
        match result {
            Err(Errno::INTR) => {}
            Ok(bytes) => return bytes as i32,
            Err(errno) => return -errno.raw_os_error(),
        }
    }
}
