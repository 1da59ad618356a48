//! The sets of targets that the trials of one plan run on.
//!
//! Most plans have one set. A sweep opens one for each list of targets that its design names, and
//! `limits` one for each number of simulated disks. A simulated target that a trial names and no set
//! holds is made anew for that trial: the trial then depends on its own line alone, so that the line of
//! a dry run is equal to it, and a resumed sweep equal to one that was not interrupted.

use crate::{Result, Session, SessionError, simulated};
use plan::PlannedTrial;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Sets of open targets.
pub struct Targets {
    /// By their names as they are typed; those of the command have none.
    sets: BTreeMap<Vec<String>, Session>,
    fresh: Option<Session>,
    stop: Arc<AtomicBool>,
}

impl Targets {
    /// No set yet.
    #[must_use]
    pub fn none(stop: &Arc<AtomicBool>) -> Self {
        Self { sets: BTreeMap::new(), fresh: None, stop: Arc::clone(stop) }
    }

    /// The targets of a command, all in one set.
    #[must_use]
    pub fn one(session: Session) -> Self {
        let mut targets = Self::none(&session.stop);
        targets.add(Vec::new(), session);
        targets
    }

    /// Adds a set under the names of its targets.
    pub fn add(&mut self, names: Vec<String>, session: Session) {
        self.sets.insert(names, session);
    }

    /// All sets.
    pub fn all(&self) -> impl Iterator<Item = &Session> {
        self.sets.values()
    }

    /// The targets of the command.
    ///
    /// # Errors
    /// If there is no set without names.
    pub fn main(&mut self) -> Result<&mut Session> {
        self.named(&[])
    }

    fn named(&mut self, names: &[String]) -> Result<&mut Session> {
        let unknown =
            || SessionError::Usage(format!("the plan needs {names:?}, which is not open"));
        self.sets.get_mut(names).ok_or_else(unknown)
    }

    /// The set that a trial runs on.
    pub(crate) fn of(&mut self, planned: &PlannedTrial) -> Result<&mut Session> {
        if !self.sets.contains_key(&planned.targets)
            && let [only] = planned.targets.as_slice()
            && let Some(spec) = simulated(only)?
        {
            let session = Session::simulated(&spec, Some(spec.size()), planned.seed, &self.stop);
            return Ok(self.fresh.insert(session));
        }
        self.named(&planned.targets)
    }
}
