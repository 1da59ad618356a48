//! What the kernel is told about the order of reads: POSIX_FADV_NORMAL, SEQUENTIAL or RANDOM, which
//! set how far it reads ahead. A hint belongs to an open file, so it is given to the descriptor of
//! the run itself and taken back after it. The read-ahead of the device is not touched.

use super::{Extras, Finish, Treatment};
use crate::{Result, Session, SessionError};
use record::Workload;
use rustix::fs::{Advice, fadvise};

/// What the kernel is told. Normal: it watches the order itself; sequential: it reads ahead twice as
/// far; random: it reads nothing ahead.
pub(super) struct Hint(pub(super) Advice);

/// Gives a hint to all descriptors of buffered runs.
pub(super) fn advise(session: &Session, advice: Advice) -> Result<()> {
    for file in &session.buffered {
        let told = fadvise(file, 0, None, advice);
        let action = "telling the kernel the order of the reads (posix_fadvise)";
        told.map_err(|errno| SessionError::io(action)(errno.into()))?;
    }
    Ok(())
}

impl Treatment for Hint {
    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        advise(session, self.0)?;
        Ok(Box::new(|session, _| {
            advise(session, Advice::Normal)?;
            Ok(Extras::new())
        }))
    }
}
