//! Features that only io_uring has: registration, polling, a submission thread, NOPs.

use crate::common::{BLOCK, BLOCKS, drive, patterned_file, read_at, setup, submission};
use engine::{
    BUFFERS_NOT_REGISTERED, Clock, Engine, MonotonicClock, NopEngine, OpenEngine, Setup,
    UringEngine, Wait,
};
use record::Nanos;
use std::os::fd::AsRawFd;
use testkit::requires;
use testkit::{is_child, passes_in_child};
use workload::Request;

#[test]
fn twenty_rings_after_one_another_on_one_thread_are_all_registered() {
    let file = patterned_file();
    for _ in 0..20 {
        let engine = UringEngine::open(&setup(&file, 4, false)).unwrap();
        let features = engine.features();
        assert!(features.iter().any(|name| name == "registered ring"), "{features:?}");
    }
}

/// An engine with one read in flight that never completes.
fn silent() -> (std::io::PipeReader, std::io::PipeWriter, UringEngine) {
    let (reader, writer) = std::io::pipe().unwrap();
    let setup = Setup::reading(vec![reader.as_raw_fd()], 1, BLOCK);
    let mut engine = UringEngine::open(&setup).unwrap();
    engine.prepare(&[submission(0, read_at(0))]);
    (reader, writer, engine)
}

#[test]
fn a_wait_with_a_deadline_ends_at_it_when_nothing_completes() {
    let (_reader, _writer, mut engine) = silent();
    let begin = MonotonicClock.now();
    let deadline = begin.plus(Nanos(20_000_000));
    let mut done = Vec::new();
    engine.wait(Wait::new(1, 1).until(deadline), &mut done).unwrap();
    let end = MonotonicClock.now();
    assert!(done.is_empty() && end >= deadline && end.since(begin) < Nanos(2_000_000_000));
    // Polling does not wait.
    engine.wait(Wait::new(0, 1), &mut done).unwrap();
    assert!(done.is_empty());
}

#[test]
fn a_request_that_does_not_complete_is_called_off_when_the_engine_is_dropped() {
    let (_reader, _writer, mut engine) = silent();
    engine.hand_over().unwrap();
    let begin = MonotonicClock.now();
    drop(engine);
    assert!(MonotonicClock.now().since(begin) < engine::DRAIN);
}

#[test]
fn nops_return_what_a_device_would() {
    let mut engine = NopEngine::open(&Setup::reading(Vec::new(), 32, BLOCK)).unwrap();
    let requests: Vec<Request> =
        (0..1_000).map(|index| Request { bytes: 512 + index % 3_000, ..read_at(0) }).collect();
    let mut seen = 0;
    drive(&mut engine, 32, &requests, |request, completion, _| {
        assert_eq!(completion.outcome, request.bytes as i32);
        seen += 1;
    });
    assert_eq!(seen, 1_000);
}

#[test]
fn a_submission_thread_serves_also_after_it_fell_asleep() {
    let file = patterned_file();
    let setup = Setup { sqpoll: true, ..setup(&file, 8, false) };
    let mut engine = UringEngine::open(&setup).unwrap();
    assert!(engine.features().iter().any(|name| name == "SQPOLL"), "{:?}", engine.features());
    let requests: Vec<Request> = (0..BLOCKS).map(|block| read_at(block * 4_096)).collect();
    for _ in 0..2 {
        let mut seen = 0;
        drive(&mut engine, 8, &requests, |_, completion, _| {
            assert_eq!(completion.outcome, BLOCK as i32);
            seen += 1;
        });
        assert_eq!(seen, BLOCKS);
        // The thread spins for a second after the last submission.
        std::thread::sleep(std::time::Duration::from_millis(1_300));
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    let names: Vec<String> = tasks.filter_map(|task| name(task.ok()?)).collect();
    assert!(names.iter().any(|name| name.starts_with("iou-sqp-")), "{names:?}");
    // A wait that submits nothing also works while the thread sleeps.
    engine.prepare(&[submission(3, read_at(0))]);
    engine.hand_over().unwrap();
    let mut done = Vec::new();
    engine.wait(Wait::new(1, 1), &mut done).unwrap();
    assert_eq!((done.len(), done[0].slot), (1, 3));
}

#[test]
fn polling_a_target_that_cannot_be_polled_is_refused_with_the_reason() {
    let file = patterned_file();
    let setup = Setup { polled: true, ..setup(&file, 4, false) };
    let error = UringEngine::open(&setup).map(drop).unwrap_err().to_string();
    assert!(error.contains("polled") && error.contains("--hipri"), "{error}");
}

#[test]
fn a_depth_beyond_the_largest_ring_is_refused_with_what_it_takes() {
    let file = patterned_file();
    let setup = Setup { max_bytes: 512, ..setup(&file, 40_000, false) };
    let error = UringEngine::open(&setup).map(drop).unwrap_err().to_string();
    assert!(error.contains("32768") && error.contains("--numjobs"), "{error}");
}

#[test]
fn too_little_locked_memory_costs_the_registration_and_is_said_with_limit_and_need() {
    requires!(Root, Setpriv);
    const TEST: &str = "linux::uring::too_little_locked_memory_costs_the_registration_and_is_said_with_limit_and_need";
    if !is_child() {
        // A capability exempts root from the limit; the child process drops it.
        let through = ["prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock"];
        passes_in_child(TEST, &through);
        return;
    }
    let file = patterned_file();
    let mut engine = UringEngine::open(&setup(&file, 64, false)).unwrap();
    let features = engine.features();
    let line = features.iter().find(|line| line.starts_with(BUFFERS_NOT_REGISTERED));
    let need = (64 * BLOCK).to_string();
    assert!(
        line.is_some_and(|line| line.contains(" is 65536") && line.contains(&need)),
        "{features:?}"
    );
    drive(&mut engine, 64, &[read_at(0); 200], |_, completion, _| {
        assert_eq!(completion.outcome, BLOCK as i32);
    });
}
