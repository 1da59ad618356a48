//! `export`: which trials become tables, and what is never overwritten.

use crate::program::{Outcome, halfpower, names, run, unprivileged};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use testkit::requires;

const FILES: [&str; 4] = ["clients.csv", "histograms.csv", "intervals.csv", "trials.csv"];

fn in_folder(folder: &Path, words: &str) -> Outcome {
    halfpower(&format!("{words} --db {}", folder.join("kept.db").display()))
}

/// Exports to `tables` in the folder.
fn export(folder: &Path, what: &str) -> Outcome {
    let tables = folder.join("tables");
    in_folder(folder, &format!("export {what} --json --csv {}", tables.display()))
}

#[track_caller]
fn rows(outcome: Outcome) -> (u64, Vec<u64>) {
    let said: Value = serde_json::from_str(&outcome.expect(0).stdout).unwrap();
    assert_eq!(said["schema"], "halfpower/export/1");
    let files = said["written"].as_array().unwrap();
    (
        said["trials"].as_u64().unwrap(),
        files.iter().map(|it| it["rows"].as_u64().unwrap()).collect(),
    )
}

fn contents(folder: &Path) -> Vec<Vec<u8>> {
    FILES.iter().map(|name| std::fs::read(folder.join("tables").join(name)).unwrap()).collect()
}

#[test]
fn a_trial_is_a_row_for_each_job_with_the_rows_of_its_intervals_and_buckets() {
    let folder = tempfile::tempdir().unwrap();
    let words = "run sim:mm1,service=1ms --runtime 3s --interval 1s --json --beside --rw=randwrite";
    let trial = in_folder(folder.path(), words).expect(0).trial();
    let buckets = |of: &Option<record::DirectionResult>| {
        of.as_ref().map_or(0, |direction| direction.histogram.buckets.len() as u64)
    };
    let expected = buckets(&trial.result.read) + buckets(&trial.beside[0].result.write);
    let intervals: usize =
        trial.jobs().map(|(_, result)| result.intervals.as_ref().map_or(0, Vec::len)).sum();
    assert!(expected > 10 && intervals >= 3);
    let written = rows(export(folder.path(), "--all"));
    assert_eq!(written, (1, vec![2, intervals as u64, expected, 0]));
    assert_eq!(names(&folder.path().join("tables")), FILES);
    let first = contents(folder.path());
    // Again by its id, and from a file: the tables are identical, and a trial that is named twice is exported
    // once.
    let file = folder.path().join("trial.json");
    std::fs::write(&file, serde_json::to_string(&trial).unwrap()).unwrap();
    for what in [trial.id.clone(), format!("{} {}", &trial.id[..9], file.display())] {
        assert_eq!(rows(export(folder.path(), &what)), written);
        assert_eq!(contents(folder.path()), first);
    }
}

#[test]
fn a_profile_brings_its_trials_and_those_that_are_not_at_hand_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let profile =
        in_folder(folder.path(), "check sim:mdc,service=1ms --budget 5s --json").expect(0);
    let ids: Vec<String> =
        profile.profile().cells.into_iter().flat_map(|cell| cell.trial_ids).collect();
    let (trials, tables) = rows(export(folder.path(), "last"));
    assert!(trials >= ids.len() as u64 && tables[0] == trials, "{trials} {}", ids.len());
    let file = folder.path().join("profile.json");
    std::fs::write(&file, &profile.stdout).unwrap();
    let other = tempfile::tempdir().unwrap();
    export(other.path(), &file.display().to_string())
        .refuses(4, &["no trials to export", "halfpower run"]);
    // With only one of the trials available, the others are reported as missing.
    in_folder(other.path(), "run sim:mm1,service=1ms").expect(0);
    let ended = export(other.path(), &format!("last {}", file.display())).expect(1);
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(said["missing_trials"].as_array().unwrap().len(), ids.len());
    assert!(ended.stderr.contains(&ids[0]) && ended.stderr.contains("is missing"), "{ended:?}");
}

#[test]
fn what_holds_no_trials_or_names_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    export(folder.path(), "--all").refuses(4, &["no database", "halfpower check"]);
    assert_eq!(names(&folder.path().join("tables")), [""; 0]);
    let zones = in_folder(folder.path(), "zones sim:st34371w --json --no-save").expect(0);
    let file = folder.path().join("zones.json");
    std::fs::write(&file, zones.stdout).unwrap();
    export(folder.path(), &file.display().to_string()).refuses(4, &["zones.json", "has no trials"]);
    in_folder(folder.path(), "run sim:mm1").expect(0);
    export(folder.path(), "ffff").refuses(4, &["ffff", "kept.db"]);
    in_folder(folder.path(), "export --all").refuses(2, &["required"]);
    export(folder.path(), "").refuses(2, &["required"]);
    export(folder.path(), "--all last").refuses(2, &["--all"]);
}

#[test]
fn a_bucket_that_no_trial_of_this_program_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trial = in_folder(folder.path(), "run sim:mm1,service=1ms --json").expect(0).trial();
    let file = folder.path().join("trial.json");
    let mut changed = trial.clone();
    changed.result.read.as_mut().unwrap().histogram.buckets.push((u32::MAX, 1));
    std::fs::write(&file, serde_json::to_string(&changed).unwrap()).unwrap();
    let what = file.display().to_string();
    export(folder.path(), &what).refuses(4, &[&trial.id, "bucket 4294967295"]);
}

#[test]
fn a_file_of_another_program_is_kept_and_so_are_the_older_tables_when_a_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables");
    in_folder(folder.path(), "run sim:mm1,service=1ms --interval 1s").expect(0);
    rows(export(folder.path(), "--all"));
    let before = contents(folder.path());
    in_folder(folder.path(), "run sim:mm1,service=2ms --interval 1s").expect(0);
    // One table of four cannot be written, so none of the others is replaced.
    let last = tables.join("histograms.csv");
    let kept = folder.path().join("kept.csv");
    std::fs::rename(&last, &kept).unwrap();
    symlink("/dev/full", &last).unwrap();
    export(folder.path(), "--all").refuses(4, &["--csv", "histograms.csv", "No space left"]);
    std::fs::remove_file(&last).unwrap();
    std::fs::rename(&kept, &last).unwrap();
    assert_eq!(contents(folder.path()), before);
    assert_eq!(names(&tables), FILES);
    // A file that another program wrote.
    std::fs::write(&last, "mine,too\n").unwrap();
    export(folder.path(), "--all")
        .refuses(3, &["histograms.csv", "is not a halfpower CSV table of trials", "lost"]);
    assert_eq!(std::fs::read_to_string(&last).unwrap(), "mine,too\n");
    // Neither an input document nor an existing file as the folder.
    let file = folder.path().join("tables/trials.csv");
    let ended = export(folder.path(), &file.display().to_string());
    ended.refuses(3, &["trials.csv", "a document to export"]);
    let words = format!("export --all --csv {}", file.display());
    in_folder(folder.path(), &words).refuses(4, &["trials.csv", "is not a folder"]);
}

#[test]
fn a_folder_that_takes_no_files_is_named_before_anything_is_read() {
    requires!(Root, Setpriv);
    let (reachable, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    for (sub, word) in [("", "trials.csv"), ("/new", "cannot create the folder")] {
        let words = format!("export --all --db none.db --csv {}{sub}", folder.path().display());
        run(unprivileged(reachable.path()), &words)
            .refuses(4, &["--csv", word, "Permission denied"]);
    }
}
