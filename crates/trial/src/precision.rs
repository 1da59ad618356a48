//! When a run by precision has seen enough.
//!
//! Looking again and again until an interval is narrow selects the moments at which it is narrow by
//! chance, so the looks are few, four at most, each after twice as many slices as the one before;
//! `stats::known_to` says what else it takes.

use crate::{JobCounters, SLICES, Window};
use record::{Nanos, Workload};
use std::sync::Arc;

/// When to look.
#[derive(Clone, Copy, Debug)]
struct Looks {
    next: usize,
}

impl Looks {
    const FIRST: Self = Self { next: stats::FIRST_LOOK };

    fn next(self) -> Option<usize> {
        (self.next <= SLICES).then_some(self.next)
    }

    /// Whether these slices are enough for the next look, which is then made.
    fn due(&mut self, whole: usize) -> bool {
        let due = whole >= self.next;
        while self.next <= whole {
            self.next *= 2;
        }
        due
    }
}

/// The looks at the precision of a run.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    asked_ppm: Option<u32>,
    looks: Looks,
}

impl Precision {
    /// What a workload asks for.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self { asked_ppm: workload.stop.precision_ppm, looks: Looks::FIRST }
    }

    /// Whether any is asked for.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.asked_ppm.is_some()
    }

    /// The slices after which the next look is due; `None` where none is to come.
    #[must_use]
    pub fn next_look(&self) -> Option<usize> {
        self.looks.next().filter(|_| self.asked())
    }

    /// Whether the rate is known to the precision asked for, from the slices that all jobs have
    /// finished. Looks only where these are enough for the next look.
    pub fn reached(&mut self, jobs: &[Arc<JobCounters>]) -> bool {
        self.asked() && self.known(finished(jobs), || sums(jobs, finished(jobs)))
    }

    /// The same of parts of a run, from the requests that each counted in its slices: they are added up by
    /// their places in the windows, as they are in the document.
    pub fn reached_by(&mut self, parts: &[&[u64]]) -> bool {
        let whole = parts.iter().map(|slices| slices.len()).min().unwrap_or(0);
        let sum = |place| parts.iter().map(|slices| slices[place]).sum();
        self.known(whole, || (0..whole).map(sum).collect())
    }

    fn known(&mut self, whole: usize, series: impl FnOnce() -> Vec<u64>) -> bool {
        let Some(asked_ppm) = self.asked_ppm else { return false };
        if !self.looks.due(whole) {
            return false;
        }
        let series: Vec<f64> = series().into_iter().map(|ios| ios as f64).collect();
        stats::known_to(&series, f64::from(asked_ppm) / 1e6)
    }
}

/// The slices that all jobs have finished.
fn finished(jobs: &[Arc<JobCounters>]) -> usize {
    let of = |job: &Arc<JobCounters>| job.kept().slices.len().saturating_sub(1);
    jobs.iter().map(of).min().unwrap_or(0)
}

/// The requests of all jobs in each of the first slices.
fn sums(jobs: &[Arc<JobCounters>], whole: usize) -> Vec<u64> {
    let mut totals = vec![0; whole];
    for job in jobs {
        for (total, slice) in totals.iter_mut().zip(&job.kept().slices) {
            *total += slice.total_ios();
        }
    }
    totals
}

/// Whoever judges the parts of a run together.
pub trait JudgeElsewhere {
    /// Takes the requests of each slice that is over, `at` after the begin of the window.
    fn tell(&mut self, slices: Vec<u64>, at: Nanos);

    /// The agreed end, after the begin of the window, once it is known.
    fn end(&self) -> Option<Nanos>;
}

/// Who finds that a run has seen enough.
pub(crate) enum EnoughSeen {
    /// The run itself.
    Here(Precision),
    /// It is a part of one, and is told.
    Elsewhere(PartLooks),
}

/// The looks of a part: at each it tells what it counted.
pub(crate) struct PartLooks {
    looks: Looks,
    judge: Box<dyn JudgeElsewhere>,
}

impl EnoughSeen {
    pub(crate) fn of(workload: &Workload, judge: Option<Box<dyn JudgeElsewhere>>) -> Self {
        match judge {
            None => Self::Here(Precision::of(workload)),
            Some(judge) => Self::Elsewhere(PartLooks { looks: Looks::FIRST, judge }),
        }
    }

    /// As [`Precision::next_look`].
    pub(crate) fn next_look(&self) -> Option<usize> {
        match self {
            Self::Here(precision) => precision.next_look(),
            Self::Elsewhere(part) => part.looks.next(),
        }
    }

    /// When the run ends because of it, once that is known; one that is told too late ends at once.
    pub(crate) fn end(
        &mut self,
        jobs: &[Arc<JobCounters>],
        window: Window,
        now: Nanos,
    ) -> Option<Nanos> {
        match self {
            Self::Here(precision) => precision.reached(jobs).then_some(now),
            Self::Elsewhere(part) => {
                let whole = finished(jobs);
                if part.looks.due(whole) {
                    part.judge.tell(sums(jobs, whole), now.since(window.begin));
                }
                part.judge.end().map(|after| window.begin.plus(after).max(now))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ppm: u32) -> Precision {
        let mut workload = Workload::default();
        workload.stop.precision_ppm = Some(ppm);
        Precision::of(&workload)
    }

    #[test]
    fn parts_are_judged_by_their_sum_and_at_the_looks_alone() {
        // Two that take turns: each is unsteady, and both together are not.
        let turns =
            |odd: u64| (0..128).map(|it| 900 + 100 * ((it + odd) % 2)).collect::<Vec<u64>>();
        let (one, other) = (turns(0), turns(1));
        let mut precision = asked(1_000);
        assert!(!precision.reached_by(&[&one[..63], &other]), "no look is due");
        assert!(!precision.reached_by(&[]));
        assert!(precision.reached_by(&[&one[..64], &other]));
        assert_eq!(precision.next_look(), Some(128));
        assert!(!precision.reached_by(&[&one[..64], &other]), "that look was made");
        let mut unsteady: Vec<u64> = (0..128).collect();
        assert!(!asked(1_000).reached_by(&[&unsteady]));
        unsteady.fill(7);
        assert!(asked(1_000).reached_by(&[&unsteady]));
    }
}
