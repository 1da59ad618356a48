//! Windows: files, memory, clock, and the engines that exist only on Windows.
//!
//! The names are those of `linux` next to this module, without its engines. Features of Linux file systems or
//! schedulers that Windows lacks are refused here, with a message that names the flag.
//!
//! A handle that was opened for one way of waiting cannot be used for another, and a handle belongs to one
//! completion port permanently. Each engine therefore opens its files again ([`files::reopen`]), with the
//! rights and the cache mode of the given handle.

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
pub use files::{AsRawFile, OwnedFile, RawFile};
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

pub(crate) const INVALID: SystemError = SystemError::new(ERROR_INVALID_PARAMETER as i32);
pub(crate) const IO_ERROR: SystemError = SystemError::new(ERROR_IO_DEVICE as i32);
pub(crate) const NO_DATA: SystemError = SystemError::new(ERROR_HANDLE_EOF as i32);
pub(crate) const OUT_OF_MEMORY: SystemError = SystemError::new(ERROR_NOT_ENOUGH_MEMORY as i32);
/// Error for a feature that Windows lacks, or that halfpower does not use on Windows.
const NOT_SUPPORTED: SystemError = SystemError::new(ERROR_NOT_SUPPORTED as i32);

/// Refuses flushes that the system lacks: its only flush writes out data and makes it durable.
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

/// The flush that programs commit with: FlushFileBuffers, the only one.
pub const COMMIT_FLUSH: FlushKind = FlushKind::Fsync;

/// The default engine of a job: the one that reaches any queue depth from one thread.
pub const DEFAULT_ENGINE: EngineName = EngineName::Iocp;

/// Whether this process may use [`DEFAULT_ENGINE`].
///
/// # Errors
/// None: every process may create a completion port.
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

/// Refuses to set an I/O priority for the calling thread.
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

/// Makes sleeps of the process end within a millisecond of their time, instead of at the system's tick of
/// 15.6 ms.
pub fn sleep_precisely() {
    // SAFETY: the call takes a number. If the system refuses, wake-ups are later, which the pacer's lateness
    // shows. The setting stays until the process ends, because jobs with open loads may start again at any
    // time.
    let _ = unsafe { timeBeginPeriod(1) };
}

/// The error of the last call on this thread.
fn last_error() -> SystemError {
    // SAFETY: the call only reads a number of the thread.
    SystemError::new(unsafe { GetLastError() } as i32)
}
