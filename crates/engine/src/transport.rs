//! What an engine for real descriptors has to do, and the wrapper that makes it an [`Engine`].
//!
//! A [`Transport`] moves bytes between memory and files: it knows addresses, offsets and tags, and
//! nothing of slots, of what writes carry, or of stripes. [`Direct`] gives it the memory of a
//! job's slots, one transfer per request; [`Striped`](crate::Striped) cuts requests into transfers
//! over several files. So an engine is one file that says how the kernel is asked, and both ways
//! of using it are static types: nothing is decided per request, and `push` is inlined into the
//! loop over a batch.
//!
//! Memory that the kernel may still write to must not be unmapped. A transport that is dropped
//! with transfers in flight gets [`DRAIN`] to bring them home; after that the memory is left to
//! the end of the process, since a device that is silent must not hold up the program as well.

use crate::{
    Buffers, Clock, Completion, Engine, EngineError, MonotonicClock, OpenEngine, Setup, Submission,
};
use record::{Nanos, OpKind};
use std::ffi::c_void;
use std::mem::ManuallyDrop;

/// How long an engine that is dropped waits for what is in flight.
pub const DRAIN: Nanos = Nanos(1_000_000_000);

/// One transfer between memory and a file.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where the bytes come from or go to; valid for `bytes` until the transfer completes.
    pub address: *mut u8,
    /// Byte offset in the file.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Returned in [`Completion::slot`]; no two in flight have the same.
    pub tag: u32,
    /// Index in [`Setup::files`].
    pub file: u32,
    /// Direction.
    pub op: OpKind,
}

/// All memory that transfers use, for registration with the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its start.
    pub base: *mut c_void,
    /// Its length in bytes.
    pub bytes: usize,
}

/// Moves bytes between memory and the files of a [`Setup`].
///
/// The contract is that of [`Engine`], in terms of transfers: `push` readies one without starting
/// it, `wait` hands over and appends each completion exactly once, with the transfer's tag as its
/// slot. It is used on the thread that opened it.
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
    fn wait(
        &mut self,
        min: u32,
        max: u32,
        deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;

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
    transport: T,
    buffers: ManuallyDrop<Buffers>,
}

impl<T: Transport> OpenEngine for Direct<T> {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        let buffers = Buffers::new(setup)?;
        let transport = T::open(setup, setup.depth.max(1), memory_of(&buffers))?;
        Ok(Self { transport, buffers: ManuallyDrop::new(buffers) })
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
            self.transport.push(Transfer {
                address: address_of(&mut self.buffers, submission),
                offset: request.offset,
                bytes: request.bytes,
                tag: submission.slot,
                file: 0,
                op: request.op,
            });
        }
    }

    #[inline]
    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.transport.hand_over()
    }

    #[inline]
    fn wait(
        &mut self,
        min: u32,
        max: u32,
        deadline: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        self.transport.wait(min, max, deadline, done)
    }

    fn features(&self) -> Vec<String> {
        self.transport.features()
    }
}

impl<T: Transport> Drop for Direct<T> {
    fn drop(&mut self) {
        close(&mut self.transport, &mut self.buffers);
    }
}

/// The memory behind a job's buffers.
pub(crate) fn memory_of(buffers: &Buffers) -> Memory {
    Memory { base: buffers.base(), bytes: buffers.length() }
}

/// Where a request reads to or writes from; what it writes is made here.
#[inline]
pub(crate) fn address_of(buffers: &mut Buffers, submission: &Submission) -> *mut u8 {
    let Submission { request, slot, generation } = submission;
    match request.op {
        OpKind::Read => buffers.read_area(*slot),
        OpKind::Write => buffers.next_write(*slot, request, *generation),
    }
}

/// Frees the buffers once nothing refers to them; leaves them to the end of the process where
/// something still does.
pub(crate) fn close<T: Transport>(transport: &mut T, buffers: &mut ManuallyDrop<Buffers>) {
    if transport.quiesce() {
        // SAFETY: called from the owner's drop alone, which does not touch them afterwards.
        unsafe { ManuallyDrop::drop(buffers) };
    }
}

/// Whether `in_flight` transfers come home within [`DRAIN`].
pub(crate) fn drained(transport: &mut impl Transport, in_flight: u32) -> bool {
    let deadline = MonotonicClock.now().plus(DRAIN);
    let mut done = Vec::with_capacity(in_flight as usize);
    let waited = transport.wait(in_flight, in_flight, Some(deadline), &mut done);
    waited.is_ok() && done.len() == in_flight as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does nothing, and says whether it is done with its memory.
    struct Idle<const QUIET: bool>(usize);

    impl<const QUIET: bool> Transport for Idle<QUIET> {
        fn open(_setup: &Setup, _most: u32, memory: Memory) -> Result<Self, EngineError> {
            Ok(Self(memory.base as usize))
        }
        fn push(&mut self, _transfer: Transfer) {}
        fn wait(
            &mut self,
            _min: u32,
            _max: u32,
            _deadline: Option<Nanos>,
            _done: &mut Vec<Completion>,
        ) -> Result<(), EngineError> {
            Ok(())
        }
        fn quiesce(&mut self) -> bool {
            QUIET
        }
        fn features(&self) -> Vec<String> {
            Vec::new()
        }
    }

    /// Whether an address is mapped (proc(5), /proc/pid/maps).
    fn mapped(address: usize) -> bool {
        let hexadecimal = |text| usize::from_str_radix(text, 16).unwrap();
        std::fs::read_to_string("/proc/self/maps").unwrap().lines().any(|line| {
            let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            (hexadecimal(begin)..hexadecimal(end)).contains(&address)
        })
    }

    fn mapped_after_drop<const QUIET: bool>() -> bool {
        // Of a length that nothing else here has, so that its place is not taken again at once.
        let setup = Setup::reading(Vec::new(), 1, 160 << 20);
        let engine = Direct::<Idle<QUIET>>::open(&setup).unwrap();
        let address = engine.transport.0 + (80 << 20);
        assert!(mapped(address));
        drop(engine);
        mapped(address)
    }

    #[test]
    fn memory_that_the_kernel_may_still_write_to_stays_mapped() {
        assert!(!mapped_after_drop::<true>(), "freed where nothing refers to it");
        assert!(mapped_after_drop::<false>(), "left where something may");
    }
}
