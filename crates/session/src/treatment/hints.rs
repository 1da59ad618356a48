//! What the kernel is told about the order of reads: POSIX_FADV_NORMAL, SEQUENTIAL or RANDOM, which
//! set how far it reads ahead. A hint belongs to an open file, so it is given to the descriptor of
//! the run itself and taken back after it. The read-ahead of the device is not touched.

use super::{Extras, Finish, Treatment};
use crate::{Result, Session, SessionError};
use record::{Target, Workload};
use target::{NO_READ_ORDER, ReadOrder, tell_read_order};

/// What the kernel is told.
pub(super) struct Hint(pub(super) ReadOrder);

/// Gives a hint to all descriptors of buffered runs.
pub(super) fn advise(session: &Session, order: ReadOrder) -> Result<()> {
    for file in &session.buffered {
        let told = tell_read_order(file, order);
        let action = "telling the kernel the order of the reads (posix_fadvise)";
        told.map_err(SessionError::io(action))?;
    }
    Ok(())
}

impl Treatment for Hint {
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        NO_READ_ORDER.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        advise(session, self.0)?;
        Ok(Box::new(|session, _| {
            advise(session, ReadOrder::Normal)?;
            Ok(Extras::new())
        }))
    }
}
