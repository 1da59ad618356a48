//! The two rings shared with the kernel: mapping, filling, entering, reaping.
//!
//! Both rings stay mapped and the registered descriptor stays registered for the life of the
//! value; drop unregisters it first, because a registered ring that is only closed stays in the
//! thread's small table (sixteen of them and the next registration fails with EBUSY).

use crate::EngineError;
use record::Nanos;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags,
    IoringRegisterOp, IoringSetupFlags, io_uring_cqe, io_uring_enter, io_uring_enter_arg,
    io_uring_getevents_arg, io_uring_params, io_uring_ptr, io_uring_register, io_uring_rsrc_update,
    io_uring_setup, io_uring_sqe, iovec,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::Timespec;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// Completions are no longer than this on rings without CQE32.
const CQE_BYTES: usize = 16;

/// A mapping of ring memory.
#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    length: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, length: usize, offset: u64) -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a shared mapping of the ring descriptor at an address of the kernel's choice;
        // the kernel checks the length against the ring.
        let base = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) }?;
        Ok(Self { base: base.cast(), length })
    }

    /// The 32-bit word at a byte offset that the kernel gave.
    fn word(&self, offset: u32) -> *const AtomicU32 {
        debug_assert!(offset as usize + 4 <= self.length);
        // SAFETY: the kernel's offsets lie within the mapping (asserted above in debug builds).
        unsafe { self.base.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it after the ring is dropped.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// An io_uring, used by the thread that made it.
#[derive(Debug)]
pub(super) struct Ring {
    sq_tail: *const AtomicU32,
    cq_head: *const AtomicU32,
    cq_tail: *const AtomicU32,
    sqes: *mut io_uring_sqe,
    cqes: *const io_uring_cqe,
    sq_mask: u32,
    cq_mask: u32,
    /// Our copy of the submission tail; published in `enter`.
    tail: u32,
    /// Entries pushed but not yet taken by the kernel.
    pending: u32,
    /// Index of the ring in the thread's table of registered rings.
    registered: Option<u32>,
    flags: IoringSetupFlags,
    fd: OwnedFd,
    _sq: Mapping,
    _cq: Mapping,
    _entries: Mapping,
}

/// Setups to try, best first.
fn preferences() -> [IoringSetupFlags; 4] {
    let base = IoringSetupFlags::CLAMP;
    let single = base | IoringSetupFlags::SUBMIT_ALL | IoringSetupFlags::SINGLE_ISSUER;
    [
        single | IoringSetupFlags::DEFER_TASKRUN | IoringSetupFlags::NO_SQARRAY,
        single | IoringSetupFlags::DEFER_TASKRUN,
        base | IoringSetupFlags::COOP_TASKRUN,
        base,
    ]
}

/// Why the kernel refuses a ring, and what to do.
fn refusal(errno: Errno) -> EngineError {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let disabled = disabled.as_deref().map_or("0", str::trim);
    let (cause, remedy) = match errno {
        Errno::NOSYS => (
            "the kernel has none (before 5.1, or built without it, or a seccomp filter hides it)"
                .to_owned(),
            "update the kernel or lift the filter",
        ),
        Errno::PERM | Errno::ACCESS if disabled != "0" => (
            format!("the setting kernel.io_uring_disabled is {disabled}"),
            "set it to 0 with sysctl",
        ),
        Errno::PERM | Errno::ACCESS => (
            "a seccomp filter forbids it, as container runtimes do by default".to_owned(),
            "allow io_uring_setup, io_uring_enter and io_uring_register in the filter",
        ),
        Errno::NOMEM => (
            "the limit of locked memory (RLIMIT_MEMLOCK) is too low for the ring".to_owned(),
            "raise it with ulimit -l",
        ),
        Errno::MFILE | Errno::NFILE => {
            ("no file descriptor is left".to_owned(), "raise the limit with ulimit -n")
        }
        _ => ("io_uring_setup failed".to_owned(), "see the error"),
    };
    EngineError::UringUnavailable { cause, errno, remedy }
}

impl Ring {
    /// A ring for `depth` requests in flight.
    pub(super) fn new(depth: u32) -> Result<Self, EngineError> {
        let entries = depth.max(1).next_power_of_two();
        let mut last = Errno::INVAL;
        for flags in preferences() {
            let mut params = io_uring_params::default();
            params.flags = flags;
            // SAFETY: `params` is a valid in-out argument; no other pointers are passed.
            match unsafe { io_uring_setup(entries, &mut params) } {
                Ok(fd) => return Self::map(fd, &params).map_err(refusal),
                // An unknown flag: try without.
                Err(Errno::INVAL) => last = Errno::INVAL,
                Err(errno) => return Err(refusal(errno)),
            }
        }
        Err(refusal(last))
    }

    fn map(fd: OwnedFd, params: &io_uring_params) -> Result<Self, Errno> {
        // Without EXT_ARG (before 5.11) there is no wait with a deadline.
        if !params.features.contains(IoringFeatureFlags::EXT_ARG) {
            return Err(Errno::NOSYS);
        }
        let sq_array = !params.flags.contains(IoringSetupFlags::NO_SQARRAY);
        let array_bytes = if sq_array { params.sq_entries as usize * 4 } else { 0 };
        let sq_bytes = params.sq_off.array.max(params.sq_off.dropped + 4) as usize + array_bytes;
        let cq_bytes = params.cq_off.cqes as usize + params.cq_entries as usize * CQE_BYTES;
        // One mapping serves both rings on every kernel with EXT_ARG; mapping each by its own
        // offset is equally right and keeps the two apart.
        let sq = Mapping::new(&fd, sq_bytes.max(cq_bytes), IORING_OFF_SQ_RING)?;
        let cq = Mapping::new(&fd, sq_bytes.max(cq_bytes), IORING_OFF_CQ_RING)?;
        let entry_bytes = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let entries = Mapping::new(&fd, entry_bytes, IORING_OFF_SQES)?;
        if sq_array {
            for index in 0..params.sq_entries {
                let word = sq.word(params.sq_off.array + index * 4);
                // SAFETY: the array holds `sq_entries` words, and the kernel reads them only
                // during a submission.
                unsafe { (*word).store(index, Ordering::Relaxed) };
            }
        }
        // SAFETY: the offsets come from the kernel and lie in the mapping.
        let cqes = unsafe { cq.base.add(params.cq_off.cqes as usize) };
        let mut ring = Self {
            sq_tail: sq.word(params.sq_off.tail),
            cq_head: cq.word(params.cq_off.head),
            cq_tail: cq.word(params.cq_off.tail),
            sqes: entries.base.cast(),
            cqes: cqes.cast(),
            sq_mask: params.sq_entries - 1,
            cq_mask: params.cq_entries - 1,
            tail: 0,
            pending: 0,
            registered: None,
            flags: params.flags,
            fd,
            _sq: sq,
            _cq: cq,
            _entries: entries,
        };
        ring.registered = ring.register_self();
        Ok(ring)
    }

    /// Registers the ring's own descriptor with this thread, which saves a table look-up per call.
    fn register_self(&self) -> Option<u32> {
        let mut update = io_uring_rsrc_update::default();
        update.offset = u32::MAX;
        update.data = io_uring_ptr::from(self.fd.as_raw_fd() as usize as *mut c_void);
        let argument = std::ptr::from_mut(&mut update).cast::<c_void>();
        // SAFETY: one valid update record, which the kernel fills with the index.
        unsafe { io_uring_register(&self.fd, IoringRegisterOp::RegisterRingFds, argument, 1) }
            .ok()
            .map(|_| update.offset)
    }

    /// Registers all buffers as one; whether the kernel took it.
    pub(super) fn register_buffers(&mut self, base: *mut c_void, length: usize) -> bool {
        let vector = iovec { iov_base: base, iov_len: length };
        let argument = std::ptr::from_ref(&vector).cast::<c_void>();
        // SAFETY: the range is mapped, and the engine keeps it mapped until the ring is closed.
        unsafe { io_uring_register(&self.fd, IoringRegisterOp::RegisterBuffers, argument, 1) }
            .is_ok()
    }

    /// Registers the target as file 0; whether the kernel took it.
    pub(super) fn register_file(&mut self, file: RawFd) -> bool {
        let files = [file];
        let argument = files.as_ptr().cast::<c_void>();
        // SAFETY: an array of one descriptor, read during the call.
        unsafe { io_uring_register(&self.fd, IoringRegisterOp::RegisterFiles, argument, 1) }.is_ok()
    }

    /// Queues an entry. There is room: the ring has an entry per slot.
    #[inline]
    pub(super) fn push(&mut self, entry: io_uring_sqe) {
        debug_assert!(self.pending <= self.sq_mask, "more requests than the ring has entries");
        let index = (self.tail & self.sq_mask) as usize;
        // SAFETY: the masked index lies in the entry array; the kernel reads an entry only
        // between its publication in `enter` and the return of that call.
        unsafe { self.sqes.add(index).write(entry) };
        self.tail = self.tail.wrapping_add(1);
        self.pending += 1;
    }

    /// Submits what is queued and waits for `min` completions, at most `left` long.
    pub(super) fn enter(&mut self, min: u32, left: Option<Nanos>) -> Result<(), EngineError> {
        // SAFETY: the word lives in the mapping, which lives as long as `self`.
        unsafe { (*self.sq_tail).store(self.tail, Ordering::Release) };
        let mut flags = IoringEnterFlags::GETEVENTS;
        let target = match self.registered {
            Some(index) => {
                flags |= IoringEnterFlags::REGISTERED_RING;
                index as RawFd
            }
            None => self.fd.as_raw_fd(),
        };
        // SAFETY: with REGISTERED_RING the number is the index of our registered ring, else it is
        // our descriptor; both live as long as `self`.
        let target = unsafe { BorrowedFd::borrow_raw(target) };
        let result = match left.filter(|_| min > 0) {
            None => {
                // SAFETY: all submitted entries refer to buffers and files that outlive them.
                unsafe { io_uring_enter(target, self.pending, min, flags) }
            }
            Some(left) => {
                let time = Timespec {
                    tv_sec: (left.0 / 1_000_000_000) as i64,
                    tv_nsec: (left.0 % 1_000_000_000) as i64,
                };
                let argument = io_uring_getevents_arg {
                    ts: io_uring_ptr::from(std::ptr::from_ref(&time).cast_mut().cast::<c_void>()),
                    ..io_uring_getevents_arg::default()
                };
                flags |= IoringEnterFlags::EXT_ARG;
                // SAFETY: as above; `argument` and `time` live through the call.
                unsafe { io_uring_enter_arg(target, self.pending, min, flags, Some(&argument)) }
            }
        };
        match result {
            Ok(taken) => {
                self.pending -= taken.min(self.pending);
                Ok(())
            }
            // With something submitted the call reports that; an error means that nothing was
            // taken, for lack of memory, or that a wait without submissions ended early. The
            // caller's loop comes again in each case.
            Err(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            Err(errno) => Err(EngineError::Broken { call: "io_uring_enter", errno }),
        }
    }

    /// Hands over at most `max` completions.
    #[inline]
    pub(super) fn reap(&mut self, max: u32, mut take: impl FnMut(u32, i32)) {
        // SAFETY: both words live in the mapping; only this thread writes the head.
        let (head, tail) = unsafe {
            ((*self.cq_head).load(Ordering::Relaxed), (*self.cq_tail).load(Ordering::Acquire))
        };
        let count = tail.wrapping_sub(head).min(max);
        for step in 0..count {
            let index = (head.wrapping_add(step) & self.cq_mask) as usize;
            // SAFETY: the masked index lies in the completion array, the kernel has published
            // the entry (acquire above) and does not touch it until the head passes it; entries
            // are 16 bytes apart, the size of the type without its optional tail.
            let (user_data, result) = unsafe {
                let entry = self.cqes.cast::<u8>().add(index * CQE_BYTES).cast::<io_uring_cqe>();
                ((*entry).user_data.u64_(), (*entry).res)
            };
            take(user_data as u32, result);
        }
        // SAFETY: as above.
        unsafe { (*self.cq_head).store(head.wrapping_add(count), Ordering::Release) };
    }

    /// What the kernel granted.
    pub(super) fn features(&self) -> Vec<String> {
        let names = [
            (IoringSetupFlags::SINGLE_ISSUER, "SINGLE_ISSUER"),
            (IoringSetupFlags::DEFER_TASKRUN, "DEFER_TASKRUN"),
            (IoringSetupFlags::NO_SQARRAY, "NO_SQARRAY"),
            (IoringSetupFlags::COOP_TASKRUN, "COOP_TASKRUN"),
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
            let argument = std::ptr::from_mut(&mut update).cast::<c_void>();
            // SAFETY: one valid update record; the ring is still open.
            let _ = unsafe {
                io_uring_register(&self.fd, IoringRegisterOp::UnregisterRingFds, argument, 1)
            };
        }
    }
}
