//! Preparations: what is done between two trials for arms of an experiment that differ in the state
//! of the file, or of the program, and not in the requests.
//!
//! Each is a file here with one [`Arm`] and a line in [`ARMS`]. It prepares before the trial, and
//! gives back what is to be done after it: take down what was set up, and measure what only it can
//! measure. Rejected: flags of `run` for these, because a run begins with a file of its own, and
//! an option that truncates somebody's file is none that anybody should be able to type.

mod file_state;
mod flush;
mod hints;
mod processors;
mod read_ahead;
mod writeback;

use crate::session::Session;
use record::{Target, TargetKind, Trial, Workload};
use std::collections::BTreeMap;

/// Quantities by name, with the unit last.
pub(super) type Extras = BTreeMap<String, f64>;
/// What is done after the trial, which is `None` where it failed.
pub(super) type Finish = Box<dyn FnOnce(&Session, Option<&Trial>) -> anyhow::Result<Extras>>;

/// A preparation.
pub(super) trait Arm: Sync {
    /// Its name in a design.
    fn name(&self) -> &'static str;

    /// Why it cannot be done on these targets.
    fn fits(&self, targets: &[&Target]) -> Result<(), String>;

    /// Prepares, and says what is done after the trial.
    fn prepare(&self, session: &Session, workload: &Workload) -> anyhow::Result<Finish>;
}

/// All of them.
const ARMS: &[&dyn Arm] = &[
    &file_state::FileState::Written,
    &file_state::FileState::Cold,
    &file_state::FileState::Preallocated,
    &file_state::FileState::Append,
    &file_state::FileState::LastFirst,
    &hints::Hint::Normal,
    &hints::Hint::Sequential,
    &hints::Hint::Random,
    &read_ahead::ReadAhead::None,
    &read_ahead::ReadAhead::Kib128,
    &read_ahead::ReadAhead::Kib1024,
    &flush::Fdatasync,
    &processors::Processors::All,
    &processors::Processors::One,
    &writeback::Writeback,
];

/// The preparation of this name.
pub(super) fn find(name: &str) -> Option<&'static dyn Arm> {
    ARMS.iter().copied().find(|arm| arm.name() == name)
}

/// All names.
pub(super) fn names() -> Vec<&'static str> {
    ARMS.iter().map(|arm| arm.name()).collect()
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
