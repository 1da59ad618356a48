//! Engines that carry requests out one after the other on the job's own thread, and the plainest of
//! them: pread and pwrite.
//!
//! The plain calls are the baseline of every comparison, and the fall-back where io_uring is
//! forbidden. A job's depth is one whatever was asked; jobs add depth.

use crate::system_call::call;
use crate::{Act, Completion, Direct, EngineError, Memory, Setup, Transfer, Transport, Wait};
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// One system call per request.
pub type SyncEngine = Direct<OneByOne<PlainCalls>>;

/// Carries out single transfers, each to its end.
pub trait Carrier: Sized + 'static {
    /// Opens it.
    ///
    /// # Errors
    /// With the cause and what to do about it where the kernel refuses.
    fn open(setup: &Setup) -> Result<Self, EngineError>;

    /// Carries a transfer out: bytes, or a negated error number.
    fn carry_out(&mut self, transfer: &Transfer) -> i32;

    /// As [`Transport::features`].
    fn features(&self) -> Vec<String>;
}

/// Transfers one after the other.
#[derive(Debug)]
pub struct OneByOne<C> {
    carrier: C,
    queue: VecDeque<Transfer>,
}

/// pread and pwrite.
#[derive(Debug)]
pub struct PlainCalls(Vec<RawFd>);

impl Carrier for PlainCalls {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self(setup.files.clone()))
    }

    #[inline]
    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        carry_out(self.0[transfer.file as usize], transfer)
    }

    fn features(&self) -> Vec<String> {
        vec!["pread/pwrite".to_owned()]
    }
}

/// Waits for what is on its way to the device, writes out the rest of the file, and waits for that.
pub(crate) const WRITE_OUT: libc::c_uint = libc::SYNC_FILE_RANGE_WAIT_BEFORE
    | libc::SYNC_FILE_RANGE_WRITE
    | libc::SYNC_FILE_RANGE_WAIT_AFTER;

fn write_out(file: BorrowedFd<'_>) -> Result<(), Errno> {
    let arguments = [file.as_raw_fd() as usize, 0, 0, WRITE_OUT as usize, 0];
    // SAFETY: the call takes a descriptor and numbers; a length of 0 means to the end of the file.
    unsafe { call(libc::SYS_sync_file_range, arguments) }.map(drop)
}

/// How a part of a file is given back to its file system: its length stays.
pub(crate) const PUNCH_HOLE: FallocateFlags =
    FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// The request of [`discard`] (linux/fs.h, BLKDISCARD), which takes a start and a length in bytes.
const BLKDISCARD: usize = 0x1277;

fn discard(device: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    let range = [start, bytes];
    let arguments = [device.as_raw_fd() as usize, BLKDISCARD, range.as_ptr() as usize, 0, 0];
    // SAFETY: the kernel reads two words at the address, which live through the call.
    unsafe { call(libc::SYS_ioctl, arguments) }.map(drop)
}

/// Carries a transfer out by one system call: bytes, or a negated error number.
#[inline]
pub(crate) fn carry_out(file: RawFd, transfer: &Transfer) -> i32 {
    // SAFETY: whoever opened the engine keeps the descriptor open for its lifetime.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    let length = transfer.bytes as usize;
    loop {
        let result = match transfer.act {
            Act::Read => {
                // SAFETY: the address is valid for so many bytes until the transfer completes
                // (the contract of `Transfer`), and nothing else refers to them during the call.
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

impl<C: Carrier> Transport for OneByOne<C> {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        Ok(Self { carrier: C::open(setup)?, queue: VecDeque::with_capacity(most as usize) })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.queue.push_back(transfer);
    }

    #[inline]
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        // Not more than asked for: the caller's clock must see each request end on its own.
        for _ in 0..ask.min {
            let Some(transfer) = self.queue.pop_front() else { break };
            let outcome = self.carrier.carry_out(&transfer);
            done.push(Completion { slot: transfer.tag, outcome });
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        self.carrier.features()
    }
}
