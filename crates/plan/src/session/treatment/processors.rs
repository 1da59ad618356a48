//! Restricts the program to one processor, or to all that it may use.
//!
//! The jobs of a run inherit the processors of the thread that starts them. The previous setting is
//! restored after the trial, even if it failed. Interrupts and kernel threads are not moved: the program
//! has one processor, not the machine.

use super::{Extras, Finish, Treatment};
use crate::session::{Result, Session, SessionError};
use host::kernel;
use record::{Target, Workload};
use std::collections::BTreeSet;

/// All processors that the program may use, or only the first.
pub(super) enum Processors {
    All,
    One,
}

fn usable() -> Result<BTreeSet<u32>> {
    let action = "querying the CPUs that halfpower may use (sched_getaffinity)";
    kernel::usable_processors().map_err(SessionError::io(action))
}

fn bind(processors: &BTreeSet<u32>) -> Result<()> {
    let action = "binding halfpower to CPUs (sched_setaffinity)";
    kernel::bind_to_processors(processors).map_err(SessionError::io(action))
}

impl Treatment for Processors {
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        let number = usable().map_or(1, |usable| usable.len());
        if number > 1 { Ok(()) } else { Err("it needs more than one CPU".to_owned()) }
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        let all = usable()?;
        if matches!(self, Self::All) {
            return Ok(super::nothing());
        }
        bind(&all.iter().take(1).copied().collect())?;
        Ok(Box::new(move |_, _| {
            bind(&all)?;
            Ok(Extras::new())
        }))
    }
}
