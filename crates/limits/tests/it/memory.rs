//! The memory tests as a whole.

use kernel::Roots;
use limits::memory::{MemoryError, Settings, measure};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::Fake;

#[test]
fn a_stopped_measurement_says_so() {
    let settings = Settings { threads: 1, visit: Duration::from_millis(1), rounds: 2, seed: 1 };
    let stop = AtomicBool::new(true);
    // No caches and no memory are told below this folder: the buffers are the smallest.
    let fake = Fake::new();
    let outcome = measure(&Roots::below(fake.root()), &settings, &stop, &mut |_, _| ());
    assert!(matches!(outcome, Err(MemoryError::Interrupted)));
}
