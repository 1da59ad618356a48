//! pread and pwrite on the job's own thread: one request at a time.
//!
//! The baseline of every comparison, and the fall-back where io_uring is forbidden. Requests
//! handed over together are carried out one after the other, so a job's depth is one whatever
//! was asked; jobs add depth.

use crate::{Buffers, Completion, Engine, EngineError, OpenEngine, Setup, Submission};
use record::{Nanos, OpKind};
use rustix::io::{Errno, pread, pwrite};
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, RawFd};

/// One system call per request.
#[derive(Debug)]
pub struct SyncEngine {
    file: RawFd,
    buffers: Buffers,
    queue: VecDeque<(Submission, *mut u8)>,
}

impl OpenEngine for SyncEngine {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self {
            file: setup.file,
            buffers: Buffers::new(setup)?,
            queue: VecDeque::with_capacity(setup.depth as usize),
        })
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.buffers.data(slot, bytes)
    }
}

impl SyncEngine {
    fn carry_out(&self, submission: Submission, start: *mut u8) -> Completion {
        let Submission { request, slot } = submission;
        let length = request.bytes as usize;
        // SAFETY: whoever opened the engine keeps the descriptor open for its lifetime.
        let file = unsafe { BorrowedFd::borrow_raw(self.file) };
        let outcome = loop {
            let result = match request.op {
                OpKind::Read => {
                    // SAFETY: the slot's read area holds `max_bytes` initialised bytes, and
                    // nothing else refers to it during the call.
                    let buffer = unsafe { std::slice::from_raw_parts_mut(start, length) };
                    pread(file, buffer, request.offset)
                }
                OpKind::Write => {
                    // SAFETY: as above, for the piece of the slot's ring.
                    let buffer = unsafe { std::slice::from_raw_parts(start, length) };
                    pwrite(file, buffer, request.offset)
                }
            };
            match result {
                Err(Errno::INTR) => {}
                Ok(bytes) => break bytes as i32,
                Err(errno) => break -errno.raw_os_error(),
            }
        };
        Completion { slot, outcome }
    }
}

impl Engine for SyncEngine {
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            let Submission { request, slot } = *submission;
            let area = match request.op {
                OpKind::Read => self.buffers.read_area(slot),
                OpKind::Write => self.buffers.next_write(slot, request.bytes),
            };
            self.queue.push_back((*submission, area));
        }
    }

    fn wait(
        &mut self,
        min: u32,
        _max: u32,
        _deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        // Not more than asked for: the caller's clock must see each request end on its own.
        for _ in 0..min {
            match self.queue.pop_front() {
                Some((submission, area)) => done.push(self.carry_out(submission, area)),
                None => break,
            }
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        vec!["pread/pwrite".to_owned()]
    }
}
