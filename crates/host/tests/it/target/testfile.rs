//! Tests the test file of a directory through the crate's public interface.

use host::kernel::Roots;
use host::target::{
    Access, TargetError, TargetHandle, default_test_size, open_target, write_test_file,
};
use record::{Bytes, TargetKind, TestFile, Written};
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
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
    let access = Access::ReadWrite { overwrite: true, destroy: Vec::new(), keep: Vec::new() };
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
    // A descriptor without write permission simulates a device that fails.
    let mut handle =
        open_target(&Roots::default(), &path, &Access::ReadOnly, None, Bytes(4096)).unwrap();
    handle.facts.kind = TargetKind::Directory;
    handle.facts.test_file = Some(TestFile { number: 0, written: Written::PastCache });
    let outcome = write_test_file(&mut handle, Bytes(8192), 3, &mut |_, _| {}, &|| false);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        return testkit::skip("failing writer of a test file", &error.to_string());
    }
    let error = outcome.unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("write the test file"), "{error}");
}

/// The bytes of a test file of this size and seed; `None` where too little space would stay free.
fn written(size: u64, seed: u64, progress: &mut dyn FnMut(u64, u64)) -> Option<Vec<u8>> {
    let directory = TempDir::new().unwrap();
    let mut handle = target(&directory);
    let outcome = write_test_file(&mut handle, Bytes(size), seed, progress, &|| false);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        testkit::skip("content of a test file", &error.to_string());
        return None;
    }
    outcome.unwrap();
    assert_eq!(handle.facts.size_bytes, Bytes(size));
    if let Some(extents) = &handle.facts.extents {
        assert_eq!((extents.hole_bytes, extents.unwritten_bytes), (Bytes(0), Bytes(0)));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let mut content = Vec::new();
    File::from(handle.file).read_to_end(&mut content).unwrap();
    Some(content)
}

#[test]
fn the_file_is_written_in_full_to_its_last_byte_with_rising_progress() {
    let size = 5 * CHUNK_BYTES + 1234;
    let mut seen = Vec::new();
    let mut progress = |done: u64, total: u64| seen.push((done, total));
    let Some(content) = written(size, 3, &mut progress) else { return };
    assert_eq!(seen.first(), Some(&(0, size)));
    assert_eq!(seen.last(), Some(&(size, size)));
    assert!(seen.is_sorted());
    assert_eq!(content.len() as u64, size);
    // A longer file begins with the same bytes: each depends on its position, not on writer or time.
    let Some(longer) = written(size + CHUNK_BYTES, 3, &mut |_, _| {}) else { return };
    assert!(longer.starts_with(&content), "the content differs");
}

#[test]
fn no_two_blocks_are_alike_and_no_byte_is_preferred() {
    let Some(data) = written(4 * CHUNK_BYTES, 7, &mut |_, _| {}) else { return };
    let blocks: std::collections::HashSet<&[u8]> = data.chunks(512).collect();
    assert_eq!(blocks.len(), data.len() / 512);
    let mut counts = [0u32; 256];
    for byte in &data {
        counts[usize::from(*byte)] += 1;
    }
    // 16384 expected; the standard deviation is 128.
    assert!(counts.iter().all(|count| (15_600..17_200).contains(count)), "{counts:?}");
}

#[test]
fn the_content_follows_the_seed() {
    let content = |seed| written(CHUNK_BYTES, seed, &mut |_, _| {});
    let (Some(one), Some(again), Some(other)) = (content(1), content(1), content(2)) else {
        return;
    };
    assert!(one == again && one != other);
    // Bytes at the same position are equal only by chance: 1 in 256.
    let alike = one.iter().zip(&other).filter(|(one, other)| one == other).count();
    assert!((3_800..4_400).contains(&alike), "{alike}");
}
