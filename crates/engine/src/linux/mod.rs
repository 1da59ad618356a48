//! Linux: files, memory, clock, and the engines that exist only on Linux.
//!
//! `windows` next to this module has the same names, without the engines. Code above both uses them through
//! `platform` and has no conditional compilation by system.

mod clock;
mod control_group;
mod files;
mod io_priority;
mod libaio;
mod memory;
mod mmap;
mod system_call;
mod uring;

pub use clock::MonotonicClock;
pub(crate) use clock::{CLOCK_NAME, counter_is_the_kernels};
pub use control_group::join_control_group;
pub use files::{AsRawFile, OwnedFile, RawFile};
pub(crate) use files::{Files, PLAIN_CALLS, read_at, trim_act, write_at};
pub use io_priority::set_io_priority;
pub use libaio::IO_SUBMIT_BLOCKS;
pub(crate) use libaio::Libaio;
pub(crate) use memory::{map_memory, unmap_memory};
pub use mmap::Mappings;
pub use uring::{BUFFERS_NOT_REGISTERED, Uring, probe_uring};

use crate::{EngineError, SystemError};
use record::{EngineName, FlushKind};
use rustix::io::Errno;
use std::num::NonZeroU64;

pub(crate) const INVALID: SystemError = SystemError::new(Errno::INVAL.raw_os_error());
pub(crate) const IO_ERROR: SystemError = SystemError::new(Errno::IO.raw_os_error());
pub(crate) const NO_DATA: SystemError = SystemError::new(Errno::NODATA.raw_os_error());
pub(crate) const OUT_OF_MEMORY: SystemError = SystemError::new(Errno::NOMEM.raw_os_error());

/// Refuses flushes that the system lacks. Linux has all of them.
pub(crate) fn check_flush(_kind: Option<FlushKind>) -> Result<(), EngineError> {
    Ok(())
}

/// The flush that programs commit with: fdatasync, as databases use it. The times of a file are not part of a
/// commit.
pub const COMMIT_FLUSH: FlushKind = FlushKind::Fdatasync;

/// The default engine of a job: the one that reaches any queue depth from one thread.
pub const DEFAULT_ENGINE: EngineName = EngineName::IoUring;

/// Whether this process may use [`DEFAULT_ENGINE`].
///
/// # Errors
/// If the kernel refuses, with the cause and a remedy.
pub fn probe_default_engine() -> Result<(), EngineError> {
    probe_uring()
}

/// Makes sleeps of the calling thread end as precisely as the system can.
pub fn sleep_precisely() {
    // If the kernel refuses, wake-ups are about 50 µs later, which the pacer's lateness shows.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
