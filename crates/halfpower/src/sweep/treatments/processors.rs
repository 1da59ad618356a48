//! The program on one processor, or on all that it may use.
//!
//! The jobs of a run inherit the processors of the thread that starts them; what they may use is
//! put back after the trial, also where it failed. Interrupts and the kernel's own threads stay
//! where they are: it is the program that has one processor, not the machine.

use super::{Arm, Extras, Finish};
use crate::session::Session;
use anyhow::Context;
use record::{Target, Workload};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processors {
    /// All.
    All,
    /// The first of them.
    One,
}

fn usable() -> anyhow::Result<CpuSet> {
    sched_getaffinity(None).context("the kernel does not say which processors we may use")
}

impl Arm for Processors {
    fn name(&self) -> &'static str {
        match self {
            Self::All => "all-processors",
            Self::One => "one-processor",
        }
    }

    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        let number = usable().map_or(1, |usable| usable.count());
        if number > 1 { Ok(()) } else { Err("it needs more than one processor".to_owned()) }
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> anyhow::Result<Finish> {
        let all = usable()?;
        if *self == Self::All {
            return Ok(super::nothing());
        }
        let first = (0..CpuSet::MAX_CPU).find(|number| all.is_set(*number)).unwrap_or(0);
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one).context("the kernel binds us to no processor")?;
        Ok(Box::new(move |_, _| {
            sched_setaffinity(None, &all).context("the processors could not be put back")?;
            Ok(Extras::new())
        }))
    }
}
