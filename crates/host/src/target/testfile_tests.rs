//! Tests the free space that a test file leaves, and writing until no space is left.

use super::*;

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
fn rows_of_text_compress_although_no_two_are_alike() {
    let mut text = vec![0; 1 << 16];
    fill_text(&mut text, 3, 0);
    let rows: std::collections::HashSet<&[u8]> = text.chunks(ROW_BYTES).collect();
    assert_eq!(rows.len(), text.len() / ROW_BYTES);
    let blanks = text.iter().filter(|byte| **byte == b' ').count();
    assert!(2 * blanks > text.len() && text.ends_with(b"\n"), "{blanks}");
    // The next chunk has different text; one that ends within a row keeps its length.
    let mut next = vec![0; 100];
    fill_text(&mut next, 3, 1 << 16);
    assert!(next[..ROW_BYTES] != text[..ROW_BYTES] && next[99] == b' ', "{next:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_fills_up_is_told_as_such_and_left_as_it_was() {
    use crate::kernel::Roots;
    use crate::target::{Access, open_target};
    testkit::requires!(Mount);
    let small = testkit::Mounted::tmpfs(4 << 20).unwrap();
    let handle =
        open_target(&Roots::default(), small.path(), &Access::ReadOnly, None, Bytes(4096)).unwrap();
    // Skip the check of the free space, which would refuse this size.
    let error = fill(&handle, Bytes(16 * CHUNK_BYTES), 3, &mut |_, _| {}, &|| false).unwrap_err();
    assert!(matches!(error, TargetError::NoSpace { .. }), "{error}");
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(text.contains("No space left") && text.contains("--size"), "{text}");
    drop(handle);
    let space = rustix::fs::statvfs(small.path()).unwrap();
    assert_eq!(space.f_bavail, space.f_blocks);
}
