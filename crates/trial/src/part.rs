//! Runs a part of a larger run: some of the jobs of a workload, starting at an agreed moment. Also combines
//! the results of all parts.
//!
//! Jobs are numbered across all parts, so four machines with two jobs each make the same load as one
//! machine with eight. Results of parts are added as those of jobs are: histograms by bucket, slices by
//! their position in the window. Rejected: a document made of the documents of the parts, whose percentiles
//! could only be averaged.

use crate::{JobCounters, JobTotals, JudgeElsewhere, Measurement, Stuck, TrialError, Window};
use engine::ProbeFacts;
use record::{EndedBy, Harness, Nanos, Workload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a part knows once all its engines are open and before its first request.
pub struct Ready {
    /// The minimum time from the agreement to the begin of its window.
    pub ahead: Nanos,
    /// Counters of its jobs, readable while they run.
    pub counters: Vec<Arc<JobCounters>>,
}

/// Agrees with the other parts on the begin of the window, and waits for them. The time is by the clock of
/// the jobs, which has the origin of the system's monotonic clock.
pub type AgreeOnBegin = Box<dyn FnMut(&Ready) -> Result<Nanos, TrialError>>;

/// The part of a workload that a run makes.
pub struct Part {
    /// Number of its first job among the jobs of the whole workload.
    pub first_job: u32,
    /// Number of its jobs, at least one.
    pub jobs: u32,
    /// Called once, when the part is ready.
    pub begin: AgreeOnBegin,
    /// Judges the precision of all parts together, if that ends the run.
    pub judge: Option<Box<dyn JudgeElsewhere>>,
}

impl Part {
    /// The workload of these jobs alone, as in the document of the part.
    #[must_use]
    pub fn workload(&self, whole: &Workload) -> Workload {
        let share = |rate: u64| rate * u64::from(self.jobs) / u64::from(whole.numjobs.max(1));
        Workload {
            numjobs: self.jobs,
            depth: whole.iodepth * self.jobs,
            rate_iops: whole.rate_iops.map(share),
            write_rate_iops: whole.write_rate_iops.map(share),
            ..whole.clone()
        }
    }
}

/// The counts of a part, in the form in which they are sent between machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartTotals {
    /// Its window, by the clock of its jobs.
    pub window: Window,
    /// First moment that no longer counts.
    pub end: Nanos,
    /// Why it ended early, if it did.
    pub ended_by: Option<EndedBy>,
    /// Counts of its jobs.
    pub totals: JobTotals,
    /// Jobs and requests that never returned.
    pub stuck: Stuck,
    /// The limits of the harness on its machine.
    pub harness: Option<Harness>,
}

impl PartTotals {
    /// The totals of a measurement that ran alone.
    #[must_use]
    pub fn of(measurement: &Measurement) -> Self {
        Self {
            window: measurement.window,
            end: measurement.end,
            ended_by: measurement.ended_by,
            totals: measurement.totals.clone(),
            stuck: measurement.stuck,
            harness: measurement.harness.clone(),
        }
    }
}

/// All parts as one measurement whose window begins at zero: each part counts from its own begin, and the
/// last end applies. Counters are not included, since each part has those of its own machine. `None`
/// without a part.
#[must_use]
pub fn together(parts: &[PartTotals]) -> Option<Measurement> {
    let first = parts.first()?;
    let length = first.window.end.since(first.window.begin);
    let no = || "each client has its own; see its trial".to_owned();
    let mut sum = Measurement {
        window: Window { begin: Nanos(0), end: length },
        ended_by: ended_by(parts),
        probe: ProbeFacts { no_device_reason: no(), no_cpu_reason: no(), ..ProbeFacts::default() },
        harness: first.harness.clone(),
        ..Measurement::default()
    };
    for part in parts {
        let begin = part.window.begin;
        sum.end = sum.end.max(part.end.since(begin));
        let last = part.totals.last.since(begin);
        sum.totals.merge(&JobTotals { last, ..part.totals.clone() });
        sum.stuck.jobs += part.stuck.jobs;
        sum.stuck.requests += part.stuck.requests;
        if let (Some(all), Some(one)) = (&mut sum.harness, &part.harness) {
            all.ceiling_iops = all.ceiling_iops.min(one.ceiling_iops);
            all.clock_cost_ns = all.clock_cost_ns.max(one.clock_cost_ns);
            // The effect of batching differs by machine.
            all.batching = None;
        }
    }
    Some(sum)
}

/// Why the parts ended: the most severe reason of a part that aborted, or the requested rule if every part
/// met it. If one part ran out of time, all parts together did not meet the rule.
fn ended_by(parts: &[PartTotals]) -> Option<EndedBy> {
    // Reasons are declared in order of severity.
    let gravest = parts.iter().filter_map(|part| part.ended_by).max()?;
    let broke_off = gravest >= EndedBy::Failures;
    (broke_off || parts.iter().all(|part| part.ended_by.is_some())).then_some(gravest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ended_by: Option<EndedBy>) -> PartTotals {
        PartTotals {
            window: Window { begin: Nanos(5), end: Nanos(105) },
            end: Nanos(105),
            ended_by,
            totals: JobTotals { last: Nanos(5), ..JobTotals::default() },
            stuck: Stuck::default(),
            harness: None,
        }
    }

    #[test]
    fn what_was_asked_for_is_done_only_where_each_part_did_it() {
        use EndedBy::{Bytes, Interrupted, Passes, Silence};
        for (each, all) in [
            ([Some(Bytes), Some(Bytes)], Some(Bytes)),
            ([Some(Bytes), None], None),
            ([None, Some(Passes)], None),
            ([None, None], None),
            ([Some(Bytes), Some(Interrupted)], Some(Interrupted)),
            ([None, Some(Silence)], Some(Silence)),
        ] {
            let sum = together(&each.map(part)).expect("there are parts");
            assert_eq!(sum.ended_by, all, "{each:?}");
        }
    }
}
