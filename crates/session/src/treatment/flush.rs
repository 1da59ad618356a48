//! A flush after the requests: fdatasync, timed by its own.
//!
//! Its rate says nothing new, the rate with the flush inside does (`flushed_bytes_per_s`). Buffered writes
//! are flushed after every trial anyway; this is for direct writes, where a flush has the drive empty
//! its own cache.

use super::{Extras, FLUSH_MS, Finish, Treatment};
use crate::{Result, Session};
use record::{Target, Workload};

/// fdatasync after the trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fdatasync;

impl Treatment for Fdatasync {
    fn name(&self) -> &'static str {
        "fdatasync"
    }

    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        Ok(Box::new(|session, _| Ok(Extras::from([(FLUSH_MS.to_owned(), session.flush()?)]))))
    }
}
