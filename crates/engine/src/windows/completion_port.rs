//! A completion port: overlapped calls, whose ends the system queues and hands out in batches
//! (GetQueuedCompletionStatusEx). What databases on Windows use, and the paper's choice for depth.
//!
//! Requests that the cache answers at once are queued too, as the calls do by default. Rejected:
//! FILE_SKIP_COMPLETION_PORT_ON_SUCCESS (what is measured would change with the share of hits).

use super::files::{Calls, reopen_all};
use super::last_error;
use super::overlapped::{Records, Started, outcome_of, patience, start};
use crate::{
    Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    transport,
};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED_ENTRY,
};

/// Transfers through a completion port.
#[derive(Debug)]
pub struct CompletionPort {
    port: OwnedHandle,
    files: Vec<OwnedHandle>,
    records: Records,
    /// Pushed, and not with the system yet.
    pending: Vec<Transfer>,
    /// Over without the port: to be handed out.
    over: Vec<Completion>,
    entries: Entries,
    /// With the system.
    in_flight: u32,
    /// Whether the records are left to the end of the process, because something is in flight.
    abandoned: bool,
}

/// Room for a batch.
struct Entries(Vec<OVERLAPPED_ENTRY>);

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} entries", self.0.len())
    }
}

fn broken(call: &'static str) -> EngineError {
    EngineError::Broken { call, errno: last_error() }
}

impl Transport for CompletionPort {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        let files = reopen_all(setup, "iocp", Calls::Overlapped)?;
        let none = std::ptr::null_mut();
        // SAFETY: without a file the call makes a port; one thread takes from it.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, none, 0, 1) };
        if port.is_null() {
            return Err(broken("CreateIoCompletionPort"));
        }
        // SAFETY: a fresh handle, which nobody else has.
        let port = unsafe { OwnedHandle::from_raw_handle(port) };
        for file in &files {
            // SAFETY: both handles are ours.
            let bound =
                unsafe { CreateIoCompletionPort(file.as_raw_handle(), port.as_raw_handle(), 0, 0) };
            if bound.is_null() {
                return Err(broken("CreateIoCompletionPort"));
            }
        }
        Ok(Self {
            port,
            files,
            records: Records::new(most),
            pending: Vec::with_capacity(most as usize),
            over: Vec::with_capacity(most as usize),
            entries: Entries(vec![OVERLAPPED_ENTRY::default(); most as usize]),
            in_flight: 0,
            abandoned: false,
        })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.pending.push(transfer);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        for transfer in &self.pending {
            let file = self.files[transfer.file as usize].as_raw_handle();
            let record = self.records.begin(transfer, std::ptr::null_mut());
            match start(file, transfer, record) {
                Started::InFlight => self.in_flight += 1,
                Started::Over(outcome) => {
                    self.over.push(Completion { slot: transfer.tag, outcome });
                }
            }
        }
        self.pending.clear();
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.hand_over()?;
        let before = done.len();
        let at_once = self.over.len().min(ask.max as usize);
        done.extend(self.over.drain(..at_once));
        loop {
            let got = (done.len() - before) as u32;
            let need = ask.min.saturating_sub(got).min(self.in_flight);
            let patience = patience(need, ask.deadline);
            if self.in_flight > 0 && got < ask.max {
                self.take(ask.max - got, patience.milliseconds, done)?;
            }
            if (done.len() - before) as u32 >= ask.min || patience.over || self.in_flight == 0 {
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.pending.clear();
        self.over.clear();
        for file in &self.files {
            // SAFETY: the handle is ours; without a record all of its requests are called off.
            let _ = unsafe { CancelIoEx(file.as_raw_handle(), std::ptr::null()) };
        }
        let in_flight = self.in_flight;
        self.abandoned = !transport::drained(self, in_flight, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        vec!["completion port".to_owned()]
    }
}

impl CompletionPort {
    /// Appends at most `max` completions; waits for the first.
    fn take(
        &mut self,
        max: u32,
        milliseconds: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let room = max.min(self.entries.0.len() as u32);
        let (entries, mut count) = (self.entries.0.as_mut_ptr(), 0);
        let port = self.port.as_raw_handle();
        // SAFETY: the port is ours, and there is room for so many entries.
        let taken = unsafe {
            GetQueuedCompletionStatusEx(port, entries, room, &raw mut count, milliseconds, 0)
        };
        if taken == 0 {
            let error = last_error();
            let timeout = error.code() == WAIT_TIMEOUT as i32;
            let call = "GetQueuedCompletionStatusEx";
            return if timeout { Ok(()) } else { Err(EngineError::Broken { call, errno: error }) };
        }
        self.in_flight -= count;
        done.extend(self.entries.0[..count as usize].iter().map(|entry| Completion {
            slot: self.records.tag(entry.lpOverlapped),
            outcome: outcome_of(entry.Internal, entry.dwNumberOfBytesTransferred as usize),
        }));
        Ok(())
    }
}

impl Drop for CompletionPort {
    fn drop(&mut self) {
        if !self.abandoned {
            self.records.free();
        }
    }
}
