//! What an engine for real files must implement on any system.
//!
//! A [`Transport`] moves bytes between memory and files. It knows nothing about slots, the content of writes,
//! or stripes. `Direct`, `Striped` and `Array` make an [`Engine`](crate::Engine) from it.
//!
//! Memory that the kernel may still write to must not be unmapped. A transport that is dropped with transfers
//! in flight waits up to [`DRAIN`] for them. After that, the memory stays allocated until the process ends,
//! because a silent device must not block the program.

use crate::{Completion, EngineError, Setup, Wait};
use record::{FlushKind, Nanos};
use std::ffi::c_void;

/// How long a dropped engine waits for transfers in flight.
pub const DRAIN: Nanos = Nanos(1_000_000_000);

/// Number of acts.
pub const ACTS: usize = 7;

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes all written data and metadata of the file durable.
    Fsync,
    /// The same without metadata that is not needed to read the data.
    Fdatasync,
    /// Writes all dirty data of the file to the device.
    WriteOut,
    /// Frees a range of a regular file in its file system.
    PunchHole,
    /// Tells a block device that a range is no longer needed.
    Discard,
}

impl Act {
    /// All acts, in the order of their numbers.
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
    /// Source or destination in memory; valid for `bytes` until the transfer completes. Ignored for a flush
    /// or a trim.
    pub address: *mut u8,
    /// Byte offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Returned in [`Completion::slot`]. No two transfers in flight have the same tag.
    pub tag: u32,
    /// Index in [`Setup::files`].
    pub file: u32,
    /// The operation.
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
/// The contract is that of [`Engine`](crate::Engine), applied to transfers: the slot of a completion is the
/// tag of its transfer.
pub trait Transport: Sized + 'static {
    /// Maximum transfers in flight that it supports.
    const MOST: u32 = u32::MAX;

    /// Opens it for at most `most` transfers in flight, with tags below `most`.
    ///
    /// # Errors
    /// If the kernel refuses, with the cause and a remedy.
    fn open(setup: &Setup, most: u32, memory: Memory) -> Result<Self, EngineError>;

    /// Queues a transfer.
    fn push(&mut self, transfer: Transfer);

    /// See [`Engine::hand_over`](crate::Engine::hand_over).
    ///
    /// # Errors
    /// If the engine itself fails.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// See [`Engine::wait`](crate::Engine::wait).
    ///
    /// # Errors
    /// If the engine itself fails.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// Ends all transfers, and returns whether nothing refers to the memory any more. Called once, before the
    /// drop; nothing is pushed afterwards. Transfers that were not submitted are discarded. Transfers in
    /// flight are cancelled as far as the engine can. The method waits at most [`DRAIN`] for the rest.
    ///
    /// After `true`, the memory is unmapped, so nothing may be in flight, and a wait returns nothing. After
    /// `false`, the memory stays allocated until the process ends, and so does everything of the engine that
    /// the kernel or a thread still uses.
    fn quiesce(&mut self) -> bool {
        true
    }

    /// Kernel features that it uses, for documents.
    fn features(&self) -> Vec<String>;
}

/// Whether `in_flight` transfers complete within [`DRAIN`] from `now`.
pub(crate) fn drained(transport: &mut impl Transport, in_flight: u32, now: Nanos) -> bool {
    let mut done = Vec::with_capacity(in_flight as usize);
    let ask = Wait::new(in_flight, in_flight).until(now.plus(DRAIN));
    let waited = transport.wait(ask, &mut done);
    waited.is_ok() && done.len() == in_flight as usize
}
