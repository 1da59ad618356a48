//! Experiments know which of their trials were run, whatever happened in between.

use crate::{experiment, observation, simulated_trial, trial};
use halfpower_store::{Store, StoreError};
use record::{Experiment, Observation, Profile, Trial};
use std::collections::BTreeMap;
use tempfile::tempdir;

fn nothing() -> BTreeMap<String, f64> {
    BTreeMap::new()
}

#[test]
fn each_trial_is_found_at_its_place_in_the_order_of_the_plan() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut store = Store::open(&path).unwrap();
    store.start_experiment(&experiment("e1")).unwrap();
    let extras = BTreeMap::from([("flush_ms".to_owned(), 1.5)]);
    store.add_experiment_trial("e1", 1, &trial("b"), &nothing()).unwrap();
    store.add_experiment_trial("e1", 0, &trial("a"), &extras).unwrap();
    drop(store);
    let store = Store::open_existing(&path).unwrap();
    let kept: Experiment = store.document("e").unwrap();
    let done: Vec<_> =
        kept.done.iter().map(|done| (done.position, done.trial_id.as_str())).collect();
    assert_eq!(done, [(0, "a"), (1, "b")]);
    assert_eq!((&kept.done[0].extras, &kept.done[1].extras), (&extras, &nothing()));
    assert_eq!(store.trials_of::<Experiment>("e1").unwrap(), [trial("a"), trial("b")]);
}

#[test]
fn conclusions_replace_the_document_and_leave_its_trials() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    store.start_experiment(&experiment("e1")).unwrap();
    store.add_experiment_trial("e1", 0, &trial("a"), &nothing()).unwrap();
    let mut concluded: Experiment = store.document("e1").unwrap();
    concluded.note = "second state".to_owned();
    store.add_document(&concluded).unwrap();
    assert_eq!(store.document::<Experiment>("e1").unwrap(), concluded);
    assert_eq!(store.list::<Experiment>().unwrap().len(), 1);
}

#[test]
fn a_simulated_experiment_that_is_started_again_has_no_trials_yet() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let simulated = Experiment { simulated: true, time: None, ..experiment("e1") };
    for _ in 0..2 {
        store.start_experiment(&simulated).unwrap();
        assert_eq!(store.document::<Experiment>("e1").unwrap().done, []);
        store.add_experiment_trial("e1", 0, &simulated_trial("a"), &nothing()).unwrap();
    }
    assert_eq!(store.document::<Experiment>("e1").unwrap().done.len(), 1);
}

#[test]
fn a_trial_of_no_experiment_and_an_infinite_quantity_are_refused_whole() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let refused = store.add_experiment_trial("e1", 0, &trial("a"), &nothing()).unwrap_err();
    assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
    store.start_experiment(&experiment("e1")).unwrap();
    let infinite = BTreeMap::from([("flush_ms".to_owned(), f64::INFINITY)]);
    let refused = store.add_experiment_trial("e1", 0, &trial("a"), &infinite).unwrap_err();
    assert!(matches!(refused, StoreError::Document { .. }), "{refused}");
    assert_eq!(store.list::<Trial>().unwrap(), []);
    assert_eq!(store.document::<Experiment>("e1").unwrap().done, []);
}

#[test]
fn kinds_that_share_a_table_do_not_see_each_other() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    store.add_document(&observation("aa1")).unwrap();
    store.add_document(&observation("ab1")).unwrap();
    assert_eq!(store.document::<Observation>("aa").unwrap(), observation("aa1"));
    let rows = store.list::<Observation>().unwrap();
    let facts: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.target.as_str())).collect();
    assert_eq!(facts, [("aa1", "live"), ("ab1", "live")]);
    assert!(matches!(store.document::<Profile>("aa1"), Err(StoreError::NotFound { .. })));
    assert!(matches!(store.document::<Experiment>("aa1"), Err(StoreError::NotFound { .. })));
    let ambiguous = store.document::<Observation>("a").unwrap_err();
    assert!(matches!(ambiguous, StoreError::Ambiguous { .. }));
}
