//! What an engine for real descriptors has to do, and the wrapper that makes it an [`Engine`].
//!
//! A [`Transport`] moves bytes between memory and files; it knows nothing of slots, of what writes
//! carry, or of stripes. [`Direct`] makes one transfer of each request, [`Striped`](crate::Striped)
//! one for each chunk that it touches, [`Array`](crate::Array) what its level takes. All are static types: `push` is inlined into the loop over a
//! batch.
//!
//! Memory that the kernel may still write to must not be unmapped. A transport that is dropped with
//! transfers in flight has [`DRAIN`] to bring them home; after that the memory is left to the end of
//! the process, since a silent device must not hold up the program as well.

use crate::{
    Buffers, Clock, Completion, Engine, EngineError, Memory, MonotonicClock, OpenEngine, Setup,
    Submission, Wait,
};
use record::{FlushKind, Instead, Nanos, OpKind};
use rustix::fs::{FileType, fstat};
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;

/// How long an engine that is dropped waits for what is in flight.
pub const DRAIN: Nanos = Nanos(1_000_000_000);

/// How many acts there are.
pub const ACTS: usize = 7;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// All of the file that was written is made durable.
    Fsync,
    /// The same without what it does not take to read it again.
    Fdatasync,
    /// All of the file that was written is written out to the device.
    WriteOut,
    /// The blocks of a part of a regular file are given back to its file system.
    PunchHole,
    /// A block device is told that a part of it is not needed any more.
    Discard,
}

impl Act {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; ACTS] = [
        Self::Read,
        Self::Write,
        Self::Fsync,
        Self::Fdatasync,
        Self::WriteOut,
        Self::PunchHole,
        Self::Discard,
    ];
}

impl From<FlushKind> for Act {
    fn from(kind: FlushKind) -> Self {
        match kind {
            FlushKind::Fsync => Self::Fsync,
            FlushKind::Fdatasync => Self::Fdatasync,
            FlushKind::SyncFileRange => Self::WriteOut,
        }
    }
}

/// One transfer between memory and a file, or a flush or trim of one, which completes with 0.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where the bytes come from or go to; valid for `bytes` until the transfer completes. Means nothing
    /// for a flush or a trim.
    pub address: *mut u8,
    /// Byte offset in the file.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Returned in [`Completion::slot`]; no two in flight have the same.
    pub tag: u32,
    /// Index in [`Setup::files`].
    pub file: u32,
    /// What is done.
    pub act: Act,
}

impl Transfer {
    /// A flush of a file.
    #[must_use]
    pub fn flush(file: u32, tag: u32, kind: FlushKind) -> Self {
        let address = std::ptr::null_mut();
        Self { address, offset: 0, bytes: 0, tag, file, act: kind.into() }
    }
}

/// Moves bytes between memory and the files of a [`Setup`].
///
/// The contract is that of [`Engine`], in terms of transfers: the slot of a completion is the tag of
/// its transfer.
pub trait Transport: Sized + 'static {
    /// Opens it for at most `most` transfers in flight, with tags below `most`.
    ///
    /// # Errors
    /// With the cause and what to do about it where the kernel refuses.
    fn open(setup: &Setup, most: u32, memory: Memory) -> Result<Self, EngineError>;

    /// Readies a transfer.
    fn push(&mut self, transfer: Transfer);

    /// As [`Engine::hand_over`].
    ///
    /// # Errors
    /// If the engine itself broke.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// As [`Engine::wait`].
    ///
    /// # Errors
    /// If the engine itself broke.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Called once, before the drop: whether nothing refers to the memory any more. What is still
    /// in flight is called off, and waited for at most [`DRAIN`].
    fn quiesce(&mut self) -> bool {
        true
    }

    /// What it got from the kernel, for the record.
    fn features(&self) -> Vec<String>;
}

/// An engine with one transfer per request, on the first file of its setup.
#[derive(Debug)]
pub struct Direct<T: Transport> {
    pub(crate) transport: T,
    buffers: ManuallyDrop<Buffers>,
    /// What is done where the job would write: [`Act::Write`], or what stands in its place.
    write_act: Act,
    /// Lengths of the requests in the slots of a job that does not write: the kernel returns none.
    trimmed: Vec<u32>,
    /// As [`Setup::work_bytes`].
    work_bytes: usize,
}

/// What a setup's writes do to its first file.
pub(crate) fn write_act(setup: &Setup) -> Act {
    match setup.instead {
        None => return Act::Write,
        Some(Instead::Flush) => return Act::Fsync,
        Some(Instead::Trim) => {}
    }
    let block_device = setup.files.first().is_some_and(|&file| {
        // SAFETY: whoever opens the engine keeps the descriptor open for its lifetime.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_block_device())
    });
    if block_device { Act::Discard } else { Act::PunchHole }
}

impl<T: Transport> Direct<T> {
    /// Opens it for at most `most` transfers in flight.
    pub(crate) fn open_for(setup: &Setup, most: u32) -> Result<Self, EngineError> {
        let buffers = Buffers::new(setup)?;
        let transport = T::open(setup, most, buffers.memory())?;
        let trimmed =
            vec![0; if setup.instead.is_some() { setup.depth.max(1) as usize } else { 0 }];
        let buffers = ManuallyDrop::new(buffers);
        let (write_act, work_bytes) = (write_act(setup), setup.work_bytes);
        Ok(Self { transport, buffers, write_act, trimmed, work_bytes })
    }

    /// Where a request reads to or writes from; what it writes is made here.
    #[inline]
    pub(crate) fn address_of(&mut self, submission: &Submission) -> *mut u8 {
        let Submission { request, slot, generation } = submission;
        match request.op {
            OpKind::Write if self.trimmed.is_empty() => {
                self.buffers.next_write(*slot, request, *generation)
            }
            OpKind::Write => std::ptr::null_mut(),
            OpKind::Read => self.buffers.read_area(*slot),
        }
    }

    /// A slot's memory for what an array makes.
    pub(crate) fn work_area(&self, slot: u32) -> *mut u8 {
        self.buffers.work_area(slot)
    }

    /// Makes sure that so many bytes fit it: a plan beyond that would write elsewhere.
    pub(crate) fn check_work(&self, bytes: usize) {
        assert!(
            bytes <= self.work_bytes,
            "{bytes} bytes of a plan in {} of memory",
            self.work_bytes
        );
    }

    /// What a request of this direction does.
    #[inline]
    pub(crate) fn act_of(&self, op: OpKind) -> Act {
        match op {
            OpKind::Read => Act::Read,
            OpKind::Write => self.write_act,
        }
    }

    /// Gives the trims among these completions their lengths.
    #[cold]
    fn count_trimmed(&self, done: &mut [Completion]) {
        for completion in done {
            if completion.outcome == 0 {
                completion.outcome = self.trimmed[completion.slot as usize] as i32;
            }
        }
    }
}

impl<T: Transport> OpenEngine for Direct<T> {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Self::open_for(setup, setup.depth.max(1))
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.buffers.data(slot, bytes)
    }
}

impl<T: Transport> Engine for Direct<T> {
    #[inline]
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            let request = submission.request;
            let address = self.address_of(submission);
            if !self.trimmed.is_empty() {
                self.trimmed[submission.slot as usize] = request.bytes;
            }
            self.transport.push(Transfer {
                address,
                offset: request.offset,
                bytes: request.bytes,
                tag: submission.slot,
                file: 0,
                act: self.act_of(request.op),
            });
        }
    }

    fn flush(&mut self, slot: u32, kind: FlushKind) {
        self.transport.push(Transfer::flush(0, slot, kind));
    }

    #[inline]
    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.transport.hand_over()
    }

    #[inline]
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.transport.wait(ask, done)?;
        if !self.trimmed.is_empty() {
            self.count_trimmed(&mut done[before..]);
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.transport.features();
        features.extend(match self.write_act {
            Act::PunchHole => Some("trims are holes in a file".to_owned()),
            Act::Discard => Some("trims are discards of a device".to_owned()),
            _ => None,
        });
        features
    }
}

impl<T: Transport> Direct<T> {
    /// Waits until nothing refers to the buffers any more, or gives up.
    pub(crate) fn come_home(&mut self) {
        self.transport.quiesce();
    }
}

impl<T: Transport> Drop for Direct<T> {
    fn drop(&mut self) {
        // Where something still refers to the buffers, they are left to the end of the process.
        if self.transport.quiesce() {
            // SAFETY: nothing touches them after the drop.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

/// Whether `in_flight` transfers come home within [`DRAIN`].
pub(crate) fn drained(transport: &mut impl Transport, in_flight: u32) -> bool {
    let mut done = Vec::with_capacity(in_flight as usize);
    let ask = Wait::new(in_flight, in_flight).until(MonotonicClock.now().plus(DRAIN));
    let waited = transport.wait(ask, &mut done);
    waited.is_ok() && done.len() == in_flight as usize
}
