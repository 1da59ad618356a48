//! Models the tracer of a scenario: the requests that it sees, and the loads as processes.

use crate::scenarios::scenario::{ScenarioLoad, limited};
use engine::{Completion, Engine, EngineError, Submission, Wait};
use record::{HistogramSnapshot, Nanos, OpKind, ProcessIo, Traced, TracedOp, bucket_index};
use simdisk::{SimEngine, SimHost};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// End offsets of requests that a tracer remembers, to distinguish interleaved streams from random
/// requests.
const STREAMS: usize = 16;

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
pub(crate) struct Tracer {
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
    pub(crate) fn take_processes(&mut self, loads: &[ScenarioLoad]) -> Vec<ProcessIo> {
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

    pub(crate) fn take(&mut self) -> Traced {
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
pub(crate) struct Seen {
    pub(crate) engine: SimEngine,
    pub(crate) load: usize,
    pub(crate) room: Rc<RefCell<SimHost>>,
    pub(crate) tracer: Option<Rc<RefCell<Tracer>>>,
    /// Operation and start of the requests in flight, by slot.
    pub(crate) under_way: BTreeMap<u32, (OpKind, Nanos)>,
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
