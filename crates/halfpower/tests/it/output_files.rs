//! `--output FILE`: checked before the run, replaced after it, and no other file remains.

use crate::program::{Running, halfpower_in, names, program, run};
use std::os::unix::fs::{FileTypeExt, symlink};
use testkit::{LoopDevice, disk_folder, requires};

/// The smallest document of the program, which may be replaced.
const DOCUMENT: &str = r#"{"target": [1], "schema": "halfpower/trial/1"}"#;

#[test]
fn a_missing_folder_of_the_output_fails_before_anything_is_written_or_measured() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --size 64m --no-save --output none/trial.json";
    let ended = halfpower_in(folder.path(), words);
    assert!(!ended.stderr.contains(" ..."), "something was begun: {ended:?}");
    ended.refuses(4, &["--output", "none/trial.json", "No such file"]);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn an_output_that_is_a_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    halfpower_in(folder.path(), "run sim:mm1 --no-save --output .").refuses(4, &["--output"]);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    halfpower_in(folder.path(), "run sim:mm1 --no-save --output sub")
        .refuses(4, &["--output", "is a directory", "name a file"]);
}

#[test]
fn an_output_file_is_replaced_by_the_whole_trial_and_a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("trial.json"), folder.path().join("link.json"));
    let old = format!("{}{DOCUMENT}", " ".repeat(100_000));
    std::fs::write(&file, old).unwrap();
    symlink("trial.json", &link).unwrap();
    let words = "run sim:mm1 --no-save --json --output link.json";
    let ended = halfpower_in(folder.path(), words).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ended.stdout);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(folder.path()), ["link.json", "trial.json"]);
}

#[test]
fn a_pipe_or_device_as_output_is_written_and_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    halfpower_in(folder.path(), "run sim:mm1 --no-save --output /dev/null").expect(0);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let words = "run sim:mm1 --no-save --json --output /dev/full";
    let ended = halfpower_in(folder.path(), words).expect(4);
    assert!(ended.stderr.contains("/dev/full") && ended.stderr.contains("No space left"));
    // The result itself is not lost.
    ended.trial();
    assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn a_run_that_is_killed_leaves_the_old_output_and_nothing_beside_it() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    std::fs::write(folder.path().join("trial.json"), DOCUMENT).unwrap();
    let mut command = program();
    let words = "run . --size 64m --runtime 10s --no-save --output trial.json";
    command.current_dir(folder.path()).args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    running.kill();
    assert_eq!(running.end().code, None);
    assert_eq!(names(folder.path()), ["trial.json"]);
    assert_eq!(std::fs::read(folder.path().join("trial.json")).unwrap(), DOCUMENT.as_bytes());
}

#[test]
fn an_output_that_is_the_target_by_whatever_name_is_refused_and_left_as_it_is() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let at = |name: &str| folder.path().join(name);
    let space = " ".repeat(1 << 20);
    // Also a target that contains a document, if it is written.
    for (content, flags) in
        [(space.clone(), ""), (format!("{DOCUMENT}{space}"), " --rw write --overwrite")]
    {
        std::fs::write(at("target"), &content).unwrap();
        let _ = std::fs::hard_link(at("target"), at("hard"));
        let _ = symlink("target", at("soft"));
        for output in ["target", "./target", "hard", "soft"] {
            let words = format!("run target --no-save --output {output}{flags}");
            halfpower_in(folder.path(), &words)
                .refuses(3, &[output, "is the target", "destroy", "name another file"]);
        }
        assert_eq!(std::fs::read_to_string(at("target")).unwrap(), content);
    }
    assert_eq!(names(folder.path()), ["hard", "soft", "target"]);
}

#[test]
fn an_output_that_belongs_to_the_database_is_refused_and_what_was_saved_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let check = "check sim:mdc,service=1ms --budget 5s --db kept.db";
    halfpower_in(folder.path(), check).expect(0);
    symlink("kept.db", folder.path().join("link.json")).unwrap();
    for output in ["kept.db", "link.json", "kept.db-wal", "kept.db-shm"] {
        let words = format!("run sim:mm1 --db kept.db --output {output}");
        halfpower_in(folder.path(), &words)
            .refuses(3, &[output, "database of results", "name another file"]);
    }
    // Also a new database, and one that is not used this time.
    halfpower_in(folder.path(), "run sim:mm1 --db new.db --output new.db")
        .refuses(3, &["database of results"]);
    halfpower_in(folder.path(), "run sim:mm1 --db kept.db --no-save --output kept.db")
        .refuses(3, &["is not a halfpower run document"]);
    let listed = halfpower_in(folder.path(), "show list --json --db kept.db").expect(0);
    let profiles: Vec<record::KeptDocument> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(profiles.len(), 1);
}

#[test]
fn an_output_file_with_content_of_another_kind_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine");
    let half = &DOCUMENT[..DOCUMENT.len() - 1];
    let others = ["text", "[1, 2]", r#"{"schema": "other/1"}"#, r#"{"a": 1}"#, half, "\u{7f}ELF"];
    for content in others {
        std::fs::write(&file, content).unwrap();
        halfpower_in(folder.path(), "run sim:mm1 --no-save --output mine")
            .refuses(3, &["mine", "content would be lost", "name another file"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
    }
    assert_eq!(names(folder.path()), ["mine"]);
    // An empty file has nothing to lose, and a result may replace a result.
    std::fs::write(&file, "").unwrap();
    for seed in ["1", "2"] {
        let words = format!("run sim:mm1 --no-save --json --seed {seed} --output mine");
        let ended = halfpower_in(folder.path(), &words).expect(0);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), ended.stdout);
    }
}

#[test]
fn an_output_that_is_a_block_device_is_refused_and_left_as_it_is() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 << 20).unwrap();
    std::fs::write(device.backing_file(), vec![7; 8 << 20]).unwrap();
    let path = device.path().display();
    run(program(), &format!("run sim:mm1 --no-save --output {path}"))
        .refuses(3, &["block device", "name another file"]);
    assert_eq!(std::fs::read(device.backing_file()).unwrap(), vec![7; 8 << 20]);
}
