//! A reader that closes the pipe early (`| head -1`) is not an error, on either stream.

use crate::program::{Outcome, Running, program};
use std::fs::File;
use std::process::{Command, Stdio};

/// A pipe without a reader.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs with a closed standard output; the outcome has standard error.
fn without_reader(words: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("stderr");
    let mut command = program();
    command.args(words.split_whitespace());
    command.stdout(closed_pipe()).stderr(File::create(&log).unwrap());
    let ended = Running::start_as_set(command).end();
    Outcome { stderr: std::fs::read_to_string(&log).unwrap(), ..ended }
}

#[test]
fn a_closed_standard_output_is_quiet() {
    let words = ["check sim:mm1 --no-save", "run sim:mm1 --no-save --json", "doctor", "--help"];
    for words in words {
        let ended = without_reader(words).expect(0);
        assert!(ended.stderr.lines().all(|line| line.ends_with(" ...")), "{words}: {ended:?}");
    }
}

#[test]
fn a_closed_standard_error_changes_neither_result_nor_exit_code() {
    let run = |words: &str| {
        let mut command = program();
        command.args(words.split_whitespace()).stdout(Stdio::null()).stderr(closed_pipe());
        Running::start_as_set(command).end().code
    };
    assert_eq!(run("check sim:mm1 --no-save"), Some(0));
    assert_eq!(run("run nothing/there --no-save"), Some(4));
    assert_eq!(run("run sim:mm1 --iodepth 0 --no-save"), Some(2));
}

#[test]
fn head_takes_its_line_and_the_program_ends_quietly() {
    let pipeline = format!("{} check sim:mm1 --no-save | head -1", env!("CARGO_BIN_EXE_halfpower"));
    let mut command = Command::new("sh");
    command.args(["-c", &pipeline]);
    let ended = Running::start(command).end().expect(0);
    assert!(ended.stdout.lines().count() == 1 && ended.stdout.contains("sim:mm1"), "{ended:?}");
    assert!(ended.stderr.lines().all(|line| line.ends_with(" ...")), "{ended:?}");
}
