//! What goes in comes out, under its id or the beginning of it.

use crate::{profile, simulated_trial, trial};
use halfpower_store::{Store, StoreError};
use tempfile::tempdir;

#[test]
fn a_document_comes_back_bit_for_bit_after_the_file_was_closed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("not/yet/there/x.db");
    let (first, second) = (trial("0190aa-1"), trial("0190ab-2"));
    let ids = [second.id.clone(), first.id.clone()];
    {
        let mut store = Store::open(&path).unwrap();
        store.add_trial(&first).unwrap();
        store.add_trial(&second).unwrap();
        store.add_profile(&profile("0190b"), &ids).unwrap();
    }
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.trial("0190aa-1").unwrap(), first);
    assert_eq!(store.profile("0190b").unwrap(), profile("0190b"));
    assert_eq!(store.trials_of_profile("0190").unwrap(), [second, first]);
}

#[test]
fn the_list_of_profiles_is_in_the_order_of_saving_and_counts_their_trials() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    assert_eq!(store.profiles().unwrap(), []);
    store.add_trial(&trial("1")).unwrap();
    store.add_profile(&profile("f0"), &["1".to_owned()]).unwrap();
    store.add_profile(&profile("a0"), &[]).unwrap();
    let rows = store.profiles().unwrap();
    let facts: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.trials)).collect();
    assert_eq!(facts, [("f0", 1), ("a0", 0)]);
    assert_eq!(rows[0].target, "/mnt/data");
    assert_eq!(rows[0].kind, record::TargetKind::Directory);
    assert_eq!(rows[0].device.as_deref(), Some("sda"));
    assert_eq!(rows[0].model.as_deref(), Some("EXAMPLE 1000"));
    assert_eq!(rows[0].time.as_deref(), Some("2026-01-02T03:04:05Z"));
}

#[test]
fn the_beginning_of_an_id_is_enough_if_only_one_id_begins_so() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    for id in ["ab1", "ab2", "ab", "c%"] {
        store.add_trial(&trial(id)).unwrap();
    }
    assert_eq!(store.trial("AB1").unwrap().id, "ab1");
    assert_eq!(store.trial("ab").unwrap().id, "ab", "an id in full is never ambiguous");
    let ambiguous = store.trial("a").unwrap_err();
    assert!(matches!(ambiguous, StoreError::Ambiguous { .. }), "{ambiguous}");
    assert!(ambiguous.to_string().contains("ab, ab1, ab2"), "{ambiguous}");
    for nothing in ["", "%", "d", "ab11", "a_1"] {
        let missing = store.trial(nothing).unwrap_err();
        assert!(matches!(missing, StoreError::NotFound { .. }), "{nothing:?}: {missing}");
    }
    assert!(matches!(store.profile("ab1"), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_simulated_trial_run_again_replaces_itself_and_a_measured_one_never_does() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let mut simulated = simulated_trial("5");
    store.add_trial(&simulated).unwrap();
    store.add_profile(&profile("1"), &["5".to_owned()]).unwrap();
    simulated.result.concurrency = 0.5;
    store.add_trial(&simulated).unwrap();
    assert_eq!(store.trials_of_profile("1").unwrap(), [simulated]);

    let mut measured = trial("6");
    store.add_trial(&measured).unwrap();
    store.add_trial(&measured).unwrap();
    measured.result.concurrency = 0.5;
    let refused = store.add_trial(&measured).unwrap_err();
    assert!(matches!(refused, StoreError::Duplicate { .. }), "{refused}");
    assert_eq!(store.trial("6").unwrap(), trial("6"));
}

#[test]
fn a_profile_without_one_of_its_trials_is_refused_whole() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    store.add_trial(&trial("1")).unwrap();
    let refused = store.add_profile(&profile("9"), &["1".to_owned(), "2".to_owned()]).unwrap_err();
    assert!(matches!(refused, StoreError::NotFound { kind: "trial", .. }), "{refused}");
    assert_eq!(store.profiles().unwrap(), []);
}

#[test]
fn a_number_that_json_cannot_hold_is_refused_before_it_is_kept() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let mut infinite = trial("1");
    infinite.result.concurrency = f64::INFINITY;
    let refused = store.add_trial(&infinite).unwrap_err();
    assert!(matches!(refused, StoreError::Document { .. }), "{refused}");
    assert!(matches!(store.trial("1"), Err(StoreError::NotFound { .. })));
}
