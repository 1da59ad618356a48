//! What an engine for real files has to do on any system.
//!
//! A [`Transport`] moves bytes between memory and files; it knows nothing of slots, of what writes
//! carry, or of stripes. `Direct`, `Striped` and `Array` make an [`Engine`](crate::Engine) of it.
//!
//! Memory that the kernel may still write to must not be unmapped. A transport that is dropped with
//! transfers in flight has [`DRAIN`] to bring them home; after that the memory is left to the end of
//! the process, since a silent device must not hold up the program as well.

use crate::{Completion, EngineError, Setup, Wait};
use record::{FlushKind, Nanos};
use std::ffi::c_void;

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

/// All memory that transfers use, for registration with the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its start.
    pub base: *mut c_void,
    /// Its length in bytes.
    pub bytes: usize,
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
/// The contract is that of [`Engine`](crate::Engine), in terms of transfers: the slot of a completion is the tag of
/// its transfer.
pub trait Transport: Sized + 'static {
    /// The most transfers that it can have in flight.
    const MOST: u32 = u32::MAX;

    /// Opens it for at most `most` transfers in flight, with tags below `most`.
    ///
    /// # Errors
    /// With the cause and what to do about it where the kernel refuses.
    fn open(setup: &Setup, most: u32, memory: Memory) -> Result<Self, EngineError>;

    /// Readies a transfer.
    fn push(&mut self, transfer: Transfer);

    /// As [`Engine::hand_over`](crate::Engine::hand_over).
    ///
    /// # Errors
    /// If the engine itself broke.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// As [`Engine::wait`](crate::Engine::wait).
    ///
    /// # Errors
    /// If the engine itself broke.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Called once, before the drop, after which nothing is pushed: whether nothing refers to the memory any
    /// more. What was not handed over is dropped. What is in flight is called off as far as the engine can,
    /// and the rest is waited for at most [`DRAIN`].
    ///
    /// After `true` the memory is unmapped, so nothing may be in flight, and a wait brings nothing. After
    /// `false` the memory stays to the end of the process, and so does whatever the kernel or a thread still
    /// uses of the engine's own.
    fn quiesce(&mut self) -> bool {
        true
    }

    /// What it got from the kernel, for the record.
    fn features(&self) -> Vec<String>;
}

/// Whether `in_flight` transfers come home within [`DRAIN`] from now on.
pub(crate) fn drained(transport: &mut impl Transport, in_flight: u32, now: Nanos) -> bool {
    let mut done = Vec::with_capacity(in_flight as usize);
    let ask = Wait::new(in_flight, in_flight).until(now.plus(DRAIN));
    let waited = transport.wait(ask, &mut done);
    waited.is_ok() && done.len() == in_flight as usize
}
