//! Tests that the run ends whatever fails, and that the result is not clean.

use crate::common::{document, file_backend, file_workload, full_file, has, real_on, sim_workload};
use crate::faulty::{Fault, Faulty};
use engine::{
    Completion, Engine, EngineError, NullEngine, OpenEngine, Setup, Submission, SyncEngine,
    UringEngine, Wait,
};
use record::{EndedBy, FindingCode, Nanos, Trial, Workload};
use simdisk::{SimBackend, SimEngine, SimSpec};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trial::{Opening, TrialBackend, TrialError};
use workload::Request;

const EIO: i32 = 5;

fn scripted<E: OpenEngine>(
    workload: &Workload,
    script: fn(u64, &Request) -> Fault,
) -> Result<Trial, TrialError> {
    real_on(full_file(1 << 20), workload, move |_, setup: &Setup| {
        Ok(Faulty::new(E::open(setup)?, script))
    })
}

fn busy(change: impl FnOnce(&mut workload::Spec)) -> Workload {
    file_workload(1 << 20, |spec| {
        (spec.asked.iodepth, spec.asked.numjobs) = (4, 2);
        spec.asked.runtime_ns = Nanos(300_000_000);
        change(spec);
    })
}

#[test]
fn errors_and_short_transfers_among_others_are_counted_and_the_trial_is_not_clean() {
    let script = |index: u64, _: &Request| match index % 100 {
        3 => Fault::Outcome(-EIO),
        7 => Fault::Outcome(512),
        _ => Fault::None,
    };
    for trial in [
        scripted::<NullEngine>(&busy(|_| ()), script).unwrap(),
        scripted::<UringEngine>(&busy(|_| ()), script).unwrap(),
    ] {
        let read = trial.result.read.as_ref().unwrap();
        assert!(read.errors > 0 && read.short > 0 && read.ios > 30 * read.errors, "{read:?}");
        assert_eq!(read.error_kinds[0].errno, EIO);
        assert_eq!(trial.result.ended_by, None);
        assert!(has(&trial, FindingCode::IoErrors) && has(&trial, FindingCode::ShortTransfers));
        assert!(!trial.clean());
    }
}

#[test]
fn nothing_but_failures_end_the_run_for_all_jobs() {
    let begun = Instant::now();
    let workload = busy(|spec| spec.asked.runtime_ns = Nanos(30_000_000_000));
    let trial = scripted::<NullEngine>(&workload, |_, _| Fault::Outcome(-EIO)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(trial.result.ended_by, Some(EndedBy::Failures));
    assert!(trial.result.duration_ns < Nanos(20_000_000_000));
    assert!(!trial.clean());
}

#[test]
fn a_device_that_stops_answering_ends_the_run_with_what_is_known() {
    let begun = Instant::now();
    let workload = busy(|spec| {
        spec.asked.runtime_ns = Nanos(60_000_000_000);
        spec.asked.stop.io_timeout_ns = Nanos(2_000_000_000);
    });
    // The device falls silent for both jobs at once, regardless of the second job's progress.
    static SILENT: AtomicBool = AtomicBool::new(false);
    let silent = |index: u64, _: &Request| {
        // Some of these complete before the window.
        if index >= 2_000_000 {
            SILENT.store(true, Ordering::Relaxed);
        }
        if SILENT.load(Ordering::Relaxed) { Fault::Never } else { Fault::None }
    };
    let trial = scripted::<NullEngine>(&workload, silent).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(trial.result.ended_by, Some(EndedBy::Silence));
    let read = trial.result.read.as_ref().unwrap();
    assert!((1_000..=4_000_000).contains(&read.ios), "{}", read.ios);
    assert_eq!(read.histogram.count(), read.ios);
    assert_eq!(trial.result.unanswered, 8);
    assert!(has(&trial, FindingCode::DeviceSilent) && !trial.clean());
}

#[test]
fn a_real_descriptor_that_never_answers_hangs_nothing() {
    // A pipe without written data: a read of it never completes, whatever its offset.
    let (read_end, write_end) = std::io::pipe().unwrap();
    let workload = busy(|spec| {
        spec.asked.runtime_ns = Nanos(60_000_000_000);
        spec.asked.stop.io_timeout_ns = Nanos(300_000_000);
    });
    let begun = Instant::now();
    let fd = read_end.as_raw_fd();
    let trial = real_on(full_file(1 << 20), &workload, move |_, setup: &Setup| {
        let pipe = Setup { files: vec![fd], ..setup.clone() };
        UringEngine::open(&pipe)
    })
    .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!((trial.result.unanswered, trial.result.ended_by), (8, Some(EndedBy::Silence)));
    assert!(!trial.clean());
    drop((read_end, write_end));
}

#[test]
fn a_synchronous_engine_that_blocks_for_ever_is_left_behind() {
    struct Stuck(SyncEngine);
    impl Engine for Stuck {
        fn prepare(&mut self, requests: &[Submission]) {
            self.0.prepare(requests);
        }
        fn flush(&mut self, slot: u32, kind: record::FlushKind) {
            self.0.flush(slot, kind);
        }
        fn wait(&mut self, _: Wait, _: &mut Vec<Completion>) -> Result<(), EngineError> {
            loop {
                std::thread::park();
            }
        }
        fn features(&self) -> Vec<String> {
            self.0.features()
        }
    }
    let workload = busy(|spec| {
        spec.asked.iodepth = 1;
        spec.asked.stop.io_timeout_ns = Nanos(200_000_000);
    });
    let begun = Instant::now();
    let trial = real_on(full_file(1 << 20), &workload, |_, setup: &Setup| {
        Ok(Stuck(SyncEngine::open(setup)?))
    })
    .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!((trial.result.unanswered, trial.result.ended_by), (2, Some(EndedBy::Silence)));
    assert!(!trial.clean());
}

#[test]
fn a_user_who_ends_a_run_on_a_silent_device_does_not_wait_for_it() {
    let workload = busy(|spec| spec.asked.runtime_ns = Nanos(60_000_000_000));
    let stop = Arc::new(AtomicBool::new(false));
    let later = Arc::clone(&stop);
    let begun = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        later.store(true, Ordering::Relaxed);
    });
    let never = |_: u64, _: &Request| Fault::Never;
    let open: Opening<_> =
        Arc::new(move |_, setup: &Setup| Ok(Faulty::new(NullEngine::open(setup)?, never)));
    let mut backend = file_backend(full_file(1 << 20));
    let measured = backend.measure_on(&workload, 1, &stop, &mut |_| (), &open).unwrap();
    assert_eq!(measured.ended_by, Some(EndedBy::Interrupted));
    assert!(measured.stuck.requests > 0);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Fails, or panics, after this many waits.
struct Breaks {
    inner: NullEngine,
    left: u32,
    panics: bool,
}

impl Engine for Breaks {
    fn prepare(&mut self, requests: &[Submission]) {
        self.inner.prepare(requests);
    }
    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.inner.flush(slot, kind);
    }
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if self.left == 0 {
            assert!(!self.panics, "a planted panic");
            return Err(EngineError::Broken {
                call: "planted",
                errno: engine::SystemError::new(125),
            });
        }
        self.left -= 1;
        self.inner.wait(ask, done)
    }
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn an_engine_that_breaks_or_a_job_that_panics_ends_the_run_without_a_result() {
    let workload = busy(|spec| spec.asked.runtime_ns = Nanos(60_000_000_000));
    let outcome = |panics| {
        real_on(full_file(1 << 20), &workload, move |job, setup: &Setup| {
            let left = if job == 1 { 1_000 } else { u32::MAX };
            Ok(Breaks { inner: NullEngine::open(setup)?, left, panics })
        })
    };
    let begun = Instant::now();
    assert!(matches!(outcome(false), Err(TrialError::Engine(_))));
    assert!(matches!(outcome(true), Err(TrialError::Panic(1))));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_engine_that_cannot_be_opened_sends_all_threads_home() {
    let workload = busy(|spec| spec.asked.numjobs = 3);
    let outcome = real_on::<NullEngine>(full_file(1 << 20), &workload, |job, setup| match job {
        2 => Err(EngineError::Broken { call: "open", errno: engine::SystemError::new(12) }),
        _ => NullEngine::open(setup),
    });
    assert!(matches!(outcome, Err(TrialError::Engine(_))));
}

/// Loses every request after the first thousand.
struct Loses(SimEngine, u64);

impl Engine for Loses {
    fn prepare(&mut self, requests: &[Submission]) {
        for request in requests {
            self.1 += 1;
            if self.1 <= 1_000 {
                self.0.prepare(std::slice::from_ref(request));
            }
        }
    }
    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.0.flush(slot, kind);
    }
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.0.wait(ask, done)
    }
    fn features(&self) -> Vec<String> {
        self.0.features()
    }
}

#[test]
fn a_simulated_device_that_loses_requests_falls_silent_too() {
    let workload = sim_workload(|spec| spec.asked.iodepth = 4);
    let mut backend = SimBackend::new(&SimSpec::parse("md1,service=1ms").unwrap(), 1);
    let stop = AtomicBool::new(false);
    let measured = backend.measure_on(&workload, 1, &stop, |_, engine| Loses(engine, 0)).unwrap();
    let trial = document(measured, &workload);
    assert_eq!(trial.result.read.as_ref().unwrap().ios, 1_000);
    assert_eq!((trial.result.unanswered, trial.result.ended_by), (4, Some(EndedBy::Silence)));
    assert!(!trial.clean());
}

#[test]
fn a_simulated_device_that_fails_everything_ends_the_run() {
    let workload = sim_workload(|spec| spec.asked.numjobs = 2);
    let mut backend = SimBackend::new(&SimSpec::parse("md1,service=1ms,error=1").unwrap(), 1);
    let stop = AtomicBool::new(false);
    let trial = document(backend.measure(&workload, 1, &stop, &mut |_| ()).unwrap(), &workload);
    assert_eq!(trial.result.ended_by, Some(EndedBy::Failures));
    let errors = trial.result.read.as_ref().unwrap().errors;
    assert!((1_000..=2_002).contains(&errors), "{errors}");
    assert!(!trial.clean());
}
