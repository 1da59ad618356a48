//! What an engine for real descriptors has to do, and the wrapper that makes it an [`Engine`].
//!
//! A [`Transport`] moves bytes between memory and files; it knows nothing of slots, of what writes
//! carry, or of stripes. [`Direct`] makes one transfer of each request, [`Striped`](crate::Striped)
//! one for each chunk that it touches. Both are static types: `push` is inlined into the loop over a
//! batch.
//!
//! Memory that the kernel may still write to must not be unmapped. A transport that is dropped with
//! transfers in flight has [`DRAIN`] to bring them home; after that the memory is left to the end of
//! the process, since a silent device must not hold up the program as well.

use crate::{
    Buffers, Clock, Completion, Engine, EngineError, Memory, MonotonicClock, OpenEngine, Setup,
    Submission, Wait,
};
use record::{FlushKind, Nanos, OpKind};
use std::mem::ManuallyDrop;

/// How long an engine that is dropped waits for what is in flight.
pub const DRAIN: Nanos = Nanos(1_000_000_000);

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
}

impl Act {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Write, Self::Fsync, Self::Fdatasync, Self::WriteOut];
}

impl From<OpKind> for Act {
    #[inline]
    fn from(op: OpKind) -> Self {
        match op {
            OpKind::Read => Self::Read,
            OpKind::Write => Self::Write,
        }
    }
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

/// One transfer between memory and a file, or a flush of one, which completes with 0.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where the bytes come from or go to; valid for `bytes` until the transfer completes. Null for a
    /// flush.
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
}

impl<T: Transport> Direct<T> {
    /// Opens it for at most `most` transfers in flight.
    pub(crate) fn open_for(setup: &Setup, most: u32) -> Result<Self, EngineError> {
        let buffers = Buffers::new(setup)?;
        let transport = T::open(setup, most, buffers.memory())?;
        Ok(Self { transport, buffers: ManuallyDrop::new(buffers) })
    }

    /// Where a request reads to or writes from; what it writes is made here.
    #[inline]
    pub(crate) fn address_of(&mut self, submission: &Submission) -> *mut u8 {
        let Submission { request, slot, generation } = submission;
        match request.op {
            OpKind::Read => self.buffers.read_area(*slot),
            OpKind::Write => self.buffers.next_write(*slot, request, *generation),
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
            self.transport.push(Transfer {
                address,
                offset: request.offset,
                bytes: request.bytes,
                tag: submission.slot,
                file: 0,
                act: request.op.into(),
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
        self.transport.wait(ask, done)
    }

    fn features(&self) -> Vec<String> {
        self.transport.features()
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
