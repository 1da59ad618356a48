//! Linux: its files, memory and clock, and the engines that it alone has.
//!
//! `windows` has the same names beside this one, without the engines. What stands above both names them
//! through `platform` and holds no condition on the system.

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
pub use files::{AsRawFile, OwnedFile, RawFile, tell_read_order};
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

/// An argument was wrong.
pub(crate) const INVALID: SystemError = SystemError::new(Errno::INVAL.raw_os_error());
/// A device did not do what it was asked.
pub(crate) const IO_ERROR: SystemError = SystemError::new(Errno::IO.raw_os_error());
/// There is no data where some was expected.
pub(crate) const NO_DATA: SystemError = SystemError::new(Errno::NODATA.raw_os_error());
/// There is no memory.
pub(crate) const OUT_OF_MEMORY: SystemError = SystemError::new(Errno::NOMEM.raw_os_error());

/// Refuses flushes that the system does not have; Linux has all of them.
pub(crate) fn check_flush(_kind: Option<FlushKind>) -> Result<(), EngineError> {
    Ok(())
}

/// How programs commit: fdatasync, as databases do: the times of a file are not part of a commit.
pub const COMMIT_FLUSH: FlushKind = FlushKind::Fdatasync;

/// The engine of a job that names none: the one that reaches any depth from one thread.
pub const DEFAULT_ENGINE: EngineName = EngineName::IoUring;

/// Whether this process may use [`DEFAULT_ENGINE`].
///
/// # Errors
/// With the cause and what to do about it, where the kernel refuses.
pub fn probe_default_engine() -> Result<(), EngineError> {
    probe_uring()
}

/// Lets sleeps of the calling thread end as soon after their time as the system can.
pub fn sleep_precisely() {
    // A refusal makes wake-ups later by some 50 µs, which the pacer's lateness shows.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
