//! Interleaves the trials of two plans in proportion to their budgets.
//!
//! Both are spread over the whole time, so that slow drift of the device affects both equally. One after
//! the other, the second would measure another minute than the first.

use crate::{Plan, PlannedTrial, Progress};
use record::{Nanos, Trial};

/// Plans with their budgets. The plan that has used the smallest share of its budget is next.
pub struct SideBySide {
    plans: Vec<(Box<dyn Plan>, Nanos)>,
    /// Index of the plan that gave the last trial.
    last: usize,
}

impl SideBySide {
    /// Plans with their measuring times.
    #[must_use]
    pub fn new(plans: Vec<(Box<dyn Plan>, Nanos)>) -> Self {
        Self { plans, last: 0 }
    }
}

impl Plan for SideBySide {
    fn next(&mut self) -> Option<PlannedTrial> {
        let mut order: Vec<usize> = (0..self.plans.len()).collect();
        order.sort_by(|&a, &b| {
            let share = |at: usize| self.plans[at].0.progress().share;
            share(a).total_cmp(&share(b))
        });
        order.into_iter().find_map(|at| {
            let planned = self.plans[at].0.next()?;
            self.last = at;
            Some(planned)
        })
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        if let Some((plan, _)) = self.plans.get_mut(self.last) {
            plan.observe(trial, spent);
        }
    }

    fn progress(&self) -> Progress {
        let all: f64 = self.plans.iter().map(|(_, budget)| budget.as_secs_f64()).sum();
        let of_all = |value: fn(&Progress) -> f64| {
            let parts = self
                .plans
                .iter()
                .map(|(plan, budget)| value(&plan.progress()) * budget.as_secs_f64());
            parts.sum::<f64>() / all.max(1e-9)
        };
        let left = self.plans.iter().map(|(plan, _)| plan.progress().left.map(|left| left.0));
        Progress {
            phase: self.plans.get(self.last).map_or("", |(plan, _)| plan.progress().phase),
            share: of_all(|progress| progress.share),
            step: of_all(|progress| progress.step),
            left: left.sum::<Option<u64>>().map(Nanos),
            trial: None,
        }
    }

    fn skipped(&self) -> usize {
        self.plans.iter().map(|(plan, _)| plan.skipped()).sum()
    }
}
