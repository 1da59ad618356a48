//! Tells the system the order of reads: none, sequential or random, which sets how far it reads ahead
//! (posix_fadvise on Linux; FILE_FLAG_SEQUENTIAL_SCAN and FILE_FLAG_RANDOM_ACCESS on Windows, with which
//! the engines of the trial open the file). The hint applies to the files of the run itself and is removed
//! after it. The read-ahead of the device is not changed.

use super::{Extras, Finish, Treatment};
use crate::session::{Result, Session, SessionError};
use engine::{ReadOrder, tell_read_order};
use record::Workload;

pub(super) struct Hint(pub(super) ReadOrder);

/// Gives a hint to all files of buffered runs.
pub(super) fn advise(session: &Session, order: ReadOrder) -> Result<()> {
    for file in &session.buffered {
        let told = tell_read_order(file, order).map_err(std::io::Error::from);
        told.map_err(SessionError::io("giving the system a hint about the order of the reads"))?;
    }
    Ok(())
}

impl Treatment for Hint {
    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        advise(session, self.0)?;
        Ok(Box::new(|session, _| {
            advise(session, ReadOrder::Normal)?;
            Ok(Extras::new())
        }))
    }
}
