//! Combines jobs that ran at the same time, as if they were one.

use crate::steady_window::SteadyWindow;
use crate::{FLUSH, Measurement};
use record::{Arrival, EndedBy, EngineName, Instead, Nanos, Workload};

use std::borrow::Cow;

/// Divisor: the ends of the jobs may differ by this part of the run.
const APART_MAX: u64 = 100;

/// The counts of all jobs, over their common window.
pub(crate) struct Together<'a> {
    workload: Cow<'a, Workload>,
    measurement: Cow<'a, Measurement>,
}

impl<'a> Together<'a> {
    /// Combines a workload and those beside it; an error if their windows differ.
    pub(crate) fn of(
        workload: &'a Workload,
        measurement: &'a Measurement,
    ) -> Result<Self, &'static str> {
        if measurement.beside.is_empty() {
            let (workload, measurement) = (Cow::Borrowed(workload), Cow::Borrowed(measurement));
            return Ok(Self { workload, measurement });
        }
        let (window, end) = (measurement.window, measurement.end);
        let allowed = Nanos(end.since(window.begin).0 / APART_MAX);
        let apart = |other: &Measurement| {
            // A job that has replayed all of its recording adds nothing afterwards.
            let made = other.ended_by == Some(EndedBy::Recording);
            let sooner = if made { Nanos(0) } else { end.since(other.end) };
            other.window != window || other.end.since(end).max(sooner) > allowed
        };
        if measurement.beside.iter().any(apart) {
            return Err("the jobs did not start and end together");
        }
        let mut sum = measurement.clone();
        for (job, other) in workload.beside.iter().zip(&measurement.beside) {
            let totals = other.totals.clone();
            sum.totals.merge(&match job.workload.instead {
                Some(Instead::Flush) => totals.with_writes_as(FLUSH),
                _ => totals,
            });
            sum.stuck.jobs += other.stuck.jobs;
            sum.stuck.requests += other.stuck.requests;
        }
        // Latencies include the wait before hand-over if any job has arrivals; there is I/O if any job does
        // some.
        let open = workload.all().map(|job| job.arrival).find(|it| *it != Arrival::Closed);
        let engine = workload.all().map(|job| job.engine).find(|it| *it != EngineName::Null);
        let workload = Workload {
            arrival: open.unwrap_or(workload.arrival),
            engine: engine.unwrap_or(workload.engine),
            ..workload.together()
        };
        Ok(Self { workload: Cow::Owned(workload), measurement: Cow::Owned(sum) })
    }

    /// The workload of a single job that did all of it, as far as a result needs one.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    pub(crate) fn steady(&self) -> SteadyWindow<'_> {
        SteadyWindow::of(&self.workload, &self.measurement)
    }
}
