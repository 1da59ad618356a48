//! The current program reads the files of every earlier version.
//!
//! `HALFPOWER_BLESS=1` creates the file of the current version if it is missing. A file that a released
//! program wrote is never recreated: it represents existing files.

use crate::{experiment, observation, profile, trial};
use halfpower_store::{SCHEMA_VERSION, Store, StoreError};
use record::{DocumentKind, DoneTrial, Experiment, Measured, Observation, Profile, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

const TRIAL_ID: &str = "019b7c1f-3f2e-7000-8000-000000000001";
const PROFILE_ID: &str = "019b7c1f-3f2e-7000-8000-000000000002";
const EXPERIMENT_ID: &str = "019b7c1f-3f2e-7000-8000-000000000003";
const OBSERVATION_ID: &str = "019b7c1f-3f2e-7000-8000-000000000004";
/// The first version with experiments and other documents.
const WITH_EXPERIMENTS: u32 = 2;

/// The committed file of a version.
fn committed(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/v{version}.db"))
}

/// The profile of a version's file. A file keeps the texts of the program that wrote it. The first versions
/// have no text on commits, and get the current one.
fn profile_of(version: u32) -> Profile {
    let profile = profile(PROFILE_ID);
    match version {
        3 => {
            let commits = Measured::not("the profile is from before commits were measured");
            Profile { commits, ..profile }
        }
        _ => profile,
    }
}

fn extras() -> BTreeMap<String, f64> {
    BTreeMap::from([("flush_ms".to_owned(), 0.1 + 0.2)])
}

/// Creates the file of the current version, without a log beside it.
fn bless() {
    let path = committed(SCHEMA_VERSION);
    if path.exists() {
        return;
    }
    let mut store = Store::open(&path).unwrap();
    store.add_document(&trial(TRIAL_ID)).unwrap();
    store.add_profile(&profile(PROFILE_ID), &[TRIAL_ID.to_owned()]).unwrap();
    store.start_experiment(&experiment(EXPERIMENT_ID)).unwrap();
    store.add_experiment_trial(EXPERIMENT_ID, 1, &trial(TRIAL_ID), &extras()).unwrap();
    store.add_document(&observation(OBSERVATION_ID)).unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
    connection.execute_batch("VACUUM").unwrap();
}

#[test]
fn a_file_of_every_past_version_gives_back_its_documents() {
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        bless();
    }
    for version in 1..=SCHEMA_VERSION {
        let folder = tempdir().unwrap();
        let path = folder.path().join("copy.db");
        std::fs::copy(committed(version), &path).unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(
            store.document::<Trial>(TRIAL_ID).unwrap(),
            trial(TRIAL_ID),
            "version {version}"
        );
        assert_eq!(
            store.document::<Profile>(PROFILE_ID).unwrap(),
            profile_of(version),
            "version {version}"
        );
        assert_eq!(store.trials_of::<Profile>(PROFILE_ID).unwrap(), [trial(TRIAL_ID)]);
        assert_eq!(store.list::<Profile>().unwrap().len(), 1);
        let kept = store.kept(&DocumentKind::ALL).unwrap();
        assert!(kept.iter().all(|one| one.kind != "trial"), "a part of the profile: {version}");
        if version < WITH_EXPERIMENTS {
            assert_eq!(store.list::<Experiment>().unwrap(), [], "the new tables are there");
            continue;
        }
        let trial_id = TRIAL_ID.to_owned();
        let done = vec![DoneTrial { position: 1, trial_id, extras: extras() }];
        let kept = store.document::<Experiment>(EXPERIMENT_ID).unwrap();
        assert_eq!(kept, Experiment { done, ..experiment(EXPERIMENT_ID) }, "version {version}");
        assert_eq!(store.trials_of::<Experiment>(EXPERIMENT_ID).unwrap(), [trial(TRIAL_ID)]);
        let kept = store.document::<Observation>(OBSERVATION_ID).unwrap();
        assert_eq!(kept, observation(OBSERVATION_ID), "version {version}");
    }
}

#[test]
fn a_file_of_the_first_version_takes_an_experiment_after_its_migration() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("copy.db");
    std::fs::copy(committed(1), &path).unwrap();
    let mut store = Store::open(&path).unwrap();
    store.start_experiment(&experiment(EXPERIMENT_ID)).unwrap();
    store.add_experiment_trial(EXPERIMENT_ID, 0, &trial(TRIAL_ID), &extras()).unwrap();
    assert_eq!(store.document::<Experiment>(EXPERIMENT_ID).unwrap().done.len(), 1);
    assert_eq!(store.trials_of::<Profile>(PROFILE_ID).unwrap(), [trial(TRIAL_ID)]);
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_not_touched() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    drop(Store::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    for result in [Store::open(&path), Store::open_existing(&path)] {
        let refused = result.unwrap_err();
        assert!(matches!(refused, StoreError::NewerSchema { .. }), "{refused}");
        let words = format!(
            "was written by a newer halfpower: schema {}, but this program supports \
             {SCHEMA_VERSION}; update halfpower or use another --db",
            SCHEMA_VERSION + 1
        );
        assert!(refused.to_string().contains(&words), "{refused}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn an_empty_file_that_a_kill_left_behind_is_used() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, b"").unwrap();
    assert_eq!(Store::open_existing(&path).unwrap().list::<Profile>().unwrap(), []);
    let mut store = Store::open(&path).unwrap();
    store.add_document(&trial("1")).unwrap();
}
