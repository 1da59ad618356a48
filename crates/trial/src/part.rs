//! A run that is a part of a larger one: some of the jobs of a workload, begun at an agreed moment, and
//! what the parts come to together.
//!
//! The jobs of a workload are numbered through over all parts, so that the loads of four machines with two
//! jobs each are those of one machine with eight. What parts counted is added up as what jobs counted is:
//! histograms bucket by bucket, slices by their place in the window. Rejected: a document made of the
//! documents of the parts, whose percentiles could only be averaged.

use crate::{JobCounters, JobTotals, JudgeElsewhere, Measurement, Stuck, TrialError, Window};
use engine::{ProbeFacts, ProbeSample, Processors};
use record::{EndedBy, Harness, Nanos, Workload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a part knows once all its engines are open, and nothing has been asked of the target.
pub struct Ready {
    /// The least time from the agreement to the begin of its window.
    pub ahead: Nanos,
    /// What its jobs count, to be looked at while they run.
    pub counters: Vec<Arc<JobCounters>>,
}

/// Agrees on the begin of the window, by the clock of the jobs, whose origin is that of the system's monotonic
/// clock; waits for the others meanwhile.
pub type AgreeOnBegin = Box<dyn FnMut(&Ready) -> Result<Nanos, TrialError>>;

/// Which part of a workload a run makes.
pub struct Part {
    /// Number of its first job among the jobs of the workload.
    pub first_job: u32,
    /// How many of them; at least one.
    pub jobs: u32,
    /// Asked once, when it is ready.
    pub begin: AgreeOnBegin,
    /// Who finds that all parts together are known precisely enough, where that ends the run.
    pub judge: Option<Box<dyn JudgeElsewhere>>,
}

impl Part {
    /// The workload of these jobs alone, as the document of the part says it.
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

/// What a part counted, in the form in which it travels between machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartTotals {
    /// Its window, by the clock of its jobs.
    pub window: Window,
    /// First moment that does not count.
    pub end: Nanos,
    /// Why it ended before the window did, if it did.
    pub ended_by: Option<EndedBy>,
    /// What its jobs counted.
    pub totals: JobTotals,
    /// What never came back.
    pub stuck: Stuck,
    /// The limits of the program there.
    pub harness: Option<Harness>,
}

impl PartTotals {
    /// Of a measurement that ran alone.
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

/// All parts as one measurement, whose window begins at zero: each counts from its own begin, and the
/// end is that of the last. Counters are not among it: each part has those of its own machine. `None`
/// without a part.
#[must_use]
pub fn together(parts: &[PartTotals]) -> Option<Measurement> {
    let first = parts.first()?;
    let length = first.window.end.since(first.window.begin);
    let no = || "each client has its own; see its trial".to_owned();
    let mut sum = Measurement {
        window: Window { begin: Nanos(0), end: length },
        end: Nanos(0),
        ended_by: ended_by(parts),
        totals: JobTotals::default(),
        before: Vec::new(),
        after: ProbeSample::default(),
        stuck: Stuck::default(),
        probe: ProbeFacts {
            cpu_split: record::CpuSplit::Sampled,
            processors: Processors::default(),
            no_device_reason: no(),
            no_cpu_reason: no(),
            cpu_step_ns: 0,
        },
        harness: first.harness.clone(),
        beside: Vec::new(),
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
            // What batching adds differs by machine.
            all.batching = None;
        }
    }
    Some(sum)
}

/// Why all ended: the gravest reason of any that broke off, or what was asked for where each part came to it.
/// One that ran out of its time did not, so that all together did not either.
fn ended_by(parts: &[PartTotals]) -> Option<EndedBy> {
    // Reasons are declared in the order of their gravity.
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
