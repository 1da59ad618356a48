//! The two rings shared with the kernel: maps, fills, enters and reaps them.
//!
//! Both rings stay mapped, and the descriptor stays registered, until the value is dropped. Drop unregisters
//! the descriptor first. A registered ring that is only closed would stay in the thread's small table: after
//! sixteen of them, the next registration fails with EBUSY.

use super::grant::{Options, preferences, refusal};
use crate::linux::INVALID;
use crate::{Clock, Completion, EngineError, Memory, MonotonicClock};
use record::Nanos;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringAsyncCancelFlags,
    IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp, IoringSetupFlags, IoringSqFlags,
    io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg, io_uring_params, io_uring_ptr,
    io_uring_register, io_uring_rsrc_update, io_uring_setup, io_uring_sync_cancel_reg, iovec,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::Timespec;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// How long the kernel thread of SQPOLL spins after the last submission before it sleeps.
pub(super) const SQ_IDLE_MS: u32 = 1_000;
/// Words of a submission entry without SQE128.
const SQE_WORDS: usize = 8;

/// The fields of a submission entry that are used (linux/io_uring.h, struct io_uring_sqe).
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Opcode (8 bits), flags (8), priority (16), descriptor (32).
    pub(super) head: u64,
    pub(super) offset: u64,
    pub(super) address: u64,
    /// Length (32 bits), operation flags (32).
    pub(super) length: u64,
    pub(super) user_data: u64,
    /// Length of a command to a block device.
    pub(super) command_length: u64,
}

/// A completion entry without CQE32.
#[repr(C)]
#[derive(Clone, Copy)]
struct CompletionEntry {
    user_data: u64,
    result: i32,
    flags: u32,
}

#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    length: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, length: usize, offset: u64) -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a shared mapping of the ring descriptor at an address chosen by the kernel. The kernel
        // checks the length against the ring.
        let base = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) }?;
        Ok(Self { base: base.cast(), length })
    }

    /// The 32-bit word at a byte offset from the kernel.
    fn word(&self, offset: u32) -> *const AtomicU32 {
        debug_assert!(offset as usize + 4 <= self.length);
        // SAFETY: the kernel's offsets are in the mapping (asserted above in debug builds).
        unsafe { self.base.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and nothing refers to it after the ring is dropped.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// An io_uring, used only by the thread that created it.
#[derive(Debug)]
pub(super) struct Ring {
    sq_tail: *const AtomicU32,
    cq_head: *const AtomicU32,
    cq_tail: *const AtomicU32,
    sq_flags: *const AtomicU32,
    sqes: *mut [u64; SQE_WORDS],
    cqes: *const CompletionEntry,
    sq_mask: u32,
    cq_mask: u32,
    /// Local copy of the submission tail; `enter` publishes it.
    tail: u32,
    /// Entries pushed but not yet accepted by the kernel.
    pending: u32,
    /// Index of the ring in the thread's table of registered rings.
    registered: Option<u32>,
    flags: IoringSetupFlags,
    /// Whether the kernel accepts an absolute deadline instead of the remaining time (since 6.12).
    absolute: bool,
    fd: OwnedFd,
    _sq: Mapping,
    _cq: Mapping,
    _entries: Mapping,
}

impl Ring {
    /// Creates a ring for `most` entries in flight.
    pub(super) fn new(most: u32, options: Options) -> Result<Self, EngineError> {
        let entries = most.max(1).checked_next_power_of_two().unwrap_or(u32::MAX);
        let mut last = Errno::INVAL;
        for flags in preferences(options) {
            let mut params = io_uring_params::default();
            params.flags = flags;
            if options.sqpoll {
                params.sq_thread_idle = SQ_IDLE_MS;
            }
            // SAFETY: `params` is a valid in-out argument; no other pointers are passed.
            match unsafe { io_uring_setup(entries, &mut params) } {
                Ok(_) if params.sq_entries < most => {
                    let (engine, available) = ("io_uring", params.sq_entries);
                    return Err(EngineError::TooDeep { engine, asked: most, available });
                }
                Ok(fd) => return Self::map(fd, &params).map_err(|errno| refusal(errno, options)),
                // An unknown flag: try the next setup.
                Err(Errno::INVAL) => last = Errno::INVAL,
                Err(errno) => return Err(refusal(errno, options)),
            }
        }
        Err(refusal(last, options))
    }

    fn map(fd: OwnedFd, params: &io_uring_params) -> Result<Self, Errno> {
        // Kernels without EXT_ARG (before 5.11) cannot wait with a deadline.
        if !params.features.contains(IoringFeatureFlags::EXT_ARG) {
            return Err(Errno::NOSYS);
        }
        let sq_array = !params.flags.contains(IoringSetupFlags::NO_SQARRAY);
        let array_bytes = if sq_array { params.sq_entries as usize * 4 } else { 0 };
        let sq_bytes = params.sq_off.array.max(params.sq_off.dropped + 4) as usize + array_bytes;
        let cq_bytes =
            params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<CompletionEntry>();
        // With EXT_ARG, one mapping contains both rings. Mapping each by its own offset is also correct and
        // keeps them separate.
        let sq = Mapping::new(&fd, sq_bytes.max(cq_bytes), IORING_OFF_SQ_RING)?;
        let cq = Mapping::new(&fd, sq_bytes.max(cq_bytes), IORING_OFF_CQ_RING)?;
        let entry_bytes = params.sq_entries as usize * size_of::<[u64; SQE_WORDS]>();
        let entries = Mapping::new(&fd, entry_bytes, IORING_OFF_SQES)?;
        if sq_array {
            for index in 0..params.sq_entries {
                let word = sq.word(params.sq_off.array + index * 4);
                // SAFETY: the array has `sq_entries` words, and the kernel reads them only during a
                // submission.
                unsafe { (*word).store(index, Ordering::Relaxed) };
            }
        }
        // SAFETY: the offsets come from the kernel and are in the mapping.
        let cqes = unsafe { cq.base.add(params.cq_off.cqes as usize) };
        let mut ring = Self {
            sq_tail: sq.word(params.sq_off.tail),
            cq_head: cq.word(params.cq_off.head),
            cq_tail: cq.word(params.cq_off.tail),
            sq_flags: sq.word(params.sq_off.flags),
            sqes: entries.base.cast(),
            cqes: cqes.cast(),
            sq_mask: params.sq_entries - 1,
            cq_mask: params.cq_entries - 1,
            tail: 0,
            pending: 0,
            registered: None,
            flags: params.flags,
            absolute: true,
            fd,
            _sq: sq,
            _cq: cq,
            _entries: entries,
        };
        ring.registered = ring.register_self();
        Ok(ring)
    }

    /// Registers the ring's own descriptor with this thread, which saves a table lookup per call.
    fn register_self(&self) -> Option<u32> {
        let mut update = io_uring_rsrc_update::default();
        update.offset = u32::MAX;
        update.data = io_uring_ptr::from(self.fd.as_raw_fd() as usize as *mut c_void);
        // SAFETY: one valid update structure, which the kernel fills with the index.
        unsafe { self.register(IoringRegisterOp::RegisterRingFds, &raw mut update, 1) }
            .ok()
            .map(|_| update.offset)
    }

    /// Registers or unregisters something with the ring.
    ///
    /// # Safety
    /// `records` must point to as many records as the operation expects.
    unsafe fn register<T>(
        &self,
        operation: IoringRegisterOp,
        records: *const T,
        count: u32,
    ) -> Result<u32, Errno> {
        // SAFETY: the caller guarantees the requirements.
        unsafe { io_uring_register(&self.fd, operation, records.cast::<c_void>(), count) }
    }

    /// Registers all buffers as one.
    pub(super) fn register_buffers(&mut self, memory: Memory) -> Result<(), Errno> {
        let vector = iovec { iov_base: memory.base, iov_len: memory.bytes };
        // SAFETY: the range is mapped, and the kernel pins its pages until the ring is closed.
        unsafe { self.register(IoringRegisterOp::RegisterBuffers, &raw const vector, 1) }.map(drop)
    }

    /// Registers the files under their indices. Returns whether the kernel accepted them.
    pub(super) fn register_files(&mut self, files: &[RawFd]) -> bool {
        let count = files.len() as u32;
        // SAFETY: an array of `count` descriptors, read during the call.
        unsafe { self.register(IoringRegisterOp::RegisterFiles, files.as_ptr(), count) }.is_ok()
    }

    /// Queues an entry. There is always room, because the ring has an entry for each transfer that may be in
    /// flight.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        debug_assert!(self.pending <= self.sq_mask, "more requests than the ring has entries");
        let index = (self.tail & self.sq_mask) as usize;
        // SAFETY: the masked index is in the entry array. The kernel reads an entry only after its
        // publication. It has already accepted the previous entry at this index, because no more entries are
        // in flight than the ring has.
        let words = unsafe { &mut *self.sqes.add(index) };
        words[0] = entry.head;
        words[1] = entry.offset;
        words[2] = entry.address;
        words[3] = entry.length;
        words[4] = entry.user_data;
        words[6] = entry.command_length;
        self.tail = self.tail.wrapping_add(1);
        self.pending += 1;
    }

    /// Removes the entries that were not submitted. Returns their number.
    pub(super) fn take_back(&mut self) -> u32 {
        let count = std::mem::take(&mut self.pending);
        self.tail = self.tail.wrapping_sub(count);
        count
    }

    pub(super) fn submit(&mut self) -> Result<(), EngineError> {
        let wake = self.publish();
        if self.pending > 0 || !wake.is_empty() { self.enter_kernel(0, wake) } else { Ok(()) }
    }

    /// Submits the pending entries and waits for `min` completions.
    #[inline]
    fn enter_kernel(&mut self, min: u32, wanted: IoringEnterFlags) -> Result<(), EngineError> {
        // SAFETY: all submitted entries refer to buffers and files that outlive them.
        self.call(|ring, target, flags| unsafe {
            io_uring_enter(target, ring.pending, min, flags | wanted)
        })
    }

    /// Submits the queued entries and waits until there are `min` completions or the deadline has passed. It
    /// may return earlier.
    #[inline]
    pub(super) fn enter(&mut self, min: u32, deadline: Option<Nanos>) -> Result<(), EngineError> {
        let wake = self.publish();
        // SAFETY: both words are in the mapping.
        let ready = unsafe {
            (*self.cq_tail)
                .load(Ordering::Acquire)
                .wrapping_sub((*self.cq_head).load(Ordering::Relaxed))
        };
        // Deferred or polled completions appear only when the thread enters the kernel.
        let sees_all = self.flags.contains(IoringSetupFlags::SQPOLL)
            || !self.flags.intersects(
                IoringSetupFlags::DEFER_TASKRUN
                    | IoringSetupFlags::COOP_TASKRUN
                    | IoringSetupFlags::IOPOLL,
            );
        if self.pending == 0 && wake.is_empty() && ready >= min && (min > 0 || sees_all) {
            return Ok(());
        }
        let wake = wake | IoringEnterFlags::GETEVENTS;
        // The kernel's polling loop ignores deadlines, so poll only once per call.
        let polls = self.flags.contains(IoringSetupFlags::IOPOLL)
            && !self.flags.contains(IoringSetupFlags::SQPOLL);
        match deadline {
            Some(_) if polls => self.enter_kernel(0, wake),
            Some(deadline) if min > 0 => self.enter_until(min, deadline, wake),
            _ => self.enter_kernel(min, wake),
        }
    }

    fn enter_until(
        &mut self,
        min: u32,
        deadline: Nanos,
        wake: IoringEnterFlags,
    ) -> Result<(), EngineError> {
        loop {
            let (time, kind) = if self.absolute {
                (deadline, IoringEnterFlags::EXT_ARG | IoringEnterFlags::ABS_TIMER)
            } else {
                (deadline.since(MonotonicClock.now()), IoringEnterFlags::EXT_ARG)
            };
            let time = timespec(time);
            let argument = io_uring_getevents_arg {
                ts: io_uring_ptr::from(std::ptr::from_ref(&time).cast_mut().cast::<c_void>()),
                ..io_uring_getevents_arg::default()
            };
            let outcome = self.call(|ring, target, flags| {
                let flags = flags | wake | kind;
                // SAFETY: all submitted entries refer to buffers and files that outlive them; `argument` and
                // `time` are valid during the call.
                unsafe { io_uring_enter_arg(target, ring.pending, min, flags, Some(&argument)) }
            });
            match outcome {
                // A kernel that does not know the flag has done nothing.
                Err(EngineError::Broken { errno: INVALID, .. }) if self.absolute => {
                    self.absolute = false;
                }
                outcome => return outcome,
            }
        }
    }

    /// Publishes the queued entries to the kernel. With SQPOLL, its thread takes them. Returns the flag that
    /// wakes this thread if it sleeps.
    #[inline]
    fn publish(&mut self) -> IoringEnterFlags {
        // SAFETY: the word is in the mapping, which is valid as long as `self`.
        unsafe { (*self.sq_tail).store(self.tail, Ordering::Release) };
        if !self.flags.contains(IoringSetupFlags::SQPOLL) {
            return IoringEnterFlags::empty();
        }
        self.pending = 0;
        // The kernel thread announces its sleep before it checks the tail a last time. The fence ensures that
        // this thread stores the tail before it reads the announcement.
        fence(Ordering::SeqCst);
        // SAFETY: as above.
        let flags = unsafe { (*self.sq_flags).load(Ordering::Relaxed) };
        if flags & IoringSqFlags::NEED_WAKEUP.bits() != 0 {
            IoringEnterFlags::SQ_WAKEUP
        } else {
            IoringEnterFlags::empty()
        }
    }

    /// Makes one system call and interprets its result.
    #[inline]
    fn call(
        &mut self,
        enter: impl FnOnce(&Self, BorrowedFd<'_>, IoringEnterFlags) -> Result<u32, Errno>,
    ) -> Result<(), EngineError> {
        let (target, flags) = match self.registered {
            Some(index) => (index as RawFd, IoringEnterFlags::REGISTERED_RING),
            None => (self.fd.as_raw_fd(), IoringEnterFlags::empty()),
        };
        // SAFETY: with REGISTERED_RING the number is the index of the registered ring, otherwise it is the
        // ring's descriptor. Both are valid as long as `self`.
        let target = unsafe { BorrowedFd::borrow_raw(target) };
        match enter(self, target, flags) {
            Ok(taken) => {
                self.pending -= taken.min(self.pending);
                Ok(())
            }
            // If entries were submitted, the call returns their number. An error means that none were
            // accepted for lack of memory, or that a wait without submissions ended early. The caller's loop
            // tries again in each case.
            Err(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            Err(errno) => Err(EngineError::Broken { call: "io_uring_enter", errno: errno.into() }),
        }
    }

    /// Appends at most `max` completions. Returns their number.
    #[inline]
    pub(super) fn reap(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        // SAFETY: both words are in the mapping, and only this thread writes the head.
        let (head, tail) = unsafe {
            ((*self.cq_head).load(Ordering::Relaxed), (*self.cq_tail).load(Ordering::Acquire))
        };
        let count = tail.wrapping_sub(head).min(max);
        done.extend((0..count).map(|step| {
            let index = (head.wrapping_add(step) & self.cq_mask) as usize;
            // SAFETY: the masked index is in the completion array. The kernel has published the entry
            // (acquire above) and does not change it until the head passes it.
            let entry = unsafe { self.cqes.add(index).read() };
            Completion { slot: entry.user_data as u32, outcome: entry.result }
        }));
        // SAFETY: as above.
        unsafe { (*self.cq_head).store(head.wrapping_add(count), Ordering::Release) };
        count
    }

    /// Cancels everything that can be cancelled; the rest continues (best effort, since Linux 6.0).
    pub(super) fn cancel_all(&mut self, patience: Nanos) {
        let mut request = io_uring_sync_cancel_reg::default();
        request.fd = -1;
        request.flags = IoringAsyncCancelFlags::ANY | IoringAsyncCancelFlags::ALL;
        request.timeout = timespec(patience);
        // SAFETY: one valid structure, read during the call.
        let _ =
            unsafe { self.register(IoringRegisterOp::RegisterSyncCancel, &raw const request, 1) };
    }

    /// The features that the kernel granted.
    pub(super) fn features(&self) -> Vec<String> {
        let names = [
            (IoringSetupFlags::SINGLE_ISSUER, "SINGLE_ISSUER"),
            (IoringSetupFlags::DEFER_TASKRUN, "DEFER_TASKRUN"),
            (IoringSetupFlags::NO_SQARRAY, "NO_SQARRAY"),
            (IoringSetupFlags::COOP_TASKRUN, "COOP_TASKRUN"),
            (IoringSetupFlags::IOPOLL, "IOPOLL"),
            (IoringSetupFlags::SQPOLL, "SQPOLL"),
        ];
        let granted = names.iter().filter(|(flag, _)| self.flags.contains(*flag));
        let mut features: Vec<String> = granted.map(|(_, name)| (*name).to_owned()).collect();
        if self.registered.is_some() {
            features.push("registered ring".to_owned());
        }
        features
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Some(index) = self.registered {
            let mut update = io_uring_rsrc_update::default();
            update.offset = index;
            // SAFETY: one valid update structure; the ring is still open.
            let _ =
                unsafe { self.register(IoringRegisterOp::UnregisterRingFds, &raw const update, 1) };
        }
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
