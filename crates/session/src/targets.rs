//! The sets of targets that the trials of one plan run on.
//!
//! Most plans have one. A sweep opens one for each list of targets in its design, `limits` one for
//! each number of simulated disks. A simulated target that no set holds is made anew for its trial,
//! which then depends on its own line alone.

use crate::{Result, Session, SessionError, StopFlag, add_new, simulated};
use plan::PlannedTrial;
use record::Finding;
use simdisk::{SimKind, SimSpec};
use std::collections::BTreeMap;
use volume::Raid;

/// Sets of open targets.
pub struct Targets {
    /// By their names as they are typed; those of the command have none.
    sets: BTreeMap<Vec<String>, Session>,
    fresh: Option<Session>,
    stop: StopFlag,
}

impl Targets {
    /// No set yet.
    #[must_use]
    pub fn none(stop: &StopFlag) -> Self {
        Self { sets: BTreeMap::new(), fresh: None, stop: stop.clone() }
    }

    /// The targets of a command, all in one set.
    #[must_use]
    pub fn one(session: Session) -> Self {
        let mut targets = Self::none(&session.stop);
        targets.add(Vec::new(), session);
        targets
    }

    /// Adds a set under the names of its targets.
    pub(crate) fn add(&mut self, names: Vec<String>, session: Session) {
        self.sets.insert(names, session);
    }

    /// What was found of all sets before any trial, each once.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        add_new(&mut findings, self.sets.values().flat_map(|session| session.findings.clone()));
        findings
    }

    /// The targets of the command.
    ///
    /// # Errors
    /// If there is no set without names.
    pub fn main(&mut self) -> Result<&mut Session> {
        self.named(&[])
    }

    /// The same, for good.
    pub(crate) fn into_main(mut self) -> Result<Session> {
        self.sets.remove(&Vec::new()).ok_or_else(|| unknown(&[]))
    }

    fn named(&mut self, names: &[String]) -> Result<&mut Session> {
        self.sets.get_mut(names).ok_or_else(|| unknown(names))
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

/// The simulated device among targets, which then is the only one.
///
/// # Errors
/// If one stands beside others, does not exist or has a wrong key.
pub fn one_simulated(targets: &[String]) -> Result<Option<SimSpec>> {
    let specs: Vec<Option<SimSpec>> =
        targets.iter().map(|target| simulated(target)).collect::<Result<_, _>>()?;
    let found = specs.into_iter().flatten().next();
    if found.is_some() && targets.len() > 1 {
        let text = "a simulated target stands alone: its disks are its own key disks=N; name one \
                    target";
        return Err(SessionError::usage(text));
    }
    Ok(found)
}

/// One disk of a simulated machine as the targets of a command, and machines with two of its disks
/// and more, by their names: the disks of one machine cannot be opened one by one, so that "on k
/// disks" is a machine with k of them, bound together so that each gets its part.
///
/// # Errors
/// If a machine of that number of disks does not exist.
pub fn simulated_disks(
    spec: &SimSpec,
    seed: u64,
    stop: &StopFlag,
) -> Result<(Targets, Vec<String>)> {
    let disks = match &spec.kind {
        SimKind::Machine(machine) if matches!(machine.volume.raid, Raid::None | Raid::Raid0) => {
            machine.disks
        }
        _ => 1,
    };
    let with = |more: &str| SimSpec::parse(&format!("{},{more}", spec.text));
    let one = if disks > 1 { with("disks=1,raid=none")? } else { spec.clone() };
    let mut targets = Targets::one(Session::simulated(&one, None, seed, stop));
    let mut names = Vec::new();
    for count in 2..=disks {
        let machine = with(&format!("disks={count},raid=0"))?;
        let session = Session::simulated(&machine, None, seed, stop);
        names.push(session.target().path.clone());
        targets.add(vec![session.target().path.clone()], session);
    }
    Ok((targets, names))
}

fn unknown(names: &[String]) -> SessionError {
    SessionError::Usage(format!("the plan needs {names:?}, which is not open"))
}
