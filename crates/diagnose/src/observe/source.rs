//! Combines the counter sampler with the per-process counts, where permitted, and with the request tracer, if
//! the user asked for it.
//!
//! Per-process counts need privileges that most users lack, so they are left out silently if not permitted. A
//! tracer that cannot run is a finding, not a failure: the counters answer most questions without it. The
//! tracer follows the disks present at the start. Disks that appear later have counters only. Rejected: a new
//! tracer for each interval, which would lose the requests in flight at every boundary.

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
    /// Activity of each device since the previous sample, in kernel order.
    pub intervals: Vec<Interval>,
    /// State of the system in the same time.
    pub context: Context,
    /// The devices present now.
    pub devices: Vec<Arc<ObservedDevice>>,
    /// The paths that the user named, with all layers below them, or the devices that are built of
    /// several others.
    pub paths: Arc<[ObservedPath]>,
    /// Number of devices that the selection leaves out.
    pub hidden: usize,
    /// Wake-up latencies of threads on this machine.
    pub wake_ups: &'static [WakeUp],
    /// Kernel release, if available.
    pub kernel: Option<Arc<str>>,
    /// Findings since the start.
    pub findings: Vec<Finding>,
}

/// Which data to collect besides the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Requests per process, if privileges allow it.
    pub processes: bool,
    /// Traces of single requests. `None` traces if privileges and the kernel allow it, and reports
    /// nothing if they do not.
    pub requests: Option<bool>,
}

/// A source of samples.
#[derive(Debug)]
pub struct Source {
    roots: Roots,
    sampler: Sampler,
    paths: Arc<[ObservedPath]>,
    tracer: Option<Tracer>,
    issuers: Option<Issuers>,
    /// Names of the traced disks, by device number.
    traced: HashMap<(u32, u32), String>,
    impossible: ImpossibleFigures,
    findings: Vec<Finding>,
    /// Devices that get test reads. `named` is whether the user named devices.
    pub(crate) probed: Vec<String>,
    pub(crate) named: bool,
}

impl Source {
    /// Takes the first reading of the counters and starts the other collectors.
    ///
    /// # Errors
    /// If the counters cannot be read, or a selected device is missing.
    pub fn open(roots: &Roots, selection: Selection, depth: Depth) -> Result<Self, KernelError> {
        // File layouts are read only for paths that the user named.
        let named = !selection.named.is_empty();
        let sampler = Sampler::new(roots.clone(), selection)?;
        let mut source = Self {
            roots: roots.clone(),
            paths: with_layouts(roots, &sampler.paths(), named),
            sampler,
            tracer: None,
            issuers: None,
            traced: HashMap::new(),
            impossible: ImpossibleFigures::default(),
            findings: Vec::new(),
            probed: Vec::new(),
            named,
        };
        let devices = source.devices();
        let disks = request_disks(roots, devices.iter().map(|device| device.name.as_str()));
        let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
        source.traced = disks.into_iter().map(|(name, number)| (number, name)).collect();
        // Counter files of another machine do not describe requests of this kernel.
        if depth.requests.unwrap_or(*roots == Roots::default()) {
            source.start_tracer(roots, &numbers, depth.requests.is_some());
        }
        if depth.processes {
            source.start_issuers(roots, &numbers);
        }
        if *roots == Roots::default() {
            // All collectors begin now. Activity during their start belongs to no interval.
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
                    // The test reads of the probe are not part of the load.
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

    /// The observed devices.
    #[must_use]
    pub fn devices(&self) -> Vec<Arc<ObservedDevice>> {
        self.sampler.devices()
    }

    /// Host name, if the kernel reports it.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        self.sampler.host()
    }

    /// The machine as the system checks see it, with the current devices, all marked as unused.
    pub(crate) fn looked_at<'a>(&self, roots: &'a Roots) -> Host<'a> {
        let devices = self.devices();
        let facts: Vec<DeviceFacts> = devices.iter().filter_map(|it| it.facts.clone()).collect();
        Host::new(roots, &facts, &|_| false)
    }

    /// Root directories of the machine's procfs and sysfs.
    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Findings of the sampler and the tracer so far.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.sampler.findings();
        findings.extend(self.impossible.finding());
        findings.extend(self.findings.iter().cloned());
        findings
    }

    /// Shows or hides partitions and devices that were never used. It has no effect if the user
    /// named devices.
    pub fn show_all(&mut self, all: bool) {
        self.sampler.show(all, all);
    }
}

/// Adds file layouts to the paths. Only for this machine: files of another one are not below its `/proc`.
fn with_layouts(roots: &Roots, paths: &[ObservedPath], named: bool) -> Arc<[ObservedPath]> {
    let here = named && *roots == Roots::default();
    let with_layout = |path: &ObservedPath| {
        let files = here && path.filesystem.is_some();
        let layout = files.then(|| target::layout(Path::new(&path.path))).flatten();
        ObservedPath { layout, ..path.clone() }
    };
    paths.iter().map(with_layout).collect()
}

/// The interval of a device, if it has one.
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
