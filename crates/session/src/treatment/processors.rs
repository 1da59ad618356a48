//! The program on one processor, or on all that it may use.
//!
//! The jobs of a run inherit the processors of the thread that starts them; what they may use is
//! put back after the trial, also where it failed. Interrupts and the kernel's own threads stay
//! where they are: it is the program that has one processor, not the machine.

use super::{Extras, Finish, Treatment};
use crate::{Result, Session, SessionError};
use record::{Target, Workload};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// All processors that the program may use, or the first of them alone.
pub(super) enum Processors {
    All,
    One,
}

fn usable() -> Result<CpuSet> {
    let action = "asking which processors this program may use (sched_getaffinity)";
    sched_getaffinity(None).map_err(|errno| SessionError::io(action)(errno.into()))
}

fn bind(processors: &CpuSet) -> Result<()> {
    let action = "binding this program to processors (sched_setaffinity)";
    sched_setaffinity(None, processors).map_err(|errno| SessionError::io(action)(errno.into()))
}

impl Treatment for Processors {
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        let number = usable().map_or(1, |usable| usable.count());
        if number > 1 { Ok(()) } else { Err("it needs more than one processor".to_owned()) }
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        let all = usable()?;
        if matches!(self, Self::All) {
            return Ok(super::nothing());
        }
        let first = (0..CpuSet::MAX_CPU).find(|number| all.is_set(*number)).unwrap_or(0);
        let mut one = CpuSet::new();
        one.set(first);
        bind(&one)?;
        Ok(Box::new(move |_, _| {
            bind(&all)?;
            Ok(Extras::new())
        }))
    }
}
