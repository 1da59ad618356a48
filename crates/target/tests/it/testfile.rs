//! The test file of a directory, as a user of the crate writes it.

use kernel::Roots;
use record::{Bytes, TargetKind};
use std::cell::Cell;
use target::{Access, TargetError, TargetHandle, default_test_size, open_target, write_test_file};
use tempfile::TempDir;

const CHUNK_BYTES: u64 = 1 << 20;

fn target(directory: &TempDir) -> TargetHandle {
    open_target(&Roots::default(), directory.path(), &Access::ReadOnly, None, Bytes(4096)).unwrap()
}

#[test]
fn the_default_size_is_a_tenth_of_the_free_space_between_its_bounds() {
    assert_eq!(default_test_size(Bytes(1 << 40)), Bytes(2 << 30));
    assert_eq!(default_test_size(Bytes(10 << 30)), Bytes(1 << 30));
    assert_eq!(default_test_size(Bytes((10 << 30) + 12_345)), Bytes(1 << 30));
    assert_eq!(default_test_size(Bytes(1 << 30)), Bytes(256 << 20));
    assert_eq!(default_test_size(Bytes(0)), Bytes(256 << 20));
}

#[test]
fn cancelling_stops_the_writing_early() {
    let directory = TempDir::new().unwrap();
    let mut handle = target(&directory);
    let done = Cell::new(0);
    let mut progress = |bytes: u64, _| done.set(bytes);
    let size = Bytes(256 * CHUNK_BYTES);
    let outcome =
        write_test_file(&mut handle, size, 3, &mut progress, &|| done.get() >= CHUNK_BYTES);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        return testkit::skip("cancelled test file", &error.to_string());
    }
    assert!(matches!(outcome, Err(TargetError::Cancelled)));
    assert!(done.get() < size.0);
}

#[test]
fn a_file_that_existed_is_never_filled() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("mine");
    std::fs::write(&path, [1u8; 8192]).unwrap();
    let access = Access::ReadWrite { overwrite: true, destroy: Vec::new() };
    let mut handle = open_target(&Roots::default(), &path, &access, None, Bytes(4096)).unwrap();
    let outcome = write_test_file(&mut handle, Bytes(8192), 3, &mut |_, _| {}, &|| false);
    assert!(matches!(outcome, Err(TargetError::Refused { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), [1u8; 8192]);
}

#[test]
fn an_error_of_the_writers_ends_the_work_with_what_the_system_said() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("mine");
    std::fs::write(&path, [1u8; 8192]).unwrap();
    // A descriptor that cannot be written stands for a device that fails.
    let mut handle =
        open_target(&Roots::default(), &path, &Access::ReadOnly, None, Bytes(4096)).unwrap();
    handle.facts.kind = TargetKind::Directory;
    let outcome = write_test_file(&mut handle, Bytes(8192), 3, &mut |_, _| {}, &|| false);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        return testkit::skip("failing writer of a test file", &error.to_string());
    }
    let error = outcome.unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("write the test file"), "{error}");
}
