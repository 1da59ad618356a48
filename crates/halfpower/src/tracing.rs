//! The sampler of live counters, and beside it the block-layer tracer where one was asked for.
//!
//! Whoever samples gets intervals with or without what the tracer saw: no tracer, for want of
//! privileges or of support, is a finding and no failure, since the counters answer most questions
//! without it. The tracer follows the disks that are there at the start; disks that come later have
//! counters only. Rejected: a tracer on each interval anew, which would
//! lose the requests in progress at every edge.

use kernel::Roots;
use kernel::live::Sampler;
use record::{Finding, FindingCode, Interval, Severity};
use std::collections::HashMap;
use tracer::{Tracer, request_disks};

/// What is sampled.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) sampler: Sampler,
    tracer: Option<Tracer>,
    /// Names of the disks that are traced, by their numbers.
    names: HashMap<(u32, u32), String>,
    findings: Vec<Finding>,
}

impl Source {
    /// Without a tracer.
    pub(crate) fn plain(sampler: Sampler) -> Self {
        Self { sampler, tracer: None, names: HashMap::new(), findings: Vec::new() }
    }

    /// With one, if the machine allows it.
    pub(crate) fn traced(sampler: Sampler, roots: &Roots) -> Self {
        let mut source = Self::plain(sampler);
        let devices = source.sampler.devices();
        let disks = request_disks(roots, devices.iter().map(|device| device.name.as_str()));
        let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
        match Tracer::open(roots, &numbers, true) {
            Ok(tracer) => {
                for lack in tracer.lacks() {
                    source.findings.push(missing(Severity::Info, format!("Tracer: {lack}.")));
                }
                source.names = disks.into_iter().map(|(name, number)| (number, name)).collect();
                source.tracer = Some(tracer);
            }
            Err(error) => source.findings.push(lost(&error.to_string())),
        }
        source
    }

    /// What happened since the last sample.
    pub(crate) fn sample(&mut self) -> anyhow::Result<Vec<Interval>> {
        let mut intervals = self.sampler.sample()?;
        let Some(tracer) = &mut self.tracer else { return Ok(intervals) };
        match tracer.read() {
            Ok(all) => {
                for (number, traced) in all {
                    let name = self.names.get(&number);
                    let own = intervals.iter_mut().find(|one| Some(&one.device) == name);
                    if let Some(interval) = own {
                        interval.traced = Some(traced);
                    }
                }
            }
            Err(error) => {
                self.tracer = None;
                self.findings.push(lost(&error.to_string()));
            }
        }
        Ok(intervals)
    }

    /// What is to be said of sampler and tracer so far.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings = self.sampler.findings();
        findings.extend(self.findings.iter().cloned());
        findings
    }
}

fn missing(severity: Severity, claim: String) -> Finding {
    Finding::new(FindingCode::FiguresMissing, severity, claim, "")
}

fn lost(why: &str) -> Finding {
    Finding::new(
        FindingCode::FiguresMissing,
        Severity::Warning,
        format!("Requests were not traced: {why}."),
        "queue and device time of single requests, their order and who asked are not known; the \
         counters are unaffected: `halfpower doctor` says what the tracer needs",
    )
}
