//! `watch` without a screen, and `record`: counters of a fake machine, and of this one.

use crate::machine::{Machine, disk};
use crate::program::{Running, found, halfpower, names, program, run};
use record::{FindingCode, Observation};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testkit::{requires, skip};

#[test]
fn one_interval_is_a_table_that_fits_with_idle_devices_in_one_line() {
    let machine = Machine::new(&(disk(0, "sda", 100) + &disk(16, "sdb", 5)));
    let folder = tempfile::tempdir().unwrap();
    let words = format!("watch --once --interval 50ms --db {}/none", folder.path().display());
    let table = |more: &str| {
        let text = halfpower(&format!("{words} {more} {}", machine.roots())).expect(0).stdout;
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    };
    // Both are idle, so both have a line.
    let text = table("");
    let lines: Vec<&str> = text.lines().collect();
    let header: Vec<&str> = lines[0].split_whitespace().collect();
    assert!(header[0].ends_with('Z') && header[1..3] == ["read/s", "write/s"], "{text}");
    assert!(header.ends_with(&["verdict"]), "{text}");
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with("sda ") && lines[2].starts_with("sdb "), "{text}");
    assert_eq!(table("sdb").lines().count(), 2);
}

#[test]
fn all_columns_are_one_line_per_device_in_a_stable_order() {
    let machine = Machine::new(&(disk(0, "sda", 100) + &disk(16, "sdb", 5) + &disk(32, "sdc", 0)));
    let folder = tempfile::tempdir().unwrap();
    let words = format!("watch --once -v --interval 50ms --db {}/none", folder.path().display());
    let ended = halfpower(&format!("{words} {}", machine.roots())).expect(0);
    let lines: Vec<Vec<&str>> =
        ended.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["time", "device", "seconds", "read_per_s"]);
    let devices: Vec<&str> = lines[1..].iter().map(|line| line[1]).collect();
    assert_eq!(devices, ["sda", "sdb"], "sdc was never used: {ended:?}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{ended:?}");
    assert_eq!((lines[1][3], ended.stderr.as_str()), ("0.0", ""));
    assert_eq!(names(folder.path()), [""; 0], "watching makes no database");
    let all = halfpower(&format!("{words} --all {}", machine.roots())).expect(0);
    assert_eq!(all.stdout.lines().count(), 4);
}

#[test]
fn a_named_device_is_shown_alone_and_an_unknown_one_is_an_error() {
    let machine = Machine::new(&(disk(0, "sda", 100) + &disk(16, "sdb", 5)));
    let words =
        format!("watch --count 2 --interval 20ms --json --db /proc/none/x {}", machine.roots());
    let ended = halfpower(&format!("{words} /dev/sdb")).expect(0);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(
            (&line["schema"], &line["device"]),
            (&"halfpower/watch/1".into(), &"sdb".into())
        );
        assert_eq!(line["interval"]["all"]["per_s"]["value"], 0.0);
        assert_eq!(line["verdict"], Value::Null);
    }
    halfpower(&format!("{words} sdz")).refuses(4, &["\"sdz\"", "known devices: sda, sdb"]);
    halfpower("watch --interval 1ms --once").refuses(2, &["--interval", "10ms"]);
    halfpower("record --for 1s --interval 2s --no-save").refuses(2, &["--for", "--interval"]);
    halfpower("watch --procfs /none --once").refuses(4, &["/none/diskstats", "check the path"]);
}

#[test]
fn this_machine_can_be_watched_and_recorded_by_anybody() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("r.db");
    let document = folder.path().join("r.json");
    let words = format!(
        "record --all --for 300ms --interval 100ms --db {} -o {}",
        database.display(),
        document.display()
    );
    let ended = halfpower(&words).expect(0);
    assert!(ended.stdout.contains("Observation: live"), "{ended:?}");
    let kept: Observation =
        serde_json::from_str(&std::fs::read_to_string(document).unwrap()).unwrap();
    assert!(ended.stderr.contains(&format!("halfpower diagnose {}", kept.id)), "{ended:?}");
    assert_eq!((kept.contexts.len(), kept.source.as_str()), (3, "live"));
    assert!(kept.contexts[1].memory_available_bytes.is_some_and(|bytes| bytes > 0));
    assert!(database.exists());
    let schema: Value = record::document_schema::<Observation>(record::OBSERVATION_SCHEMA);
    let document = serde_json::to_value(&kept).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&document)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn idle_stretches_are_joined_and_busy_ones_are_not() {
    let readings =
        [100, 110, 120, 130].map(|ios| disk(0, "sda", ios) + &disk(16, "sdb", 5)).to_vec();
    let kept = Machine::new("").recorded(&readings);
    let of = |name: &str| {
        let intervals = kept.intervals.iter().filter(|interval| interval.device == name);
        let seconds: f64 = intervals.clone().map(|it| it.duration_ns as f64 / 1e9).sum();
        let reads: f64 = intervals
            .clone()
            .map(|it| it.read.per_s.unwrap().value * it.duration_ns as f64 / 1e9)
            .sum();
        (intervals.count(), seconds, reads.round())
    };
    let (idle, busy) = (of("sdb"), of("sda"));
    assert_eq!((idle.0, idle.2), (1, 0.0));
    assert_eq!((busy.0, busy.2), (3, 30.0));
    assert!((idle.1 - busy.1).abs() < 1e-6, "{idle:?} {busy:?}");
    assert_eq!(kept.findings, []);
    assert_eq!(kept.host.as_deref(), Some("db7"));
}

#[test]
fn what_happens_to_devices_is_a_finding_of_the_recording() {
    let steady = disk(0, "sda", 100);
    let more = || steady.clone() + &disk(16, "sdb", 5);
    let broken = "8 0 sda 1 2 three\n".to_owned();
    for (later, code) in [
        ([more(), more()], Some(FindingCode::DevicesChanged)),
        ([disk(0, "sda", 3), disk(0, "sda", 4)], Some(FindingCode::CountersReset)),
        ([broken, steady.clone()], Some(FindingCode::CountersUnreadable)),
        ([disk(0, "sda", 200), disk(0, "sda", 200)], None),
    ] {
        let readings = [vec![steady.clone()], later.to_vec()].concat();
        let findings = Machine::new("").recorded(&readings).findings;
        let codes: Vec<FindingCode> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{findings:?}");
    }
}

#[test]
fn counters_that_are_off_or_in_doubt_are_findings_of_the_recording() {
    let machine = Machine::new("");
    let recorded = || machine.recorded(&[disk(0, "sda", 100), disk(0, "sda", 100)]);
    let device = |name: &str, text: &str| machine.write(&format!("sys/devices/sda/{name}"), text);
    device("dev", "8:0\n");
    device("mq/0/x", "");
    device("queue/iostats", "1\n");
    let link = |from: &str| {
        let from = machine.path(from);
        std::fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(machine.path("sys/devices/sda"), from).unwrap();
    };
    link("sys/class/block/sda");
    link("sys/dev/block/8:0");
    assert_eq!(recorded().findings, []);
    device("queue/iostats", "0\n");
    let off = recorded();
    assert!(found(&off.findings, FindingCode::CountersOff), "{:?}", off.findings);
    assert!(off.intervals.iter().all(|interval| interval.all.per_s.is_none()));
    device("queue/iostats", "1\n");
    machine.write("proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    let doubted = recorded();
    assert!(found(&doubted.findings, FindingCode::BusyDoubtful), "{:?}", doubted.findings);
}

#[test]
fn an_interrupted_recording_is_kept_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("r.json");
    let mut command = program();
    let words = format!(
        "record --for 10m --interval 20ms --db {0}/r.db -o {0}/r.json",
        folder.path().display()
    );
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("record ...");
    std::thread::sleep(Duration::from_millis(100));
    running.signal("INT");
    let ended = running.end().expect(130);
    assert!(
        ended.stderr.contains("interrupted: the recording up to the interruption"),
        "{ended:?}"
    );
    let kept: Observation =
        serde_json::from_str(&std::fs::read_to_string(document).unwrap()).unwrap();
    assert!(found(&kept.findings, FindingCode::Interrupted) && !kept.contexts.is_empty());
    let list = Command::new("sh").args(["-c", &format!("ls {}", folder.path().display())]).output();
    assert!(String::from_utf8(list.unwrap().stdout).unwrap().contains("r.db"));
}

#[test]
fn an_output_that_is_something_else_is_refused_before_anything_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("thesis.txt");
    std::fs::write(&file, "chapter one").unwrap();
    halfpower(&format!("record --no-save -o {}", file.display()))
        .refuses(3, &["--output", "would be lost"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "chapter one");
}

#[test]
fn lines_without_a_reader_end_quietly() {
    let machine = Machine::new(&disk(0, "sda", 100));
    let pipeline = format!(
        "{} watch --interval 20ms --db /proc/none/x {} | head -3",
        env!("CARGO_BIN_EXE_halfpower"),
        machine.roots()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &pipeline]);
    let ended = Running::start(command).end().expect(0);
    assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (3, ""));
}

#[test]
fn a_profile_of_the_disk_adds_what_it_expects() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("p.db");
    let save = format!("check sim:mmc --budget 5s --db {}", database.display());
    halfpower(&save).expect(0);
    // A simulated profile is not used for a disk of this machine.
    let machine = Machine::new(&disk(0, "sda", 100));
    let words = format!(
        "watch --count 1 --interval 50ms --json --db {} {}",
        database.display(),
        machine.roots()
    );
    let line: Value = serde_json::from_str(&run(program(), &words).expect(0).stdout).unwrap();
    assert_eq!((&line["profile_id"], &line["calibrated"]), (&Value::Null, &Value::Null));
    assert!(Path::new(&database).exists());
}

/// A folder like /sys in which only one possible CPU is listed.
fn with_one_processor(folder: &Path) {
    let levels = ["", "devices", "system", "cpu"];
    let mut at = Path::new("/sys").to_owned();
    let mut here = folder.to_owned();
    for (level, next) in levels.iter().zip(levels.iter().skip(1).chain([&"possible"])) {
        (at, here) = (at.join(level), here.join(level));
        std::fs::create_dir_all(&here).unwrap();
        for entry in std::fs::read_dir(&at).unwrap().map(Result::unwrap) {
            if entry.file_name() != **next {
                symlink(entry.path(), here.join(entry.file_name())).unwrap();
            }
        }
    }
    std::fs::write(here.join("possible"), "0\n").unwrap();
}

#[test]
fn the_tracer_needs_as_much_memory_as_the_running_kernel_writes_whatever_a_folder_says() {
    requires!(Root);
    let folder = tempfile::tempdir().unwrap();
    with_one_processor(folder.path());
    let words = "watch --trace=yes --count 4 --interval 50ms --json --db /proc/none/x";
    let plain = halfpower(words);
    if plain.code != Some(0) {
        skip("watching: the tracer and a folder for /sys", &plain.stderr);
        return;
    }
    let ended = halfpower(&format!("{words} --sysfs {}", folder.path().display())).expect(0);
    assert_eq!(ended.stderr, plain.stderr);
    // An interval is traced; otherwise the look-up that once wrote beyond its memory was not executed.
    assert!(ended.stdout.contains("\"traced\""), "{ended:?}");
}
