//! Tests the memory tests as a whole, and the loops that other code times as well.

use host::kernel::Roots;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::Fake;
use trial::memory::{MemoryError, Settings, buffer, copy, measure, read, write};

#[test]
fn a_stopped_measurement_says_so() {
    let settings = Settings { threads: 1, visit: Duration::from_millis(1), rounds: 2, seed: 1 };
    let stop = AtomicBool::new(true);
    // No caches and no memory are reported below this folder, so the buffers have the minimum size.
    let fake = Fake::new();
    let outcome = measure(&Roots::below(fake.root()), &settings, &stop, &mut |_, _| ());
    assert!(matches!(outcome, Err(MemoryError::Interrupted)));
}

#[test]
fn every_word_is_read_whatever_the_length() {
    for length in [0, 1, 31, 32, 33, 1_000, 1_024] {
        let words = buffer(length);
        let xor = words.iter().fold(0, |all, word| all ^ word.load(Ordering::Relaxed));
        assert_eq!(read(&words), xor, "{length}");
    }
}

#[test]
fn every_word_is_written() {
    let words = buffer(1_003);
    write(&words, 42);
    assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 42));
}

#[test]
fn a_copy_is_the_same_bytes() {
    let from: Vec<u8> = (0..10_000_u32).map(|i| (i * 7) as u8).collect();
    let mut to = vec![0; from.len()];
    copy(&from, &mut to);
    assert_eq!(from, to);
}
