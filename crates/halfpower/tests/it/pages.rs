//! Text output: 80 columns, and escape codes only on a terminal that supports them.

use crate::program::{Running, halfpower_in, program};
use std::process::Command;
use testkit::{disk_folder, requires};

/// Checks that every line fits, and none has control characters.
#[track_caller]
fn check_text(what: &str, text: &str) {
    assert!(!text.is_empty(), "{what} says nothing");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{what}: too wide: {line:?}");
        assert!(!line.chars().any(char::is_control), "{what}: control codes: {line:?}");
    }
}

/// Checks both output streams of a command in a folder.
#[track_caller]
fn check_command(folder: &std::path::Path, words: &str) {
    let ended = halfpower_in(folder, words);
    // A visit to a stalled real disk may complete nothing, which is a finding.
    assert!(
        ended.code == Some(0) || ended.code == Some(1) && !words.contains("sim:"),
        "{ended:#?}"
    );
    check_text(words, &ended.stdout);
    check_text(words, &format!("{}-", ended.stderr));
}

#[test]
fn pages_on_simulated_devices_fit_80_columns_and_hold_no_escape_codes() {
    let folder = tempfile::tempdir().unwrap();
    let devices = ["sim:mm1", "sim:mmc,service=100us,servers=64", "sim:md1,rate=100MB/s,cache=64m"];
    for device in devices {
        check_command(folder.path(), &format!("run {device} --rw randrw --iodepth 16 --no-save"));
        check_command(folder.path(), &format!("check {device} --budget 10s --db kept.db"));
    }
    let full = "check sim:mdc,drift=900% --no-write --full --budget 20s --db kept.db";
    check_command(folder.path(), full);
    check_command(folder.path(), "show list --db kept.db");
    check_command(folder.path(), "show last --db kept.db --verbose");
    check_command(folder.path(), "doctor");
}

#[test]
fn pages_on_a_real_disk_fit_80_columns_and_hold_no_escape_codes() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --size 64m --io-size 1m --runtime 30s --rw randrw --iodepth 16 --no-save";
    check_command(folder.path(), words);
    check_command(folder.path(), "check . --size 64m --budget 5s --db kept.db");
    check_command(folder.path(), "show list --db kept.db");
    check_command(folder.path(), "show last --db kept.db --verbose");
}

#[test]
fn a_hostile_path_cannot_send_escape_codes_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let name = "evil\u{1b}[31m";
    std::fs::write(folder.path().join(name), [7; 8192]).unwrap();
    for verb in ["run", "check"] {
        let mut command = program();
        command.current_dir(folder.path()).args([verb, name, "--no-save"]);
        if verb == "run" {
            command.args(["--cache", "all", "--runtime", "200ms"]);
        }
        let ended = Running::start(command).end();
        let said = ended.stdout + &ended.stderr;
        assert!(said.contains("evil") && !said.contains('\u{1b}'), "{said:?}");
    }
}

/// Standard output of a check on a separate terminal.
fn on_a_terminal(variables: &[(&str, &str)]) -> String {
    let line = format!("{} check sim:mm1 --no-save 2>&-", env!("CARGO_BIN_EXE_halfpower"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
    Running::start(command).end().expect(0).stdout
}

#[test]
fn a_terminal_gets_colour_unless_no_color_is_set_or_it_is_dumb() {
    requires!(Terminal);
    assert!(on_a_terminal(&[]).contains("\u{1b}["));
    // An empty variable counts as unset (no-color.org).
    assert!(on_a_terminal(&[("NO_COLOR", "")]).contains("\u{1b}["));
    assert!(!on_a_terminal(&[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!on_a_terminal(&[("TERM", "dumb")]).contains('\u{1b}'));
}

#[test]
fn on_a_terminal_of_80_columns_progress_shows_the_time_left_and_the_whole_cell() {
    requires!(Terminal, Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --size 64m --rw write --bs 128k --iodepth 128 --runtime 3s --cache none";
    let program = env!("CARGO_BIN_EXE_halfpower");
    let line = format!("stty cols 80 rows 24; {program} {words} --no-save >&-");
    let mut command = Command::new("script");
    command.current_dir(folder.path()).args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    let said = Running::start(command).end().stdout;
    let cell = " s left  sequential write 128 KiB QD 128 cache none";
    assert!(said.contains(cell), "{said:?}");
}
