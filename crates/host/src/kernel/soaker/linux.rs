//! Threads of idle priority for the soaker.

use crate::kernel::linux::unsafe_calls::set_idle_policy;
pub(super) use crate::kernel::linux::unsafe_calls::thread_cpu_ns;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};

/// Identifies a thread when reading its CPU time.
pub(super) type ThreadNumber = rustix::thread::Pid;

/// Remedy if no processor is usable.
pub(super) const NO_PROCESSOR: &str = "check that /proc is mounted";
/// Remedy if a thread is refused its processor or policy.
pub(super) const REFUSED: &str =
    "check the container's seccomp profile (sched_setscheduler, sched_setaffinity)";

/// Binds the calling thread to a processor, with the idle policy.
pub(super) fn be_idle_on(processor: u32) -> std::io::Result<ThreadNumber> {
    let mut set = CpuSet::new();
    set.set(processor as usize);
    sched_setaffinity(None, &set)?;
    set_idle_policy()?;
    Ok(gettid())
}
