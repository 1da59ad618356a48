//! Applies treatments between two trials of an experiment whose levels differ in the state of the file, not in
//! the requests.
//!
//! Each prepares before the trial and returns the action after it. Rejected: flags of `run`, which begins
//! with a file of its own, and should not truncate a user's.

mod file_state;

use crate::session::{Result, Session, SessionError};
use file_state::{FileState, NewBlocks};
use record::{Target, Workload};
use std::collections::BTreeMap;

/// The extra for a flush after a trial.
pub(crate) const FLUSH_MS: &str = "flush_ms";

/// Additional quantities of a trial, by name; the name ends with the unit.
pub(crate) type Extras = BTreeMap<String, f64>;

/// The action after the trial, even if the trial failed.
pub(crate) type Finish = Box<dyn FnOnce(&Session) -> Result<Extras>>;

/// An action on targets, before a trial or after it.
pub(crate) trait Treatment: Sync {
    /// Whether it works on these targets; most work on any. Otherwise the reason, for the user.
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    /// Whether the workload must begin at the start of the area. In an empty file any other start would
    /// leave a hole, and filling a hole is not appending.
    fn appends(&self) -> bool {
        false
    }

    /// Prepares, and returns the action after the trial.
    fn prepare(&self, session: &Session, workload: &Workload) -> Result<Finish>;
}

/// All treatments, by their names in a design.
const TREATMENTS: &[(&str, &dyn Treatment)] = &[
    ("written", &FileState::Written),
    ("preallocated", &FileState::Preallocated),
    ("valid-data", &FileState::ValidData),
    ("append", &FileState::Append),
    ("last-first", &FileState::LastFirst),
    ("new-blocks", &NewBlocks),
    ("fdatasync", &Fdatasync),
];

pub(crate) fn find(name: &str) -> Option<&'static dyn Treatment> {
    TREATMENTS.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
}

/// The treatment of a plan.
pub(crate) fn known(name: &str) -> Result<&'static dyn Treatment> {
    let unknown = || SessionError::usage(format!("unknown treatment {name:?}"));
    find(name).ok_or_else(unknown)
}

/// All names, for an error message.
pub(crate) fn names() -> String {
    TREATMENTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// No action after the trial.
fn nothing() -> Finish {
    Box::new(|_| Ok(Extras::new()))
}

/// fdatasync after the requests, timed separately. The rate including the flush is the useful result
/// (`flushed_bytes_per_s`). Buffered writes are flushed after every trial anyway. This is for direct
/// writes, where a flush makes the drive empty its own cache.
struct Fdatasync;

impl Treatment for Fdatasync {
    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        Ok(Box::new(|session| Ok(Extras::from([(FLUSH_MS.to_owned(), session.flush()?)]))))
    }
}
