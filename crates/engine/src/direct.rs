//! Makes an engine from a [`Transport`] on one file, with one transfer per request.
//!
//! [`Striped`](crate::Striped) makes one transfer for each chunk of a request, and [`Array`](crate::Array) as
//! many as its RAID level requires. All are static types: `push` is inlined into the loop over a batch.

use crate::{
    Act, Buffers, Completion, Engine, EngineError, OpenEngine, Setup, Submission, Transfer,
    Transport, Wait, platform,
};
use record::{FlushKind, Instead, OpKind};
use std::mem::ManuallyDrop;

/// An engine with one transfer per request, on the first file of its setup.
#[derive(Debug)]
pub struct Direct<T: Transport> {
    pub(crate) transport: T,
    buffers: ManuallyDrop<Buffers>,
    /// The action for a write: [`Act::Write`], or its replacement.
    write_act: Act,
    /// Request lengths by slot, for a job whose writes are replaced by trims or flushes. The kernel does not
    /// return lengths.
    trimmed: Vec<u32>,
    /// See [`Setup::work_bytes`].
    work_bytes: usize,
    /// Result of the transport's [`Transport::quiesce`], once it was called.
    quiet: Option<bool>,
}

/// The action of a setup's writes on its first file.
fn write_act(setup: &Setup) -> Result<Act, EngineError> {
    match setup.instead {
        None => Ok(Act::Write),
        Some(Instead::Flush) => Ok(Act::Fsync),
        Some(Instead::Trim) => platform::trim_act(setup),
    }
}

impl<T: Transport> Direct<T> {
    /// Opens the engine for at most `most` transfers in flight.
    pub(crate) fn open_for(setup: &Setup, most: u32) -> Result<Self, EngineError> {
        platform::check_flush(setup.flushes)?;
        let write_act = write_act(setup)?;
        let buffers = Buffers::new(setup)?;
        let transport = T::open(setup, most, buffers.memory())?;
        let trimmed =
            vec![0; if setup.instead.is_some() { setup.depth.max(1) as usize } else { 0 }];
        let buffers = ManuallyDrop::new(buffers);
        Ok(Self {
            transport,
            buffers,
            write_act,
            trimmed,
            work_bytes: setup.work_bytes,
            quiet: None,
        })
    }

    /// Address that a request reads to or writes from. Prepares the data of a write.
    #[inline]
    pub(crate) fn address_of(&mut self, submission: &Submission) -> *mut u8 {
        let Submission { request, slot, generation } = submission;
        match request.op {
            OpKind::Write if self.trimmed.is_empty() => {
                self.buffers.next_write(*slot, request, *generation)
            }
            OpKind::Write => std::ptr::null_mut(),
            OpKind::Read => self.buffers.read_area(*slot, request.bytes),
        }
    }

    pub(crate) fn work_area(&self, slot: u32) -> *mut u8 {
        self.buffers.work_area(slot)
    }

    /// Panics if a plan needs more bytes than the work area has, because it would write elsewhere.
    pub(crate) fn check_work(&self, bytes: usize) {
        assert!(
            bytes <= self.work_bytes,
            "{bytes} bytes of a plan in {} of memory",
            self.work_bytes
        );
    }

    #[inline]
    pub(crate) fn act_of(&self, op: OpKind) -> Act {
        match op {
            OpKind::Read => Act::Read,
            OpKind::Write => self.write_act,
        }
    }

    /// Sets the lengths of the trims among these completions.
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
    /// Waits until nothing refers to the buffers any more, and returns whether that is so. The transport is
    /// asked only once.
    pub(crate) fn come_home(&mut self) -> bool {
        let transport = &mut self.transport;
        *self.quiet.get_or_insert_with(|| transport.quiesce())
    }
}

impl<T: Transport> Drop for Direct<T> {
    fn drop(&mut self) {
        // If something still refers to the buffers, they stay allocated until the process ends.
        if self.come_home() {
            // SAFETY: nothing uses them after the drop.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}
