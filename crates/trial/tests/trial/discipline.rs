//! Tests how much one slow request stalls under each completion discipline, and how deep calls nest.

use crate::common::{document, file_workload, full_file, real, sim_workload};
use engine::{Completion, Engine, EngineError, Submission, Wait};
use record::{Discipline, EngineName, Nanos, Trial};
use simdisk::{SimBackend, SimEngine, SimSpec};
use std::sync::atomic::AtomicBool;
use trial::CALLBACK_DEPTH_MAX;

/// Delays the completion of one request until `until` others are done.
pub(crate) struct Slow {
    inner: SimEngine,
    slow: u64,
    until: u64,
    prepared: u64,
    delivered: u64,
    slot: Option<u32>,
    held: Option<Completion>,
}

impl Engine for Slow {
    fn prepare(&mut self, requests: &[Submission]) {
        for request in requests {
            if self.prepared == self.slow {
                self.slot = Some(request.slot);
            }
            self.prepared += 1;
        }
        self.inner.prepare(requests);
    }

    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.inner.flush(slot, kind);
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.inner.wait(ask, done)?;
        if let Some(position) = done.iter().position(|it| Some(it.slot) == self.slot) {
            self.held = Some(done.remove(position));
            self.slot = None;
        }
        self.delivered += done.len() as u64;
        // Nothing else is in flight, so the job waits for it.
        let alone = done.is_empty() && self.prepared == self.delivered + 1;
        if (self.delivered >= self.until || alone) && (done.len() as u32) < ask.max {
            done.extend(self.held.take());
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        self.inner.features()
    }
}

/// Queue depth eight for a second, a millisecond each; the hundredth request takes as long as `until`.
fn with_a_slow_one(discipline: Discipline, until: u64) -> Trial {
    let workload = sim_workload(|spec| {
        spec.asked.discipline = discipline;
        spec.asked.iodepth = 8;
        spec.asked.runtime_ns = Nanos(1_000_000_000);
    });
    let mut backend = SimBackend::new(&SimSpec::parse("mdc,servers=8,service=1ms").unwrap(), 1);
    let slow = |_, inner| Slow {
        inner,
        slow: 100,
        until,
        prepared: 0,
        delivered: 0,
        slot: None,
        held: None,
    };
    let stop = AtomicBool::new(false);
    document(backend.measure_on(&workload, 1, &stop, slow).unwrap(), &workload)
}

#[test]
fn one_slow_request_stalls_oldest_first_and_nothing_else() {
    let rate = |discipline| with_a_slow_one(discipline, 3_500).result.read.unwrap().iops;
    for free in [Discipline::Any, Discipline::Callback, Discipline::CallbackPosted] {
        // Seven slots continue at a thousand per second each until 3,500 are done; then eight.
        let iops = rate(free);
        assert!((7_300.0..7_700.0).contains(&iops), "{free:?}: {iops}");
    }
    // After the slow request, at most the other seven complete. Then it is the only one in flight, and
    // completes: with this `until`, it lasts until it is alone.
    let ordered = with_a_slow_one(Discipline::OldestFirst, u64::MAX);
    let order = ordered.result.read.unwrap();
    assert!((order.iops / 8_000.0 - 1.0).abs() < 0.01, "{}", order.iops);
}

#[test]
fn oldest_first_goes_on_only_when_the_slow_one_is_done() {
    // Delayed until requests complete that are never issued: only those already in flight complete.
    let stalled = |discipline| {
        let workload = sim_workload(|spec| {
            spec.asked.discipline = discipline;
            spec.asked.iodepth = 8;
            spec.asked.runtime_ns = Nanos(1_000_000_000);
            spec.asked.stop.io_timeout_ns = Nanos(2_000_000_000);
        });
        let mut backend = SimBackend::new(&SimSpec::parse("mdc,servers=8,service=1ms").unwrap(), 1);
        let stuck = |_, inner| Slow {
            inner,
            slow: 100,
            until: 5_000,
            // So that it never seems to be alone.
            prepared: 0,
            delivered: 1 << 40,
            slot: None,
            held: None,
        };
        let mut never = move |job, inner| Slow { until: u64::MAX, ..stuck(job, inner) };
        let stop = AtomicBool::new(false);
        let measured = backend.measure_on(&workload, 1, &stop, &mut never).unwrap();
        document(measured, &workload)
    };
    let any = stalled(Discipline::Any);
    let ordered = stalled(Discipline::OldestFirst);
    assert!(any.result.read.as_ref().unwrap().ios > 6_900, "seven slots went on");
    let ios = ordered.result.read.as_ref().unwrap().ios;
    assert!((96..=112).contains(&ios), "all slots waited for the oldest: {ios}");
    assert_eq!((any.result.unanswered, ordered.result.unanswered), (1, 1));
    assert!(!any.clean() && !ordered.clean());
}

#[test]
fn calls_nest_on_an_engine_that_completes_at_once_up_to_the_bound() {
    let nested = |engine, discipline| {
        let workload = file_workload(1 << 20, |spec| {
            spec.asked.engine = engine;
            spec.asked.discipline = discipline;
            spec.asked.iodepth = 4;
        });
        let trial = real(full_file(1 << 20), &workload).unwrap();
        let read = trial.result.read.as_ref().unwrap();
        assert!(read.ios > 100 && read.histogram.count() == read.ios, "{engine:?}");
        trial.result.callback_depth
    };
    assert_eq!(nested(EngineName::Null, Discipline::Callback), Some(CALLBACK_DEPTH_MAX));
    assert_eq!(nested(EngineName::Null, Discipline::CallbackPosted), Some(1));
    assert_eq!(nested(engine::DEFAULT_ENGINE, Discipline::CallbackPosted), Some(1));
    assert!(nested(engine::DEFAULT_ENGINE, Discipline::Callback).unwrap() <= CALLBACK_DEPTH_MAX);
    assert_eq!(nested(engine::DEFAULT_ENGINE, Discipline::Any), None);
    assert_eq!(nested(engine::DEFAULT_ENGINE, Discipline::OldestFirst), None);
}
