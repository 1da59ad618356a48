//! The one loop that carries out plans.
//!
//! A trial that ended is committed before the next one begins, so that a program that is killed loses
//! the trial in progress and nothing else. A store that takes no more, as on a full disk, costs what
//! would be saved and not what is measured: the run goes on, and the command says at its end why the
//! store failed. Ctrl-C and a device that answers nothing end the plan with the trials that had ended.

use crate::session::progress::{NoDisplay, Shown};
use crate::session::treatment::{Extras, FLUSH_MS};
use crate::session::{Display, Result, Session, SessionError, Targets, treatment};
use crate::{Plan, PlannedTrial, PreconditionPlan, Preparation, Progress, Saved};
use host::target;
use record::{Bytes, EndedBy, Nanos, Trial, Workload};
use simdisk::SimSpec;
use std::sync::Arc;
use std::time::Instant;
use store::{Store, StoreError};
use trial::TrialError;

/// How a plan ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It had no further trial.
    #[default]
    Completed,
    /// The user or the system asked for it.
    Interrupted,
    /// The device stopped answering: each further trial would wait as long.
    Silent,
}

/// What a plan came to.
#[derive(Debug, Default)]
pub struct Finished {
    /// The trials that ended, in order.
    pub trials: Vec<Trial>,
    /// What was measured beside each of them.
    pub extras: Vec<Extras>,
    /// How it ended.
    pub end: End,
}

impl Finished {
    /// Refuses what an interruption or a silent device left of a plan.
    ///
    /// # Errors
    /// If it did not run to its end; `why` says why a part of it is no result.
    pub fn whole(&self, why: &str) -> Result<()> {
        let kept = "only the trials that finished are saved";
        match self.end {
            End::Completed => Ok(()),
            End::Interrupted => Err(SessionError::Interrupted(format!("{why}: {kept}"))),
            End::Silent => Err(SessionError::Silent(format!("{why}: {kept}"))),
        }
    }
}

/// The session with its targets in their steady state, into which writing brings them.
///
/// # Errors
/// If they cannot be written, or the user interrupts it.
pub fn precondition(
    session: Session,
    workload: &Workload,
    seed: u64,
    display: &mut dyn Display,
) -> Result<Session> {
    let mut plan = PreconditionPlan::new(workload, session.past_cache, seed);
    let mut driver = Driver::new(Targets::one(session), None, display);
    if driver.run(&mut plan)?.end == End::Interrupted {
        return Err(TrialError::Interrupted.into());
    }
    let mut session = driver.targets.into_main()?;
    session.preconditioning = Some(plan.outcome());
    Ok(session)
}

/// Carries out a plan on a simulated device and saves nothing.
///
/// # Errors
/// If a trial could not be measured.
pub fn simulate(spec: &SimSpec, area: Bytes, seed: u64, plan: &mut dyn Plan) -> Result<Finished> {
    let session = Session::simulated(spec, Some(area), seed, &Arc::default());
    Driver::new(Targets::one(session), None, &mut NoDisplay).run(plan)
}

/// Carries out plans on open targets.
pub struct Driver<'a> {
    /// Where trials run.
    pub targets: Targets,
    /// Where people see how far it is.
    pub display: &'a mut dyn Display,
    store: Option<Store>,
    /// Why the store took no more; it is not asked again.
    unsaved: Option<StoreError>,
}

impl<'a> Driver<'a> {
    /// A driver; without a store nothing is saved.
    pub fn new(targets: Targets, store: Option<Store>, display: &'a mut dyn Display) -> Self {
        Self { targets, display, store, unsaved: None }
    }

    /// Carries out a plan.
    ///
    /// # Errors
    /// If a trial could not be prepared or measured; an interruption is no error.
    pub fn run(&mut self, plan: &mut dyn Plan) -> Result<Finished> {
        let finished = self.carry_out(plan);
        self.display.clear();
        finished
    }

    fn carry_out(&mut self, plan: &mut dyn Plan) -> Result<Finished> {
        let mut finished = Finished::default();
        while finished.end == End::Completed
            && let Some(planned) = plan.next()
        {
            let (trial, extras, spent) = match self.trial(&planned, &plan.progress()) {
                Err(error) if error.interrupted() => {
                    finished.end = End::Interrupted;
                    break;
                }
                other => other?,
            };
            finished.end = match trial.result.ended_by {
                Some(EndedBy::Silence) => End::Silent,
                Some(EndedBy::Interrupted) => End::Interrupted,
                _ => End::Completed,
            };
            if finished.end == End::Interrupted && !planned.partial {
                break;
            }
            self.keep(|store| match &planned.saved {
                Saved::Alone => store.add_document(&trial),
                Saved::InExperiment { id, position } => {
                    store.add_experiment_trial(id, *position, &trial, &extras)
                }
                Saved::No => Ok(()),
            });
            plan.observe(&trial, spent);
            finished.trials.push(trial);
            finished.extras.push(extras);
        }
        Ok(finished)
    }

    /// One trial, with what was measured beside it and what it took.
    fn trial(&mut self, planned: &PlannedTrial, at: &Progress) -> Result<(Trial, Extras, Nanos)> {
        let PlannedTrial { workload, seed, label, .. } = planned;
        let display = &mut *self.display;
        let mut show = |share: f64| {
            let spent = planned.longest().0 as f64 * share.max(0.0);
            let left = at.left.map(|left| left.since(Nanos(spent as u64)));
            let share = at.share + at.step * share.max(0.0);
            let (phase, trial) = (at.phase, at.trial);
            display.show(&Shown { phase, share, trial, left, what: label, ..Shown::default() });
        };
        show(0.0);
        let session = self.targets.of(planned)?;
        let begin = Instant::now();
        let mut finish = None;
        match &planned.preparation {
            Preparation::None => {}
            Preparation::FillPageCache { start, length } => {
                session.read_into_cache(*start, *length)?;
            }
            Preparation::Treatment(name) => {
                session.is_here(name)?;
                finish = Some(treatment::known(name)?.prepare(session, workload)?);
            }
        }
        let trial = session.trial_or_part(workload, *seed, &mut show);
        let flushed = planned.flush && workload.writes() && !workload.cache.direct();
        let unwritten = session.counted(workload, target::unwritten_bytes).filter(|_| flushed);
        // What was set up is taken down before an error is told.
        let extras = finish.map(|finish| finish(session, trial.as_ref().ok()));
        let trial = trial?;
        let mut extras = extras.transpose()?.unwrap_or_default();
        if let Some(unwritten) = unwritten {
            extras.insert("unwritten_bytes".to_owned(), unwritten.0 as f64);
        }
        // Unless the treatment measured that.
        if flushed && !extras.contains_key(FLUSH_MS) {
            extras.insert(FLUSH_MS.to_owned(), session.flush()?);
        }
        let spent = if session.is_simulated() {
            planned.longest()
        } else {
            Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
        };
        Ok((trial, extras, spent))
    }

    /// Has the store keep something, as long as it takes what it is given.
    pub fn keep(&mut self, add: impl FnOnce(&mut Store) -> Result<(), StoreError>) {
        if let Some(store) = &mut self.store
            && let Err(error) = add(store)
        {
            self.unsaved = Some(error);
            self.store = None;
        }
    }

    /// The store, as long as it takes what it is given.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Why the store took no more.
    pub fn unsaved(&mut self) -> Option<StoreError> {
        self.unsaved.take()
    }
}
