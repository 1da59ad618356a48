//! Tests recordings of synthetic samples.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use diagnose::observe::{Recorder, Sample};
use record::{Context, Figure, Interval, Nanos, Observation, ObservedDevice};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// A second of activity of these devices, given by name and number of requests.
fn second(begin_s: u64, devices: &[(&str, f64)]) -> Sample {
    let span = |name: &str, per_s: f64| {
        let mut interval = Interval {
            device: name.to_owned(),
            begin_ns: begin_s * SECOND_NS,
            duration_ns: SECOND_NS,
            ..Interval::default()
        };
        interval.all.per_s = Some(Figure::measured(per_s, 1.0));
        interval
    };
    let device = |name: &str| ObservedDevice { name: name.to_owned(), ..ObservedDevice::default() };
    Sample {
        intervals: devices.iter().map(|(name, per_s)| span(name, *per_s)).collect(),
        context: Context { duration_ns: SECOND_NS, ..Context::default() },
        devices: devices.iter().map(|(name, _)| Arc::new(device(name))).collect(),
        ..Sample::default()
    }
}

/// A recorder and the observations that it saved.
fn recorder() -> (Recorder<String>, Rc<RefCell<Vec<Observation>>>) {
    let saved = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&saved);
    let save = move |observation: &Observation| {
        kept.borrow_mut().push(observation.clone());
        Ok(())
    };
    (Recorder::new("1.2.3", Some("oak".to_owned()), save), saved)
}

fn of<'a>(observation: &'a Observation, device: &str) -> Vec<&'a Interval> {
    observation.intervals.iter().filter(|interval| interval.device == device).collect()
}

#[test]
fn idle_seconds_are_joined_up_to_a_minute_and_saved_once_a_minute() {
    let (mut recorder, saved) = recorder();
    for at in 0..130 {
        recorder.add(&second(at, &[("idle", 0.0), ("busy", 5.0)])).unwrap();
    }
    assert_eq!(recorder.length(), Nanos(130 * SECOND_NS));
    assert_eq!(saved.borrow().len(), 2);
    let last = recorder.finish().unwrap();
    assert_eq!(saved.borrow().len(), 3);
    let lengths: Vec<usize> = saved.borrow().iter().map(|one| of(one, "busy").len()).collect();
    assert_eq!(lengths, [60, 120, 130]);
    let idle: Vec<u64> = of(&last, "idle").iter().map(|it| it.duration_ns / SECOND_NS).collect();
    assert_eq!(idle, [60, 60, 10]);
    assert!(saved.borrow().iter().all(|one| one.id == last.id && one.host == last.host));
    assert!(last.intervals.is_sorted_by_key(|interval| interval.begin_ns));
    assert_eq!((last.halfpower_version.as_str(), last.contexts.len()), ("1.2.3", 130));
}

#[test]
fn a_device_that_dies_stays_with_its_intervals_and_one_that_comes_is_added() {
    let (mut recorder, _) = recorder();
    recorder.add(&second(0, &[("sda", 5.0), ("sdb", 7.0)])).unwrap();
    recorder.add(&second(1, &[("sda", 5.0), ("sdc", 1.0)])).unwrap();
    let found = recorder.finish().unwrap();
    let names: Vec<&str> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["sda", "sdb", "sdc"]);
    assert_eq!((of(&found, "sda").len(), of(&found, "sdb").len()), (2, 1));
}

#[test]
fn nothing_recorded_is_not_saved_and_an_error_of_saving_is_told() {
    let (recorder, saved) = recorder();
    assert_eq!(recorder.finish().unwrap().intervals, []);
    assert!(saved.borrow().is_empty());
    let mut recorder = Recorder::new("1", None, |_| Err("the disk is full".to_owned()));
    for at in 0..59 {
        recorder.add(&second(at, &[("sda", 5.0)])).unwrap();
    }
    let full = Err("the disk is full".to_owned());
    assert_eq!(recorder.add(&second(59, &[("sda", 5.0)])), full);
    assert_eq!(recorder.finish().map(drop), full);
}
