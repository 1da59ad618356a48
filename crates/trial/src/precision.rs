//! When a run by precision has seen enough.

use crate::{JobCounters, SLICES};
use record::Workload;
use std::sync::Arc;

/// The looks at the precision of a run.
///
/// Looking again and again until an interval is narrow selects the moments at which it is narrow by
/// chance, so the looks are few, four at most, each after twice as many slices as the one before;
/// `stats::known_to` says what else it takes.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    asked_ppm: Option<u32>,
    next_look: usize,
}

impl Precision {
    /// What a workload asks for.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self { asked_ppm: workload.stop.precision_ppm, next_look: stats::FIRST_LOOK }
    }

    /// The slices after which the next look is due; `None` where none is to come.
    #[must_use]
    pub fn next_look(&self) -> Option<usize> {
        (self.asked_ppm.is_some() && self.next_look <= SLICES).then_some(self.next_look)
    }

    /// Whether the rate is known to the precision asked for, from the slices that all jobs have
    /// finished. Looks only where these are enough for the next look.
    pub fn reached(&mut self, jobs: &[Arc<JobCounters>]) -> bool {
        let Some(asked_ppm) = self.asked_ppm else { return false };
        let finished = |job: &Arc<JobCounters>| job.kept().slices.len().saturating_sub(1);
        let whole = jobs.iter().map(finished).min().unwrap_or(0);
        if whole < self.next_look {
            return false;
        }
        while self.next_look <= whole {
            self.next_look *= 2;
        }
        let mut totals = vec![0.0; whole];
        for job in jobs {
            for (total, slice) in totals.iter_mut().zip(&job.kept().slices) {
                *total += slice.total_ios() as f64;
            }
        }
        stats::known_to(&totals, f64::from(asked_ppm) / 1e6)
    }
}
