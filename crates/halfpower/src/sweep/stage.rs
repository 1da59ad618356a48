//! The targets of a sweep, open, and the trials on them.
//!
//! Real targets are opened once for each list of them that a design uses, before anything runs, so
//! that what is missing is known before the first trial. A simulated target is made anew for each
//! trial: a trial then depends on its own line alone, which is what makes the line of a dry run
//! equal to it, and a resumed sweep equal to one that was not interrupted.

use super::lines::{LeftOut, Line};
use crate::failure::{self, UsageError};
use crate::precondition;
use crate::progress::Progress;
use ::workload::{BuildError, Spec, check_alignment};
use anyhow::Context;
use record::{
    Bytes, CacheMode, EngineName, Environment, Finding, PlannedTrial, Target, TargetKind, Trial,
    Workload,
};
use session::{self, RealTargets, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use target::Access;

/// What may be done to existing targets.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    pub(super) overwrite: bool,
    pub(super) destroy: Vec<String>,
}

/// A line and the workload that it is on its targets.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) line: Line,
    pub(super) workload: Workload,
}

/// Targets that are not written to yet.
pub(super) struct Opened {
    real: BTreeMap<Vec<String>, RealTargets>,
    /// What can be run.
    pub(super) ready: Vec<Ready>,
    /// What cannot, and why.
    pub(super) left_out: LeftOut,
}

impl Opened {
    /// Opens what the lines need and finds out which of them can be run.
    pub(super) fn open(
        lines: Vec<Line>,
        mut left_out: LeftOut,
        allowed: &Allowed,
        simulated: bool,
    ) -> anyhow::Result<Self> {
        let mut real = BTreeMap::new();
        let mut ready = Vec::new();
        if simulated {
            for line in lines {
                let size =
                    session::simulated(&line.targets[0])?.map_or(Bytes(0), |spec| spec.size());
                let shown = line.combination.levels.clone();
                match build(&line.spec, size) {
                    Ok(workload) => ready.push(Ready { line, workload }),
                    Err(error) => left_out.add(error.to_string(), &shown),
                }
            }
            return Ok(Self { real, ready, left_out });
        }
        let lists: BTreeSet<Vec<String>> = lines.iter().map(|line| line.targets.clone()).collect();
        let fallback = engine::probe_uring().is_err();
        for list in lists {
            let of_list: Vec<&Line> = lines.iter().filter(|line| line.targets == list).collect();
            let mut place = Place::open(&list, &of_list, allowed)?;
            for line in of_list {
                let line = if fallback && line.spec.engine == EngineName::IoUring {
                    let spec = session::with_engine(line.spec.clone(), EngineName::Sync);
                    Line { spec, ..line.clone() }
                } else {
                    line.clone()
                };
                let shown = line.combination.levels.clone();
                match place.fits(&line)? {
                    Ok(workload) => ready.push(Ready { line, workload }),
                    Err(reason) => left_out.add(reason, &shown),
                }
            }
            real.insert(list, place.targets);
        }
        // In the order of the design again.
        let order = |ready: &Ready| {
            lines.iter().position(|line| line.combination == ready.line.combination)
        };
        ready.sort_by_key(order);
        Ok(Self { real, ready, left_out })
    }

    /// Facts of all targets, each once, in the order in which they are named.
    pub(super) fn facts(&self, targets: &[String]) -> Vec<Target> {
        if self.real.is_empty() {
            let facts = |path: &String| Target {
                path: path.clone(),
                kind: TargetKind::Simulated,
                size_bytes: size_of_simulated(path),
                device: None,
                filesystem: None,
                extents: None,
            };
            return targets.iter().map(facts).collect();
        }
        let known = |path: &String| {
            let all = self.real.values().flat_map(RealTargets::all_facts);
            all.into_iter().find(|facts| facts.path == *path).cloned()
        };
        targets.iter().filter_map(known).collect()
    }

    /// Conditions of the first.
    pub(super) fn environment(&self) -> Option<Environment> {
        self.real.values().next().map(|targets| targets.environment().clone())
    }

    /// Writes the test files.
    pub(super) fn prepare(
        self,
        seed: u64,
        precondition: Option<&Workload>,
        stop: &Arc<AtomicBool>,
        progress: &mut Progress,
    ) -> anyhow::Result<Stage> {
        let mut sessions = BTreeMap::new();
        for (list, targets) in self.real {
            let mut session = targets.into_session(EngineName::IoUring, seed, stop, progress)?;
            if let Some(workload) = precondition {
                let past = session.past_cache;
                let outcome = precondition::run(&mut session, workload, past, seed, progress)?;
                session.preconditioning = Some(outcome);
            }
            sessions.insert(list, session);
        }
        Ok(Stage { sessions, stop: Arc::clone(stop) })
    }
}

fn size_of_simulated(path: &str) -> Bytes {
    session::simulated(path).ok().flatten().map_or(Bytes(0), |spec| spec.size())
}

/// The workload of a spec on a target of this size, whose area it cuts to what is there.
fn build(spec: &Spec, size: Bytes) -> Result<Workload, BuildError> {
    let room = Bytes(size.0.saturating_sub(spec.offset.0));
    let wanted = if spec.stripe.is_some() { size } else { room };
    let size_asked = spec.size.map(|asked| asked.min(wanted));
    Spec { size: size_asked, ..spec.clone() }.build(size)
}

/// One list of real targets on its way.
struct Place {
    targets: RealTargets,
    /// Why nothing may be written, where that is so.
    read_only: Option<String>,
    /// Cache modes that were tried, and why one cannot be used.
    modes: BTreeMap<CacheMode, Option<String>>,
    writes: bool,
}

impl Place {
    fn open(list: &[String], lines: &[&Line], allowed: &Allowed) -> anyhow::Result<Self> {
        let paths: Vec<&Path> = list.iter().map(Path::new).collect();
        let writing = |line: &&&Line| line.spec.read_percent < 100;
        let writes = lines.iter().filter(writing).count();
        // The largest that is asked for, if all ask: else what the target has.
        let sizes: Option<Vec<Bytes>> = lines.iter().map(|line| line.spec.size).collect();
        let size = sizes.and_then(|sizes| sizes.into_iter().max());
        let least = lines.iter().map(|line| line.spec.max_bs()).max().unwrap_or_default();
        let descriptors = |line: &&Line| u64::from(line.spec.numjobs) * 4;
        let most = lines.iter().map(descriptors).max().unwrap_or(0);
        kernel::allow_descriptors(list.len() as u64 * 6 + most + 64)?;
        let write =
            Access::ReadWrite { overwrite: allowed.overwrite, destroy: allowed.destroy.clone() };
        let access = if writes > 0 { write } else { Access::ReadOnly };
        let opened = RealTargets::open(&paths, &access, size, least);
        let (targets, read_only) = match opened {
            Ok(targets) => (targets, None),
            Err(error) if writes < lines.len() && error.exit_code() == failure::REFUSED => {
                let targets = RealTargets::open(&paths, &Access::ReadOnly, size, least)?;
                (targets, Some(error.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
        let writes = writes > 0 && read_only.is_none();
        Ok(Self { targets, read_only, modes: BTreeMap::new(), writes })
    }

    /// The workload of a line, or why it cannot be run here.
    fn fits(&mut self, line: &Line) -> anyhow::Result<Result<Workload, String>> {
        if line.spec.read_percent < 100
            && let Some(reason) = &self.read_only
        {
            return Ok(Err(reason.clone()));
        }
        if let Some(arm) = line.preparation.as_deref().and_then(session::treatment::find) {
            let facts: Vec<&Target> = self.targets.all_facts().collect();
            if let Err(reason) = arm.fits(&facts) {
                return Ok(Err(reason));
            }
        }
        if (line.spec.polled || line.spec.sqpoll)
            && let Err(error) = engine::probe_uring()
        {
            return Ok(Err(error.to_string()));
        }
        let smallest = self.targets.all_facts().map(|facts| facts.size_bytes).min();
        let workload = match build(&line.spec, smallest.unwrap_or_default()) {
            Ok(workload) => workload,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Err(error) = check_alignment(&workload, self.targets.alignment()) {
            return Ok(Err(error.to_string()));
        }
        if let Some(reason) = self.mode(workload.cache) {
            return Ok(Err(reason));
        }
        self.targets.look_at_area(&workload)?;
        Ok(Ok(workload))
    }

    /// Opens a cache mode at its first use; why it cannot be used.
    fn mode(&mut self, cache: CacheMode) -> Option<String> {
        let (targets, writes) = (&mut self.targets, self.writes);
        let opened = self.modes.entry(cache).or_insert_with(|| {
            targets.open_mode(cache, writes).err().map(|error| error.to_string())
        });
        opened.clone()
    }
}

/// Targets that trials can be run on.
pub(super) struct Stage {
    sessions: BTreeMap<Vec<String>, Session>,
    stop: Arc<AtomicBool>,
}

impl Stage {
    /// One without targets, where nothing is to be run.
    pub(super) fn empty(stop: &Arc<AtomicBool>) -> Self {
        Self { sessions: BTreeMap::new(), stop: Arc::clone(stop) }
    }

    /// What was found before any trial.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for finding in self.sessions.values().flat_map(|session| &session.findings) {
            if !findings.contains(finding) {
                findings.push(finding.clone());
            }
        }
        findings
    }

    /// Runs a planned trial on `targets`; what was measured beside it comes with it.
    pub(super) fn trial(
        &mut self,
        planned: &PlannedTrial,
        targets: &[String],
    ) -> anyhow::Result<(Trial, BTreeMap<String, f64>)> {
        if let Some(spec) = session::simulated(&targets[0])? {
            let size = Some(spec.size());
            let mut session = Session::simulated(&spec, size, planned.seed, &self.stop);
            let trial = session.trial(&planned.workload, planned.seed, &mut |_| {})?;
            return Ok((trial, BTreeMap::new()));
        }
        let session = self.sessions.get_mut(targets).context("a target of the plan is not open")?;
        let arm = planned.preparation.as_deref().map(|name| {
            let unknown = || UsageError(format!("this program knows no preparation {name:?}"));
            session::treatment::find(name).ok_or_else(unknown)
        });
        let arm = arm.transpose()?;
        let finish = arm.map(|arm| arm.prepare(session, &planned.workload)).transpose()?;
        let trial = session.trial(&planned.workload, planned.seed, &mut |_| {});
        let buffered = planned.workload.writes() && !planned.workload.cache.direct();
        let unwritten = session.unwritten_bytes(&planned.workload).filter(|_| buffered);
        // What was set up is taken down before an error is told.
        let extras = finish.map(|finish| finish(session, trial.as_ref().ok()));
        let trial = trial?;
        let mut extras = extras.transpose()?.unwrap_or_default();
        if let Some(unwritten) = unwritten {
            extras.insert("unwritten_bytes".to_owned(), unwritten.0 as f64);
        }
        // Unless that was what the arm measured.
        if buffered && !extras.contains_key("flush_ms") {
            extras.insert("flush_ms".to_owned(), session.flush()?);
        }
        Ok((trial, extras))
    }
}
