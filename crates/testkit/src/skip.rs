//! Decides whether a test runs or is skipped, records skips, and holds the lock.

use crate::Capability;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// Variable that names the file to which skips are appended.
pub const SKIP_LOG: &str = "HALFPOWER_SKIP_LOG";

/// Held while a test uses resources that the machine has only once. It is released when dropped or when the
/// process ends, however it ends.
#[derive(Debug)]
pub struct TestLock {
    _file: Option<File>,
}

/// Called by [`requires!`](crate::requires): `None`, with the skip recorded, if something is missing.
/// `place` is the path of an item within the test function; its last part is removed.
#[must_use]
pub fn enter(place: &str, needed: &[Capability]) -> Option<TestLock> {
    let test = place.rsplit_once("::").map_or(place, |(test, _)| test);
    // Locked before the probes, because some of them create a device or a mount.
    let shared =
        |it: &Capability| matches!(it, Capability::Loop | Capability::Zram | Capability::Mount);
    let lock = TestLock { _file: needed.iter().any(shared).then(lock_devices) };
    let missing: Vec<String> = needed.iter().filter_map(|it| it.lack()).collect();
    if missing.is_empty() {
        return Some(lock);
    }
    skip(test, &missing.join(", and "));
    None
}

/// Prints and counts a skip that is decided within a test, for example on a machine that is too busy.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIP {test}: {}\n", reason.replace('\n', " "));
    // Not eprint!, which the test harness captures. A closed stream must not change the result.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(SKIP_LOG) {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut log| log.write_all(line.as_bytes()))
            .unwrap_or_else(|error| {
                panic!("cannot write the skip log {}: {error}", path.display())
            });
    }
}

/// Waits until no other test of any process uses devices.
fn lock_devices() -> File {
    let path = std::env::temp_dir().join("halfpower-test-devices.lock");
    // A lock only needs read access, and another user's file allows no more.
    File::open(&path)
        .or_else(|_| OpenOptions::new().create(true).append(true).open(&path))
        .and_then(|file| file.lock().map(|()| file))
        .unwrap_or_else(|error| panic!("cannot lock {}: {error}", path.display()))
}
