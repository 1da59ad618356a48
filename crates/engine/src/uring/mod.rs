//! Linux io_uring, as the fastest known users of it set it up.
//!
//! One ring per job, on the job's thread (SINGLE_ISSUER, DEFER_TASKRUN, NO_SQARRAY where the
//! kernel has them), one contiguous registered buffer, registered file and ring descriptor. One
//! system call both submits what is pending and waits. Whatever the kernel refuses is left out,
//! and [`Engine::features`] says what was granted, since it changes the processor cost.
//!
//! Rejected: SQPOLL by default (moves processor time to another thread and needs a spare core),
//! linked and multishot requests (they change what is measured).

mod ring;

use crate::{
    Buffers, Clock, Completion, Engine, EngineError, MonotonicClock, OpenEngine, Setup, Submission,
};
use record::{Nanos, OpKind};
use ring::Ring;
use rustix::io_uring::{IoringOp, IoringSqeFlags, io_uring_sqe};
use std::os::fd::RawFd;

/// Requests through an io_uring.
#[derive(Debug)]
pub struct UringEngine {
    // Declared before the buffers: the ring is closed, and with it every request that still
    // refers to them, before they are unmapped.
    ring: Ring,
    buffers: Buffers,
    file: RawFd,
    fixed_file: bool,
    fixed_buffers: bool,
    in_flight: u32,
}

/// Whether this process may use io_uring at all.
///
/// # Errors
/// With the cause and what to do about it, where the kernel refuses.
pub fn probe_uring() -> Result<(), EngineError> {
    Ring::new(1).map(|_| ())
}

impl OpenEngine for UringEngine {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        let buffers = Buffers::new(setup)?;
        let mut ring = Ring::new(setup.depth)?;
        let fixed_buffers = ring.register_buffers(buffers.base(), buffers.length());
        let fixed_file = ring.register_file(setup.file);
        Ok(Self { ring, buffers, file: setup.file, fixed_file, fixed_buffers, in_flight: 0 })
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.buffers.data(slot, bytes)
    }
}

impl UringEngine {
    fn entry(&mut self, submission: &Submission) -> io_uring_sqe {
        let Submission { request, slot } = *submission;
        let area = match request.op {
            OpKind::Read => self.buffers.read_area(slot),
            OpKind::Write => self.buffers.next_write(slot, request.bytes),
        };
        let mut entry = io_uring_sqe {
            opcode: match (request.op, self.fixed_buffers) {
                (OpKind::Read, true) => IoringOp::ReadFixed,
                (OpKind::Write, true) => IoringOp::WriteFixed,
                (OpKind::Read, false) => IoringOp::Read,
                (OpKind::Write, false) => IoringOp::Write,
            },
            ..io_uring_sqe::default()
        };
        if self.fixed_file {
            entry.flags = IoringSqeFlags::FIXED_FILE;
            entry.fd = 0;
        } else {
            entry.fd = self.file;
        }
        entry.off_or_addr2.off = request.offset;
        entry.addr_or_splice_off_in.addr = rustix::io_uring::io_uring_ptr::new(area.cast());
        entry.len.len = request.bytes;
        entry.user_data.u64_ = u64::from(slot);
        entry
    }
}

impl Engine for UringEngine {
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            let entry = self.entry(submission);
            self.ring.push(entry);
        }
        self.in_flight += requests.len() as u32;
    }

    fn wait(
        &mut self,
        min: u32,
        max: u32,
        deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        debug_assert!(min <= self.in_flight && min <= max, "cannot wait for what is not there");
        let before = done.len();
        loop {
            let got = (done.len() - before) as u32;
            let left = deadline.map(|end| end.since(MonotonicClock.now()));
            let need = if left == Some(Nanos(0)) { 0 } else { min.saturating_sub(got) };
            // Always enter: submissions are due, and deferred completions run only in here.
            self.ring.enter(need, left)?;
            self.ring.reap(max - got, |slot, outcome| done.push(Completion { slot, outcome }));
            let got = (done.len() - before) as u32;
            if got >= min || deadline.is_some_and(|end| MonotonicClock.now() >= end) {
                self.in_flight -= got;
                return Ok(());
            }
        }
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.ring.features();
        if self.fixed_buffers {
            features.push("registered buffers".to_owned());
        }
        if self.fixed_file {
            features.push("registered file".to_owned());
        }
        features
    }
}
