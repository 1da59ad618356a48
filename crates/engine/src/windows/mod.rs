//! Windows: its files, memory and clock, and the engines that it alone has.
//!
//! The names are those of `linux`, which stands beside this one, without its engines. What a file system
//! or scheduler of Linux does and Windows does not is refused here, in words that name the flag.
//!
//! A handle that was opened for one way of waiting cannot be used for another, and one belongs to a single
//! completion port for good. So an engine opens each of its files a second time for itself
//! ([`files::reopen`]), with the rights and the cache mode of the handle that it was given, and the order of reads that was told.

mod clock;
mod completion_port;
mod events;
mod files;
mod memory;
mod overlapped;
mod overlapped_calls;
mod privilege;
mod read_file_ex;

pub use clock::MonotonicClock;
pub(crate) use clock::{CLOCK_NAME, counter_is_the_kernels};
pub use completion_port::CompletionPort;
pub use events::Events;
pub use files::{AsRawFile, OwnedFile, RawFile, tell_read_order};
pub(crate) use files::{Files, PLAIN_CALLS, read_at, trim_act, write_at};
pub use memory::allow_large_pages;
pub(crate) use memory::{map_memory, unmap_memory};
pub use privilege::Privilege;
pub use read_file_ex::ReadFileExCalls;

use crate::{EngineError, SystemError};
use record::{EngineName, FlushKind, IoPriority};
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_INVALID_PARAMETER, ERROR_IO_DEVICE, ERROR_NOT_ENOUGH_MEMORY,
    ERROR_NOT_SUPPORTED, GetLastError,
};
use windows_sys::Win32::Media::timeBeginPeriod;

/// An argument was wrong.
pub(crate) const INVALID: SystemError = SystemError::new(ERROR_INVALID_PARAMETER as i32);
/// A device did not do what it was asked.
pub(crate) const IO_ERROR: SystemError = SystemError::new(ERROR_IO_DEVICE as i32);
/// There is no data where some was expected.
pub(crate) const NO_DATA: SystemError = SystemError::new(ERROR_HANDLE_EOF as i32);
/// There is no memory.
pub(crate) const OUT_OF_MEMORY: SystemError = SystemError::new(ERROR_NOT_ENOUGH_MEMORY as i32);
/// Windows has no such thing, or this program does not ask it for it.
const NOT_SUPPORTED: SystemError = SystemError::new(ERROR_NOT_SUPPORTED as i32);

/// Refuses flushes that the system does not have: it writes out and makes durable at once.
pub(crate) fn check_flush(kind: Option<FlushKind>) -> Result<(), EngineError> {
    let flag = match kind {
        None | Some(FlushKind::Fsync) => return Ok(()),
        Some(FlushKind::Fdatasync) => "--fdatasync",
        Some(FlushKind::SyncFileRange) => "--sync-file-range",
    };
    Err(EngineError::Unavailable {
        engine: flag,
        cause: "this call exists only on Linux".to_owned(),
        errno: NOT_SUPPORTED,
        remedy: "use --fsync, which calls FlushFileBuffers",
    })
}

/// How programs commit: FlushFileBuffers, which is all that there is.
pub const COMMIT_FLUSH: FlushKind = FlushKind::Fsync;

/// The engine of a job that names none: the one that reaches any depth from one thread.
pub const DEFAULT_ENGINE: EngineName = EngineName::Iocp;

/// Whether this process may use [`DEFAULT_ENGINE`].
///
/// # Errors
/// None: every process may make a completion port.
pub fn probe_default_engine() -> Result<(), EngineError> {
    Ok(())
}

/// Refuses to put the calling thread into a control group.
///
/// # Errors
/// Always.
pub fn join_control_group(group: &str) -> Result<(), EngineError> {
    let why = "Windows has no control groups; omit the flag".to_owned();
    Err(EngineError::ControlGroup { group: group.to_owned(), why })
}

/// Refuses to rank the requests of the calling thread.
///
/// # Errors
/// Always.
pub fn set_io_priority(priority: IoPriority) -> Result<(), EngineError> {
    Err(EngineError::Unavailable {
        engine: "--io-priority",
        cause: format!("{priority} is a priority of Linux's I/O schedulers"),
        errno: NOT_SUPPORTED,
        remedy: "omit it",
    })
}

/// Lets sleeps of the process end within a millisecond of their time; the system's tick of 15.6 ms is
/// what ends them otherwise.
pub fn sleep_precisely() {
    // SAFETY: the call takes a number. A refusal makes wake-ups later, which the pacer's lateness shows.
    // It holds until the process ends, since jobs of open loads may begin again at any time.
    let _ = unsafe { timeBeginPeriod(1) };
}

/// Why the last call of this thread failed.
fn last_error() -> SystemError {
    // SAFETY: the call reads a number of the thread.
    SystemError::new(unsafe { GetLastError() } as i32)
}
