//! Simulates a device under several concurrent loads, as a kernel's counters would show it.
//!
//! Loads start and end at their times, each with jobs of its own. All use one device in one virtual time,
//! by the same loop as trials. A limit of a control group (those of `io.max`) delays a request before any
//! disk counter starts. The requests that pass it are simulated as a stream at constant intervals, and the
//! context reports the limit, as on a real machine. A program that both reads and writes waits for the
//! limited operation, so a limit on one limits both in proportion. Pressure is modelled: some task waits
//! while the device is busy or a limit holds it. Rejected: a token bucket ahead of the counters, which
//! would pass the same stream.

use engine::{Completion, DeviceSample, Engine, EngineError, Submission, Wait};
use record::{
    Arrival, CgroupLimit, Change, Context, Figure, HistogramSnapshot, Interval, LimitedIo, Nanos,
    OBSERVATION_SCHEMA, Observation, ObservedDevice, OpInterval, OpKind, ProcessIo, RaidLevel,
    Traced, TracedOp, Workload, bucket_index, hex_digest,
};
use simdisk::{AnyDevice, SimClock, SimEngine, SimHost, SimSpec, run_until_blocked, sim_worker};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{Control, JobCounters, TrialError, Window, Worker};
use workload::derive_seed;
use workload::volume::{Raid, VolumeSpec};

/// End offsets of requests that a tracer remembers, to distinguish interleaved streams from random
/// requests.
const STREAMS: usize = 16;

/// A limit of a control group, as in `io.max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// The limited quantity.
    pub limited: LimitedIo,
    /// Requests or bytes per second.
    pub per_s: u64,
}

impl GroupLimit {
    /// The limit from this key of `io.max` and its value; `None` for an unknown key.
    #[must_use]
    pub fn of(key: &str, per_s: u64) -> Option<Self> {
        Some(Self { limited: LimitedIo::from_key(key)?, per_s })
    }

    /// The requests per second of a load that the limit allows; `None` if it does not apply to the load.
    #[must_use]
    pub fn lets_through(&self, workload: &Workload) -> Option<u64> {
        let reads = u64::from(workload.read_percent);
        let percent = if self.limited.op() == OpKind::Read { reads } else { 100 - reads };
        let size: u64 = workload.bs.iter().map(|size| size.bytes.0 * u64::from(size.percent)).sum();
        let each = if self.limited.is_bytes() { percent * size } else { percent * 100 };
        (each > 0).then(|| (self.per_s.saturating_mul(10_000) / each).max(1))
    }
}

/// One load of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioLoad {
    /// Name of the program.
    pub name: String,
    /// Its requests; the run time is ignored.
    pub workload: Workload,
    /// Start.
    pub begin: Nanos,
    /// End.
    pub end: Nanos,
    /// The limits of its control group.
    pub limits: Vec<GroupLimit>,
    /// Whether it is the page cache writing back.
    pub write_back: bool,
    /// Whether pressure figures exclude its waits at a limit, as for asynchronous I/O.
    pub uncounted: bool,
}

/// How devices are combined into an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Number of devices, including copies and parity.
    pub disks: u32,
    /// RAID level of the members.
    pub raid: Raid,
    /// Number of devices with the same data; each such group is one member.
    pub copies: u64,
    /// Chunk size: contiguous bytes on a member.
    pub chunk_bytes: u64,
}

impl Array {
    /// The array of a change; `None` for another change, and for levels that are not simulated.
    #[must_use]
    pub fn of(change: Change) -> Option<Self> {
        let Change::Array { disks, raid, chunk_bytes } = change else { return None };
        let (raid, copies) = match raid {
            RaidLevel::Raid0 => (Raid::Raid0, 1),
            RaidLevel::Raid1 => (Raid::Raid1, 1),
            RaidLevel::Raid5 => (Raid::Raid5, 1),
            RaidLevel::Raid10 => (Raid::Raid0, 2),
            RaidLevel::Raid6 => return None,
        };
        Some(Self { disks, raid, copies, chunk_bytes })
    }
}

/// A device with its loads.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// The device.
    pub device: &'a SimSpec,
    /// Array of such devices in place of one, if any.
    pub array: Option<Array>,
    /// The loads.
    pub loads: Vec<ScenarioLoad>,
    /// Length of the observation.
    pub duration: Nanos,
    /// Sampling interval.
    pub interval: Nanos,
    /// Seed of service times and requests.
    pub seed: u64,
    /// Whether a tracer runs.
    pub traced: bool,
    /// Share of the processors' time taken by the host.
    pub steal_share: f64,
}

/// Observes a scenario; `stop` ends it early.
///
/// # Errors
/// If an engine failed, or `stop` was set.
pub fn observe(
    scenario: &Scenario<'_>,
    version: &str,
    stop: &AtomicBool,
) -> Result<Observation, TrialError> {
    let name = format!("sim:{}", scenario.device.text);
    let room = Rc::new(RefCell::new(SimHost::new(built(scenario), name.clone())));
    let mut run = ScenarioRun::new(scenario, &room);
    run.run(stop)?;
    let file_hash = scenario.device.file_hash.clone();
    Ok(Observation {
        schema: OBSERVATION_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        id: identity(scenario),
        source: "simulated".to_owned(),
        devices: vec![ObservedDevice { name, file_hash, ..ObservedDevice::default() }],
        intervals: run.intervals,
        contexts: run.contexts,
        ..Observation::default()
    })
}

/// The device, or the array of such devices.
fn built(scenario: &Scenario<'_>) -> AnyDevice {
    let seed = |member: u64| derive_seed(scenario.seed, u64::from(u32::MAX) + member);
    let Some(Array { disks, raid, copies, chunk_bytes }) = scenario.array else {
        return scenario.device.build(scenario.seed);
    };
    let bound = |raid: Raid, members: Vec<AnyDevice>| {
        let spec = VolumeSpec { raid, chunk_bytes, ..VolumeSpec::default() };
        AnyDevice::Array(Box::new(simdisk::Array::new(&spec, members)))
    };
    let member = |at: u64| {
        let one = |copy: u64| scenario.device.build(seed(at * copies + copy));
        if copies > 1 { bound(Raid::Raid1, (0..copies).map(one).collect()) } else { one(0) }
    };
    bound(raid, (0..u64::from(disks) / copies).map(member).collect())
}

/// A hash of everything that determines the observation.
fn identity(scenario: &Scenario<'_>) -> String {
    let limit = |limit: &GroupLimit| format!("{}={}", limit.limited.key(), limit.per_s);
    let load = |load: &ScenarioLoad| {
        let (cell, begin, end) = (load.workload.cell(), load.begin.0, load.end.0);
        let limits = load.limits.iter().map(limit).collect::<Vec<_>>().join(",");
        let (from_cache, uncounted) = (load.write_back, load.uncounted);
        format!("{} {cell} {begin} {end} {limits} {from_cache} {uncounted}", load.name)
    };
    let loads: Vec<String> = scenario.loads.iter().map(load).collect();
    let file = scenario.device.file_hash.iter().map(|hash| format!(" {hash}")).collect::<String>();
    hex_digest(&format!(
        "observation {}{file} {:?} {} {} {} {} {} {}",
        scenario.device.text,
        scenario.array,
        scenario.seed,
        scenario.duration.0,
        scenario.interval.0,
        scenario.traced,
        scenario.steal_share,
        loads.join("; ")
    ))
}

/// The load as it reaches the device, and whether its limit holds it.
fn limited(load: &ScenarioLoad) -> (Workload, bool) {
    let mut workload = load.workload.clone();
    let through = load.limits.iter().filter_map(|limit| limit.lets_through(&workload));
    let Some(limit) = through.min() else { return (workload, false) };
    if workload.arrival != Arrival::Closed && workload.rate_iops.is_some_and(|rate| rate <= limit) {
        return (workload, false);
    }
    workload.arrival = Arrival::Constant;
    workload.rate_iops = Some(limit);
    workload.write_rate_iops = None;
    (workload, true)
}

/// The part of a process's held reads that a kernel thread issues when the limit releases them. (Measured:
/// a tenth of the reads of a program at queue depth 16.)
fn let_go_later(own: &mut ProcessIo) -> ProcessIo {
    const SHARE: u64 = 10;
    let (reads, read_bytes) = (own.reads / SHARE, own.read_bytes / SHARE);
    (own.reads, own.read_bytes) = (own.reads - reads, own.read_bytes - read_bytes);
    ProcessIo {
        process: Some(u32::MAX),
        processes: 1,
        name: "kworker/0:1-kthrotld".to_owned(),
        group: Some("/".to_owned()),
        kernel_thread: true,
        reads,
        read_bytes,
        ..ProcessIo::default()
    }
}

/// Data of a tracer since the last sample.
#[derive(Debug, Default)]
struct Tracer {
    ends: VecDeque<u64>,
    sizes: [BTreeMap<u32, u64>; 2],
    /// Latencies from the program's request to its completion, by operation.
    times: [BTreeMap<u32, u64>; 2],
    adjacent: [u64; 2],
    /// Activity of each load, as a process.
    by_load: BTreeMap<usize, ProcessIo>,
}

impl Tracer {
    fn see(&mut self, load: usize, submission: &Submission) {
        let request = &submission.request;
        let op = usize::from(request.op == OpKind::Write);
        let end = request.offset + u64::from(request.bytes);
        *self.sizes[op].entry(bucket_index(u64::from(request.bytes)) as u32).or_default() += 1;
        let own = self.by_load.entry(load).or_default();
        let (count, bytes) = match request.op {
            OpKind::Read => (&mut own.reads, &mut own.read_bytes),
            OpKind::Write => (&mut own.writes, &mut own.write_bytes),
        };
        *count += 1;
        *bytes += u64::from(request.bytes);
        if let Some(known) = self.ends.iter().position(|&known| known == request.offset) {
            self.adjacent[op] += 1;
            self.ends.remove(known);
        }
        self.ends.push_back(end);
        if self.ends.len() > STREAMS {
            self.ends.pop_front();
        }
    }

    /// The loads as processes, busiest first.
    fn take_processes(&mut self, loads: &[ScenarioLoad]) -> Vec<ProcessIo> {
        let by_load = std::mem::take(&mut self.by_load).into_iter();
        let process = |(load, own): (usize, ProcessIo)| ProcessIo {
            process: Some(load as u32 + 1),
            processes: 1,
            name: loads[load].name.clone(),
            group: Some(format!("/{}", loads[load].name)),
            ..own
        };
        let mut processes: Vec<ProcessIo> = by_load.map(process).collect();
        let held = |own: &mut ProcessIo| {
            let load = &loads[own.process? as usize - 1];
            limited(load).1.then(|| let_go_later(own))
        };
        let later: Vec<ProcessIo> = processes.iter_mut().filter_map(held).collect();
        processes.extend(later);
        processes
            .sort_by_cached_key(|one| (std::cmp::Reverse(one.reads + one.writes), one.process));
        processes
    }

    fn take(&mut self) -> Traced {
        let snapshot = |counts: &mut BTreeMap<u32, u64>| HistogramSnapshot {
            buckets: std::mem::take(counts).into_iter().collect(),
        };
        let mut op = |index: usize| {
            let request_bytes = snapshot(&mut self.sizes[index]);
            let (adjacent, all) =
                (std::mem::take(&mut self.adjacent[index]), request_bytes.count());
            TracedOp {
                request_bytes,
                device_ns: snapshot(&mut self.times[index]),
                sequential_share: (all > 0).then(|| adjacent as f64 / all as f64),
                ..TracedOp::default()
            }
        };
        let (read, write) = (op(0), op(1));
        Traced { read, write, ..Traced::default() }
    }
}

/// An engine whose requests a tracer records.
#[derive(Debug)]
struct Seen {
    engine: SimEngine,
    load: usize,
    room: Rc<RefCell<SimHost>>,
    tracer: Option<Rc<RefCell<Tracer>>>,
    /// Operation and start of the requests in flight, by slot.
    under_way: BTreeMap<u32, (OpKind, Nanos)>,
}

impl Engine for Seen {
    fn prepare(&mut self, requests: &[Submission]) {
        if let Some(tracer) = &self.tracer {
            let (mut tracer, now) = (tracer.borrow_mut(), self.room.borrow().now());
            for request in requests {
                tracer.see(self.load, request);
                self.under_way.insert(request.slot, (request.request.op, now));
            }
        }
        self.engine.prepare(requests);
    }

    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.engine.flush(slot, kind);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.engine.hand_over()
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.wait(ask, done)?;
        if let Some(tracer) = &self.tracer {
            let (mut tracer, now) = (tracer.borrow_mut(), self.room.borrow().now());
            for ended in &done[before..] {
                let Some((op, begin)) = self.under_way.remove(&ended.slot) else { continue };
                let bucket = bucket_index(now.since(begin).0) as u32;
                *tracer.times[op as usize].entry(bucket).or_default() += 1;
            }
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        self.engine.features()
    }
}

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
struct Counted {
    at: Nanos,
    device: DeviceSample,
    progress_ns: [u64; 2],
}

struct ScenarioRun<'a> {
    scenario: &'a Scenario<'a>,
    room: Rc<RefCell<SimHost>>,
    /// By job over all loads; `None` for a finished one.
    workers: Vec<Option<Worker<Seen, SimClock>>>,
    /// Jobs that have not started, the next one last.
    to_come: Vec<(Nanos, u32)>,
    tracer: Option<Rc<RefCell<Tracer>>>,
    last: Counted,
    intervals: Vec<Interval>,
    contexts: Vec<Context>,
}

impl<'a> ScenarioRun<'a> {
    fn new(scenario: &'a Scenario<'a>, room: &Rc<RefCell<SimHost>>) -> Self {
        let reach: Vec<Workload> = scenario.loads.iter().map(|load| limited(load).0).collect();
        let jobs: u32 = reach.iter().map(|workload| workload.numjobs).sum();
        if let Some(first) = reach.first() {
            room.borrow_mut().admit(jobs, first);
        }
        let tracer: Option<Rc<RefCell<Tracer>>> = scenario.traced.then(Rc::default);
        let (mut workers, mut to_come) = (Vec::new(), Vec::new());
        for (index, (load, workload)) in scenario.loads.iter().zip(&reach).enumerate() {
            let window = Window { begin: load.begin, end: load.end.min(scenario.duration) };
            let control = Arc::new(Control::new(workload, window));
            for job in 0..workload.numjobs {
                let (place, counters) = (workers.len() as u32, Arc::new(JobCounters::new()));
                // 53 bits of it, as elsewhere.
                let seed = derive_seed(scenario.seed, index as u64 + 1) >> 11;
                let (engine, tracer) = (SimEngine::new(room, place), tracer.clone());
                let (own_room, under_way) = (Rc::clone(room), BTreeMap::new());
                let engine = Seen { engine, load: index, room: own_room, tracer, under_way };
                workers.push(Some(sim_worker(
                    room,
                    engine,
                    (workload, seed, job),
                    &control,
                    counters,
                )));
                to_come.push((window.begin, place));
            }
        }
        to_come.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            scenario,
            room: Rc::clone(room),
            workers,
            to_come,
            tracer,
            last: Counted { device: room.borrow().counters(), ..Counted::default() },
            intervals: Vec::new(),
            contexts: Vec::new(),
        }
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<(), TrialError> {
        let mut turn: Vec<u32> = Vec::new();
        let length = Nanos(self.scenario.interval.0.max(1));
        let mut edge = length.min(self.scenario.duration);
        loop {
            let now = self.room.borrow().now();
            while let Some(&(begin, job)) = self.to_come.last()
                && begin <= now
            {
                self.to_come.pop();
                turn.push(job);
            }
            for job in turn.drain(..) {
                run_until_blocked(&mut self.workers[job as usize])?;
            }
            if now >= self.scenario.duration {
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            let limit = self.to_come.last().map_or(edge, |&(begin, _)| begin.min(edge));
            let mut room = self.room.borrow_mut();
            if !room.proceed(limit) {
                room.advance(limit);
            }
            drop(room);
            if self.room.borrow().now() >= edge {
                self.sample(edge);
                edge = edge.plus(length).min(self.scenario.duration);
            }
            self.room.borrow_mut().take_turn(&mut turn);
        }
    }

    /// Reads the counters and records the interval that ends now.
    fn sample(&mut self, now: Nanos) {
        let room = self.room.borrow();
        let (device, progress_ns) = (room.counters(), room.progress_ns);
        let counted = Counted { at: now, device, progress_ns };
        let in_flight = room.in_flight();
        drop(room);
        let before = std::mem::replace(&mut self.last, counted);
        let after = &self.last;
        let length = after.at.since(before.at);
        if length.0 == 0 {
            return;
        }
        let seconds = length.as_secs_f64();
        let change = |index: usize| {
            let ios = (after.device.ios[index] - before.device.ios[index]) as f64;
            let bytes = (after.device.bytes[index] - before.device.bytes[index]) as f64;
            let time = (after.progress_ns[index] - before.progress_ns[index]) as f64;
            (ios, bytes, time)
        };
        let (reads, writes) = (change(0), change(1));
        let both = (reads.0 + writes.0, reads.1 + writes.1, reads.2 + writes.2);
        let op = |(ios, bytes, time): (f64, f64, f64)| OpInterval {
            per_s: Some(Figure::measured(ios / seconds, 0.0)),
            bytes_per_s: Some(Figure::measured(bytes / seconds, 0.0)),
            request_bytes: (ios > 0.0).then(|| Figure::derived(bytes / ios, 0.0)),
            merged_per_s: Some(Figure::measured(0.0, 0.0)),
            latency_ns: (ios > 0.0).then(|| Figure::measured(time / ios, 0.0)),
        };
        let busy = (after.device.busy_ns - before.device.busy_ns) as f64 / length.0 as f64;
        let loads = &self.scenario.loads;
        let seen = self.tracer.as_ref().map(|it| {
            let mut tracer = it.borrow_mut();
            (tracer.take(), tracer.take_processes(loads))
        });
        let (traced, processes) = seen.unzip();
        self.intervals.push(Interval {
            device: after.device.device.clone(),
            begin_ns: before.at.0,
            duration_ns: length.0,
            read: op(reads),
            write: op(writes),
            all: op(both),
            busy_share: Some(Figure::measured(busy.min(1.0), 0.0)),
            concurrency: Some(Figure::derived(both.2 / length.0 as f64, 0.0)),
            in_flight: Some(Figure::measured(f64::from(in_flight), 1.0)),
            traced: traced.map(Box::new),
            processes,
            ..Interval::default()
        });
        let context = self.context(before.at, length, busy, writes.1);
        self.contexts.push(context);
    }

    /// The system context of an interval.
    fn context(&self, begin: Nanos, length: Nanos, busy: f64, written: f64) -> Context {
        let end = begin.plus(length);
        let there = |load: &ScenarioLoad| load.begin < end && begin < load.end;
        let loads = || self.scenario.loads.iter().filter(|load| there(load));
        let held = loads().any(|load| limited(load).1 && !load.uncounted);
        let cgroup_limits = loads()
            .flat_map(|load| {
                load.limits.iter().map(|limit| CgroupLimit {
                    group: format!("/{}", load.name),
                    limited: limit.limited,
                    major_minor: "0:0".to_owned(),
                    limit_per_s: limit.per_s,
                })
            })
            .collect();
        let writing_back = loads().any(|load| load.write_back);
        Context {
            begin_ns: begin.0,
            duration_ns: length.0,
            io_some_share: Some(if held { 1.0 } else { busy.min(1.0) }),
            steal_share: Some(self.scenario.steal_share),
            writeback_bytes: Some(if writing_back { written as u64 } else { 0 }),
            cgroup_limits,
            ..Context::default()
        }
    }
}
