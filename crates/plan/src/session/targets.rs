//! Holds the sets of targets that the trials of one plan use.
//!
//! Most plans have one set. A sweep opens one for each list of targets in its design, `limits` one for each
//! number of simulated disks. A simulated target that is in no set is created for each trial, so that the
//! trial depends only on its own line.

use crate::PlannedTrial;
use crate::session::{
    Display, RealTargets, Result, Session, SessionError, StopFlag, add_new, simulated,
};
use host::target::Access;
use record::{Bytes, CacheMode, Finding, Target, TargetKind};
use simdisk::{SimKind, SimSpec};
use std::collections::BTreeMap;
use std::path::Path;
use workload::volume::Raid;

/// Sets of open targets.
pub struct Targets {
    /// By the names of their targets as typed; the set of the command has no names.
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

    /// All targets of a command in one set.
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

    /// Findings of all sets from before any trial, each once.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        add_new(&mut findings, self.sets.values().flat_map(|session| session.findings.clone()));
        findings
    }

    /// Size of the smallest target of all sets.
    #[must_use]
    pub fn smallest(&self) -> Bytes {
        let sizes = self.sets.values().map(|session| session.target().size_bytes);
        sizes.min().unwrap_or_default()
    }

    /// The set of the command.
    ///
    /// # Errors
    /// If no set without names exists.
    pub fn main(&mut self) -> Result<&mut Session> {
        self.named(&[])
    }

    /// The same, by value.
    pub(crate) fn into_main(mut self) -> Result<Session> {
        self.sets.remove(&Vec::new()).ok_or_else(|| unknown(&[]))
    }

    fn named(&mut self, names: &[String]) -> Result<&mut Session> {
        self.sets.get_mut(names).ok_or_else(|| unknown(names))
    }

    /// The set for a trial.
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

/// The simulated device among the targets, which must then be the only one.
///
/// # Errors
/// If it is combined with others, does not exist or has an invalid key.
pub fn one_simulated(targets: &[String]) -> Result<Option<SimSpec>> {
    let specs: Vec<Option<SimSpec>> =
        targets.iter().map(|target| simulated(target)).collect::<Result<_, _>>()?;
    let found = specs.into_iter().flatten().next();
    if found.is_some() && targets.len() > 1 {
        let text = "a simulated target cannot be combined with others; name only one target (to \
                    add disks, use its key disks=N)";
        return Err(SessionError::usage(text));
    }
    Ok(found)
}

/// One disk of a simulated machine as the set of the command, and machines with two and more of its disks,
/// by their names. The disks of one machine cannot be opened one by one. So "on k disks" is a machine with
/// k disks, striped so that each gets its part.
///
/// # Errors
/// If a machine with this number of disks does not exist.
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

/// The members of an array, each open under its path.
#[derive(Clone, Debug)]
pub struct Members {
    /// Number of members.
    pub count: u32,
    /// Chunk size: contiguous bytes on a member.
    pub chunk: Bytes,
    /// Facts of the members that can be read alone: all, or one of a machine with equal drives.
    pub targets: Vec<Target>,
}

/// A simulated device as a whole, and for a machine with a stripe (RAID 0) also one of its drives alone.
///
/// # Errors
/// If the machine does not exist with one drive.
pub fn simulated_array(
    spec: &SimSpec,
    seed: u64,
    stop: &StopFlag,
) -> Result<(Targets, Option<Members>)> {
    let whole = |spec: &SimSpec| Session::simulated(spec, Some(spec.size()), seed, stop);
    let mut targets = Targets::one(whole(spec));
    let (count, chunk) = match &spec.kind {
        SimKind::Machine(machine) if machine.volume.raid == Raid::Raid0 && machine.disks > 1 => {
            (machine.disks, Bytes(machine.volume.chunk_bytes))
        }
        _ => return Ok((targets, None)),
    };
    let one = whole(&SimSpec::parse(&format!("{},disks=1,raid=none", spec.text))?);
    let member = one.target().clone();
    targets.add(vec![member.path.clone()], one);
    Ok((targets, Some(Members { count, chunk, targets: vec![member] })))
}

/// Files or block devices as one stripe with chunks of this size, and each of them alone, all read-only.
///
/// # Errors
/// If fewer than two are given, or one is a directory or cannot be opened.
pub fn striped(
    paths: &[&Path],
    chunk: Bytes,
    seed: u64,
    stop: &StopFlag,
    display: &mut dyn Display,
) -> Result<(Targets, Members)> {
    if paths.len() < 2 {
        return Err(SessionError::usage(
            "--chunk needs two or more targets; name more, or omit it",
        ));
    }
    let mut open = |paths: &[&Path]| {
        let mut targets = RealTargets::open(paths, &Access::ReadOnly, None, chunk)?;
        if targets.all_facts().any(|facts| facts.kind == TargetKind::Directory) {
            return Err(SessionError::usage(
                "a stripe needs block devices or files, because the position of a test file in a \
                 directory is unknown",
            ));
        }
        targets.open_mode(CacheMode::Device, false)?;
        targets.into_session(engine::DEFAULT_ENGINE, seed, stop, display)
    };
    let mut targets = Targets::one(open(paths)?);
    let mut members = Vec::new();
    for path in paths {
        let session = open(&[path])?;
        members.push(session.target().clone());
        targets.add(vec![session.target().path.clone()], session);
    }
    let count = u32::try_from(paths.len()).unwrap_or(u32::MAX);
    Ok((targets, Members { count, chunk, targets: members }))
}

fn unknown(names: &[String]) -> SessionError {
    SessionError::Usage(format!("the plan needs {names:?}, which is not open"))
}
