//! Tests that the driver of simulated jobs steps only those that have something to do.

use crate::common::{document, sim_workload, simulated};
use engine::{Completion, Engine, EngineError, Submission, Wait};
use record::{Arrival, Nanos};
use simdisk::{SimBackend, SimEngine, SimSpec};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use workload::Spec;

/// Counts how often a job waits for completions.
struct Asked {
    inner: SimEngine,
    waits: Rc<Cell<u64>>,
}

impl Engine for Asked {
    fn prepare(&mut self, requests: &[Submission]) {
        self.inner.prepare(requests);
    }
    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.inner.flush(slot, kind);
    }
    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.inner.hand_over()
    }
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.waits.set(self.waits.get() + 1);
        self.inner.wait(ask, done)
    }
    fn features(&self) -> Vec<String> {
        self.inner.features()
    }
}

/// Waits of the jobs per completed request.
fn waits_per_request(jobs: u32, change: impl FnOnce(&mut Spec)) -> f64 {
    let workload = sim_workload(|spec| {
        spec.asked.numjobs = jobs;
        spec.asked.runtime_ns = Nanos(20_000_000_000);
        change(spec);
    });
    let spec = SimSpec::parse("mmc,servers=256,service=10ms").unwrap();
    let mut backend = SimBackend::new(&spec, 1);
    let (waits, stop) = (Rc::new(Cell::new(0)), AtomicBool::new(false));
    let wrap = |_, inner| Asked { inner, waits: Rc::clone(&waits) };
    let trial = document(backend.measure_on(&workload, 1, &stop, wrap).unwrap(), &workload);
    waits.get() as f64 / trial.result.read.unwrap().ios as f64
}

#[test]
fn what_an_event_costs_does_not_grow_with_the_number_of_jobs() {
    for jobs in [1, 8, 128] {
        let closed = waits_per_request(jobs, |_| ());
        assert!((closed - 2.0).abs() < 0.1, "{jobs} jobs: {closed}");
        // An arrival, a completion, and the work found there.
        let open = waits_per_request(jobs, |spec| {
            spec.arrival = Some(Arrival::Poisson);
            spec.asked.rate_iops = Some(100 * u64::from(jobs));
            spec.asked.iodepth = 64;
        });
        assert!(open < 4.1, "{jobs} jobs: {open}");
    }
}

#[test]
fn jobs_that_wait_for_an_arrival_learn_that_the_run_was_ended() {
    // One request in two seconds per job: the run ends while most of them wait.
    let trial = simulated("mdc,servers=8,service=1ms", |spec| {
        (spec.asked.numjobs, spec.asked.rate_iops) = (8, Some(4));
        spec.asked.runtime_ns = Nanos(1_000_000_000_000);
        spec.asked.stop.precision_ppm = Some(200_000);
    });
    let seconds = trial.result.duration_ns.as_secs_f64();
    assert!(trial.result.ended_by == Some(record::EndedBy::Precision) && seconds < 500.0);
    let read = trial.result.read.unwrap();
    assert!((read.iops / 4.0 - 1.0).abs() < 0.05, "{} in {seconds} s", read.iops);
}
