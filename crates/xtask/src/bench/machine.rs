//! Binds threads to the CPU that figures are measured on.

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The calling thread is bound to one CPU until this is dropped.
pub(super) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    pub(super) fn to(core: usize) -> Result<Self> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).context("cannot read the affinity")?;
        let mut set = CpuSet::new();
        set.set(core)?;
        sched_setaffinity(this, &set)
            .with_context(|| format!("cannot bind to processor {core}"))?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(Pid::from_raw(0), &self.before) {
            eprintln!("this thread stays bound to one processor: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_to_one_processor_and_let_go_again() {
        let count = || {
            let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap()).count()
        };
        let before = count();
        let pinned = Pinned::to(crate::child::core().unwrap()).unwrap();
        assert_eq!(count(), 1);
        drop(pinned);
        assert_eq!(count(), before);
    }
}
