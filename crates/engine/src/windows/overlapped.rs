//! Common parts of all overlapped calls: the structures that the system writes to while a request is in
//! flight, how a transfer is started, and how long to wait.

use super::{NOT_SUPPORTED, last_error};
use crate::{Act, Clock, MonotonicClock, SystemError, Transfer};
use record::Nanos;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_IO_PENDING, HANDLE, RtlNtStatusToDosError,
};
use windows_sys::Win32::Storage::FileSystem::{FlushFileBuffers, ReadFile, WriteFile};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::{INFINITE, SwitchToThread};

/// Timeouts end at a tick of the system's timer, at best every millisecond. The part of a wait below this
/// limit is therefore polled, so that an open load starts its requests on time.
const POLLED: Nanos = Nanos(2_000_000);
const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// The OVERLAPPED structure of a request at this offset.
pub(super) fn overlapped(offset: u64, event: HANDLE) -> OVERLAPPED {
    let mut record = OVERLAPPED { hEvent: event, ..OVERLAPPED::default() };
    record.Anonymous.Anonymous.Offset = offset as u32;
    record.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
    record
}

/// One OVERLAPPED structure per transfer that can be in flight, indexed by tag. The system uses their
/// addresses until the transfer completes. They therefore never move, and outlive a transfer that does not
/// complete.
pub(super) struct Records(ManuallyDrop<Box<[UnsafeCell<OVERLAPPED>]>>);

impl Records {
    pub(super) fn new(most: u32) -> Self {
        let records = (0..most).map(|_| UnsafeCell::new(OVERLAPPED::default())).collect();
        Self(ManuallyDrop::new(records))
    }

    /// Prepares the structure of a transfer that is about to start.
    pub(super) fn begin(&self, transfer: &Transfer, event: HANDLE) -> *mut OVERLAPPED {
        let record = self.0[transfer.tag as usize].get();
        // SAFETY: no transfer with this tag is in flight, so the system does not use the structure.
        unsafe { *record = overlapped(transfer.offset, event) };
        record
    }

    /// The tag of a structure that the system returns.
    pub(super) fn tag(&self, record: *const OVERLAPPED) -> u32 {
        let distance = record as usize - self.0.as_ptr() as usize;
        (distance / size_of::<OVERLAPPED>()) as u32
    }

    /// Status and bytes of a finished transfer.
    pub(super) fn result(&self, tag: u32) -> (usize, usize) {
        let record = self.0[tag as usize].get();
        // SAFETY: the system writes to the structure for the last time before it reports that the transfer
        // has finished.
        unsafe { ((*record).Internal, (*record).InternalHigh) }
    }

    /// Frees the structures. Nothing may be in flight.
    pub(super) fn free(&mut self) {
        // SAFETY: called once, when the engine that owns them is dropped, after its last transfer.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} records", self.0.len())
    }
}

/// Result of a call that starts a transfer.
pub(super) enum Started {
    /// The system has accepted it and will report its end.
    InFlight,
    /// It has finished, with this outcome.
    Over(i32),
}

/// Starts a transfer. Flushes are carried out immediately, because the system has no asynchronous ones.
pub(super) fn start(file: HANDLE, transfer: &Transfer, record: *mut OVERLAPPED) -> Started {
    let Transfer { address, bytes, act, .. } = *transfer;
    let nowhere = std::ptr::null_mut();
    let begun = match act {
        // SAFETY: only the transfer uses the memory until it completes (the contract of `Transfer`), and the
        // structure is its own. The engine keeps the file open.
        Act::Read => unsafe { ReadFile(file, address, bytes, nowhere, record) },
        // SAFETY: as above.
        Act::Write => unsafe { WriteFile(file, address, bytes, nowhere, record) },
        _ => return Started::Over(carry_out_other(file, act)),
    };
    if begun != 0 {
        return Started::InFlight;
    }
    match last_error() {
        error if error.code() == ERROR_IO_PENDING as i32 => Started::InFlight,
        error => Started::Over(outcome(act, error)),
    }
}

/// Carries out an act that moves no bytes. Returns 0, or a negated error number.
pub(super) fn carry_out_other(file: HANDLE, act: Act) -> i32 {
    match act {
        // SAFETY: the owner of the files keeps the file open.
        Act::Fsync if unsafe { FlushFileBuffers(file) } != 0 => 0,
        Act::Fsync => last_error().outcome(),
        _ => NOT_SUPPORTED.outcome(),
    }
}

/// The outcome of a failed request. A read at the end of a file returns no bytes.
pub(super) fn outcome(act: Act, error: SystemError) -> i32 {
    if act == Act::Read && error.code() == ERROR_HANDLE_EOF as i32 { 0 } else { error.outcome() }
}

/// The outcome of a request from the status and bytes of its structure.
pub(super) fn outcome_of(status: usize, bytes: usize) -> i32 {
    // Negative values are errors (ntstatus.h: the two highest bits are the severity).
    if (status as i32) >= 0 {
        return bytes as i32;
    }
    // SAFETY: the call converts a number to a number.
    let error = SystemError::new(unsafe { RtlNtStatusToDosError(status as i32) } as i32);
    // The end-of-file error occurs only for reads.
    outcome(Act::Read, error)
}

/// How an engine waits next.
pub(super) struct Patience {
    /// Maximum milliseconds.
    pub(super) milliseconds: u32,
    /// Whether the deadline has passed.
    pub(super) over: bool,
}

/// How long a wait for `need` more completions may last.
pub(super) fn patience(need: u32, deadline: Option<Nanos>) -> Patience {
    let left = deadline.map(|end| end.since(MonotonicClock.now()));
    let over = left == Some(Nanos(0));
    let milliseconds = match left {
        _ if need == 0 || over => 0,
        None => INFINITE,
        Some(left) if left <= POLLED => {
            // SAFETY: the call has no parameters. Other ready threads run meanwhile.
            let _ = unsafe { SwitchToThread() };
            0
        }
        Some(left) => ((left.0 - POLLED.0) / NANOS_PER_MILLISECOND).min(1_000_000) as u32,
    };
    Patience { milliseconds, over }
}
