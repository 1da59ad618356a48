//! Reading live counters at a steady pace, for every verb that does.
//!
//! Samples are due at multiples of the interval from the start, so that a slow one does not shift
//! those behind it; what was missed while the machine slept or stood still is not made up for, the
//! interval is then longer and says so. Rejected: sleeping an interval between samples, which
//! drifts by what each sample costs.

use crate::failure::UsageError;
use crate::tracing::Source;
use crate::values::nanos;
use clap::Args;
use kernel::Roots;
use kernel::live::{Sampler, Selection};
use record::{Context, Finding, Interval, Nanos, ObservedDevice, WakeUp};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The shortest interval: below it, times in whole milliseconds say nothing.
const SHORTEST: Nanos = Nanos(10_000_000);
/// How long a sleep lasts before a signal is looked for.
const NAP: Duration = Duration::from_millis(50);

/// What is read, and how often.
#[derive(Clone, Debug, Args)]
pub(crate) struct ObservingArgs {
    /// Devices: kernel names (sda), device nodes, or paths on a file system; each with what it is
    /// built of [default: all whole devices that were ever used].
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// Without names: partitions and devices that were never used, too.
    #[arg(long)]
    pub(crate) all: bool,
    /// Length of an interval, at least 10ms.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = nanos)]
    pub(crate) interval: Nanos,
    /// Trace single requests at the block layer, too (as root; costs a few microseconds each).
    #[arg(long)]
    pub(crate) trace: bool,
    /// Where procfs is mounted; another place than /proc is for containers that see the host's.
    #[arg(long, value_name = "DIR", default_value = "/proc", help_heading = "Source")]
    pub(crate) procfs: PathBuf,
    /// Where sysfs is mounted.
    #[arg(long, value_name = "DIR", default_value = "/sys", help_heading = "Source")]
    pub(crate) sysfs: PathBuf,
}

impl ObservingArgs {
    /// Where the kernel's files are.
    pub(crate) fn roots(&self) -> Roots {
        Roots { proc: self.procfs.clone(), sys: self.sysfs.clone(), ..Roots::default() }
    }

    /// A sampler with its first reading taken, and a tracer if one is wanted.
    pub(crate) fn source(&self) -> anyhow::Result<Source> {
        if self.interval < SHORTEST {
            let text = "--interval must be at least 10ms: the kernel counts times in whole \
                        milliseconds";
            return Err(UsageError(text.to_owned()).into());
        }
        let named = self.devices.clone();
        let selection = Selection { named, partitions: self.all, unused: self.all };
        let sampler = Sampler::new(self.roots(), selection)?;
        Ok(if self.trace { Source::traced(sampler, &self.roots()) } else { Source::plain(sampler) })
    }
}

/// One sample with all that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    /// What happened since the one before.
    pub(crate) intervals: Vec<Interval>,
    /// The system meanwhile.
    pub(crate) context: Context,
    /// The devices that are there.
    pub(crate) devices: Vec<Arc<ObservedDevice>>,
    /// Devices that are not shown.
    pub(crate) hidden: usize,
    /// How late threads wake up.
    pub(crate) wake_ups: &'static [WakeUp],
    /// What happened beside the figures, so far.
    pub(crate) findings: Vec<Finding>,
}

impl Tick {
    /// Takes the next sample now.
    pub(crate) fn take(source: &mut Source) -> anyhow::Result<Self> {
        let intervals = source.sample()?;
        let findings = source.findings();
        let sampler = &mut source.sampler;
        Ok(Self {
            intervals,
            context: sampler.context(),
            devices: sampler.devices(),
            hidden: sampler.hidden(),
            wake_ups: sampler.wake_ups(),
            findings,
        })
    }
}

/// When the next sample is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    /// The first sample is due an interval from now.
    pub(crate) fn new(interval: Nanos) -> Self {
        let interval = Duration::from_nanos(interval.0);
        Self { interval, due: Instant::now() + interval }
    }

    /// The time until then.
    pub(crate) fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// One sample was taken: the next is due at the next multiple that is still to come.
    pub(crate) fn step(&mut self) {
        let now = Instant::now();
        self.due += self.interval;
        if self.due <= now {
            let missed = (now - self.due).as_nanos() / self.interval.as_nanos().max(1) + 1;
            self.due += self.interval * u32::try_from(missed).unwrap_or(u32::MAX);
        }
    }

    /// Sleeps until the sample is due; `false` if `stop` was set meanwhile.
    pub(crate) fn wait(&mut self, stop: &AtomicBool) -> bool {
        while !stop.load(Ordering::Relaxed) {
            let left = self.left();
            if left.is_zero() {
                self.step();
                return true;
            }
            std::thread::sleep(left.min(NAP));
        }
        false
    }
}
