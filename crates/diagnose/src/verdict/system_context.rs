//! Collects facts in addition to a device's counters: the system, control-group limits and the
//! tracer. Contexts have intervals of their own. A segment weights each context by the time that
//! they overlap. Whatever delays requests above the disk shows here or nowhere.

use super::device_users::DeviceUsers;
use super::starved::{Starved, long_waits};
use record::{
    CgroupLimit, CgroupShare, Context, CpuStops, DeviceFacts, HistogramSnapshot, Interval,
    MemoryLimit, OverLimit, ProcessIo, Traced, TracedOp, bucket_mid,
};
use stats::weighted_mean;
use std::collections::BTreeSet;
use std::ops::Range;

/// A shorter wait before a request is started is not throttling: the CPU was doing something else.
/// On a machine with two processors a tenth of the requests of a fast device waited 0.1 ms, and one
/// in a thousand waited 0.5 ms.
const HELD_NS: f64 = 5e5;
/// The outstanding requests of an interval count as known if they are known for the programs of
/// this share of its requests.
const NEARLY_ALL: f64 = 0.95;
/// Share of idle CPU time below which the processors are full.
const PROCESSORS_FULL: f64 = 0.05;
/// The limit of idle CPU time if some program waits for a processor for at least `WAITED_FOR` of the time.
const PROCESSORS_SHORT: f64 = 0.2;
const WAITED_FOR: f64 = 0.5;

/// Context of a time segment. `None` means unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct SystemContext {
    /// Share of time in which some task waited for I/O.
    pub(crate) io_some: Option<f64>,
    /// The same for each interval.
    pub(crate) io_some_each: Vec<Option<f64>>,
    /// Share of time in which some task waited for a processor.
    pub(crate) cpu_some: Option<f64>,
    /// Share of time in which some task waited for memory.
    pub(crate) memory_some: Option<f64>,
    /// The control group that was throttled most for its CPU quota, and the share of its periods in
    /// which it was.
    pub(crate) stopped: Option<CpuStops>,
    /// Share of CPU time that the hypervisor took.
    pub(crate) steal: Option<f64>,
    /// Share of CPU time that was idle.
    pub(crate) idle: Option<f64>,
    /// Mean bytes under write-back.
    pub(crate) writeback_bytes: Option<f64>,
    /// Dirty bytes plus those under write-back, and the limit from which the kernel throttles writers.
    pub(crate) unwritten: Option<(f64, f64)>,
    /// Bytes per second refaulted into the page cache shortly after eviction, and bytes per second
    /// read from all devices.
    pub(crate) refaulted_per_s: Option<f64>,
    pub(crate) read_per_s: Option<f64>,
    /// Among control groups that reached their memory limit, the one that rereads most.
    pub(crate) memory_limit: Option<MemoryLimit>,
    /// Memory usable as a cache, in bytes.
    pub(crate) memory_bytes: Option<f64>,
    /// Limits that applied at any time, without duplicates.
    pub(crate) limits: Vec<CgroupLimit>,
    /// Division of devices among control groups, without duplicates.
    pub(crate) shares: Vec<CgroupShare>,
    pub(crate) traced: Option<TracedSums>,
    /// How long the provider's limits were exceeded, if the volume reports it.
    pub(crate) over_limit: Option<OverLimit>,
    /// The users of the device, if they were counted.
    pub(crate) users: Option<DeviceUsers>,
    /// Requests that programs waited for at the end of each interval, where known.
    pub(crate) waited_for: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct TracedSums {
    /// Share of requests that were sequential.
    pub(crate) sequential: Option<f64>,
    /// Mean wait of a request before it was started, in nanoseconds.
    pub(crate) waited_ns: f64,
    /// Number of requests that were held before they were started, and their mean wait.
    pub(crate) held: (f64, f64),
    /// Mean number of requests waiting to be started.
    pub(crate) waiting: f64,
    /// Mean time from start to issue of a request in nanoseconds: in the scheduler, or behind a full device.
    pub(crate) queue_ns: f64,
    /// Mean time from issue to completion in nanoseconds.
    pub(crate) device_ns: f64,
    pub(crate) requests: f64,
    /// Requests that the scheduler delays unusually long.
    pub(crate) starved: Option<Starved>,
}

/// Share of each interval in which some task waited for I/O.
pub(super) fn waits(intervals: &[&Interval], contexts: &[Context]) -> Vec<Option<f64>> {
    intervals.iter().map(|one| io_some(one, contexts)).collect()
}

impl SystemContext {
    /// For a segment, given its intervals and all contexts.
    pub(crate) fn of(intervals: &[&Interval], contexts: &[Context]) -> Self {
        let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
            return Self::default();
        };
        let (begin, end) = (first.begin_ns, end_of(last.begin_ns, last.duration_ns));
        let overlaps = overlapping(contexts, begin..end);
        let mean = |value: &dyn Fn(&Context) -> Option<f64>| {
            let known = overlaps.iter().filter_map(|(one, time)| Some((value(one)?, *time)));
            weighted_mean(known)
        };
        let io_some_each = waits(intervals, contexts);
        let contexts = || overlaps.iter().map(|(context, _)| *context);
        Self {
            io_some: mean(&|context| context.io_some_share),
            io_some_each,
            cpu_some: mean(&|context| context.cpu_some_share),
            memory_some: mean(&|context| context.memory_some_share),
            stopped: most_stopped(&overlaps),
            steal: mean(&|context| context.steal_share),
            idle: mean(&|context| context.idle_share),
            writeback_bytes: mean(&|context| context.writeback_bytes.map(|bytes| bytes as f64)),
            unwritten: mean(&|context| {
                Some(context.dirty_bytes?.saturating_add(context.writeback_bytes?) as f64)
            })
            .zip(mean(&|context| context.dirty_limit_bytes.map(|bytes| bytes as f64))),
            refaulted_per_s: mean(&|context| context.refaulted_bytes_per_s),
            read_per_s: mean(&|context| context.read_bytes_per_s),
            memory_limit: contexts()
                .flat_map(|context| &context.memory_limits)
                .max_by(|a, b| a.refaulted_bytes_per_s.total_cmp(&b.refaulted_bytes_per_s))
                .cloned(),
            memory_bytes: mean(&|context| context.memory_available_bytes.map(|bytes| bytes as f64)),
            limits: each_once(contexts().flat_map(|it| &it.cgroup_limits))
                .into_iter()
                .cloned()
                .collect(),
            shares: each_once(contexts().flat_map(|it| &it.cgroup_shares))
                .into_iter()
                .cloned()
                .collect(),
            traced: TracedSums::of(intervals),
            over_limit: over_limit(intervals),
            users: DeviceUsers::of(intervals),
            waited_for: waited_for(intervals),
        }
    }

    /// The group shares that apply to a device.
    pub(crate) fn shares_of(&self, facts: &DeviceFacts) -> Vec<&CgroupShare> {
        let its = |share: &&CgroupShare| {
            !facts.is_export()
                && share.major_minor.as_ref().is_none_or(|numbers| *numbers == facts.major_minor)
        };
        self.shares.iter().filter(its).collect()
    }

    /// Whether programs had to wait for a processor: less than a twentieth of CPU time was idle, or
    /// less than a fifth while some program waited for half of the time.
    pub(crate) fn processors_full(&self) -> bool {
        let waited = self.cpu_some.is_some_and(|waited| waited >= WAITED_FOR);
        self.idle.is_some_and(|idle| idle < if waited { PROCESSORS_SHORT } else { PROCESSORS_FULL })
    }
}

/// Requests that programs waited for at the end of each interval, if known for nearly all requests.
/// A program that shows the number at some moments waits for none at the others. A program that
/// uses libaio shows it seldom or never, and then does not count as known.
fn waited_for(intervals: &[&Interval]) -> Vec<f64> {
    let shown: BTreeSet<u32> = intervals
        .iter()
        .flat_map(|interval| interval.processes.iter().flatten())
        .filter(|row| row.outstanding.is_some())
        .filter_map(|row| row.process)
        .collect();
    let at_end = |interval: &&Interval| {
        let processes = interval.processes.as_ref()?;
        let known = |row: &&ProcessIo| {
            row.outstanding.is_some() || row.process.is_some_and(|id| shown.contains(&id))
        };
        let requests = |row: &ProcessIo| (row.reads + row.writes) as f64;
        let all: f64 = processes.iter().map(requests).sum();
        let of_known: f64 = processes.iter().filter(known).map(requests).sum();
        let sum: u32 = processes.iter().filter_map(|row| row.outstanding).sum();
        (of_known >= NEARLY_ALL * all && of_known > 0.0).then_some(f64::from(sum))
    };
    intervals.iter().filter_map(at_end).collect()
}

fn end_of(begin_ns: u64, duration_ns: u64) -> u64 {
    begin_ns.saturating_add(duration_ns)
}

/// The contexts that overlap a time range, and for how long. `contexts` is in order of time.
fn overlapping(contexts: &[Context], time: Range<u64>) -> Vec<(&Context, f64)> {
    let end = |context: &Context| end_of(context.begin_ns, context.duration_ns);
    let from = contexts.partition_point(|context| end(context) <= time.start);
    let within = contexts[from..].iter().take_while(|context| context.begin_ns < time.end);
    let overlap = |context: &Context| {
        end(context).min(time.end).saturating_sub(context.begin_ns.max(time.start)) as f64
    };
    within.map(|context| (context, overlap(context))).filter(|(_, time)| *time > 0.0).collect()
}

/// Share of an interval in which some task waited for I/O.
fn io_some(interval: &Interval, contexts: &[Context]) -> Option<f64> {
    let time = interval.begin_ns..end_of(interval.begin_ns, interval.duration_ns);
    let known = overlapping(contexts, time);
    weighted_mean(known.into_iter().filter_map(|(one, time)| Some((one.io_some_share?, time))))
}

/// The distinct items, in order of first appearance.
pub(super) fn each_once<'a, T: PartialEq + 'a>(
    items: impl IntoIterator<Item = &'a T>,
) -> Vec<&'a T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

fn over_limit(intervals: &[&Interval]) -> Option<OverLimit> {
    let told = |interval: &&Interval| Some((interval.over_limit?, interval.duration_ns as f64));
    OverLimit::mean(&intervals.iter().filter_map(told).collect::<Vec<_>>())
}

/// The group throttled in the largest share of its periods, averaged over all contexts.
fn most_stopped(overlaps: &[(&Context, f64)]) -> Option<CpuStops> {
    let whole: f64 = overlaps.iter().map(|(_, time)| time).sum();
    let mut found: Vec<CpuStops> = Vec::new();
    for (context, time) in overlaps {
        for stops in &context.cpu_stops {
            let share = stops.share * time / whole;
            match found.iter_mut().find(|known| known.group == stops.group) {
                Some(known) => known.share += share,
                None => found.push(CpuStops { share, ..stops.clone() }),
            }
        }
    }
    found.into_iter().max_by(|one, other| one.share.total_cmp(&other.share))
}

impl TracedSums {
    fn of(intervals: &[&Interval]) -> Option<Self> {
        let traced: Vec<&Traced> =
            intervals.iter().filter_map(|interval| interval.traced.as_deref()).collect();
        traced.first()?;
        let told = intervals.iter().filter(|interval| interval.traced.is_some());
        let seconds = told.map(|interval| interval.duration_ns as f64 / 1e9).sum();
        let ops = || traced.iter().flat_map(|one| [&one.read, &one.write]);
        let timed: f64 = ops().map(|op| op.device_ns.count() as f64).sum();
        let mean_ns = |times: fn(&TracedOp) -> &HistogramSnapshot| {
            ops().map(|op| total_ns(times(op))).sum::<f64>() / timed.max(1.0)
        };
        let waits = || traced.iter().flat_map(|one| &one.before_start_ns.buckets);
        let waited = |least: f64| {
            let (n, ns) = long_waits(waits(), least);
            (n, ns / f64::max(n, 1.0))
        };
        Some(Self {
            sequential: weighted_mean(
                ops().filter_map(|op| Some((op.sequential_share?, requests(op).max(1.0)))),
            ),
            waited_ns: waited(0.0).1,
            held: waited(HELD_NS),
            waiting: traced.iter().map(|one| total_ns(&one.before_start_ns)).sum::<f64>()
                / (seconds * 1e9),
            queue_ns: mean_ns(|op| &op.queue_ns),
            device_ns: mean_ns(|op| &op.device_ns),
            requests: ops().map(requests).sum(),
            starved: Starved::of(&traced, seconds),
        })
    }
}

/// Sum of all times, from the bucket midpoints.
fn total_ns(times: &HistogramSnapshot) -> f64 {
    times.buckets.iter().map(|&(bucket, n)| bucket_mid(bucket as usize) * n as f64).sum()
}

fn requests(op: &TracedOp) -> f64 {
    op.device_ns.count().max(op.request_bytes.count()) as f64
}
