//! Documents are read back unchanged, under their id or its beginning.

use crate::{observation, profile, simulated_trial, trial};
use halfpower_store::{Store, StoreError};
use record::{DocumentKind, Finding, FindingCode, ObservedDevice, Profile, SavedDocument, Trial};
use tempfile::tempdir;

#[test]
fn a_document_comes_back_bit_for_bit_after_the_file_was_closed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (first, second) = (trial("0190aa-1"), trial("0190ab-2"));
    let ids = [second.id.clone(), first.id.clone()];
    {
        let mut store = Store::open(&path).unwrap();
        store.add_document(&first).unwrap();
        store.add_document(&second).unwrap();
        store.add_profile(&profile("0190b"), &ids).unwrap();
    }
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.document::<Trial>("0190aa-1").unwrap(), first);
    assert_eq!(store.document::<Profile>("0190b").unwrap(), profile("0190b"));
    assert_eq!(store.trials_of::<Profile>("0190").unwrap(), [second, first]);
}

#[test]
fn the_list_of_profiles_is_in_the_order_of_saving_and_has_their_targets() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    assert_eq!(store.list::<Profile>().unwrap(), []);
    store.add_document(&trial("1")).unwrap();
    store.add_profile(&profile("f0"), &["1".to_owned()]).unwrap();
    store.add_profile(&profile("a0"), &[]).unwrap();
    let rows = store.list::<Profile>().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["f0", "a0"]);
    assert_eq!((store.trials_of::<Profile>("f0").unwrap().len(), rows[0].simulated), (1, false));
    assert!(store.trials_of::<Profile>("a0").unwrap().is_empty());
    assert_eq!(rows[0].target, "/mnt/data");
    let disk = profile("f0").target.device.unwrap();
    let ids: Vec<String> =
        store.profiles_of(&disk, 5).unwrap().into_iter().map(|profile| profile.id).collect();
    assert_eq!(ids, ["a0", "f0"], "the newest first");
    let other = record::DeviceFacts { model: None, ..disk };
    assert_eq!(store.profiles_of(&other, 5).unwrap(), []);
    assert_eq!(rows[0].time.as_deref(), Some("2026-01-02T03:04:05Z"));
}

#[test]
fn a_partial_profile_is_found_only_by_its_id() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let partial = |id: &str| Profile {
        findings: vec![Finding::warning(FindingCode::Interrupted, "It ended early.", "")],
        ..profile(id)
    };
    store.add_profile(&partial("a0"), &[]).unwrap();
    let only = store.document::<Profile>("last").unwrap_err();
    assert!(matches!(only, StoreError::Partial { .. }), "{only}");
    assert!(only.to_string().contains("a0, the newest, is partial"), "{only}");
    store.add_profile(&profile("b0"), &[]).unwrap();
    store.add_profile(&partial("c0"), &[]).unwrap();
    for word in ["last", "/mnt/data"] {
        assert_eq!(store.document::<Profile>(word).unwrap().id, "b0");
    }
    assert!(matches!(store.document::<Profile>("last~1"), Err(StoreError::NotFound { .. })));
    let disk = profile("b0").target.device.unwrap();
    let ids: Vec<String> =
        store.profiles_of(&disk, 1).unwrap().into_iter().map(|profile| profile.id).collect();
    assert_eq!(ids, ["b0"]);
    assert_eq!(store.document::<Profile>("c0").unwrap().id, "c0");
    let newest = store.find("last", &DocumentKind::ALL).unwrap();
    assert!(matches!(newest, SavedDocument::Profile(one, _) if one.id == "c0"));
}

#[test]
fn recordings_are_placed_by_their_own_time_and_not_by_that_of_their_import() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    for (id, time) in [("a0", Some("03")), ("b0", Some("01")), ("c0", None), ("d0", Some("02"))] {
        let mut one = observation(id);
        one.time = time.map(|day| format!("2026-01-{day}T00:00:00Z"));
        one.devices = vec![ObservedDevice { name: "sda".to_owned(), ..ObservedDevice::default() }];
        store.add_document(&one).unwrap();
    }
    let before = |time: &str, most: usize| -> Vec<String> {
        let found = store.recordings_of(|device| device.name == "sda", time, (most, 1 << 20));
        found.unwrap().into_iter().map(|one| one.id).collect()
    };
    assert_eq!(before("2026-01-04T00:00:00Z", 9), ["a0", "d0", "b0"]);
    assert_eq!(before("2026-01-02T12:00:00Z", 1), ["d0"]);
}

#[test]
fn the_beginning_of_an_id_is_enough_if_only_one_id_begins_so() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    for id in ["ab1", "ab2", "ab", "c%"] {
        store.add_document(&trial(id)).unwrap();
    }
    assert_eq!(store.document::<Trial>("AB1").unwrap().id, "ab1");
    assert_eq!(store.document::<Trial>("ab").unwrap().id, "ab", "an id in full is never ambiguous");
    let ambiguous = store.document::<Trial>("a").unwrap_err();
    assert!(matches!(ambiguous, StoreError::Ambiguous { .. }), "{ambiguous}");
    assert!(ambiguous.to_string().contains("trial ab, trial ab1, trial ab2"), "{ambiguous}");
    for nothing in ["", "%", "d", "ab11", "a_1"] {
        let missing = store.document::<Trial>(nothing).unwrap_err();
        assert!(matches!(missing, StoreError::NotFound { .. }), "{nothing:?}: {missing}");
    }
    assert!(matches!(store.document::<Profile>("ab1"), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_simulated_trial_run_again_replaces_itself_and_a_measured_one_never_does() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let mut simulated = simulated_trial("5");
    store.add_document(&simulated).unwrap();
    store.add_profile(&profile("1"), &["5".to_owned()]).unwrap();
    simulated.result.concurrency = 0.5;
    store.add_document(&simulated).unwrap();
    assert_eq!(store.trials_of::<Profile>("1").unwrap(), [simulated]);

    let mut measured = trial("6");
    store.add_document(&measured).unwrap();
    store.add_document(&measured).unwrap();
    measured.result.concurrency = 0.5;
    let refused = store.add_document(&measured).unwrap_err();
    assert!(matches!(refused, StoreError::Duplicate { .. }), "{refused}");
    assert_eq!(store.document::<Trial>("6").unwrap(), trial("6"));
}

#[test]
fn a_profile_without_one_of_its_trials_is_refused_whole() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    store.add_document(&trial("1")).unwrap();
    let refused = store.add_profile(&profile("9"), &["1".to_owned(), "2".to_owned()]).unwrap_err();
    assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
    assert_eq!(store.list::<Profile>().unwrap(), []);
}

#[test]
fn a_number_that_json_cannot_hold_is_refused_before_it_is_kept() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let mut infinite = trial("1");
    infinite.result.concurrency = f64::INFINITY;
    let refused = store.add_document(&infinite).unwrap_err();
    assert!(matches!(refused, StoreError::Document { .. }), "{refused}");
    assert!(matches!(store.document::<Trial>("1"), Err(StoreError::NotFound { .. })));
}

#[test]
fn last_is_the_newest_of_every_kind_also_of_a_simulated_one_that_was_made_again() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    let all = DocumentKind::ALL;
    assert!(matches!(store.find("last", &all), Err(StoreError::NotFound { .. })));
    let simulated = |id: &str| Profile { simulated: true, time: None, ..profile(id) };
    store.add_profile(&simulated("a1"), &[]).unwrap();
    store.add_document(&observation("b2")).unwrap();
    store.add_profile(&simulated("c3"), &[]).unwrap();
    store.add_document(&trial("d4")).unwrap();
    let named = |store: &Store, word: &str| store.find(word, &all).unwrap().id().to_owned();
    assert_eq!(named(&store, "last"), "d4", "a trial of the user's own");
    assert_eq!(named(&store, "last~1"), "c3");
    assert_eq!(named(&store, "last~2"), "b2");
    // A trial of a profile does not count as a document of the user.
    store.add_document(&trial("e5")).unwrap();
    store.add_profile(&profile("f6"), &["e5".to_owned()]).unwrap();
    assert_eq!(named(&store, "last"), "f6");
    assert_eq!(named(&store, "last~1"), "d4");
    let kept = store.kept(&all).unwrap();
    let ids: Vec<&str> = kept.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a1", "b2", "c3", "d4", "f6"]);
    let trials = store.kept(&[DocumentKind::Trial]).unwrap();
    assert_eq!(trials.len(), 2);
    assert_eq!(store.document::<Trial>("last").unwrap().id, "e5");
    assert_eq!(store.document::<Profile>("last~1").unwrap().id, "c3");
    store.add_profile(&simulated("a1"), &[]).unwrap();
    assert_eq!(named(&store, "last"), "a1");
    assert_eq!(store.document::<Profile>("last").unwrap().id, "a1");
    // Neither does a trial of a profile that does not exist yet.
    store.add_part(&trial("e7")).unwrap();
    assert_eq!(named(&store, "last"), "a1");
    assert_eq!(store.kept(&all).unwrap().len(), 5);
    assert_eq!(store.document::<Trial>("last").unwrap().id, "e7");
    assert!(matches!(store.document::<Profile>("last~3"), Err(StoreError::NotFound { .. })));
}

#[test]
fn the_end_of_an_id_names_it_where_no_id_begins_so() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    for id in ["01a21dbd-0000-7000-8000-00000000aaaa", "01a21dbd-0000-7000-8000-00000000bbbb"] {
        store.add_document(&trial(id)).unwrap();
        let short = record::short_id(id);
        assert_eq!(store.document::<Trial>(short).unwrap().id, id, "{short}");
    }
    let id = "01a21dbd-0000-7000-8000-5ca1ab1e0000";
    store.add_document(&trial(id)).unwrap();
    for part in ["5ca1", "5ca1ab1e", "1e0000"] {
        assert_eq!(store.document::<Trial>(part).unwrap().id, id, "{part} of a short id");
    }
    for (word, is_ambiguous) in [("01a21dbd", true), ("bbb", false), ("00000000", true)] {
        let refused = store.document::<Trial>(word).unwrap_err();
        assert_eq!(matches!(refused, StoreError::Ambiguous { .. }), is_ambiguous, "{refused}");
    }
}

#[test]
fn an_id_of_several_kinds_is_answered_with_all_of_them() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("x.db")).unwrap();
    store.add_document(&trial("ab1")).unwrap();
    store.add_document(&trial("ab2")).unwrap();
    store.add_profile(&profile("ab3"), &["ab1".to_owned()]).unwrap();
    store.add_document(&observation("ab4")).unwrap();
    let ambiguous = store.find("ab", &DocumentKind::ALL).unwrap_err().to_string();
    let candidates = "profile ab3, observation ab4, trial ab1, trial ab2";
    assert!(ambiguous.contains(candidates), "{ambiguous}");
    let found = store.find("ab3", &DocumentKind::ALL).unwrap();
    assert_eq!((found.kind(), found.trials().len()), (Some(DocumentKind::Profile), 1));
}
