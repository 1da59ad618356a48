//! Tests a job that commits: what precedes a flush, and how flushes are counted.

use crate::common::{document, file_workload, full_file, has, real, sim_workload};
use engine::{Completion, Engine, EngineError, Submission, Wait};
use record::{Bytes, EngineName, FindingCode, Flush, FlushKind, Nanos, OpKind, Trial};
use simdisk::{SimBackend, SimEngine, SimSpec};
use std::sync::atomic::AtomicBool;
use workload::{Request, Spec};

/// The error number of a failed flush: EIO.
const EIO: i32 = 5;

/// A simulated device with a flush as a separate request.
struct Flushing {
    inner: SimEngine,
    in_flight: u32,
    writes: u32,
    /// Number of writes seen between flushes.
    between: Vec<u32>,
    /// The slot of the current flush.
    slot: Option<u32>,
    fails: bool,
}

impl Engine for Flushing {
    fn prepare(&mut self, requests: &[Submission]) {
        assert_eq!(self.slot, None, "nothing is handed over during a flush");
        self.in_flight += requests.len() as u32;
        self.writes += requests.iter().filter(|it| it.request.op == OpKind::Write).count() as u32;
        self.inner.prepare(requests);
    }

    fn flush(&mut self, slot: u32, _kind: FlushKind) {
        assert_eq!(self.in_flight, 0, "a flush covers what has completed");
        self.between.push(std::mem::take(&mut self.writes));
        self.slot = Some(slot);
        let request = Request { offset: 0, bytes: 4096, op: OpKind::Write };
        self.inner.prepare(&[Submission { request, slot, generation: 0 }]);
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.inner.wait(ask, done)?;
        if let (Some(_), Some(ended)) = (self.slot, done.get_mut(before)) {
            ended.outcome = if self.fails { -EIO } else { 0 };
            self.slot = None;
        } else {
            self.in_flight -= (done.len() - before) as u32;
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        assert!(self.between.iter().all(|&writes| writes == self.between[0]), "{:?}", self.between);
        vec![format!("{} writes between flushes", self.between[0])]
    }
}

/// Ten seconds on eight servers that take a millisecond for each request and each flush.
fn commits(every: u32, fails: bool, change: impl FnOnce(&mut Spec)) -> Trial {
    let workload = sim_workload(|spec| {
        spec.asked.read_percent = 0;
        spec.asked.flush = Some(Flush { kind: FlushKind::Fdatasync, every });
        change(spec);
    });
    let mut backend = SimBackend::new(&SimSpec::parse("mdc,servers=8,service=1ms").unwrap(), 1);
    let flushing = |_, inner| Flushing {
        inner,
        in_flight: 0,
        writes: 0,
        between: Vec::new(),
        slot: None,
        fails,
    };
    let stop = AtomicBool::new(false);
    let measured = backend.measure_on(&workload, 1, &stop, flushing).unwrap();
    assert_eq!(measured.totals.features, [format!("{every} writes between flushes")]);
    document(measured, &workload)
}

/// Writes and flushes per second, and the mean latency of each.
fn rates(trial: &Trial) -> [f64; 4] {
    let (write, flush) =
        (trial.result.write.as_ref().unwrap(), trial.result.flush.as_ref().unwrap());
    let mean = |of: &record::DirectionResult| of.latency_ns.as_ref().unwrap().mean;
    assert_eq!((write.bytes, flush.bytes), (4096 * write.ios, 0));
    [write.iops, flush.iops, mean(write), mean(flush)]
}

/// Allows for the last flush to end with the window.
#[track_caller]
fn assert_rates(trial: &Trial, expected: [f64; 4]) {
    let found = rates(trial);
    let near = |(found, expected): (&f64, f64)| (found / expected - 1.0).abs() < 1e-3;
    assert!(found.iter().zip(expected).all(near), "{found:?}, not {expected:?}");
}

#[test]
fn a_committer_alone_writes_and_flushes_in_turn() {
    // A millisecond each: five hundred of both per second.
    assert_rates(&commits(1, false, |_| ()), [500.0, 500.0, 1e6, 1e6]);
    assert_rates(&commits(3, false, |_| ()), [750.0, 250.0, 1e6, 1e6]);
}

#[test]
fn committers_beside_each_other_share_what_the_device_does_at_once() {
    let alone = commits(1, false, |spec| spec.asked.numjobs = 4);
    assert_rates(&alone, [2_000.0, 2_000.0, 1e6, 1e6]);
    // Eight writes at once and a flush for all of them.
    let group = commits(8, false, |spec| spec.asked.iodepth = 8);
    assert_rates(&group, [4_000.0, 500.0, 1e6, 1e6]);
    // A flush limits the requests in flight, which is not a fault.
    let shallow = commits(2, false, |spec| spec.asked.iodepth = 8);
    assert_rates(&shallow, [1_000.0, 500.0, 1e6, 1e6]);
    for trial in [alone, group, shallow] {
        assert!(!has(&trial, FindingCode::DepthNotReached), "{:?}", trial.findings);
    }
}

#[test]
fn intervals_have_flushes_of_their_own() {
    let trial = commits(1, false, |spec| {
        spec.asked.stop.interval_ns = Some(Nanos(1_000_000_000));
    });
    let intervals = trial.result.intervals.unwrap();
    assert_eq!(intervals.len(), 10);
    for interval in intervals {
        let flush = interval.flush.unwrap();
        assert!((499..=501).contains(&flush.ios), "{flush:?}");
        assert!(flush.latency_ns.is_some_and(|times| times.mean == 1e6));
    }
}

#[test]
fn a_flush_that_fails_is_counted_and_makes_the_trial_invalid() {
    let trial = commits(1, true, |spec| spec.asked.runtime_ns = Nanos(1_000_000_000));
    let flush = trial.result.flush.as_ref().unwrap();
    assert_eq!((flush.ios, flush.errors, flush.error_kinds[0].errno), (0, 500, EIO));
    assert!(has(&trial, FindingCode::IoErrors), "{:?}", trial.findings);
}

#[test]
fn every_engine_flushes_a_real_file() {
    for info in engine::ENGINES.iter().filter(|info| info.name != EngineName::Null) {
        // Windows has only one kind.
        let kinds = [FlushKind::Fsync, FlushKind::Fdatasync];
        for kind in kinds.into_iter().take(if cfg!(windows) { 1 } else { 2 }) {
            let workload = file_workload(1 << 20, |spec| {
                spec.asked.read_percent = 0;
                spec.asked.engine = info.name;
                spec.asked.iodepth = info.max_depth.min(4);
                spec.asked.flush = Some(Flush { kind, every: 4 });
                // Limited by bytes: in a short time, a busy machine may execute none of them.
                spec.asked.stop.max_bytes = Some(Bytes(128 << 10));
                spec.asked.runtime_ns = Nanos(60_000_000_000);
            });
            let trial = real(full_file(1 << 20), &workload).unwrap();
            let (write, flush) = (trial.result.write.unwrap(), trial.result.flush.unwrap());
            assert_eq!((flush.errors, flush.short, write.errors), (0, 0, 0), "{:?}", info.name);
            // The window may begin and end between the writes of a commit.
            let writes = 4 * flush.ios;
            assert!(flush.ios > 0 && write.ios.abs_diff(writes) <= 8, "{:?}: {write:?}", info.name);
        }
    }
}
