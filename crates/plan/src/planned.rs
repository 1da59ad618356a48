//! Defines what all planners share: the trait, a planned trial, and the progress.
//!
//! A planner opens nothing and prints nothing: the driver does that, in the same way for all.
//! Rejected: an iterator of workloads, which cannot say what must be prepared, and planners that
//! run their trials themselves, each with its own way to be interrupted.

use record::{Bytes, CacheMode, Nanos, OpKind, Trial, Workload, format_bytes, format_rate};
use std::collections::VecDeque;

/// Number of trials after which their own length estimates the remaining time better than the plan.
const TRIALS_TO_TELL: u64 = 3;

/// Decides which trial comes next.
pub trait Plan {
    /// The next trial; `None` when the plan is done. The driver must report the result of the previous
    /// trial before it asks again.
    fn next(&mut self) -> Option<PlannedTrial>;

    /// Records the result of the last trial from [`Plan::next`]. `spent` is its total time, in virtual time
    /// if the target is simulated.
    fn observe(&mut self, trial: &Trial, spent: Nanos);

    /// Progress of the plan at the last trial from [`Plan::next`].
    fn progress(&self) -> Progress;

    /// Number of trials that were left out because they did not fit the time.
    fn skipped(&self) -> usize {
        0
    }
}

/// A trial that a plan asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedTrial {
    /// The workload, with run time and ramp.
    pub workload: Workload,
    /// Its seed, at most 53 bits: exact in any JSON reader.
    pub seed: u64,
    /// Description for the user during the run.
    pub label: String,
    /// The targets as on the command line; empty for all targets of the command.
    pub targets: Vec<String>,
    /// Preparation before it.
    pub preparation: Preparation,
    /// Whether buffered writes are flushed after it, so that they do not disturb the next trial.
    pub flush: bool,
    /// Where it is saved.
    pub saved: Saved,
    /// Whether the partial result of an interrupted trial is kept.
    pub partial: bool,
}

/// The preparation before a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preparation {
    /// Nothing.
    #[default]
    None,
    /// Reads a range of every target into the page cache.
    FillPageCache {
        /// Start of the range.
        start: Bytes,
        /// Length of the range.
        length: Bytes,
    },
    /// The treatment of this name.
    Treatment(String),
}

/// Where a finished trial is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Saved {
    /// As a part of the document that the command saves at its end.
    #[default]
    Part,
    /// At its position in the plan of an experiment.
    InExperiment {
        /// Id of the experiment.
        id: String,
        /// Position, from 0.
        position: u32,
    },
    /// Not saved: it only prepares others, or its results are in another document.
    No,
}

/// Progress of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Name of the current phase.
    pub phase: &'static str,
    /// Share completed before the current trial, 0 to 1.
    pub share: f64,
    /// Share that the current trial adds.
    pub step: f64,
    /// Remaining time, including the current trial; `None` if unknown.
    pub left: Option<Nanos>,
    /// Number of the current trial, from 1, and of all trials, if a plan of several knows it.
    pub trial: Option<(usize, usize)>,
}

impl PlannedTrial {
    /// A trial on the command's targets, saved as a part of the command's document.
    #[must_use]
    pub fn new(workload: Workload, seed: u64) -> Self {
        Self { label: describe(&workload), workload, seed, ..Self::default() }
    }

    /// The maximum duration.
    #[must_use]
    pub fn longest(&self) -> Nanos {
        self.workload.ramp_ns.plus(self.workload.runtime_ns)
    }
}

impl Progress {
    /// Progress of a plan that ends with its time budget.
    #[must_use]
    pub fn of_budget(phase: &'static str, spent: Nanos, budget: Nanos) -> Self {
        let share = spent.as_secs_f64() / budget.as_secs_f64().max(1e-9);
        Self { phase, share, left: Some(budget.since(spent)), ..Self::default() }
    }
}

/// Short description of a workload.
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

/// A plan whose trials are all known before the first.
#[derive(Clone, Debug, Default)]
pub struct TrialList {
    phase: &'static str,
    trials: VecDeque<PlannedTrial>,
    /// Number of trials in the whole plan, and of those started.
    total: usize,
    begun: usize,
    /// Maximum duration of the current trial.
    current: Nanos,
    observed: u64,
    spent: Nanos,
    /// Bytes per second of the previous trial.
    last: Option<f64>,
}

impl TrialList {
    /// A plan of these trials, in order.
    #[must_use]
    pub fn new(phase: &'static str, trials: Vec<PlannedTrial>) -> Self {
        Self { phase, total: trials.len(), trials: trials.into(), ..Self::default() }
    }

    /// The same plan after `done` trials of an earlier run.
    #[must_use]
    pub fn after(self, done: usize) -> Self {
        Self { total: self.total + done, begun: done, ..self }
    }

    /// The maximum duration of all trials.
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
                // A single trial takes no longer than its limit.
                _ if self.total == 1 => Some(self.current),
                TRIALS_TO_TELL.. => Some(Nanos(self.spent.0 / self.observed * to_do)),
                _ => None,
            },
        }
    }
}
