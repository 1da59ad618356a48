//! The decision to run or to skip, the record of skips, and the lock.

use crate::Capability;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::time::Duration;

/// Names the file to which skips are appended.
pub const SKIP_LOG: &str = "HALFPOWER_SKIP_LOG";

/// Held while a test uses what the machine has few of; released when it is dropped or the process
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

/// Tests that use devices at once: more than one, because they wait for devices most of their time; few,
/// because a machine has eight loop devices and a test takes up to four.
const SLOTS: usize = 2;

/// How long a test waits before it looks for a free slot again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Waits until fewer than [`SLOTS`] tests of all processes use devices.
fn lock_devices() -> File {
    let mut slots: Vec<File> = (0..SLOTS).map(slot).collect();
    loop {
        if let Some(free) = slots.iter().position(takes) {
            return slots.swap_remove(free);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn takes(slot: &File) -> bool {
    match slot.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => panic!("cannot lock a slot of the tests: {error}"),
    }
}

fn slot(number: usize) -> File {
    let path = std::env::temp_dir().join(format!("halfpower-test-devices.{number}.lock"));
    // Reading is enough for a lock, and all that another user's file allows.
    File::open(&path)
        .or_else(|_| OpenOptions::new().create(true).append(true).open(&path))
        .unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display()))
}
