//! Threads that run where nobody else wants to, for the soaker.

use crate::linux::unsafe_calls::set_idle_policy;
pub(crate) use crate::linux::unsafe_calls::thread_cpu_ns;
use rustix::thread::{
    CpuSet, current_timer_slack, gettid, sched_setaffinity, set_current_timer_slack,
};
use std::num::NonZeroU64;

/// How the CPU time of a thread is asked for.
pub(crate) type ThreadNumber = rustix::thread::Pid;

/// What to try where no processor is named.
pub(crate) const NO_PROCESSOR: &str = "check that /proc is mounted";
/// What to try where a thread is refused its processor or policy.
pub(crate) const REFUSED: &str =
    "check the container's seccomp profile (sched_setscheduler, sched_setaffinity)";

/// Binds the calling thread to a processor, with the idle policy.
pub(crate) fn be_idle_on(processor: u32) -> std::io::Result<ThreadNumber> {
    let mut set = CpuSet::new();
    set.set(processor as usize);
    sched_setaffinity(None, &set)?;
    set_idle_policy()?;
    Ok(gettid())
}

/// Does something with the least slack for the timers of the calling thread.
pub(crate) fn with_sharp_timers<T>(work: impl FnOnce() -> T) -> T {
    let before = current_timer_slack().ok();
    // Where it is refused, sleeps last longer by the slack, all by the same.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let done = work();
    let _ = set_current_timer_slack(before.and_then(NonZeroU64::new));
    done
}
