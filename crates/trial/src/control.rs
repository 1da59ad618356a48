//! Decides when a run ends, shared by its jobs and the thread that watches them.
//!
//! The end of the window is one atomic that any thread may lower; each job loads it once per step. In a run
//! limited by bytes or passes, jobs claim batches of requests from a common budget. Exactly the requested
//! bytes are then transferred (rounded up to a request), whatever the number of jobs. Passes over several
//! targets without a stripe have one budget per target. Otherwise a job with more processor time would take
//! the passes of another target. Rejected: ending such a run at the completion that crosses the limit (it
//! leaves requests in flight).

use crate::measurement::write_kind;
use crate::{JobTotals, Measurement, Stuck, Window};
use engine::ProbeFacts;
use record::{EndedBy, Nanos, Workload};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// End of the run, shared by the jobs and the watching thread.
#[derive(Debug)]
pub struct Control {
    window: Window,
    end: AtomicU64,
    ended: Mutex<Option<EndedBy>>,
    /// One budget, or one per target; empty without a byte limit.
    budgets: Vec<Budget>,
    /// Jobs of a replay that have requests left; `None` without a replay.
    replaying: Option<AtomicU32>,
    /// The kind under which the writes are reported.
    write_kind: usize,
}

#[derive(Debug)]
struct Budget {
    left: AtomicI64,
    exhausted: AtomicBool,
    rule: EndedBy,
}

/// Total bytes of the areas on all targets; the area of a stripe spans all of them.
pub(crate) fn area_bytes(workload: &Workload) -> u64 {
    workload.size_bytes.0.saturating_mul(areas(workload))
}

/// Number of separate areas: one for a stripe, otherwise one per target.
fn areas(workload: &Workload) -> u64 {
    if workload.stripe_bytes.is_some() { 1 } else { u64::from(workload.targets.max(1)) }
}

/// Bytes that a run by bytes or passes transfers, and the rule that sets it; the lower limit applies.
pub(crate) fn byte_limit(workload: &Workload) -> Option<(u64, EndedBy)> {
    // A replay counts its passes in requests, not in bytes.
    let passes = workload.stop.passes.filter(|_| workload.replay.is_none());
    let passes = passes
        .map(|passes| (area_bytes(workload).saturating_mul(u64::from(passes)), EndedBy::Passes));
    let bytes = workload.stop.max_bytes.map(|bytes| (bytes.0, EndedBy::Bytes));
    passes.into_iter().chain(bytes).min_by_key(|&(limit, _)| limit)
}

impl Control {
    /// Control of a run of `workload` in `window`.
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

    /// The planned window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// First moment that no longer counts, as known now.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Nanos {
        Nanos(self.end.load(Ordering::Relaxed))
    }

    /// Ends the run at `at`, unless it ends earlier anyway.
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

    /// What ended the run early, if anything.
    #[must_use]
    pub fn ended_by(&self) -> Option<EndedBy> {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether jobs must claim their requests.
    #[inline]
    pub(crate) fn limited(&self) -> bool {
        !self.budgets.is_empty()
    }

    /// Whether the requests are limited, so that none may be sent before the window.
    pub(crate) fn finite(&self) -> bool {
        self.limited() || self.replaying.is_some()
    }

    /// Records that a job has sent its last request.
    pub(crate) fn job_out_of_requests(&self) {
        if let Some(jobs) = &self.replaying {
            jobs.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Claims `wanted` bytes for requests of a job in the window. Grants less only once, when the budget
    /// runs out: the job then hands over requests until they cover the granted bytes, and stops.
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

    /// The rule whose bytes or requests are all claimed.
    #[must_use]
    pub fn exhausted(&self) -> Option<EndedBy> {
        if self.replaying.as_ref().is_some_and(|jobs| jobs.load(Ordering::Relaxed) == 0) {
            return Some(EndedBy::Recording);
        }
        let all = self.budgets.iter().all(|budget| budget.exhausted.load(Ordering::Relaxed));
        self.budgets.first().filter(|_| all).map(|budget| budget.rule)
    }

    /// The measurement of these jobs, without the counters around their window.
    #[must_use]
    pub fn measurement(&self, totals: JobTotals, stuck: Stuck, probe: &ProbeFacts) -> Measurement {
        let (end, ended_by) = self.ending(&totals, stuck);
        Measurement {
            window: self.window(),
            end,
            ended_by,
            totals: totals.with_writes_as(self.write_kind),
            stuck,
            probe: probe.clone(),
            ..Measurement::default()
        }
    }

    /// When and why counting ended: at the planned or lowered end, or with the last of the requested bytes.
    #[must_use]
    fn ending(&self, totals: &JobTotals, stuck: Stuck) -> (Nanos, Option<EndedBy>) {
        let (end, by) = (self.end(), self.ended_by());
        if stuck.jobs > 0 && by != Some(EndedBy::Interrupted) {
            return (end, Some(EndedBy::Silence));
        }
        match self.exhausted() {
            // The end is the moment after the last one that counts.
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
        // A stripe has one area, whichever job claims from it.
        let stripe = control(2, true);
        assert_eq!((stripe.claim(0, 150), stripe.claim(1, 150)), (150, 50));
        assert_eq!(stripe.exhausted(), Some(EndedBy::Passes));
    }
}
