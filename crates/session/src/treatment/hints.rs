//! What the kernel is told about the order of reads: POSIX_FADV_NORMAL, SEQUENTIAL or RANDOM, which
//! set how far it reads ahead. A hint belongs to an open file, so it is given to the descriptor of
//! the run itself and taken back after it. The read-ahead of the device is not touched.

use super::{Extras, Finish, Treatment};
use crate::{Result, Session, SessionError};
use record::{Target, Workload};
use rustix::fs::{Advice, fadvise};
use std::os::fd::AsFd;

/// A hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// None: the kernel watches the order itself.
    Normal,
    /// In order: it reads ahead twice as far.
    Sequential,
    /// Out of order: it reads nothing ahead.
    Random,
}

impl Hint {
    fn advice(self) -> Advice {
        match self {
            Self::Normal => Advice::Normal,
            Self::Sequential => Advice::Sequential,
            Self::Random => Advice::Random,
        }
    }
}

/// Gives a hint to all descriptors of buffered runs.
pub(super) fn advise(session: &Session, advice: Advice) -> Result<()> {
    for file in session.buffered() {
        let told = fadvise(file.as_fd(), 0, None, advice);
        let action = "telling the kernel the order of the reads (posix_fadvise)";
        told.map_err(|errno| SessionError::io(action)(errno.into()))?;
    }
    Ok(())
}

impl Treatment for Hint {
    fn name(&self) -> &'static str {
        match self {
            Self::Normal => "hint-normal",
            Self::Sequential => "hint-sequential",
            Self::Random => "hint-random",
        }
    }

    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        advise(session, self.advice())?;
        Ok(Box::new(|session, _| {
            advise(session, Advice::Normal)?;
            Ok(Extras::new())
        }))
    }
}
