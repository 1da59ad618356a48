//! A completion port: the system queues the completions of overlapped calls and delivers them in batches
//! (GetQueuedCompletionStatusEx). Databases on Windows use it, and the paper chose it for queue depth.
//!
//! Requests that the cache serves immediately are queued too, which is the default. Rejected:
//! FILE_SKIP_COMPLETION_PORT_ON_SUCCESS (the measurement would change with the hit share).

use super::last_error;
use super::overlapped::{Records, outcome_of};
use super::overlapped_calls::{Ends, OverlappedCalls, broken};
use crate::{Completion, EngineError};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED_ENTRY,
};

/// Performs transfers through a completion port.
pub type CompletionPort = OverlappedCalls<Port>;

/// A port and its completions.
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
        // SAFETY: without a file, the call creates a port. Only one thread takes completions from it.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, none, 0, 1) };
        if port.is_null() {
            return Err(broken("CreateIoCompletionPort"));
        }
        // SAFETY: a new handle with no other owner.
        let port = unsafe { OwnedHandle::from_raw_handle(port) };
        for file in files {
            // SAFETY: both handles belong to this engine.
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
        // SAFETY: the port belongs to this engine, and there is room for this many entries.
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
