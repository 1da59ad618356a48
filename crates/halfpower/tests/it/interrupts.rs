//! Signals at any time: finished work is saved, and nothing else remains.

use crate::program::{Outcome, Running, found, halfpower, names, program};
use record::{Diagnosis, EndedBy, FindingCode, PredictionDocument, Profile, Trial, short_id};
use std::path::Path;
use std::time::Duration;
use store::{Store, StoreError};
use tempfile::TempDir;
use testkit::{disk_folder, requires};

/// Starts the program in a folder, with a database outside it.
fn start(folder: &Path, database: &TempDir, words: &str) -> Running {
    let mut command = program();
    command.current_dir(folder).args(words.split_whitespace());
    command.arg("--db").arg(database.path().join("kept.db"));
    Running::start(command)
}

/// Interrupts a command some time after it has printed `moment`. Checks the exit code, the message, and that
/// the folder is empty. Returns the outcome and the folder of the database.
fn interrupted(words: &str, signal: &str, moment: &str, later: Duration) -> (Outcome, TempDir) {
    let (folder, database) = (disk_folder().unwrap(), tempfile::tempdir().unwrap());
    let mut running = start(folder.path(), &database, words);
    running.wait_for(moment);
    std::thread::sleep(later);
    running.signal(signal);
    let ended = running.end().expect(130);
    assert!(last_line(&ended).contains("interrupted"), "{ended:?}");
    assert_eq!(names(folder.path()), [""; 0]);
    (ended, database)
}

/// The last line on standard error.
fn last_line(ended: &Outcome) -> &str {
    ended.stderr.lines().last().unwrap()
}

#[test]
fn an_interrupt_while_the_test_file_is_written_leaves_no_file() {
    requires!(Disk);
    for signal in ["INT", "TERM"] {
        for verb in ["run", "check"] {
            let words = format!("{verb} . --size 2g");
            let (ended, _) = interrupted(&words, signal, "write test file", Duration::ZERO);
            assert_eq!(ended.stdout, "", "{ended:?}");
        }
    }
}

/// The trial in a database, which must be marked as interrupted.
fn interrupted_trial(database: &TempDir) -> Trial {
    let store = Store::open_existing(&database.path().join("kept.db")).unwrap();
    let rows = store.list::<Trial>().unwrap();
    assert_eq!(rows.len(), 1);
    let trial: Trial = store.document(&rows[0].id).unwrap();
    assert_eq!(trial.result.ended_by, Some(EndedBy::Interrupted));
    assert!(found(&trial.findings, FindingCode::Interrupted), "{:?}", trial.findings);
    trial
}

#[test]
fn an_interrupt_in_the_middle_of_a_run_prints_and_keeps_what_was_measured_and_leaves_no_file() {
    requires!(Disk);
    for (signal, json) in [("INT", ""), ("TERM", "--json"), ("HUP", "")] {
        let words = format!("run . --size 64m --runtime 20s --iodepth 4 --numjobs 2 {json}");
        let later = Duration::from_millis(400);
        let (ended, database) = interrupted(&words, signal, "measure ...", later);
        let trial = interrupted_trial(&database);
        assert!(trial.result.duration_ns < trial.workload.runtime_ns);
        assert!(trial.result.read.as_ref().unwrap().ios > 0);
        if json.is_empty() {
            assert!(ended.stdout.contains("interrupted"), "{ended:?}");
        } else {
            assert_eq!(serde_json::from_str::<Trial>(&ended.stdout).unwrap(), trial);
        }
        assert!(
            last_line(&ended).contains("the time before the interruption; they are saved"),
            "{ended:?}"
        );
    }
}

#[test]
fn an_interrupt_in_the_warm_up_of_a_run_leaves_no_half_trial() {
    requires!(Disk);
    let words = "run . --size 64m --ramp-time 20s --runtime 20s";
    let (ended, database) = interrupted(words, "INT", "measure ...", Duration::from_millis(100));
    assert_eq!(ended.stdout, "", "{ended:?}");
    assert!(
        last_line(&ended).contains("no request was measured, so nothing is saved"),
        "{ended:?}"
    );
    let store = Store::open_existing(&database.path().join("kept.db")).unwrap();
    assert!(store.list::<Trial>().unwrap().is_empty());
}

#[test]
fn an_interrupt_in_the_middle_of_a_check_keeps_the_finished_trials_and_leaves_no_file() {
    requires!(Disk);
    for (signal, milliseconds) in [("INT", 0), ("TERM", 300)] {
        let words = "check . --size 16m --budget 5s";
        let later = Duration::from_millis(milliseconds);
        let (ended, database) = interrupted(words, signal, "repeats ...", later);
        let path = database.path().join("kept.db");
        let shown = halfpower(&format!("show last --json --db {}", path.display()));
        let profile: Profile = shown.expect(0).profile();
        assert!(found(&profile.findings, FindingCode::Interrupted));
        // The page shows the measured part, and says how to show it again.
        let again = format!("halfpower show {}", profile.id);
        assert!(ended.stdout.contains(&again) && last_line(&ended).contains(&again), "{ended:?}");
        let trials =
            Store::open_existing(&path).unwrap().trials_of::<Profile>(&profile.id).unwrap();
        // The whole matrix was measured before the first cell was revisited.
        let first: usize = profile.cells.iter().map(|cell| cell.trial_ids.len()).sum();
        assert!(first >= 21 && trials.len() >= first, "{first} of {} trials", trials.len());
    }
}

#[test]
fn an_interrupted_check_is_shown_but_used_only_by_its_id() {
    let database = tempfile::tempdir().unwrap();
    let with = |words: &str| {
        halfpower(&format!("{words} --db {}", database.path().join("kept.db").display()))
    };
    // Its speed never settles, so the check uses its whole budget.
    let device = "sim:drifting";
    let interrupt = || {
        let words = format!("check {device} --budget 24h");
        let mut running = start(database.path(), &database, &words);
        running.wait_for("repeats ...");
        running.signal("INT");
        running.end().expect(130);
        let shown: Profile = with("show last --json").expect(0).profile();
        assert!(shown.partial().is_some(), "{:?}", shown.findings);
        shown
    };
    let predict = |of: &str| with(&format!("predict {of} --bs 4k --iodepth 4 --json"));
    let used = |ended: &Outcome| {
        serde_json::from_str::<PredictionDocument>(&ended.stdout).unwrap().profile_id.unwrap()
    };
    let partial = interrupt();
    predict("last").refuses(4, &["no complete profile", "is partial", short_id(&partial.id)]);
    let complete = with(&format!("check {device} --budget 5s --json")).expect(0).profile();
    let partial = interrupt();
    assert_eq!(used(&predict("last").expect(0)), complete.id);
    let named = predict(&partial.id).expect(0);
    assert!(used(&named) == partial.id && named.stderr.contains("is partial"), "{named:?}");
    let page = with(&format!("predict {} --bs 4k --iodepth 4", partial.id)).expect(0).stdout;
    assert!(page.contains("The profile is partial") && page.contains("[interrupted]"), "{page}");
    let diagnose = |words: &str| {
        let words = format!("diagnose {device} --load iodepth=4 --for 10s --json {words}");
        let mut diagnosis: Diagnosis =
            serde_json::from_str(&with(&words).expect(0).stdout).unwrap();
        diagnosis.devices.remove(0)
    };
    let found = diagnose("");
    assert_eq!(found.profile.value().unwrap().profile_id, complete.id);
    assert!(found.unused_profile.as_ref().unwrap().contains("is partial"), "{found:?}");
    let found = diagnose(&format!("--profile {}", partial.id));
    let invalid = found.profile.value().unwrap().invalid.as_ref().unwrap();
    assert!(invalid.contains("partial"), "{invalid}");
}

#[test]
fn an_interrupted_check_that_saves_nothing_prints_what_it_measured_and_says_so() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let mut command = program();
    let words = "check . --size 16m --budget 10s --no-save --json";
    command.current_dir(folder.path()).args(words.split_whitespace());
    let mut running = Running::start(command);
    // The first trial of the matrix has ended then. On a busy machine, there may be no time for later ones.
    running.wait_for("commits ...");
    running.signal("INT");
    let ended = running.end().expect(130);
    assert!(found(&ended.profile().findings, FindingCode::Interrupted));
    assert!(last_line(&ended).contains("not saved"), "{ended:?}");
}

#[test]
fn an_interrupt_before_the_first_trial_has_ended_says_that_nothing_is_kept() {
    let mut command = program();
    let words = "check sim:md1,service=1us --budget 24h --no-save";
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("matrix ...");
    running.signal("INT");
    running.end().refuses(130, &["interrupted", "no trial finished", "so nothing is saved"]);
}

#[test]
fn an_interrupt_ends_a_simulation_too_with_what_it_came_to() {
    let mut command = program();
    let words = "run sim:md1,service=1us --runtime 24h --no-save --json";
    command.args(words.split_whitespace());
    let running = Running::start(command);
    std::thread::sleep(Duration::from_millis(400));
    running.signal("INT");
    let ended = running.end().expect(130);
    assert!(last_line(&ended).contains("not saved"), "{ended:?}");
    let trial: Trial = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(trial.result.ended_by, Some(EndedBy::Interrupted));
    assert!(trial.result.read.unwrap().ios > 0);
}

#[test]
fn a_kill_at_any_moment_leaves_a_database_that_opens_and_no_file() {
    requires!(Disk);
    let (folder, database) = (disk_folder().unwrap(), tempfile::tempdir().unwrap());
    let path = database.path().join("kept.db");
    for milliseconds in [3, 30, 100, 250, 500, 900] {
        let words = "check . --size 64m --budget 5s";
        let mut running = start(folder.path(), &database, words);
        std::thread::sleep(Duration::from_millis(milliseconds));
        running.kill();
        assert_eq!(running.end().code, None, "it had ended before the kill");
        assert_eq!(names(folder.path()), [""; 0]);
        match Store::open_existing(&path) {
            Ok(store) => assert!(store.list::<Profile>().unwrap().is_empty()),
            Err(StoreError::Missing(_)) => {}
            Err(other) => panic!("after {milliseconds} ms: {other}"),
        }
    }
    // The database remains usable.
    let words = "check sim:mdc,service=1ms --budget 5s";
    start(folder.path(), &database, words).end().expect(0);
    assert_eq!(Store::open_existing(&path).unwrap().list::<Profile>().unwrap().len(), 1);
}
