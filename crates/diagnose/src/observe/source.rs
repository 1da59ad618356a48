//! The sampler of counters, who uses the disks where that may be counted, and, where the user asked
//! for it, the tracer of single requests.
//!
//! Counting by process takes privileges that most who watch a disk do not have, so that it is
//! silent where it may not. A tracer that cannot run is a finding, not a failure: the counters answer most questions without
//! it. The tracer follows the disks that are there at the start; disks that come later have counters
//! only. Rejected: a new tracer for each interval, which would lose the requests in flight at
//! every boundary.

use crate::causes::Host;
use host::kernel::live::{Sampler, Selection};
use host::kernel::{KernelError, Roots};
use host::target;
use host::tracer::{Issuers, Tracer, TracerError, request_disks};
use record::{
    Context, DeviceFacts, Finding, FindingCode, ImpossibleFigures, Interval, ObservedDevice,
    ObservedPath, WakeUp,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// One sample of all devices.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// What each device did since the sample before, in the order of the kernel.
    pub intervals: Vec<Interval>,
    /// The system meanwhile.
    pub context: Context,
    /// The devices that are there now.
    pub devices: Vec<Arc<ObservedDevice>>,
    /// What the user named, with all that lies below, or what is built of several devices.
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

/// How much is asked of the kernel beside the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Who asks for what, where privileges allow it.
    pub processes: bool,
    /// What happens to each request: `None` asks where privileges and the kernel allow it, and says
    /// nothing where they do not.
    pub requests: Option<bool>,
}

/// Where samples come from.
#[derive(Debug)]
pub struct Source {
    roots: Roots,
    sampler: Sampler,
    paths: Arc<[ObservedPath]>,
    tracer: Option<Tracer>,
    issuers: Option<Issuers>,
    /// Names of the traced disks, by their device numbers.
    traced: HashMap<(u32, u32), String>,
    impossible: ImpossibleFigures,
    findings: Vec<Finding>,
    /// Devices of which lone reads are made, and whether the user named them.
    pub(crate) probed: Vec<String>,
    pub(crate) named: bool,
}

impl Source {
    /// Takes the first reading of the counters, and starts what is asked for beside them.
    ///
    /// # Errors
    /// If the counters cannot be read, or a selected device is not among them.
    pub fn open(roots: &Roots, selection: Selection, depth: Depth) -> Result<Self, KernelError> {
        // How files lie is looked at only where the user asks about them.
        let named = !selection.named.is_empty();
        let sampler = Sampler::new(roots.clone(), selection)?;
        let (traced, impossible) = (HashMap::new(), ImpossibleFigures::default());
        let (findings, paths) = (Vec::new(), with_layouts(roots, &sampler.paths(), named));
        let mut source = Self {
            roots: roots.clone(),
            sampler,
            paths,
            tracer: None,
            issuers: None,
            traced,
            impossible,
            findings,
            probed: Vec::new(),
            named,
        };
        let devices = source.devices();
        let disks = request_disks(roots, devices.iter().map(|device| device.name.as_str()));
        let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
        source.traced = disks.into_iter().map(|(name, number)| (number, name)).collect();
        // The counters of another machine's files are no requests of this kernel.
        if depth.requests.unwrap_or(*roots == Roots::default()) {
            source.start_tracer(roots, &numbers, depth.requests.is_some());
        }
        if depth.processes {
            source.start_issuers(roots, &numbers);
        }
        if *roots == Roots::default() {
            // All of them begin now: what happened while they were started is in no interval.
            source.sample()?;
        }
        Ok(source)
    }

    fn start_issuers(&mut self, roots: &Roots, numbers: &[(u32, u32)]) {
        match Issuers::open(roots, numbers) {
            Ok(issuers) => self.issuers = Some(issuers),
            Err(
                TracerError::NotPermitted(_) | TracerError::NoSupport(_) | TracerError::NoDevices,
            ) => {}
            Err(error) => self.findings.push(not_counted(&error)),
        }
    }

    fn start_tracer(&mut self, roots: &Roots, numbers: &[(u32, u32)], asked: bool) {
        match Tracer::open(roots, numbers) {
            Ok(tracer) => {
                let missing = |lack: &_| {
                    let claim = format!("Tracer: {lack}.");
                    Finding::note(FindingCode::FiguresMissing, claim, "")
                };
                self.findings.extend(tracer.lacks.iter().map(missing));
                self.tracer = Some(tracer);
            }
            Err(error) => self.findings.extend(asked.then(|| not_traced(&error))),
        }
    }

    /// Makes lone reads of these devices of this machine while it records.
    #[must_use]
    pub fn probing(self, devices: Vec<String>) -> Self {
        Self { probed: devices, ..self }
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
                    if let Some(interval) = of_device(&mut intervals, self.traced.get(&number)) {
                        interval.traced = Some(Box::new(traced));
                    }
                }
            }
            Some(Err(error)) => {
                self.tracer = None;
                self.findings.push(not_traced(&error));
            }
            None => {}
        }
        match self.issuers.as_mut().map(Issuers::read) {
            Some(Ok(issuers)) => {
                for (number, mut processes) in issuers {
                    // The lone reads of the probe are not part of the load.
                    processes.retain(|row| row.process != Some(std::process::id()));
                    if let Some(interval) = of_device(&mut intervals, self.traced.get(&number)) {
                        interval.processes = Some(processes);
                    }
                }
            }
            Some(Err(error)) => {
                self.issuers = None;
                self.findings.push(not_counted(&error));
            }
            None => {}
        }
        Ok(Sample {
            intervals,
            context: self.sampler.context(),
            devices: self.devices(),
            paths: Arc::clone(&self.paths),
            hidden: self.sampler.hidden(),
            wake_ups: self.sampler.wake_ups(),
            kernel: self.sampler.kernel(),
            findings: self.findings(),
        })
    }

    /// The devices that are watched.
    #[must_use]
    pub fn devices(&self) -> Vec<Arc<ObservedDevice>> {
        self.sampler.devices()
    }

    /// Name of the machine, where the kernel tells it.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        self.sampler.host()
    }

    /// The machine for the checks of causes, with the devices that are there now, none of which has served requests.
    pub(crate) fn looked_at<'a>(&self, roots: &'a Roots) -> Host<'a> {
        let devices = self.devices();
        let facts: Vec<DeviceFacts> = devices.iter().filter_map(|it| it.facts.clone()).collect();
        Host::new(roots, &facts, &|_| false)
    }

    /// Where the machine's trees are.
    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
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

/// The same paths with how the files below them lie: of this machine alone, because the files of another
/// one are not below its `/proc`.
fn with_layouts(roots: &Roots, paths: &[ObservedPath], named: bool) -> Arc<[ObservedPath]> {
    let here = named && *roots == Roots::default();
    let with_layout = |path: &ObservedPath| {
        let files = here && path.filesystem.is_some();
        let layout = files.then(|| target::layout(Path::new(&path.path))).flatten();
        ObservedPath { layout, ..path.clone() }
    };
    paths.iter().map(with_layout).collect()
}

/// The interval of a device, where it has one.
fn of_device<'a>(intervals: &'a mut [Interval], name: Option<&String>) -> Option<&'a mut Interval> {
    intervals.iter_mut().find(|one| Some(&one.device) == name)
}

fn not_counted(why: &dyn std::fmt::Display) -> Finding {
    Finding::note(
        FindingCode::FiguresMissing,
        format!("Requests were not counted per process: {why}."),
        "the processes that use the disks are unknown; the counters are unaffected",
    )
}

fn not_traced(why: &dyn std::fmt::Display) -> Finding {
    Finding::warning(
        FindingCode::FiguresMissing,
        format!("Requests were not traced: {why}."),
        "the queue time, device time and order of individual requests are unknown; the counters \
         are unaffected; `halfpower doctor` shows what the tracer needs",
    )
}
