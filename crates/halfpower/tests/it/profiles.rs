//! `show`, `show list` and `doctor`.

use crate::program::{Outcome, halfpower, names, program, run};
use record::{Diagnosis, KeptDocument, Observation, Profile};
use std::path::Path;
use store::Store;
use tempfile::TempDir;

/// A database with two profiles of simulated devices; the second is newer.
fn two_profiles() -> (TempDir, [Profile; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let profiles = ["mm1", "mdc"].map(|kind| {
        let words = format!("check sim:{kind},service=1ms --budget 5s --json");
        with_database(folder.path(), &words).expect(0).profile()
    });
    (folder, profiles)
}

fn with_database(folder: &Path, words: &str) -> Outcome {
    halfpower(&format!("{words} --db {}", folder.join("kept.db").display()))
}

#[test]
fn profiles_are_listed_in_the_order_in_which_they_were_saved() {
    let (folder, profiles) = two_profiles();
    let page = with_database(folder.path(), "show list --kind profile").expect(0).stdout;
    let places: Vec<usize> =
        ["sim:mm1", "sim:mdc"].iter().map(|target| page.find(target).unwrap()).collect();
    assert!(places[0] < places[1], "{page}");
    let json = with_database(folder.path(), "show list --json").expect(0).stdout;
    let listed: Vec<KeptDocument> = serde_json::from_str(&json).unwrap();
    let ids: Vec<&str> = listed.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, profiles.each_ref().map(|profile| profile.id.as_str()));
    assert!(listed.iter().all(|one| one.kind == "profile"), "no trial of a profile: {listed:?}");
    // A short id from the list is accepted as the profile's name.
    let list = with_database(folder.path(), "show list").expect(0).stdout;
    let (list, more) = list.split_once("\nand ").unwrap_or_else(|| panic!("{list}"));
    assert!(
        more.contains("trials that belong to these results: halfpower show list --kind trial"),
        "{more}"
    );
    let short: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(short.len(), 2, "{list}");
    for (short, profile) in short.iter().zip(&profiles) {
        let shown = with_database(folder.path(), &format!("show {short} --json")).expect(0);
        assert_eq!(shown.profile().id, profile.id);
    }
}

#[test]
fn every_listed_document_with_a_time_shows_it_and_a_simulated_one_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples/iostat.json");
    let load = "rw=randread iodepth=2";
    let mut command = program();
    command.args(["diagnose", "sim:mm1", "--load", load, "--for", "10s"]);
    run(command, &format!("--db {}", folder.path().join("kept.db").display())).expect(0);
    with_database(folder.path(), &format!("diagnose {sample}")).expect(0);
    let list = with_database(folder.path(), "show list").expect(0).stdout;
    let words: Vec<Vec<&str>> =
        list.lines().map(|line| line.split_whitespace().skip(1).take(2).collect()).collect();
    let simulated = ["observation", "diagnosis"].map(|kind| vec![kind, "SIMULATED"]);
    assert_eq!(words[..2], simulated, "{list}");
    let imported = ["observation", "diagnosis"].map(|kind| vec![kind, "2020-06-01"]);
    assert_eq!(words[2..], imported, "{list}");
    assert!(!list.contains("time unknown"), "{list}");
}

#[test]
fn the_id_of_a_diagnosis_is_not_an_observation_and_the_error_says_which_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(["diagnose", "sim:mm1", "--load", "rw=randread iodepth=2", "--for", "10s"]);
    let ended = run(command, &format!("--json --db {}", folder.path().join("kept.db").display()));
    let made: Diagnosis = serde_json::from_str(&ended.expect(0).stdout).unwrap();
    let again = format!("halfpower show {}", made.id);
    let words = ["is a saved diagnosis", &again, &made.observation_id];
    with_database(folder.path(), &format!("diagnose {}", made.id)).refuses(2, &words);
    with_database(folder.path(), &format!("diagnose {}", made.observation_id)).expect(0);
    // The recording of a file is saved too.
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples/iostat.json");
    let ended = with_database(folder.path(), &format!("diagnose {sample} --json")).expect(0);
    let made: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
    with_database(folder.path(), &format!("diagnose {}", made.id))
        .refuses(2, &["is a saved diagnosis", &made.observation_id]);
    with_database(folder.path(), "diagnose last").expect(0);
    let profile = with_database(folder.path(), "check sim:mm1 --budget 5s --json").expect(0);
    with_database(folder.path(), &format!("diagnose {}", profile.profile().id))
        .refuses(2, &["is a saved profile", "name an observation, a recording or a device"]);
}

#[test]
fn trials_of_limits_and_of_a_validation_are_not_listed_as_runs_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = |words: &str| {
        let json = with_database(folder.path(), words).expect(0).stdout;
        let listed: Vec<KeptDocument> = serde_json::from_str(&json).unwrap();
        listed.into_iter().map(|one| one.kind).collect::<Vec<_>>()
    };
    with_database(folder.path(), "run sim:mm1 --io-size 1m").expect(0);
    with_database(folder.path(), "check sim:mm1 --budget 2m");
    with_database(folder.path(), "show validate last --trials 2");
    with_database(folder.path(), "limits sim:mm1");
    assert_eq!(kinds("show list --json"), ["trial", "profile", "validation", "limits"]);
    assert!(kinds("show list --json --kind trial").len() > 20);
    let before = with_database(folder.path(), "show last~1 --json").expect(0).stdout;
    assert!(before.contains("halfpower/validation/"), "{before}");
}

#[test]
fn a_profile_is_shown_by_its_id_by_its_beginning_or_end_and_as_the_last() {
    let (folder, [first, second]) = two_profiles();
    let show = |id: &str| {
        with_database(folder.path(), &format!("show {id} --json --with-trials")).expect(0).profile()
    };
    assert_eq!(show(&first.id), first);
    assert_eq!(show(&first.id[..8]), first);
    assert_eq!(show(&first.id[20..]), first);
    assert_eq!(show(&second.id), second);
    assert_eq!(show("last"), second);
}

/// The settings of a check are part of the id; otherwise one profile would replace another.
#[test]
fn profiles_of_one_simulated_device_have_ids_of_their_own_and_the_newest_is_last() {
    let folder = tempfile::tempdir().unwrap();
    let check = |flags: &str| {
        let words = format!("check sim:mdc,service=1ms --json {flags}");
        with_database(folder.path(), &words).expect(0).profile().id
    };
    let flags = ["--budget 5s", "--budget 6s", "--budget 5s --no-write", "--budget 5s --size 1g"];
    let ids: Vec<String> = flags.iter().map(|flags| check(flags)).collect();
    let different: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), flags.len(), "{ids:?}");
    let last = || with_database(folder.path(), "show last --json").expect(0).profile().id;
    assert_eq!(last(), ids[3]);
    // The same check again gives the same document, which becomes the newest.
    assert_eq!(check(flags[0]), ids[0]);
    assert_eq!(last(), ids[0]);
}

#[test]
fn a_profile_is_printed_without_its_histograms_unless_they_are_asked_for() {
    let (folder, [first, _]) = two_profiles();
    let words = format!("show {} --json", first.id);
    let short = with_database(folder.path(), &words).expect(0);
    let long = with_database(folder.path(), &format!("{words} --with-trials")).expect(0);
    assert!(short.stderr.contains("--with-trials"), "{}", short.stderr);
    assert!(short.stdout.len() < long.stdout.len());
    let short = short.profile();
    assert!(short.cells.iter().all(|cell| cell.histogram.buckets.is_empty()));
    assert_eq!(short.limits, first.limits);
}

#[test]
fn a_profile_is_shown_as_the_page_that_check_printed() {
    let folder = tempfile::tempdir().unwrap();
    let checked = with_database(folder.path(), "check sim:mmc,service=1ms").expect(0).stdout;
    let shown = with_database(folder.path(), "show last").expect(0).stdout;
    assert!(checked.starts_with(&shown), "{shown}\n---\n{checked}");
}

#[test]
fn an_id_that_nothing_has_is_refused_with_the_way_to_see_what_is_there() {
    let (folder, _) = two_profiles();
    with_database(folder.path(), "show zzzz").refuses(4, &["zzzz", "kept.db", "show list"]);
}

#[test]
fn any_kept_document_is_shown_and_the_last_is_what_the_user_made() {
    let (folder, [_, second]) = two_profiles();
    let trial = with_database(folder.path(), "run sim:mm1 --json").expect(0).trial();
    let page = with_database(folder.path(), "show last").expect(0).stdout;
    assert!(page.contains("Trial:"), "{page}");
    let shown = with_database(folder.path(), "show --json").expect(0).trial();
    assert_eq!(shown, trial);
    let profile = with_database(folder.path(), "show last --kind profile --json").expect(0);
    assert_eq!(profile.profile().id, second.id);
    let file = folder.path().join("trial.json");
    std::fs::write(&file, serde_json::to_string(&trial).unwrap()).unwrap();
    let of_file =
        with_database(folder.path(), &format!("show {}", file.display())).expect(0).stdout;
    assert_eq!(of_file, page);
}

#[test]
fn the_beginning_of_several_ids_is_refused_with_the_candidates() {
    let (folder, [first, _]) = two_profiles();
    let mut store = Store::open(&folder.path().join("kept.db")).unwrap();
    for id in ["abc1", "abc2"] {
        store.add_profile(&Profile { id: id.to_owned(), ..first.clone() }, &[]).unwrap();
    }
    store.add_document(&Observation { id: "abc3".to_owned(), ..Default::default() }).unwrap();
    drop(store);
    with_database(folder.path(), "report abc")
        .refuses(2, &["more than one document", "abc1", "abc2", "abc3"]);
    with_database(folder.path(), "show abc").refuses(2, &["abc", "more than one", "abc1", "abc2"]);
    assert_eq!(with_database(folder.path(), "show abc1 --json").expect(0).profile().id, "abc1");
}

#[test]
fn a_missing_database_is_refused_with_how_to_make_one_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    for words in ["show list", "show last"] {
        with_database(folder.path(), words).refuses(4, &["no database", "halfpower check"]);
    }
    assert!(!folder.path().join("kept.db").exists());
}

#[test]
fn the_database_is_the_flags_else_the_variables_else_that_of_the_users_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let save = |flags: &str| {
        let mut command = program();
        command.env("HALFPOWER_DB", folder.path().join("variable.db"));
        run(command, &format!("run sim:mm1 {flags}")).expect(0);
    };
    save(&format!("--db {}", folder.path().join("flag.db").display()));
    assert_eq!(names(folder.path()), ["flag.db"]);
    save("");
    assert_eq!(names(folder.path()), ["flag.db", "variable.db"]);
    save("--no-save");
    let mut command = program();
    command.env("XDG_DATA_HOME", folder.path());
    run(command, "run sim:mm1").expect(0);
    assert_eq!(names(folder.path()), ["flag.db", "halfpower", "variable.db"]);
    assert_eq!(names(&folder.path().join("halfpower")), ["halfpower.db"]);
}

#[test]
fn without_a_place_for_the_database_the_result_is_printed_and_the_way_out_is_named() {
    let mut command = program();
    command.env_remove("XDG_DATA_HOME").env_remove("HOME");
    let ended = run(command, "run sim:mm1 --json").expect(0);
    assert!(ended.stderr.contains("not saved: no location for the database"), "{ended:?}");
    assert!(ended.stderr.contains("--db"), "{ended:?}");
    assert!(ended.trial().iops() > 0.0);
}

#[test]
fn the_last_of_no_profiles_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    with_database(folder.path(), "run sim:mm1").expect(0);
    with_database(folder.path(), "show last --kind profile").refuses(4, &["kept.db", "profile"]);
    let json = with_database(folder.path(), "show list --kind profile --json").expect(0).stdout;
    assert_eq!(json.trim(), "[]");
}

#[test]
fn the_doctor_says_what_can_be_measured_in_text_and_json() {
    let page = halfpower("doctor").expect(0).stdout;
    assert!(page.contains("io_uring") && page.contains("O_DIRECT"), "{page}");
    let json = halfpower("doctor --json").expect(0).stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["schema"], "halfpower/doctor/1");
    let rows = document["capabilities"].as_array().unwrap();
    for row in rows {
        assert!(row["available"].is_boolean() && !row["name"].as_str().unwrap().is_empty());
        // Each missing capability has a remedy.
        let helps = row["available"] == true || !row["remedy"].as_str().unwrap_or("").is_empty();
        assert!(helps, "{row}");
    }
    assert!(rows.len() > 5);
}

#[test]
fn the_doctor_of_a_missing_directory_has_no_result() {
    halfpower("doctor no/such/place").refuses(4, &["no/such/place", "not a directory"]);
}
