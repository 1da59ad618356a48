//! The probe of a real machine: CPU time of this process, and the counters of its disks.
//!
//! CPU time comes from GetProcessTimes, split into user and system, in steps of the timer tick (15.6 ms
//! unless a program requested finer ones): over a window of a second it is accurate to 2 %. Rejected:
//! QueryProcessCycleTime, which counts cycles of a clock of unknown rate, without a split.

use crate::kernel::read::Roots;
use crate::kernel::windows::clock::monotonic_ns;
use crate::kernel::windows::device::opened_as;
use crate::kernel::windows::disk_performance::{DiskPerformance, SIZE};
use crate::kernel::windows::processors;
use crate::kernel::windows::unsafe_calls::{
    device_control, open_device, process_times_ns, system_times_100ns,
};
use engine::{CpuSample, DeviceSample, MachineTimes, Probe, ProbeFacts, ProbeSample, Processors};
use record::{CpuSplit, DeviceFacts, Nanos};
use std::os::windows::io::OwnedHandle;
use windows_sys::Win32::System::Ioctl::IOCTL_DISK_PERFORMANCE;

/// The default timer tick: a 64th of a second.
const TICK_NS: u64 = 15_625_000;

/// The times of all CPUs. Windows does not report steal.
fn machine_times() -> Option<MachineTimes> {
    let (idle, kernel, user) = system_times_100ns()?;
    // The kernel's time includes the idle time.
    let ns = |times: u64| times.saturating_mul(100);
    Some(MachineTimes {
        all_ns: ns(kernel + user),
        user_ns: ns(user),
        idle_ns: ns(idle),
        steal_ns: None,
    })
}

/// Reads the counters of this machine.
pub(crate) struct Counters {
    /// The reader, or why there is none.
    device: Result<DeviceReader, String>,
}

impl Counters {
    /// A probe of this process and of the disks under its targets; each disk counts once.
    #[expect(clippy::needless_pass_by_value, reason = "only Linux has them")]
    pub(crate) fn new(roots: Roots, disks: &[DeviceFacts]) -> Self {
        let device = if disks.is_empty() {
            Err("Windows reports no disk below the target".to_owned())
        } else {
            let mut reader = DeviceReader::new(disks);
            reader.read(&roots).map(|_| reader)
        };
        Self { device }
    }

    fn device(&mut self) -> Option<DeviceSample> {
        let read = self.device.as_mut().ok()?.read(&Roots::default());
        read.map_err(|reason| self.device = Err(reason)).ok()
    }
}

impl Probe for Counters {
    fn sample(&mut self) -> ProbeSample {
        let at = Nanos(monotonic_ns());
        // The device first: the boundaries of a window matter most for it.
        let device = self.device();
        let cpu = process_times_ns().map(|(user_ns, system_ns)| CpuSample {
            user_ns,
            system_ns,
            workers_ns: 0,
            machine: machine_times(),
            instructions: None,
        });
        ProbeSample { at, cpu, device, components: Vec::new() }
    }

    fn facts(&self) -> ProbeFacts {
        let no_instructions_reason = "Windows has no instruction counter for programs".to_owned();
        let usable = processors::usable(&Roots::default());
        let clock = processors::clock();
        ProbeFacts {
            cpu_split: CpuSplit::Sampled,
            processors: Processors { usable, clock, no_instructions_reason },
            no_device_reason: self.device.as_ref().err().cloned().unwrap_or_default(),
            no_cpu_reason: "GetProcessTimes failed".to_owned(),
            cpu_step_ns: TICK_NS,
        }
    }
}

/// The current counters of a disk or volume.
pub(crate) fn performance(device: &OwnedHandle) -> std::io::Result<DiskPerformance> {
    let mut bytes = [0; SIZE];
    let length = device_control(device, IOCTL_DISK_PERFORMANCE, &[], &mut bytes)?;
    let parsed = DiskPerformance::parse(&bytes[..length]);
    parsed.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}

/// The counters of the disks below several devices, as monotone sums.
pub(crate) struct DeviceReader {
    names: Vec<String>,
    open: Vec<(OwnedHandle, DiskPerformance)>,
    sample: DeviceSample,
}

impl DeviceReader {
    /// Each disk counts once.
    pub(crate) fn new(disks: &[DeviceFacts]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for leaf in disks.iter().flat_map(|disk| &disk.leaves) {
            if !names.contains(leaf) {
                names.push(leaf.clone());
            }
        }
        let sample = DeviceSample { device: names.join("+"), ..DeviceSample::default() };
        Self { names, open: Vec::new(), sample }
    }

    /// The sums since the first reading, or why they are no longer available.
    pub(crate) fn read(&mut self, _roots: &Roots) -> Result<DeviceSample, String> {
        let gone = |name: &str, why: &dyn std::fmt::Display| {
            format!("{name} provides no counters (IOCTL_DISK_PERFORMANCE): {why}")
        };
        if self.open.is_empty() {
            for name in &self.names {
                let opened = open_device(&opened_as(name), 0, 0);
                let disk = opened.map_err(|error| gone(name, &error))?;
                let first = performance(&disk).map_err(|error| gone(name, &error))?;
                self.open.push((disk, first));
            }
        }
        let (mut busiest, sample) = (0, &mut self.sample);
        for ((disk, before), name) in self.open.iter_mut().zip(&self.names) {
            let now = performance(disk).map_err(|error| gone(name, &error))?;
            let moved = now.since(before).ok_or_else(|| {
                format!("the counters of {name} decreased: another device now has this name")
            })?;
            *before = now;
            for way in 0..2 {
                sample.ios[way] += moved.ios[way];
                sample.bytes[way] += moved.bytes[way];
            }
            busiest = busiest.max(moved.busy_ns);
            sample.weighted_ns += moved.times_ns.iter().sum::<u64>();
        }
        sample.busy_ns += busiest;
        Ok(sample.clone())
    }
}
