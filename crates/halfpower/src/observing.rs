//! The flags of all commands that read live counters, and the sources that they open.

use crate::failure::{interrupted, usage};
use crate::progress::Progress;
use crate::recognise::{self, FileForm};
use crate::store_args::warn_not_saved;
use clap::{Args, builder::BoolishValueParser};
use diagnose::observe::{self, Depth, Recorded, Schedule, Source};
use host::kernel::Roots;
use host::kernel::live::Selection;
use plan::session::{Display, Shown, StopFlag, VERSION};
use record::Nanos;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;

/// Minimum interval: the kernel counts times in whole milliseconds, too coarse for a shorter one.
const SHORTEST: Nanos = Nanos(10_000_000);

/// Default interval.
const USUAL: Nanos = Nanos(1_000_000_000);

/// A recorder that saves to the database.
pub(crate) type Recorder = observe::Recorder<anyhow::Error>;

#[derive(Clone, Debug, Args)]
pub(crate) struct ObservingArgs {
    /// Devices: kernel names (sda), device nodes, or paths on a file system; each includes all
    /// devices below it [default: every device that has completed I/O since boot, without
    /// partitions].
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// If no device is named, include partitions and devices without I/O since boot.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

impl ObservingArgs {
    pub(crate) fn source(&self) -> anyhow::Result<Source> {
        self.sampling.source(&self.devices, self.all)
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SamplingArgs {
    /// Time between two readings of the counters, at least 10ms [default: 1s].
    #[arg(long, value_name = "TIME")]
    interval: Option<Nanos>,
    /// Measure each request at the block layer: yes or no [default: yes if possible; needs root].
    #[arg(long, value_name = "yes|no", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes", hide_possible_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) trace: Option<bool>,
    /// Do not count requests and fsyncs per process. Counting them needs root.
    #[arg(long)]
    pub(crate) no_processes: bool,
    /// Mount point of procfs, if not /proc. In a container, name the host's procfs.
    #[arg(long, value_name = "DIR", help_heading = "Source")]
    pub(crate) procfs: Option<PathBuf>,
    /// Mount point of sysfs, if not /sys.
    #[arg(long, value_name = "DIR", help_heading = "Source")]
    pub(crate) sysfs: Option<PathBuf>,
}

impl SamplingArgs {
    /// Length of an interval of live counters.
    pub(crate) fn interval(&self) -> Nanos {
        self.interval.unwrap_or(USUAL)
    }

    /// The interval that the user set. It also applies to a recording without times.
    pub(crate) fn named_interval(&self) -> Option<Nanos> {
        self.interval
    }

    pub(crate) fn roots(&self) -> Roots {
        let Roots { proc, sys, dev } = Roots::default();
        let (other_proc, other_sys) = (self.procfs.clone(), self.sysfs.clone());
        Roots { proc: other_proc.unwrap_or(proc), sys: other_sys.unwrap_or(sys), dev }
    }

    /// Opens these devices and takes the first reading.
    pub(crate) fn source(&self, named: &[String], all: bool) -> anyhow::Result<Source> {
        if self.interval() < SHORTEST {
            return Err(usage(
                "--interval must be at least 10ms: the kernel counts times in whole milliseconds",
            ));
        }
        // A recording names no disk to watch: not even the one that the file is on.
        let is_no_input = |form| form == FileForm::Other;
        named.iter().try_for_each(|name| recognise::expect(name, is_no_input))?;
        let selection = Selection { named: named.to_vec(), partitions: all, unused: all };
        let depth = Depth { processes: !self.no_processes, requests: self.trace };
        Ok(Source::open(&self.roots(), selection, depth)?)
    }

    /// Rejects a length shorter than one interval.
    pub(crate) fn check_length(&self, length: Nanos) -> anyhow::Result<()> {
        if length >= self.interval() {
            return Ok(());
        }
        let [length, interval] =
            [length, self.interval()].map(|it| record::format_nanos(it.0 as f64));
        Err(usage(format!("--for {length} is shorter than one --interval ({interval})")))
    }

    /// Records for this length; an error if the user ends it before the first sample.
    pub(crate) fn record(
        &self,
        source: Source,
        recorder: Recorder,
        length: Nanos,
        stop: &StopFlag,
    ) -> anyhow::Result<Recorded> {
        let mut progress = Progress::new();
        let schedule = Schedule { interval: self.interval(), length };
        let recorded = source.record(recorder, schedule, stop, |spent, devices| {
            let share = spent.as_secs_f64() / length.as_secs_f64().max(1e-9);
            let (left, what) = (Some(length.since(spent)), format!("{devices} devices"));
            let phase = "record";
            progress.show(&Shown { phase, share, left, what: &what, ..Shown::default() });
        });
        progress.clear();
        let recorded = recorded?;
        if recorded.taken == 0 {
            return Err(interrupted("nothing was recorded"));
        }
        Ok(recorded)
    }
}

/// A recorder that saves to the database, if there is one, and a flag that says whether saving still works.
/// If saving fails, a warning is printed and the recording continues.
pub(crate) fn recorder(
    mut store: Option<Store>,
    host: Option<String>,
) -> (Recorder, Arc<AtomicBool>) {
    let kept = Arc::new(AtomicBool::new(store.is_some()));
    let keeps = Arc::clone(&kept);
    let recorder = Recorder::new(VERSION, host, move |observation| {
        if let Some(open) = &mut store
            && let Err(error) = open.add_document(observation)
        {
            warn_not_saved(&error);
            keeps.store(false, Ordering::Relaxed);
            store = None;
        }
        Ok(())
    });
    (recorder, kept)
}
