//! Simulates a scenario, and observes it as a kernel's counters would show it.
//!
//! Loads start and end at their times, each with jobs of its own. All use one device in one virtual time,
//! by the same loop as trials. The context reports the limits of control groups, as on a real machine.
//! Pressure is modelled: some task waits while the device is busy or a limit holds it.

use crate::scenarios::scenario::{Scenario, ScenarioLoad, built, identity, limited};
use crate::scenarios::tracer::{Seen, Tracer};
use engine::DeviceSample;
use record::{
    CgroupLimit, Context, Figure, Interval, Nanos, OBSERVATION_SCHEMA, Observation, ObservedDevice,
    OpInterval, Workload,
};
use simdisk::{SimClock, SimEngine, SimHost, run_until_blocked, sim_worker};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{Control, JobCounters, TrialError, Window, Worker};
use workload::derive_seed;

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
                let (place, counters) = (workers.len() as u32, Arc::new(JobCounters::default()));
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
