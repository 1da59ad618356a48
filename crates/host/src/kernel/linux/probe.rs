//! The probe of a real machine: CPU time, kernel workers, steal, and device counters.
//!
//! Total CPU time comes from the process clock, in nanoseconds; `getrusage` gives its split into user and
//! system time. Both include the io_uring workers, which are threads of this process. Their share is read
//! per thread, and the time of a worker that has ended stays counted.
//!
//! The kernel's device times are 32-bit milliseconds that wrap (once a day at a concurrency of 50), so each
//! reading adds its difference modulo 2^32 to a sum. If there are several leaves, traffic is summed; busy
//! time increases by that of the busiest, a lower bound. Counters that go back belong to another device
//! with the same name: from then on the probe reports none. Rejected: `/proc/self/stat` for CPU time (ticks
//! of 10 ms), and the `stat` file of a partition (no flushes, a shared queue).

use crate::kernel::linux::clock::now_ns;
use crate::kernel::linux::diskstats::{SECTOR_BYTES, Wrapping, counted_devices, read_lines};
use crate::kernel::linux::perf::PerfCounter;
use crate::kernel::linux::processors;
use crate::kernel::linux::unsafe_calls::process_times_us;
use crate::kernel::read::{Roots, cpu_ticks, names, text};
use engine::{CpuSample, DeviceSample, MachineTimes, Probe, ProbeFacts, ProbeSample, Processors};
use record::{CpuSplit, DeviceFacts, Nanos};
use rustix::param::clock_ticks_per_second;
use rustix::time::ClockId;
use std::collections::{HashMap, HashSet};

/// Name prefixes of the kernel's io_uring worker threads.
const WORKER_NAMES: [&str; 2] = ["iou-wrk", "iou-sqp"];

/// Reads the counters of this machine.
pub(crate) struct Counters {
    roots: Roots,
    workers: Workers,
    last_cpu: (u64, u64),
    /// The reader, or why there is none.
    device: Result<DeviceReader, String>,
    instructions: Result<PerfCounter, String>,
}

impl Counters {
    /// A probe of this process and of the disks under its targets; each disk counts once.
    pub(crate) fn new(roots: Roots, disks: &[DeviceFacts]) -> Self {
        let uncounted = disks.iter().find(|disk| disk.iostats == Some(false));
        let device = match uncounted {
            _ if disks.is_empty() => Err("the target has no block device".to_owned()),
            Some(disk) => Err(format!(
                "the kernel keeps no counters for {}; write 1 to /sys/block/{}/queue/iostats",
                disk.disk, disk.disk
            )),
            None => Ok(DeviceReader::new(disks)),
        };
        let instructions = PerfCounter::instructions(&roots);
        Self { roots, workers: Workers::default(), last_cpu: (0, 0), device, instructions }
    }

    fn cpu(&mut self) -> Option<CpuSample> {
        let (user_us, system_us) = process_times_us()?;
        let total = now_ns(ClockId::ProcessCPUTime);
        let (user_ns, system_ns) = split(total, user_us, system_us, self.last_cpu);
        self.last_cpu = (user_ns, system_ns);
        Some(CpuSample {
            user_ns,
            system_ns,
            workers_ns: self.workers.sample(&self.roots),
            machine: machine_times(&self.roots),
            instructions: self.instructions.as_ref().ok().and_then(PerfCounter::read),
        })
    }

    fn device(&mut self) -> Option<DeviceSample> {
        let read = self.device.as_mut().ok()?.read(&self.roots);
        read.map_err(|reason| self.device = Err(reason)).ok()
    }
}

impl Probe for Counters {
    fn sample(&mut self) -> ProbeSample {
        let at = Nanos(now_ns(ClockId::Monotonic));
        // The device first: the boundaries of a window matter most for it.
        let device = self.device();
        ProbeSample { at, cpu: self.cpu(), device, components: Vec::new() }
    }

    fn facts(&self) -> ProbeFacts {
        let no_instructions_reason = match &self.instructions {
            Ok(_) => "the counter never ran: other programs use all counters of the CPU".to_owned(),
            Err(refusal) => refusal.clone(),
        };
        let (usable, clock) = (processors::usable(&self.roots), processors::clock(&self.roots));
        ProbeFacts {
            cpu_split: cpu_split(&self.roots),
            processors: Processors { usable, clock, no_instructions_reason },
            no_device_reason: self.device.as_ref().err().cloned().unwrap_or_default(),
            no_cpu_reason: "the system call getrusage failed".to_owned(),
            cpu_step_ns: 0,
        }
    }
}

/// Splits an exact total in the ratio of the kernel's parts, so that neither part ever decreases.
fn split(total: u64, user_us: u64, system_us: u64, last: (u64, u64)) -> (u64, u64) {
    let parts = u128::from(user_us) + u128::from(system_us);
    let user = (u128::from(total) * u128::from(user_us)).checked_div(parts);
    // Before the first tick the parts are zero: assign the time to the program.
    let user = user.map_or(total, |user| u64::try_from(user).unwrap_or(total));
    let most = total.saturating_sub(last.1).max(last.0);
    let user = user.clamp(last.0, most);
    (user, total.saturating_sub(user).max(last.1))
}

/// How the kernel determines the split: measured if context tracking is on for every processor that we may
/// use (`nohz_full=`), otherwise sampled by the timer tick.
pub(crate) fn cpu_split(roots: &Roots) -> CpuSplit {
    let (tracked, ours) = (processors::listed(roots, "nohz_full"), processors::allowed(roots));
    let exact = !ours.is_empty() && ours.is_subset(&tracked);
    if exact { CpuSplit::Exact } else { CpuSplit::Sampled }
}

/// The times of all CPUs; `None` where the kernel has fewer columns.
pub(crate) fn machine_times(roots: &Roots) -> Option<MachineTimes> {
    let ticks = cpu_ticks(roots)?;
    let [user, _nice, _system, idle, iowait, .., steal] = ticks;
    Some(MachineTimes {
        all_ns: ticks_ns(ticks.iter().sum()),
        user_ns: ticks_ns(user),
        idle_ns: ticks_ns(idle + iowait),
        steal_ns: Some(ticks_ns(steal)),
    })
}

fn ticks_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1))
}

/// CPU time of the kernel's io_uring workers, including those that have ended.
#[derive(Default)]
struct Workers {
    last: HashMap<String, u64>,
    ended_ns: u64,
}

impl Workers {
    fn sample(&mut self, roots: &Roots) -> u64 {
        let tasks = roots.proc.join("self/task");
        let mut current = HashMap::new();
        for task in names(&tasks) {
            let directory = tasks.join(&task);
            let is_worker = text(&directory.join("comm"))
                .is_some_and(|name| WORKER_NAMES.iter().any(|begin| name.starts_with(begin)));
            // A thread can end between the two readings: its time up to then is in `last`.
            if is_worker && let Some(used) = thread_ns(&directory) {
                current.insert(task, used);
            }
        }
        for (task, used) in &self.last {
            // A smaller time means a new thread with a reused number.
            if current.get(task).is_none_or(|now| now < used) {
                self.ended_ns += used;
            }
        }
        self.last = current;
        self.ended_ns + self.last.values().sum::<u64>()
    }
}

/// CPU time of a thread: `schedstat` in ns, or clock ticks if the kernel has no schedstat.
fn thread_ns(directory: &std::path::Path) -> Option<u64> {
    if let Some(schedstat) = text(&directory.join("schedstat")) {
        return schedstat.split_ascii_whitespace().next()?.parse().ok();
    }
    let stat = text(&directory.join("stat"))?;
    // The name may contain spaces; user and system time are the 12th and 13th field after it.
    let mut after_name = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = after_name.nth(11)?.parse().ok()?;
    let system: u64 = after_name.next()?.parse().ok()?;
    Some(ticks_ns(user + system))
}

/// The counters of the leaves of several devices, as monotone sums.
pub(crate) struct DeviceReader {
    names: Vec<String>,
    busy: Vec<Wrapping>,
    weighted: Vec<Wrapping>,
    sample: DeviceSample,
}

impl DeviceReader {
    /// Each leaf counts once.
    pub(crate) fn new(disks: &[DeviceFacts]) -> Self {
        let mut seen = HashSet::new();
        let mut names: Vec<String> = disks.iter().flat_map(counted_devices).collect();
        names.retain(|name| seen.insert(name.clone()));
        let sample = DeviceSample { device: names.join("+"), ..DeviceSample::default() };
        let times = vec![Wrapping::default(); names.len()];
        Self { names, busy: times.clone(), weighted: times, sample }
    }

    /// The sums so far, or why they are no longer available.
    pub(crate) fn read(&mut self, roots: &Roots) -> Result<DeviceSample, String> {
        let lines = read_lines(roots, &self.names)
            .map_err(|error| format!("the device's counters have disappeared: {error}"))?;
        let mut next = DeviceSample {
            device: self.sample.device.clone(),
            busy_ns: self.sample.busy_ns,
            weighted_ns: self.sample.weighted_ns,
            ..DeviceSample::default()
        };
        let mut busiest_ms = 0;
        for (index, line) in lines.iter().enumerate() {
            let discards = line.discards.unwrap_or_default();
            for (direction, counters) in [line.reads, line.writes, discards].iter().enumerate() {
                next.ios[direction] += counters.ios;
                next.bytes[direction] += counters.sectors * SECTOR_BYTES;
                next.merges[direction] += counters.merges.unwrap_or(0);
            }
            busiest_ms = busiest_ms.max(self.busy[index].advance(line.busy_ms.unwrap_or(0)));
            let weighted_ms = self.weighted[index].advance(line.weighted_ms.unwrap_or(0));
            next.weighted_ns += weighted_ms * 1_000_000;
        }
        next.busy_ns += busiest_ms * 1_000_000;
        let back = |counters: fn(&DeviceSample) -> [u64; 3]| {
            let (now, before) = (counters(&next), counters(&self.sample));
            now[0] < before[0] || now[1] < before[1]
        };
        if back(|sample| sample.ios) || back(|sample| sample.bytes) {
            return Err(format!(
                "the counters of {} decreased: another device now has this name",
                next.device
            ));
        }
        self.sample = next.clone();
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_split_keeps_the_total_and_never_goes_back() {
        assert_eq!(split(1_000, 30, 10, (0, 0)), (750, 250));
        assert_eq!(split(1_000, 0, 0, (0, 0)), (1_000, 0));
        // The ratio moved towards system: user time stays, system time gets the rest.
        assert_eq!(split(1_100, 10, 30, (750, 250)), (750, 350));
        // And the reverse.
        assert_eq!(split(1_100, 40, 0, (750, 250)), (850, 250));
    }
}
