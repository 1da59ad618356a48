//! Runs the example programs as a reader would: checks their output, the files that they leave, and their
//! error messages.

/// The engine of an external package, whose contract test runs here.
#[path = "../../../../docs/examples/own-engine/src/polled.rs"]
mod polled;

use crate::program::halfpower_in;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testkit::{disk_folder, requires};

/// Not a multiple of the request size: the last request is short.
const FILE_BYTES: usize = 10 * (64 << 10) + 777;
const WRITTEN_BYTES: usize = 100 * (64 << 10);

/// An example program, which cargo builds next to the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(path.is_file(), "no {}: run cargo build --examples", path.display());
    path
}

fn run(name: &str, file: &Path) -> Output {
    Command::new(example(name)).arg(file).output().unwrap()
}

/// The first line of its output.
fn says(name: &str, file: &Path) -> String {
    let output = run(name, file);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.trim_end().ends_with("MB/s"), "{text}");
    text.lines().next().unwrap().to_owned()
}

/// Checks that it fails, and its message.
fn complains(name: &str, file: &Path, words: &str) {
    let output = run(name, file);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(words), "{text}");
}

fn write_file(path: &Path) -> u64 {
    let bytes: Vec<u8> = (0..FILE_BYTES).map(|i| (i * i % 251) as u8).collect();
    std::fs::write(path, &bytes).unwrap();
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

#[test]
fn both_example_readers_read_every_byte_once() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let path = folder.path().join("file");
    let sum = write_file(&path);
    let expected = format!("{FILE_BYTES} bytes in 11 requests, sum of bytes {sum}");
    for name in ["sequential_read", "completion_pipeline"] {
        assert_eq!(says(name, &path), expected, "{name}");
    }
    std::fs::write(&path, []).unwrap();
    for name in ["sequential_read", "completion_pipeline"] {
        assert_eq!(says(name, &path), "0 bytes in 0 requests, sum of bytes 0", "{name}");
        complains(name, &folder.path().join("none"), "cannot open");
    }
    complains("sequential_read", folder.path(), "at byte 0");
}

#[test]
fn the_unbuffered_example_writes_exactly_100_blocks_in_order() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let path = folder.path().join("new");
    assert_eq!(says("unbuffered_write", &path), "6553600 bytes in 100 requests");
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), WRITTEN_BYTES);
    for (number, block) in bytes.chunks(64 << 10).enumerate() {
        assert!(block.iter().all(|&byte| byte == number as u8), "block {number}");
    }
    complains("unbuffered_write", &path, "cannot create");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the file that was there is untouched");
}

#[test]
fn the_example_with_events_has_written_all_blocks_when_it_closes() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let path = folder.path().join("new");
    let expected = "6553600 bytes in 100 requests, at most 8 in flight";
    assert_eq!(says("event_pipeline", &path), expected);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), WRITTEN_BYTES);
    let distinct: std::collections::BTreeSet<&[u8]> = bytes.chunks(64 << 10).collect();
    assert_eq!(distinct.len(), 100, "random data in every block, in none twice");
    complains("event_pipeline", &path, "cannot create");
}

/// A build with its own engine measures with it, and other builds read its documents. Its sources are outside
/// the workspace, like those of an external package.
#[test]
fn an_engine_of_ones_own_measures_and_other_builds_read_its_documents() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let own = |words: &str| {
        let mut command = Command::new(example("own_engine"));
        command.args(words.split_whitespace()).current_dir(folder.path()).output().unwrap()
    };
    let load = "--size 4m --io-size 2m --bs 4k --rw randread --db db --json";
    let measured = own(&format!("run . --ioengine preadv2 {load}"));
    let text = String::from_utf8_lossy(&measured.stderr).into_owned();
    assert!(measured.status.success() || measured.status.code() == Some(1), "{text}");
    let trial: record::Trial = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(trial.workload.engine.name(), "preadv2");
    assert_eq!(trial.harness.value().unwrap().engine_features, ["preadv2, RWF_HIPRI"]);
    assert_eq!(trial.result.read.as_ref().unwrap().ios, 512);
    // A stripe with this engine, and the engines that all builds have.
    let words = format!("run a b --chunk 64k --ioengine preadv2 {load}");
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(name), vec![7; 4 << 20]).unwrap();
    }
    let striped = own(&words);
    let trial: record::Trial = serde_json::from_slice(&striped.stdout).unwrap();
    assert_eq!(trial.targets.len(), 2);
    assert!(own("run sim:mm1 --no-save --runtime 1s").status.success());
    let doctor = String::from_utf8(own("doctor").stdout).unwrap();
    assert!(doctor.contains("engine preadv2"), "{doctor}");
    // The standard build reads it, but does not have the engine.
    std::fs::write(folder.path().join("trial.json"), &measured.stdout).unwrap();
    let plain = |words: &str| halfpower_in(folder.path(), &format!("{words} --db db"));
    assert!(plain("report trial.json --md").expect(0).stdout.contains("preadv2"));
    assert!(plain("report last --kind trial --md").expect(0).stdout.contains("preadv2"));
    plain("run . --ioengine preadv2").refuses(2, &["preadv2", "io_uring"]);
    let doctor = crate::program::halfpower("doctor").expect(0).stdout;
    assert!(!doctor.contains("engine preadv2"), "{doctor}");
}

/// A bug ends the program with the exit code of no result, on any thread, and leaves no file behind.
#[test]
fn a_panic_says_where_it_was_and_what_to_report_and_ends_with_the_code_of_no_result() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "run . --ioengine panicking --size 1m --io-size 1m --db db";
    let mut command = Command::new(example("panicking_engine"));
    let ended = command.args(words.split(' ')).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{text}");
    for part in ["deliberate, at byte", "panicking.rs", "bug in halfpower", "--version"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|it| it.file_name());
    let left: Vec<_> = left.filter(|name| !name.to_string_lossy().starts_with("db")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Its manifest belongs to no workspace.
#[test]
fn the_package_of_that_engine_stands_by_itself() {
    let manifest =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/own-engine/Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--offline", "--no-deps", "--format-version", "1", "--manifest-path"]);
    let output = cargo.arg(manifest).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(metadata["workspace_root"].as_str().unwrap().ends_with("own-engine"), "{metadata}");
    let needs = metadata["packages"][0]["dependencies"].as_array().unwrap();
    assert!(needs.iter().any(|it| it["name"] == "halfpower" && it["path"].is_string()));
}
