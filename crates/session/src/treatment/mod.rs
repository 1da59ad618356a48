//! Treatments: what is done between two trials of an experiment whose levels differ in the state of
//! the file, or of the program, and not in the requests.
//!
//! Each prepares before the trial and gives back what is to be done after it. Rejected: flags of
//! `run`, which begins with a file of its own, and should not truncate a user's.

mod file_state;
mod hints;
mod processors;
mod read_ahead;
mod writeback;

use crate::{Result, Session, SessionError};
use hints::Hint;
use read_ahead::ReadAhead;
use record::{Target, TargetKind, Trial, Workload};
use rustix::fs::Advice;
use std::collections::BTreeMap;

/// The extra that a flush after a trial leaves.
pub(crate) const FLUSH_MS: &str = "flush_ms";

/// Quantities that were measured beside a trial, by name, with the unit last.
pub type Extras = BTreeMap<String, f64>;

/// What is done after the trial, which is `None` where it failed.
pub type Finish = Box<dyn FnOnce(&Session, Option<&Trial>) -> Result<Extras>>;

/// Something that is done to targets, or to this program, before a trial.
pub trait Treatment: Sync {
    /// Its name in a design.
    fn name(&self) -> &'static str;

    /// Whether it can be done on these targets, which most can on any.
    ///
    /// # Errors
    /// If not: the reason, for a reader.
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    /// Whether the workload must begin at the start of the area: anywhere else in an empty file would
    /// leave a hole, and filling that is no appending.
    fn appends(&self) -> bool {
        false
    }

    /// Prepares, and says what is done after the trial.
    ///
    /// # Errors
    /// If the targets or the program cannot be brought into the state.
    fn prepare(&self, session: &Session, workload: &Workload) -> Result<Finish>;
}

/// All of them.
const TREATMENTS: &[&dyn Treatment] = &[
    &file_state::FileState::Written,
    &file_state::FileState::Cold,
    &file_state::FileState::Preallocated,
    &file_state::FileState::Append,
    &file_state::FileState::LastFirst,
    &Hint("hint-normal", Advice::Normal),
    &Hint("hint-sequential", Advice::Sequential),
    &Hint("hint-random", Advice::Random),
    &ReadAhead("read-ahead-0", 0),
    &ReadAhead("read-ahead-128k", 128),
    &ReadAhead("read-ahead-1m", 1024),
    &Fdatasync,
    &processors::Processors::All,
    &processors::Processors::One,
    &writeback::Writeback,
];

/// The treatment of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Treatment> {
    TREATMENTS.iter().copied().find(|one| one.name() == name)
}

/// The treatment of a plan.
pub(crate) fn known(name: &str) -> Result<&'static dyn Treatment> {
    let unknown = || SessionError::Usage(format!("this program knows no treatment {name:?}"));
    find(name).ok_or_else(unknown)
}

/// All names.
#[must_use]
pub fn names() -> Vec<&'static str> {
    TREATMENTS.iter().map(|one| one.name()).collect()
}

/// Nothing is to be done after the trial.
fn nothing() -> Finish {
    Box::new(|_, _| Ok(Extras::new()))
}

/// An error unless all targets are directories, whose test file is ours to change.
fn own_files(targets: &[&Target]) -> Result<(), String> {
    match targets.iter().find(|target| target.kind != TargetKind::Directory) {
        None => Ok(()),
        Some(_) => Err("it changes the file itself, which needs a directory as the target".into()),
    }
}

/// fdatasync after the requests, timed by its own. Its rate says nothing new, the rate with the flush
/// inside does (`flushed_bytes_per_s`). Buffered writes are flushed after every trial anyway; this is
/// for direct writes, where a flush has the drive empty its own cache.
#[derive(Clone, Copy, Debug)]
struct Fdatasync;

impl Treatment for Fdatasync {
    fn name(&self) -> &'static str {
        "fdatasync"
    }

    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        Ok(Box::new(|session, _| Ok(Extras::from([(FLUSH_MS.to_owned(), session.flush()?)]))))
    }
}
