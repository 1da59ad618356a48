//! A database that cannot be written: the result and its exit code are unchanged, only the saving fails.

use crate::machine::{Machine, disk};
use crate::program::{Outcome, halfpower, program, run};
use serde_json::Value;
use testkit::{Mounted, requires};

/// Checks that the complete result was printed, and that one line on standard error says why it is not saved.
#[track_caller]
fn printed_and_not_saved(ended: &Outcome, code: i32, why: &str) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(document["id"].is_string(), "{ended:#?}");
    let said: Vec<&str> = ended.stderr.lines().filter(|it| it.contains("not saved: ")).collect();
    assert!(said.len() == 1 && said[0].contains(why), "{ended:#?}");
}

/// Commands that save what they measure on a simulated device, with their exit codes.
const COMMANDS: [(&str, i32); 4] = [
    ("run sim:mm1 --json", 0),
    ("check sim:mm1 --json", 0),
    ("sweep riedel sim:md1,service=1ms --set bs=4k --set iodepth=1 --size 1m --json", 0),
    // This command also reads the database.
    ("diagnose sim:mm1 --for 5s --json", 0),
];

/// Runs a command; a diagnosis also gets a load.
fn with_database(words: &str, database: &str) -> Outcome {
    let mut command = program();
    command.args(words.split_whitespace());
    if words.starts_with("diagnose") {
        command.args(["--load", "rw=randread iodepth=1"]);
    }
    run(command, &format!("--db {database}"))
}

#[test]
fn a_database_without_a_place_costs_no_result() {
    for (words, code) in COMMANDS {
        let expected = with_database(&format!("{words} --no-save"), "/proc/none/kept.db");
        assert_eq!(expected.code, Some(code), "{expected:#?}");
        let ended = with_database(words, "/proc/none/kept.db");
        printed_and_not_saved(&ended, code, "/proc/none");
        assert_eq!(ended.stdout, expected.stdout, "{words}");
    }
}

#[test]
fn a_database_beyond_the_limit_of_file_sizes_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let program = program().get_program().to_owned();
    let mut command = std::process::Command::new("sh");
    // 8 KiB, less than an empty database.
    let line = format!("ulimit -f 16; exec {} \"$@\"", program.to_string_lossy());
    command.args(["-c", &line, "sh"]);
    let words = format!("run sim:mm1 --quiet --db {}", folder.path().join("kept.db").display());
    let ended = run(command, &words).expect(0);
    assert!(ended.stdout.contains("IOPS") && ended.stderr.contains("not saved: "), "{ended:#?}");
}

#[test]
fn the_exit_code_of_a_result_that_is_not_valid_stays_with_a_database_that_takes_nothing() {
    // Too short for any tail percentile.
    let words = "run sim:mm1 --runtime 1ms --json";
    let saved = halfpower(&format!("{words} --no-save"));
    let ended = halfpower(&format!("{words} --db /proc/none/kept.db"));
    assert_eq!((ended.code, &ended.stdout), (saved.code, &saved.stdout));
}

#[test]
fn a_recording_without_a_place_in_a_database_is_printed() {
    let machine = Machine::new("");
    let readings = [disk(0, "sda", 100), disk(0, "sda", 200)];
    let ended = machine.observed("record --json --db /proc/none/kept.db", &readings);
    printed_and_not_saved(&ended, 0, "/proc/none");
}

#[test]
fn a_database_on_a_read_only_file_system_costs_no_result() {
    requires!(Mount);
    let disk = Mounted::tmpfs(8 << 20).unwrap();
    let database = disk.path().join("kept.db").display().to_string();
    halfpower(&format!("check sim:mm1 --json --db {database}")).expect(0);
    disk.make_read_only().unwrap();
    for (words, code) in COMMANDS {
        printed_and_not_saved(&with_database(words, &database), code, "kept.db");
    }
}

#[test]
fn a_locked_database_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let words = format!("run sim:mm1 --json --db {}", database.display());
    halfpower(&words).expect(0);
    let other = rusqlite::Connection::open(&database).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    printed_and_not_saved(&halfpower(&words), 0, "locked by another process");
}

#[test]
fn a_damaged_database_costs_no_result_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let words = format!("run sim:mm1 --json --db {}", database.display());
    halfpower(&words).expect(0);
    let mut bytes = std::fs::read(&database).unwrap();
    // After the header, which identifies SQLite and halfpower.
    bytes[100..].fill(0xA5);
    std::fs::write(&database, &bytes).unwrap();
    printed_and_not_saved(&halfpower(&words), 0, "damaged");
    assert_eq!(std::fs::read(&database).unwrap(), bytes);
}
