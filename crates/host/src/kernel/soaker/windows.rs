//! Threads of idle priority for the soaker.
//!
//! Windows has no policy below its idle priority. A thread with it still gets a share of a processor that
//! other threads keep busy for seconds, because the balance set manager boosts starved threads. So the
//! upper bound of processor cost is slightly less sharp than on Linux.

use crate::kernel::windows::unsafe_calls::{
    affinity_of_this_thread, idle_priority_of_this_thread, this_thread, thread_times_ns,
};
use std::os::windows::io::OwnedHandle;

/// Identifies a thread when reading its CPU time.
pub(super) type ThreadNumber = OwnedHandle;

/// Remedy if no processor is usable.
pub(super) const NO_PROCESSOR: &str = "check the affinity that this process was started with";
/// Remedy if a thread is refused its processor or priority.
pub(super) const REFUSED: &str = "check the limits of the job object that this process runs in";

/// Binds the calling thread to a processor, with the idle priority.
pub(super) fn be_idle_on(processor: u32) -> std::io::Result<ThreadNumber> {
    affinity_of_this_thread(1_usize.checked_shl(processor).unwrap_or(0))?;
    idle_priority_of_this_thread()?;
    this_thread()
}

/// CPU time that a thread has used, in ns; resolution: one timer tick.
pub(super) fn thread_cpu_ns(thread: &ThreadNumber) -> Option<u64> {
    thread_times_ns(thread).map(|(user, system)| user + system)
}
