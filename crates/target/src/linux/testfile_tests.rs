//! Tests of the test file: its size, its margin, its content, and how writing it ends early.

use super::*;
use crate::linux::handle::Access;
use crate::linux::open::open_target;
use kernel::Roots;
use tempfile::TempDir;

fn filesystem(size: u64, free: u64) -> FilesystemFacts {
    FilesystemFacts {
        kind: "ext4".to_owned(),
        mount_point: "/m".to_owned(),
        options: String::new(),
        source: String::new(),
        size_bytes: Bytes(size),
        free_bytes: Bytes(free),
        block_bytes: Bytes(4096),
        in_memory: false,
        compresses: false,
        direct_alignment_bytes: None,
    }
}

fn target(directory: &Path) -> TargetHandle {
    open_target(&Roots::default(), directory, &Access::ReadOnly, None, Bytes(4096)).unwrap()
}

#[test]
fn the_margin_is_the_larger_of_five_percent_and_one_gib() {
    let check = |size: u64, free: u64, file: u64| {
        check_margin(Path::new("/m"), &filesystem(size, free), Bytes(file))
    };
    assert!(check(10 * GIB, 3 * GIB, 2 * GIB).is_ok());
    assert!(check(10 * GIB, 3 * GIB, 2 * GIB + 1).is_err());
    assert!(check(100 * GIB, 7 * GIB, 2 * GIB).is_ok());
    let error = check(100 * GIB, 7 * GIB, 2 * GIB + 1).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let text = error.to_string();
    assert!(text.contains("--size 2048m") && text.contains("5 GiB must stay free"), "{text}");
    let text = check(10 * GIB, GIB, GIB).unwrap_err().to_string();
    assert!(text.contains("another file system"), "{text}");
}

#[test]
fn no_two_blocks_are_alike_and_no_byte_is_preferred() {
    let mut data = vec![0u8; 4 << 20];
    for (index, chunk) in data.chunks_mut(CHUNK_BYTES as usize).enumerate() {
        fill_incompressible(chunk, 7, index as u64 * CHUNK_BYTES);
    }
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
fn the_content_follows_seed_and_offset_alone() {
    let content = |seed: u64, offset: u64| {
        let mut buffer = [0u8; 61];
        fill_incompressible(&mut buffer, seed, offset);
        buffer
    };
    assert_eq!(content(1, 0), content(1, 0));
    assert_ne!(content(1, 0), content(2, 0));
    assert_ne!(content(1, 0), content(1, CHUNK_BYTES));
}

#[test]
fn the_file_is_written_in_full_to_its_last_byte_with_rising_progress() {
    let directory = TempDir::new().unwrap();
    let mut handle = target(directory.path());
    let size = 5 * CHUNK_BYTES + 1234;
    let mut seen = Vec::new();
    let mut progress = |done: u64, total: u64| seen.push((done, total));
    let outcome = write_test_file(&mut handle, Bytes(size), 3, &mut progress, &|| false);
    if let Err(error @ TargetError::Refused { .. }) = &outcome {
        return testkit::skip("whole test file", &error.to_string());
    }
    outcome.unwrap();
    assert_eq!(seen.first(), Some(&(0, size)));
    assert_eq!(seen.last(), Some(&(size, size)));
    assert!(seen.is_sorted());
    assert_eq!(handle.facts.size_bytes, Bytes(size));
    let mut content = vec![0u8; size as usize + 1];
    let mut read = 0;
    while let Ok(more @ 1..) = rustix::io::pread(&handle.file, &mut content[read..], read as u64) {
        read += more;
    }
    assert_eq!(read as u64, size);
    for (index, chunk) in content[..read].chunks(CHUNK_BYTES as usize).enumerate() {
        let mut expected = vec![0u8; chunk.len()];
        fill_incompressible(&mut expected, 3, index as u64 * CHUNK_BYTES);
        assert!(chunk == expected, "chunk {index} differs");
    }
    if let Some(extents) = &handle.facts.extents {
        assert_eq!((extents.hole_bytes, extents.unwritten_bytes), (Bytes(0), Bytes(0)));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_file_system_that_fills_up_is_told_as_such_and_left_as_it_was() {
    testkit::requires!(Mount);
    let small = testkit::Mounted::tmpfs(4 << 20).unwrap();
    let handle = target(small.path());
    // Past the margin, which would have refused it.
    let error = fill(&handle, Bytes(16 * CHUNK_BYTES), 3, &mut |_, _| {}, &|| false).unwrap_err();
    assert!(matches!(error, TargetError::NoSpace { .. }), "{error}");
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(text.contains("No space left") && text.contains("--size"), "{text}");
    drop(handle);
    let space = rustix::fs::statvfs(small.path()).unwrap();
    assert_eq!(space.f_bavail, space.f_blocks);
}
