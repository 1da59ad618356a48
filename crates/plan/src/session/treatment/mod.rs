//! Applies treatments between two trials of an experiment whose levels differ in the state of the file or
//! of the program, not in the requests.
//!
//! Each prepares before the trial and returns the action after it. Rejected: flags of `run`, which begins
//! with a file of its own, and should not truncate a user's.

mod file_state;
mod hints;
mod processors;
mod read_ahead;
mod writeback;

use crate::session::{Result, Session, SessionError};
use engine::ReadOrder;
use file_state::{FileState, NewBlocks};
use hints::Hint;
use processors::Processors;
use read_ahead::ReadAhead;
use record::{Target, Trial, Workload};
use std::collections::BTreeMap;

/// The extra for a flush after a trial.
pub(crate) const FLUSH_MS: &str = "flush_ms";

/// Additional quantities of a trial, by name; the name ends with the unit.
pub(crate) type Extras = BTreeMap<String, f64>;

/// The action after the trial, which is `None` if it failed.
pub(crate) type Finish = Box<dyn FnOnce(&Session, Option<&Trial>) -> Result<Extras>>;

/// An action on targets, or on this program, before a trial.
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
    ("cold", &FileState::Cold),
    ("preallocated", &FileState::Preallocated),
    ("valid-data", &FileState::ValidData),
    ("append", &FileState::Append),
    ("last-first", &FileState::LastFirst),
    ("new-blocks", &NewBlocks),
    ("hint-normal", &Hint(ReadOrder::Normal)),
    ("hint-sequential", &Hint(ReadOrder::Sequential)),
    ("hint-random", &Hint(ReadOrder::Random)),
    ("read-ahead-0", &ReadAhead(0)),
    ("read-ahead-128k", &ReadAhead(128)),
    ("read-ahead-1m", &ReadAhead(1024)),
    ("fdatasync", &Fdatasync),
    ("all-processors", &Processors::All),
    ("one-processor", &Processors::One),
    ("writeback", &writeback::Writeback),
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
    Box::new(|_, _| Ok(Extras::new()))
}

/// fdatasync after the requests, timed separately. The rate including the flush is the useful result
/// (`flushed_bytes_per_s`). Buffered writes are flushed after every trial anyway. This is for direct
/// writes, where a flush makes the drive empty its own cache.
struct Fdatasync;

impl Treatment for Fdatasync {
    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        Ok(Box::new(|session, _| Ok(Extras::from([(FLUSH_MS.to_owned(), session.flush()?)]))))
    }
}
