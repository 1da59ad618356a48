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

use crate::session::{Result, Session, SessionError};
use engine::ReadOrder;
use file_state::{FileState, NewBlocks};
use hints::Hint;
use processors::Processors;
use read_ahead::ReadAhead;
use record::{Target, Trial, Workload};
use std::collections::BTreeMap;

/// The extra that a flush after a trial leaves.
pub(crate) const FLUSH_MS: &str = "flush_ms";

/// Quantities that were measured beside a trial, by name, with the unit last.
pub(crate) type Extras = BTreeMap<String, f64>;

/// What is done after the trial, which is `None` where it failed.
pub(crate) type Finish = Box<dyn FnOnce(&Session, Option<&Trial>) -> Result<Extras>>;

/// Something that is done to targets, or to this program, before a trial.
pub(crate) trait Treatment: Sync {
    /// Whether it can be done on these targets, which most can on any; else the reason, for a reader.
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        Ok(())
    }

    /// Whether the workload must begin at the start of the area: anywhere else in an empty file would
    /// leave a hole, and filling that is no appending.
    fn appends(&self) -> bool {
        false
    }

    /// Prepares, and says what is done after the trial.
    fn prepare(&self, session: &Session, workload: &Workload) -> Result<Finish>;
}

/// All of them, by their names in a design.
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

/// The treatment of this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Treatment> {
    TREATMENTS.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
}

/// The treatment of a plan.
pub(crate) fn known(name: &str) -> Result<&'static dyn Treatment> {
    let unknown = || SessionError::usage(format!("unknown treatment {name:?}"));
    find(name).ok_or_else(unknown)
}

/// All names, for an error.
pub(crate) fn names() -> String {
    TREATMENTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Nothing is to be done after the trial.
fn nothing() -> Finish {
    Box::new(|_, _| Ok(Extras::new()))
}

/// fdatasync after the requests, timed by its own. Its rate says nothing new, the rate with the flush
/// inside does (`flushed_bytes_per_s`). Buffered writes are flushed after every trial anyway; this is
/// for direct writes, where a flush has the drive empty its own cache.
struct Fdatasync;

impl Treatment for Fdatasync {
    fn prepare(&self, _session: &Session, _workload: &Workload) -> Result<Finish> {
        Ok(Box::new(|session, _| Ok(Extras::from([(FLUSH_MS.to_owned(), session.flush()?)]))))
    }
}
