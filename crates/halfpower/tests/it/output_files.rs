//! `--output FILE`: tried before, replaced after, and nothing left beside it.

use crate::program::{Running, halfpower_in, names, program};
use std::os::unix::fs::{FileTypeExt, symlink};
use testkit::{disk_folder, requires};

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
    std::fs::write(&file, "old".repeat(100_000)).unwrap();
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
    halfpower_in(folder.path(), "run sim:mm1 --no-save --output /dev/full")
        .refuses(4, &["/dev/full", "No space left"]);
    assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn a_run_that_is_killed_leaves_the_old_output_and_nothing_beside_it() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    std::fs::write(folder.path().join("trial.json"), "old").unwrap();
    let mut command = program();
    let words = "run . --size 64m --runtime 10s --no-save --output trial.json";
    command.current_dir(folder.path()).args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    running.kill();
    assert_eq!(running.end().code, None);
    assert_eq!(names(folder.path()), ["trial.json"]);
    assert_eq!(std::fs::read(folder.path().join("trial.json")).unwrap(), b"old");
}
