//! When a run ends, agreed between its jobs and the thread that watches them.
//!
//! The planned end of the window is one atomic that anyone may lower; jobs load it once per step. A run
//! by bytes or passes claims its requests from a common budget, a batch at a time, so that exactly the
//! bytes asked for are transferred (rounded up to a request) whatever the number of jobs. Passes over several
//! targets without a stripe have a budget for each target, because a job that gets more of the processor would
//! else leave another target without its passes. Rejected:
//! ending such a run at the completion that crosses the mark (it leaves requests in flight).

use crate::measurement::write_kind;
use crate::{JobTotals, Measurement, Stuck, Window};
use engine::{ProbeFacts, ProbeSample};
use record::{EndedBy, Nanos, Workload};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What jobs and watcher share about the end of a run.
#[derive(Debug)]
pub struct Control {
    window: Window,
    end: AtomicU64,
    ended: Mutex<Option<EndedBy>>,
    /// One, or one for each target; empty where nothing limits the bytes.
    budgets: Vec<Budget>,
    /// Jobs of a replay that have requests left; `None` where requests are drawn.
    replaying: Option<AtomicU32>,
    /// What its writes are counted as in the end.
    write_kind: usize,
}

#[derive(Debug)]
struct Budget {
    left: AtomicI64,
    exhausted: AtomicBool,
    rule: EndedBy,
}

/// Bytes of the targets' areas, together: a stripe's area goes over all of them.
pub(crate) fn area_bytes(workload: &Workload) -> u64 {
    workload.size_bytes.0.saturating_mul(areas(workload))
}

/// Areas that jobs have to themselves: of a stripe there is one, else one on each target.
fn areas(workload: &Workload) -> u64 {
    if workload.stripe_bytes.is_some() { 1 } else { u64::from(workload.targets.max(1)) }
}

/// Bytes that a run by bytes or passes transfers, and which rule says so; the lesser counts.
pub(crate) fn byte_limit(workload: &Workload) -> Option<(u64, EndedBy)> {
    // The passes of a replay are over its requests.
    let passes = workload.stop.passes.filter(|_| workload.replay.is_none());
    let passes = passes
        .map(|passes| (area_bytes(workload).saturating_mul(u64::from(passes)), EndedBy::Passes));
    let bytes = workload.stop.max_bytes.map(|bytes| (bytes.0, EndedBy::Bytes));
    passes.into_iter().chain(bytes).min_by_key(|&(limit, _)| limit)
}

impl Control {
    /// For a run of `workload` in `window`.
    #[must_use]
    pub fn new(workload: &Workload, window: Window) -> Self {
        let budgets = byte_limit(workload).map_or_else(Vec::new, |(limit, rule)| {
            let shares = if rule == EndedBy::Passes { areas(workload) } else { 1 };
            let budget = |_| Budget {
                left: AtomicI64::new(i64::try_from(limit / shares).unwrap_or(i64::MAX)),
                exhausted: AtomicBool::new(false),
                rule,
            };
            (0..shares).map(budget).collect()
        });
        let replaying = workload.replay.as_ref().map(|_| AtomicU32::new(workload.numjobs));
        let (end, ended) = (AtomicU64::new(window.end.0), Mutex::new(None));
        let write_kind = write_kind(workload);
        Self { window, end, ended, budgets, replaying, write_kind }
    }

    /// The window as planned.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// First moment that does not count any more, as known now.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Nanos {
        Nanos(self.end.load(Ordering::Relaxed))
    }

    /// Ends the run at `at`, unless it ends before that anyway.
    pub fn end_at(&self, at: Nanos, by: Option<EndedBy>) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if at < self.end() {
            self.end.store(at.0, Ordering::Relaxed);
            *ended = by;
        }
    }

    /// Whether the run was interrupted before its window began, so that nothing was measured.
    #[must_use]
    pub fn nothing_measured(&self) -> bool {
        self.end() <= self.window.begin
    }

    /// What lowered the end, if anything did.
    #[must_use]
    pub fn ended_by(&self) -> Option<EndedBy> {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether requests have to be claimed.
    #[inline]
    pub(crate) fn limited(&self) -> bool {
        !self.budgets.is_empty()
    }

    /// Whether nothing may be made before the window, since it would be missing in it.
    pub(crate) fn finite(&self) -> bool {
        self.limited() || self.replaying.is_some()
    }

    /// A job has made the last of its requests.
    pub(crate) fn job_out_of_requests(&self) {
        if let Some(jobs) = &self.replaying {
            jobs.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Claims `wanted` bytes for requests of a job in the window; less than that is granted once, and
    /// then the job is to hand over requests until they make up for what was granted, and no more.
    pub(crate) fn claim(&self, job: u32, wanted: u64) -> u64 {
        let of_target = job as usize % self.budgets.len().max(1);
        let Some(budget) = self.budgets.get(of_target) else { return wanted };
        let wanted_signed = i64::try_from(wanted).unwrap_or(i64::MAX);
        let left = budget.left.fetch_sub(wanted_signed, Ordering::Relaxed);
        if left <= wanted_signed {
            budget.exhausted.store(true, Ordering::Relaxed);
        }
        wanted.min(left.max(0) as u64)
    }

    /// The rule whose bytes or requests were all claimed.
    #[must_use]
    pub fn exhausted(&self) -> Option<EndedBy> {
        if self.replaying.as_ref().is_some_and(|jobs| jobs.load(Ordering::Relaxed) == 0) {
            return Some(EndedBy::Recording);
        }
        let all = self.budgets.iter().all(|budget| budget.exhausted.load(Ordering::Relaxed));
        self.budgets.first().filter(|_| all).map(|budget| budget.rule)
    }

    /// What jobs did under it, without the counters around their window.
    #[must_use]
    pub fn measurement(&self, totals: JobTotals, stuck: Stuck, probe: &ProbeFacts) -> Measurement {
        let (end, ended_by) = self.ending(&totals, stuck);
        Measurement {
            window: self.window(),
            end,
            ended_by,
            totals: totals.with_writes_as(self.write_kind),
            before: Vec::new(),
            after: ProbeSample::default(),
            stuck,
            probe: probe.clone(),
            harness: None,
            beside: Vec::new(),
        }
    }

    /// When and why counting ended: by the clock, lowered or not, or with the last of the bytes
    /// asked for.
    #[must_use]
    fn ending(&self, totals: &JobTotals, stuck: Stuck) -> (Nanos, Option<EndedBy>) {
        let (end, by) = (self.end(), self.ended_by());
        if stuck.jobs > 0 && by != Some(EndedBy::Interrupted) {
            return (end, Some(EndedBy::Silence));
        }
        match self.exhausted() {
            // The last moment that counts is the end's neighbour.
            Some(rule) if by.is_none() && totals.last.0 + 1 < end.0 => {
                (Nanos(totals.last.0 + 1), Some(rule))
            }
            _ => (end, by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Bytes;

    fn control(targets: u32, stripe: bool) -> Control {
        let mut workload = Workload { targets, size_bytes: Bytes(100), ..Workload::default() };
        workload.stop.passes = Some(2);
        workload.stripe_bytes = stripe.then_some(Bytes(10));
        Control::new(&workload, Window { begin: Nanos(0), end: Nanos(1) })
    }

    #[test]
    fn a_job_that_is_faster_leaves_other_targets_their_passes() {
        let apart = control(2, false);
        assert_eq!((apart.claim(0, 150), apart.claim(2, 150)), (150, 50), "jobs 0 and 2 share one");
        assert_eq!((apart.claim(0, 10), apart.exhausted()), (0, None));
        assert_eq!(apart.claim(1, 200), 200);
        assert_eq!(apart.exhausted(), Some(EndedBy::Passes));
        // A stripe is one area, whoever asks for it.
        let stripe = control(2, true);
        assert_eq!((stripe.claim(0, 150), stripe.claim(1, 150)), (150, 50));
        assert_eq!(stripe.exhausted(), Some(EndedBy::Passes));
    }
}
