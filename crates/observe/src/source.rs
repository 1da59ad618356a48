//! The sampler of counters and, where the user asked for it, the tracer of single requests.
//!
//! A tracer that cannot run is a finding, not a failure: the counters answer most questions without
//! it. The tracer follows the disks that are there at the start; disks that come later have counters
//! only. Rejected: a new tracer for each interval, which would lose the requests in flight at
//! every boundary.

use kernel::live::{Sampler, Selection};
use kernel::{KernelError, Roots};
use record::{
    Context, Finding, FindingCode, ImpossibleFigures, Interval, ObservedDevice, ObservedPath,
    WakeUp,
};
use std::collections::HashMap;
use std::sync::Arc;
use tracer::{Tracer, request_disks};

/// One sample of all devices.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// What each device did since the sample before, in the order of the kernel.
    pub intervals: Vec<Interval>,
    /// The system meanwhile.
    pub context: Context,
    /// The devices that are there now.
    pub devices: Vec<Arc<ObservedDevice>>,
    /// What the user named, with all that lies below.
    pub paths: Arc<[ObservedPath]>,
    /// How many devices the selection leaves out.
    pub hidden: usize,
    /// How late threads of this machine wake up.
    pub wake_ups: &'static [WakeUp],
    /// Release of the kernel, where it tells.
    pub kernel: Option<Arc<str>>,
    /// What happened beside the figures since the start.
    pub findings: Vec<Finding>,
}

/// Where samples come from.
#[derive(Debug)]
pub struct Source {
    sampler: Sampler,
    tracer: Option<Tracer>,
    /// Names of the traced disks, by their device numbers.
    traced: HashMap<(u32, u32), String>,
    impossible: ImpossibleFigures,
    findings: Vec<Finding>,
}

impl Source {
    /// Takes the first reading of the counters, and starts the tracer if `trace` is set.
    ///
    /// # Errors
    /// If the counters cannot be read, or a selected device is not among them.
    pub fn open(roots: &Roots, selection: Selection, trace: bool) -> Result<Self, KernelError> {
        let sampler = Sampler::new(roots.clone(), selection)?;
        let (traced, impossible) = (HashMap::new(), ImpossibleFigures::default());
        let mut source = Self { sampler, tracer: None, traced, impossible, findings: Vec::new() };
        if trace {
            source.start_tracer(roots);
        }
        Ok(source)
    }

    fn start_tracer(&mut self, roots: &Roots) {
        let devices = self.devices();
        let disks = request_disks(roots, devices.iter().map(|device| device.name.as_str()));
        let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
        match Tracer::open(roots, &numbers, true) {
            Ok(tracer) => {
                let missing = |lack: &_| {
                    let claim = format!("Tracer: {lack}.");
                    Finding::note(FindingCode::FiguresMissing, claim, "")
                };
                self.findings.extend(tracer.lacks.iter().map(missing));
                self.traced = disks.into_iter().map(|(name, number)| (number, name)).collect();
                self.tracer = Some(tracer);
            }
            Err(error) => self.findings.push(not_traced(&error)),
        }
    }

    /// Takes a sample now.
    ///
    /// # Errors
    /// If the counters cannot be read any more.
    pub fn sample(&mut self) -> Result<Sample, KernelError> {
        let mut intervals = self.sampler.sample()?;
        intervals.retain_mut(|interval| self.impossible.admits(interval));
        match self.tracer.as_mut().map(Tracer::read) {
            Some(Ok(traced)) => {
                for (number, traced) in traced {
                    let name = self.traced.get(&number);
                    let own = intervals.iter_mut().find(|one| Some(&one.device) == name);
                    if let Some(interval) = own {
                        interval.traced = Some(traced);
                    }
                }
            }
            Some(Err(error)) => {
                self.tracer = None;
                self.findings.push(not_traced(&error));
            }
            None => {}
        }
        Ok(Sample {
            intervals,
            context: self.sampler.context(),
            devices: self.devices(),
            paths: self.sampler.paths(),
            hidden: self.sampler.hidden(),
            wake_ups: self.sampler.wake_ups(),
            kernel: self.sampler.kernel(),
            findings: self.findings(),
        })
    }

    pub(crate) fn devices(&self) -> Vec<Arc<ObservedDevice>> {
        self.sampler.devices()
    }

    /// Name of the machine, where the kernel tells it.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        self.sampler.host()
    }

    /// What the sampler and the tracer found so far.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.sampler.findings();
        findings.extend(self.impossible.finding());
        findings.extend(self.findings.iter().cloned());
        findings
    }

    /// Also shows partitions and devices that were never used, or leaves them out again. It has no
    /// effect where the user named devices.
    pub fn show_all(&mut self, all: bool) {
        self.sampler.show(all, all);
    }
}

fn not_traced(why: &dyn std::fmt::Display) -> Finding {
    Finding::warning(
        FindingCode::FiguresMissing,
        format!("Requests were not traced: {why}."),
        "queue and device time of single requests, their order and who asked are not known; the \
         counters are unaffected: `halfpower doctor` says what the tracer needs",
    )
}
