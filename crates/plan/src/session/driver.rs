//! Runs plans: the one loop that all commands use.
//!
//! A finished trial is committed before the next one begins, so that a killed program loses only the trial
//! in progress. If the store fails, as on a full disk, measuring continues without saving, and the command
//! reports the error at its end. Ctrl-C or a device that stops answering ends the plan; finished trials are
//! kept.

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
    /// The plan had no further trial.
    #[default]
    Completed,
    /// The user or the system stopped it.
    Interrupted,
    /// The device stopped answering: each further trial would wait as long.
    Silent,
}

/// Result of a plan.
#[derive(Debug, Default)]
pub struct Finished {
    /// The finished trials, in order.
    pub trials: Vec<Trial>,
    /// Additional results of each trial.
    pub extras: Vec<Extras>,
    /// How the plan ended.
    pub end: End,
}

impl Finished {
    /// Refuses the partial result of an interrupted plan or a silent device.
    ///
    /// # Errors
    /// If the plan did not complete; `why` states why a part of it is not a result.
    pub fn whole(&self, why: &str) -> Result<()> {
        let kept = "only the trials that finished are saved";
        match self.end {
            End::Completed => Ok(()),
            End::Interrupted => Err(SessionError::Interrupted(format!("{why}: {kept}"))),
            End::Silent => Err(SessionError::Silent(format!("{why}: {kept}"))),
        }
    }
}

/// Brings the session's targets into their steady state by writing.
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

/// Runs a plan on a simulated device without saving.
///
/// # Errors
/// If a trial could not be measured.
pub fn simulate(spec: &SimSpec, area: Bytes, seed: u64, plan: &mut dyn Plan) -> Result<Finished> {
    let session = Session::simulated(spec, Some(area), seed, &Arc::default());
    Driver::new(Targets::one(session), None, &mut NoDisplay).run(plan)
}

/// Runs plans on open targets.
pub struct Driver<'a> {
    /// Where trials run.
    pub targets: Targets,
    /// Shows the progress to the user.
    pub display: &'a mut dyn Display,
    store: Option<Store>,
    /// The error of the store, which is not used again after it.
    unsaved: Option<StoreError>,
}

impl<'a> Driver<'a> {
    /// A driver; without a store nothing is saved.
    pub fn new(targets: Targets, store: Option<Store>, display: &'a mut dyn Display) -> Self {
        Self { targets, display, store, unsaved: None }
    }

    /// Runs a plan.
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
                Saved::Part => store.add_part(&trial),
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

    /// Runs one trial; returns it with its additional results and its duration.
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
        // Clean up before an error is returned.
        let extras = finish.map(|finish| finish(session));
        let trial = trial?;
        let mut extras = extras.transpose()?.unwrap_or_default();
        if let Some(unwritten) = unwritten {
            extras.insert("unwritten_bytes".to_owned(), unwritten.0 as f64);
        }
        // Unless the treatment measured it already.
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

    /// Saves something, unless the store has failed.
    pub fn keep(&mut self, add: impl FnOnce(&mut Store) -> Result<(), StoreError>) {
        if let Some(store) = &mut self.store
            && let Err(error) = add(store)
        {
            self.unsaved = Some(error);
            self.store = None;
        }
    }

    /// The store; `None` if it has failed or does not exist.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// The error that stopped saving.
    pub fn unsaved(&mut self) -> Option<StoreError> {
        self.unsaved.take()
    }
}
