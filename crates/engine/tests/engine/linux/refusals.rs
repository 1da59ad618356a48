//! Real failures of system calls, which strace injects in a separate process.

use crate::common::{BLOCK, BLOCKS, drive, patterned_file, read_at, setup};
use engine::{Engine, LibaioEngine, OpenEngine, UringEngine, Wait, probe_uring};
use testkit::requires;
use testkit::{is_child, passes_in_child};
use workload::Request;

/// Runs a test under strace, with failing system calls.
fn with_failing(test: &str, calls: &str, fault: &str) {
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{fault}"));
    let through = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    passes_in_child(test, &through);
}

fn every_block() -> Vec<Request> {
    (0..BLOCKS).map(|block| read_at(block * u64::from(BLOCK))).collect()
}

fn outcomes<E: OpenEngine>(depth: u32) -> Vec<i32> {
    let file = patterned_file();
    let mut engine = E::open(&setup(&file, depth, false)).unwrap();
    let mut outcomes = Vec::new();
    drive(&mut engine, depth, &every_block(), |_, completion, _| outcomes.push(completion.outcome));
    outcomes
}

#[test]
fn a_forbidden_ring_is_refused_with_the_filter_as_the_cause() {
    const TEST: &str = "linux::refusals::a_forbidden_ring_is_refused_with_the_filter_as_the_cause";
    if !is_child() {
        requires!(Strace);
        with_failing(TEST, "io_uring_setup", "error=EPERM");
        return;
    }
    let error = probe_uring().unwrap_err().to_string();
    assert!(error.contains("seccomp") && error.contains("--ioengine sync"), "{error}");
}

#[test]
fn a_ring_without_any_registration_reads_the_same() {
    const TEST: &str = "linux::refusals::a_ring_without_any_registration_reads_the_same";
    if !is_child() {
        requires!(Strace);
        with_failing(TEST, "io_uring_register", "error=EMFILE");
        return;
    }
    let file = patterned_file();
    let features = UringEngine::open(&setup(&file, 1, false)).unwrap().features();
    assert!(!features.iter().any(|line| line.starts_with("registered")), "{features:?}");
    assert_eq!(outcomes::<UringEngine>(8), [BLOCK as i32; BLOCKS as usize]);
}

#[test]
fn a_ring_that_is_interrupted_again_and_again_loses_nothing() {
    const TEST: &str = "linux::refusals::a_ring_that_is_interrupted_again_and_again_loses_nothing";
    if !is_child() {
        requires!(Strace);
        with_failing(TEST, "io_uring_enter", "error=EINTR:when=1+2");
        return;
    }
    assert_eq!(outcomes::<UringEngine>(8), [BLOCK as i32; BLOCKS as usize]);
}

#[test]
fn a_ring_that_was_taken_away_is_an_engine_that_broke() {
    const TEST: &str = "linux::refusals::a_ring_that_was_taken_away_is_an_engine_that_broke";
    if !is_child() {
        requires!(Strace);
        with_failing(TEST, "io_uring_enter", "error=EBADFD");
        return;
    }
    let file = patterned_file();
    let mut engine = UringEngine::open(&setup(&file, 1, false)).unwrap();
    engine.prepare(&[crate::common::submission(0, read_at(0))]);
    let error = engine.wait(Wait::new(1, 1), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("io_uring_enter") && error.contains("no result"), "{error}");
}

#[test]
fn a_request_that_io_submit_refuses_has_failed_and_the_others_go_on() {
    const TEST: &str =
        "linux::refusals::a_request_that_io_submit_refuses_has_failed_and_the_others_go_on";
    if !is_child() {
        requires!(Strace);
        with_failing(TEST, "io_submit", "error=EINVAL:when=2");
        return;
    }
    let outcomes = outcomes::<LibaioEngine>(4);
    let failed = outcomes.iter().filter(|&&outcome| outcome == -22).count();
    let whole = outcomes.iter().filter(|&&outcome| outcome == BLOCK as i32).count();
    assert_eq!((failed, whole), (1, BLOCKS as usize - 1), "{outcomes:?}");
}
