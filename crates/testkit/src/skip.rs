//! Decides whether a test runs or is skipped, records skips, and holds the lock.

use crate::Capability;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// Variable that names the file to which skips are appended.
pub const SKIP_LOG: &str = "HALFPOWER_SKIP_LOG";

/// Held while a test uses devices: shared with other tests that do, unless the test needs to be alone. It is
/// released when dropped or when the process ends, however it ends.
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
    let is_device =
        |it: &Capability| matches!(it, Capability::Loop | Capability::Zram | Capability::Mount);
    let lock: Option<Lock> = if needed.contains(&Capability::Alone) {
        Some(File::lock)
    } else {
        needed.iter().any(is_device).then_some(File::lock_shared)
    };
    let lock = TestLock { _file: lock.map(lock_devices) };
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

/// Locks a file, shared or not.
type Lock = fn(&File) -> std::io::Result<()>;

/// Waits until this test may use devices, beside the others of any process or alone.
///
/// A test that waits to be alone holds the lock of the queue, so that later tests do not overtake it.
fn lock_devices(lock: Lock) -> File {
    let locked = |name: &str| {
        let path = std::env::temp_dir().join(name);
        // A lock only needs read access, and another user's file allows no more.
        File::open(&path)
            .or_else(|_| OpenOptions::new().create(true).append(true).open(&path))
            .and_then(|file| lock(&file).map(|()| file))
            .unwrap_or_else(|error| panic!("cannot lock {}: {error}", path.display()))
    };
    let _queue = locked("halfpower-test-queue.lock");
    locked("halfpower-test-devices.lock")
}
