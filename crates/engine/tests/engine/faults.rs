//! The engine that injects faults, around the null engine.

use crate::faulty::{Fault, FaultScript, Faulty};
use engine::{
    Clock, Engine, EngineError, MonotonicClock, NullEngine, OpenEngine, Setup, Submission, Wait,
};
use record::{Nanos, OpKind};
use workload::Request;

const REQUEST: Request = Request { offset: 0, bytes: 4_096, op: OpKind::Read };
const WHOLE: i32 = 4_096;

fn faulty<S: FaultScript>(script: S) -> Faulty<NullEngine, S> {
    let mut engine =
        Faulty::new(NullEngine::open(&Setup::reading(Vec::new(), 4, 4_096)).unwrap(), script);
    submit(&mut engine, &[0, 1, 2, 3]);
    engine
}

fn submit(engine: &mut impl Engine, slots: &[u32]) {
    let requests: Vec<Submission> =
        slots.iter().map(|&slot| Submission { request: REQUEST, slot, generation: 0 }).collect();
    engine.prepare(&requests);
}

fn wait(engine: &mut impl Engine, min: u32, deadline: Option<Nanos>) -> Vec<(u32, i32)> {
    let mut done = Vec::new();
    engine.wait(Wait { min, max: 4, deadline }, &mut done).unwrap();
    done.iter().map(|completion| (completion.slot, completion.outcome)).collect()
}

#[test]
fn outcomes_are_those_of_the_script() {
    let mut engine = faulty(|index, _: &Request| match index {
        1 => Fault::Outcome(-5),
        2 => Fault::Outcome(512),
        _ => Fault::None,
    });
    assert_eq!(wait(&mut engine, 4, None), [(0, WHOLE), (1, -5), (2, 512), (3, WHOLE)]);
}

#[test]
fn a_request_is_held_back_until_others_have_completed() {
    let mut engine =
        faulty(|index, _: &Request| if index == 0 { Fault::AfterOthers(5) } else { Fault::None });
    assert_eq!(wait(&mut engine, 3, None), [(1, WHOLE), (2, WHOLE), (3, WHOLE)]);
    submit(&mut engine, &[1, 2]);
    assert_eq!(wait(&mut engine, 3, None), [(1, WHOLE), (2, WHOLE), (0, WHOLE)]);
}

#[test]
fn a_request_is_held_back_until_its_time() {
    let delay = Nanos(30_000_000);
    let begun = MonotonicClock.now();
    let mut engine = faulty(
        |index, _: &Request| {
            if index == 3 { Fault::After(Nanos(30_000_000)) } else { Fault::None }
        },
    );
    assert_eq!(wait(&mut engine, 1, None).len(), 3);
    assert_eq!(wait(&mut engine, 1, None), [(3, WHOLE)]);
    assert!(MonotonicClock.now() >= begun.plus(delay));
}

#[test]
fn an_engine_that_broke_stays_broken() {
    let mut engine = faulty(|_, _: &Request| Fault::Breaks(125));
    for _ in 0..2 {
        let error = engine.wait(Wait::new(1, 4), &mut Vec::new()).unwrap_err();
        let EngineError::Broken { errno, .. } = error else { panic!("{error}") };
        assert_eq!(errno.code(), 125);
    }
}

#[test]
fn a_request_that_never_completes_leaves_a_deadline_to_end_the_wait() {
    let mut engine = faulty(|_, _: &Request| Fault::Never);
    let deadline = MonotonicClock.now().plus(Nanos(5_000_000));
    assert_eq!(wait(&mut engine, 1, Some(deadline)), []);
    assert!(MonotonicClock.now() >= deadline);
}
