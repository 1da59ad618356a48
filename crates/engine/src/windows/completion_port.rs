//! A completion port: overlapped calls, whose ends the system queues and hands out in batches
//! (GetQueuedCompletionStatusEx). What databases on Windows use, and the paper's choice for depth.
//!
//! Requests that the cache answers at once are queued too, as the calls do by default. Rejected:
//! FILE_SKIP_COMPLETION_PORT_ON_SUCCESS (what is measured would change with the share of hits).

use super::last_error;
use super::overlapped::{Records, outcome_of};
use super::overlapped_calls::{Ends, OverlappedCalls, broken};
use crate::{Completion, EngineError};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED_ENTRY,
};

/// Transfers through a completion port.
pub type CompletionPort = OverlappedCalls<Port>;

/// A port, and what came through it.
pub struct Port {
    port: OwnedHandle,
    /// Room for a batch.
    entries: Vec<OVERLAPPED_ENTRY>,
    in_flight: u32,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {} of {} in flight", self.port, self.in_flight, self.entries.len())
    }
}

impl Ends for Port {
    const ENGINE: &'static str = "iocp";
    const FEATURE: &'static str = "completion port";

    fn open(files: &[OwnedHandle], most: u32) -> Result<Self, EngineError> {
        let none = std::ptr::null_mut();
        // SAFETY: without a file the call makes a port; one thread takes from it.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, none, 0, 1) };
        if port.is_null() {
            return Err(broken("CreateIoCompletionPort"));
        }
        // SAFETY: a fresh handle, which nobody else has.
        let port = unsafe { OwnedHandle::from_raw_handle(port) };
        for file in files {
            // SAFETY: both handles are ours.
            let bound =
                unsafe { CreateIoCompletionPort(file.as_raw_handle(), port.as_raw_handle(), 0, 0) };
            if bound.is_null() {
                return Err(broken("CreateIoCompletionPort"));
            }
        }
        let entries = vec![OVERLAPPED_ENTRY::default(); most as usize];
        Ok(Self { port, entries, in_flight: 0 })
    }

    fn event(&self, _tag: u32) -> HANDLE {
        std::ptr::null_mut()
    }

    fn began(&mut self, _tag: u32) {
        self.in_flight += 1;
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn take(
        &mut self,
        records: &Records,
        max: u32,
        milliseconds: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let room = max.min(self.entries.len() as u32);
        let (entries, mut count) = (self.entries.as_mut_ptr(), 0);
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
        done.extend(self.entries[..count as usize].iter().map(|entry| Completion {
            slot: records.tag(entry.lpOverlapped),
            outcome: outcome_of(entry.Internal, entry.dwNumberOfBytesTransferred as usize),
        }));
        Ok(())
    }
}
