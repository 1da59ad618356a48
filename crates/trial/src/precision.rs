//! Decides when a run by precision has enough data.
//!
//! Checking again and again until an interval is narrow selects the moments at which it is narrow by
//! chance. So there are at most four checks, each after twice as many slices as the one before;
//! `stats::known_to` defines the other conditions.

use crate::{JobCounters, SLICES, Window};
use record::{Nanos, Workload};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct Looks {
    next: usize,
}

impl Looks {
    const FIRST: Self = Self { next: stats::FIRST_LOOK };

    fn next(self) -> Option<usize> {
        (self.next <= SLICES).then_some(self.next)
    }

    /// Whether these slices are enough for the next check; if so, counts it as made.
    fn due(&mut self, whole: usize) -> bool {
        let due = whole >= self.next;
        while self.next <= whole {
            self.next *= 2;
        }
        due
    }
}

/// The precision checks of a run.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    asked_ppm: Option<u32>,
    looks: Looks,
}

impl Precision {
    /// The precision that a workload requests.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self { asked_ppm: workload.stop.precision_ppm, looks: Looks::FIRST }
    }

    /// Whether a precision is requested.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.asked_ppm.is_some()
    }

    /// The number of slices after which the next check is due; `None` after the last check.
    #[must_use]
    pub fn next_look(&self) -> Option<usize> {
        self.looks.next().filter(|_| self.asked())
    }

    /// Whether the rate is known to the requested precision, from the slices that all jobs have finished.
    /// Checks only if these are enough for the next check.
    pub fn reached(&mut self, jobs: &[Arc<JobCounters>]) -> bool {
        self.asked() && self.known(finished(jobs), || sums(jobs, finished(jobs)))
    }

    /// As [`Precision::reached`], for the parts of a run, from the requests that each counted in its
    /// slices. Slices are added by their position in the windows, as in the document.
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

/// Judges the precision of all parts of a run together, outside this part.
pub trait JudgeElsewhere {
    /// Sends the requests of each finished slice, `at` after the begin of the window.
    fn tell(&mut self, slices: Vec<u64>, at: Nanos);

    /// The agreed end, relative to the begin of the window, once it is known.
    fn end(&self) -> Option<Nanos>;
}

/// Where the precision of a run is judged.
pub(crate) enum EnoughSeen {
    /// In this process.
    Here(Precision),
    /// Outside: this run is a part of a larger one.
    Elsewhere(PartLooks),
}

/// The checks of a part: at each it sends its counts.
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

    pub(crate) fn next_look(&self) -> Option<usize> {
        match self {
            Self::Here(precision) => precision.next_look(),
            Self::Elsewhere(part) => part.looks.next(),
        }
    }

    /// When the run ends for precision, once known. If that moment has passed, the run ends at once.
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
        // Two parts that alternate: each is unsteady, but their sum is steady.
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
