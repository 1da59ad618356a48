//! pread and pwrite on the job's own thread: one request at a time.
//!
//! The baseline of every comparison, and the fall-back where io_uring is forbidden. Requests
//! handed over together are carried out one after the other, so a job's depth is one whatever
//! was asked; jobs add depth.

use crate::{Completion, Direct, EngineError, Memory, Setup, Transfer, Transport};
use record::{Nanos, OpKind};
use rustix::io::{Errno, pread, pwrite};
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, RawFd};

/// One system call per request.
pub type SyncEngine = Direct<OneByOne>;

/// One system call per transfer.
#[derive(Debug)]
pub struct OneByOne {
    files: Vec<RawFd>,
    queue: VecDeque<Transfer>,
}

/// Carries a transfer out by one system call: bytes, or a negated error number.
#[inline]
pub(crate) fn carry_out(file: RawFd, transfer: &Transfer) -> i32 {
    // SAFETY: whoever opened the engine keeps the descriptor open for its lifetime.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    let length = transfer.bytes as usize;
    loop {
        let result = match transfer.op {
            OpKind::Read => {
                // SAFETY: the address is valid for so many bytes until the transfer completes
                // (the contract of `Transfer`), and nothing else refers to them during the call.
                let memory = unsafe { std::slice::from_raw_parts_mut(transfer.address, length) };
                pread(file, memory, transfer.offset)
            }
            OpKind::Write => {
                // SAFETY: as above.
                let memory = unsafe { std::slice::from_raw_parts(transfer.address, length) };
                pwrite(file, memory, transfer.offset)
            }
        };
        match result {
            Err(Errno::INTR) => {}
            Ok(bytes) => return bytes as i32,
            Err(errno) => return -errno.raw_os_error(),
        }
    }
}

impl Transport for OneByOne {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        Ok(Self { files: setup.files.clone(), queue: VecDeque::with_capacity(most as usize) })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.queue.push_back(transfer);
    }

    #[inline]
    fn wait(
        &mut self,
        min: u32,
        _max: u32,
        _deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        // Not more than asked for: the caller's clock must see each request end on its own.
        for _ in 0..min {
            let Some(transfer) = self.queue.pop_front() else { break };
            let outcome = carry_out(self.files[transfer.file as usize], &transfer);
            done.push(Completion { slot: transfer.tag, outcome });
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        vec!["pread/pwrite".to_owned()]
    }
}
