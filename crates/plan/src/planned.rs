//! What all planners have in common: the trait, the trial that one asks for, how far it is.
//!
//! A planner opens nothing and prints nothing: the driver does that, in the same way for all.
//! Rejected: an iterator of workloads, which cannot say what must be prepared, and planners that
//! run their trials themselves, each with its own way to be interrupted.

use record::{Bytes, CacheMode, Nanos, OpKind, Trial, Workload, format_bytes, format_rate};
use std::collections::VecDeque;

/// Trials after which their own length tells the time left better than the plan.
const TRIALS_TO_TELL: u64 = 3;

/// Decides which trial comes next.
pub trait Plan {
    /// The next trial; `None` when the plan is done. The driver asks again only after it told what
    /// came of the trial before.
    fn next(&mut self) -> Option<PlannedTrial>;

    /// Takes note of the trial that [`Plan::next`] gave last. `spent` is what it took all in all, in
    /// virtual time where the target is simulated.
    fn observe(&mut self, trial: &Trial, spent: Nanos);

    /// How far the plan is with the trial that it gave last.
    fn progress(&self) -> Progress;

    /// Trials that were left out because they did not fit the time.
    fn skipped(&self) -> usize {
        0
    }
}

/// A trial that a plan asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedTrial {
    /// What is asked, run time and ramp included.
    pub workload: Workload,
    /// Its seed, of at most 53 bits: exact in any JSON reader.
    pub seed: u64,
    /// What it is, for people who watch.
    pub label: String,
    /// The targets as they are typed; empty: all those of the command.
    pub targets: Vec<String>,
    /// What is done before it.
    pub preparation: Preparation,
    /// Whether buffered writes are flushed after it, so that the next trial does not meet them.
    pub flush: bool,
    /// Where it is saved.
    pub saved: Saved,
    /// Whether what an interruption leaves of it is a result.
    pub partial: bool,
}

/// What is done before a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preparation {
    /// Nothing.
    #[default]
    None,
    /// So many bytes of every target are read into the page cache.
    FillPageCache {
        /// Where they begin.
        start: Bytes,
        /// How many.
        length: Bytes,
    },
    /// The treatment of this name.
    Treatment(String),
}

/// Where a finished trial is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Saved {
    /// By itself.
    #[default]
    Alone,
    /// At its position in the plan of an experiment.
    InExperiment {
        /// Id of the experiment.
        id: String,
        /// Position, from 0.
        position: u32,
    },
    /// Nowhere: it only prepares others, or its numbers are in another document.
    No,
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub phase: &'static str,
    /// Share that was done before the present trial, 0 to 1.
    pub share: f64,
    /// Share that the present trial adds.
    pub step: f64,
    /// Time that the present trial and those after it take; `None` where that is unknown.
    pub left: Option<Nanos>,
    /// The number of the present trial, from 1, and of all, where a plan of several knows it.
    pub trial: Option<(usize, usize)>,
}

impl PlannedTrial {
    /// A trial of the command's targets, saved by itself.
    #[must_use]
    pub fn new(workload: Workload, seed: u64) -> Self {
        Self { label: describe(&workload), workload, seed, ..Self::default() }
    }

    /// The longest that it can take.
    #[must_use]
    pub fn longest(&self) -> Nanos {
        self.workload.ramp_ns.plus(self.workload.runtime_ns)
    }
}

impl Progress {
    /// Of a plan that ends with its budget of time.
    #[must_use]
    pub fn of_budget(phase: &'static str, spent: Nanos, budget: Nanos) -> Self {
        let share = spent.as_secs_f64() / budget.as_secs_f64().max(1e-9);
        Self { phase, share, left: Some(budget.since(spent)), ..Self::default() }
    }
}

/// A workload in a few words.
#[must_use]
pub fn describe(workload: &Workload) -> String {
    let op = workload.only_op().map_or("mixed", OpKind::name);
    let amount = match workload.rate_iops {
        Some(rate) => format!("{rate} IOPS"),
        None => format!("QD {}", workload.depth),
    };
    let cache = match workload.cache {
        CacheMode::Device => String::new(),
        other => format!(" cache {}", other.name()),
    };
    let bytes = format_bytes(workload.max_bs().0);
    format!("{} {op} {bytes} {amount}{cache}", workload.pattern.name())
}

/// Trials that are known before the first of them.
#[derive(Clone, Debug, Default)]
pub struct TrialList {
    phase: &'static str,
    trials: VecDeque<PlannedTrial>,
    /// Those of the whole plan, and those that were begun.
    total: usize,
    begun: usize,
    /// The longest that the present one can take.
    current: Nanos,
    observed: u64,
    spent: Nanos,
    /// Bytes per second of the trial before.
    last: Option<f64>,
}

impl TrialList {
    /// A plan of these trials, in order.
    #[must_use]
    pub fn new(phase: &'static str, trials: Vec<PlannedTrial>) -> Self {
        Self { phase, total: trials.len(), trials: trials.into(), ..Self::default() }
    }

    /// The same plan after so many trials that were run earlier.
    #[must_use]
    pub fn after(self, done: usize) -> Self {
        Self { total: self.total + done, begun: done, ..self }
    }

    /// The longest that they can take.
    #[must_use]
    pub fn longest(&self) -> Nanos {
        self.trials.iter().map(PlannedTrial::longest).fold(Nanos(0), Nanos::plus)
    }
}

impl Plan for TrialList {
    fn next(&mut self) -> Option<PlannedTrial> {
        let mut planned = self.trials.pop_front()?;
        self.begun += 1;
        self.current = planned.longest();
        if self.total > 1 {
            let last =
                self.last.map_or(String::new(), |rate| format!(", last {}", format_rate(rate)));
            planned.label = format!("{} of {}{last}: {}", self.begun, self.total, planned.label);
        }
        Some(planned)
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.observed += 1;
        self.spent = self.spent.plus(spent);
        self.last = Some(trial.directions().map(|direction| direction.bytes_per_s).sum());
    }

    fn progress(&self) -> Progress {
        let whole = self.total.max(1) as f64;
        let to_do = 1 + self.trials.len() as u64;
        Progress {
            phase: self.phase,
            share: self.begun.saturating_sub(1) as f64 / whole,
            step: 1.0 / whole,
            trial: (self.total > 1).then_some((self.begun, self.total)),
            left: match self.observed {
                // A trial by itself takes no longer than it may.
                _ if self.total == 1 => Some(self.current),
                TRIALS_TO_TELL.. => Some(Nanos(self.spent.0 / self.observed * to_do)),
                _ => None,
            },
        }
    }
}
