//! A flush after the requests: fdatasync, timed by its own.
//!
//! The requests of the arm are those of the arm without it, so its rate says nothing new; the rate
//! with the flush inside does (`flushed_bytes_per_s`). Buffered writes are flushed after every trial
//! anyway; this is for writes past the page cache, where all that a flush does is to have the drive
//! empty its own cache.

use super::{Arm, Extras, Finish};
use crate::session::Session;
use anyhow::Context;
use record::{Target, Workload};
use std::time::Instant;

/// fdatasync after the trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fdatasync;

impl Arm for Fdatasync {
    fn name(&self) -> &'static str {
        "fdatasync"
    }

    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> anyhow::Result<Finish> {
        Ok(Box::new(|session, _| {
            let begin = Instant::now();
            session.write_back().context("the flush after a trial failed")?;
            Ok(Extras::from([("flush_ms".to_owned(), begin.elapsed().as_secs_f64() * 1e3)]))
        }))
    }
}
