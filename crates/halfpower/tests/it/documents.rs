//! JSON documents: valid according to their schema, the same in every place, and byte-identical for the same
//! simulation.

use crate::program::{halfpower, halfpower_in};
use record::{Measured, Profile, Trial};
use serde_json::Value;
use std::collections::HashSet;
use store::Store;
use testkit::{disk_folder, requires};

/// Checks a document against the committed schema.
#[track_caller]
pub(crate) fn check_schema(name: &str, document: &str) {
    let path = format!("{}/../../docs/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(problems, [""; 0]);
    // The schema also rejects documents.
    assert!(!validator.is_valid(&serde_json::json!({ "schema": "halfpower/other/1" })));
}

#[test]
fn a_simulated_trial_follows_its_schema_and_tells_no_time_and_no_machine() {
    let words = "run sim:mmc,service=1ms --rw randrw --iodepth 4 --no-save --json";
    let ended = halfpower(words).expect(0);
    check_schema("trial-1", &ended.stdout);
    let trial = ended.trial();
    assert!(trial.simulated && trial.time.is_none() && trial.environment.is_none());
    assert_eq!((trial.seed, trial.targets[0].device.as_ref()), (1, None));
    assert!(trial.cpu.value().is_none() && trial.harness.value().is_none());
}

#[test]
fn a_simulated_profile_follows_its_schema_and_tells_no_time_and_no_machine() {
    let ended = halfpower("check sim:mmc,service=1ms --no-save --json").expect(0);
    check_schema("profile-1", &ended.stdout);
    let profile = ended.profile();
    assert!(profile.simulated && profile.time.is_none() && profile.environment.is_none());
    let measured = |cpu: &Measured<_>| cpu.value().is_some();
    assert!(profile.cells.iter().all(|cell| !measured(&cell.cpu_us_per_io)));
}

#[test]
fn the_same_simulation_gives_the_same_bytes_and_another_seed_gives_others() {
    let target = "sim:mmc,service=1ms,cache=64m,drift=5%";
    for words in
        [format!("run {target} --rw randrw --iodepth 8"), format!("check {target} --budget 10s")]
    {
        let document = |seed: u32| {
            halfpower(&format!("{words} --seed {seed} --no-save --json")).expect(0).stdout
        };
        assert_eq!(document(1), document(1));
        assert_ne!(document(1), document(2));
    }
}

#[test]
fn a_real_trial_follows_its_schema_and_is_the_same_on_screen_in_the_file_and_in_the_database() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --size 64m --io-size 1m --runtime 30s --rw randrw --rwmixread 70 --iodepth 4 \
                 --seed 42 --json --output trial.json --db kept.db";
    let ended = halfpower_in(folder.path(), words).expect(0);
    check_schema("trial-1", &ended.stdout);
    let trial: Trial = ended.trial();
    assert!(!trial.simulated && trial.time.is_some() && trial.environment.is_some());
    assert_eq!((trial.seed, trial.workload.depth), (42, 4));
    let text = std::fs::read_to_string(folder.path().join("trial.json")).unwrap();
    assert_eq!(text, ended.stdout);
    let store = Store::open_existing(&folder.path().join("kept.db")).unwrap();
    assert_eq!(store.document::<Trial>(&trial.id).unwrap(), trial);
}

#[test]
fn a_real_profile_follows_its_schema_and_is_the_same_when_it_is_shown_again() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "check . --size 128m --budget 10s --json --db kept.db";
    let ended = halfpower_in(folder.path(), words);
    // A visit to a stalled disk may complete nothing, which is a finding and not a failure.
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    check_schema("profile-1", &ended.stdout);
    let profile: Profile = ended.profile();
    assert!(!profile.simulated && profile.time.is_some() && profile.environment.is_some());
    assert!(profile.measured_ns <= profile.budget_ns, "{:?}", profile.measured_ns);
    let shown =
        halfpower_in(folder.path(), "show last --json --with-trials --db kept.db").expect(0);
    assert_eq!(shown.stdout, ended.stdout);
    let store = Store::open_existing(&folder.path().join("kept.db")).unwrap();
    let trials = store.trials_of::<Profile>(&profile.id).unwrap();
    // The number of visits within the budget depends on the machine; each cell had one.
    let known: HashSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
    // Commits are reported if at least one trial of them counts; each value then refers to its trials.
    let committing = || trials.iter().filter(|trial| trial.workload.flush.is_some());
    assert!(committing().count() >= 4, "two logs, two numbers of committers, at least once");
    let counts = committing().any(model::counts);
    assert_eq!(profile.commits.value().is_some(), counts, "{:?}", profile.commits.reason());
    let points = profile.commits.value().map_or(&[][..], |commits| &commits.points);
    for point in points {
        assert!(point.trial_ids.iter().all(|id| known.contains(id.as_str())), "{point:?}");
        assert!(point.histogram.count() > 0 && point.commits_per_s.value > 0.0, "{point:?}");
    }
    for cell in &profile.cells {
        assert!(!cell.trial_ids.is_empty(), "{}", cell.cell);
        assert!(cell.trial_ids.iter().all(|id| known.contains(id.as_str())), "{}", cell.cell);
    }
}
