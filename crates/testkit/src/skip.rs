//! The decision to run or to skip, the record of skips, and the lock.

use crate::Capability;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// Names the file to which skips are appended.
pub const SKIP_LOG: &str = "HALFPOWER_SKIP_LOG";

/// Held while a test uses what the machine has once; released when it is dropped or the process
/// ends, however it ends.
#[derive(Debug)]
pub struct TestLock {
    _file: Option<File>,
}

/// What [`requires!`](crate::requires) calls: `None`, with the skip recorded, where something is
/// missing. `place` is the path of an item within the test function, whose last part is cut off.
#[must_use]
pub fn enter(place: &str, needed: &[Capability]) -> Option<TestLock> {
    let test = place.rsplit_once("::").map_or(place, |(test, _)| test);
    // Held before anything is probed, because some probes make a device or a mount.
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

/// Prints and counts a skip that is decided within a test, as where the machine turns out to be
/// too busy to judge a measurement by.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIP {test}: {}\n", reason.replace('\n', " "));
    // Not eprint!, which the test harness captures. A closed stream does not change the outcome.
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
    // Reading is enough for a lock, and all that another user's file allows.
    File::open(&path)
        .or_else(|_| OpenOptions::new().create(true).append(true).open(&path))
        .and_then(|file| file.lock().map(|()| file))
        .unwrap_or_else(|error| panic!("cannot lock {}: {error}", path.display()))
}
