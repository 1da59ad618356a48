//! Tests each way to drop cached pages, on a real file whose pages are in the cache.

use host::kernel::Roots;
use host::target::{Area, drop_cache, drop_clean_pages, resident_bytes, unwritten_bytes};
use record::{Bytes, CacheDropped, DropCache};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use testkit::skip;

const AREA: u64 = 8 << 20;
/// Why some of these tests are skipped.
const IN_MEMORY: &str = "the build directory is in memory";

/// A file of `AREA` bytes on a disk, fully written back and read again, so that it is cached and clean.
/// `None` if the build directory is in memory.
fn cached_file() -> Option<(tempfile::NamedTempFile, PathBuf)> {
    let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut file = tempfile::NamedTempFile::new_in(&directory).unwrap();
    file.write_all(&vec![7; AREA as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    let mut memory = vec![0; AREA as usize];
    file.as_file().read_exact_at(&mut memory, 0).unwrap();
    file.as_file().read_exact_at(&mut memory, 0).unwrap();
    drop_clean_pages(file.as_file(), Bytes(0), Bytes(AREA)).unwrap();
    let on_disk = resident_bytes(file.as_file(), Bytes(0), Bytes(AREA)) == Some(Bytes(0));
    file.as_file().read_exact_at(&mut memory, 0).unwrap();
    file.as_file().read_exact_at(&mut memory, 0).unwrap();
    on_disk.then_some((file, directory))
}

fn owned(file: &File) -> OwnedFd {
    file.as_fd().try_clone_to_owned().unwrap()
}

fn area(file: &OwnedFd) -> Area<'_> {
    Area { file, offset: Bytes(0), length: Bytes(AREA) }
}

fn cache_dropped(method: DropCache) -> Option<CacheDropped> {
    let (file, directory) = cached_file()?;
    let file = owned(file.as_file());
    let areas = [area(&file)];
    drop_cache(&Roots::default(), method, &areas, &[directory], &|| false).unwrap()
}

#[test]
fn dontneed_drops_the_area_and_the_counts_say_so() {
    let Some(cache_dropped) = cache_dropped(DropCache::Dontneed) else {
        return skip("dontneed_drops_the_area", IN_MEMORY);
    };
    assert_eq!(cache_dropped.resident_before_bytes, Some(Bytes(AREA)));
    assert_eq!(cache_dropped.resident_after_bytes, Some(Bytes(0)));
}

#[test]
fn nothing_is_done_where_nothing_is_asked() {
    assert_eq!(cache_dropped(DropCache::None), None);
}

#[test]
fn dropping_caches_without_the_right_says_what_it_needs_and_what_does_not() {
    let directory = tempfile::tempdir().unwrap();
    // This /proc has no such file, which gives the same error as a read-only /proc.
    let roots = Roots { proc: directory.path().to_owned(), ..Roots::default() };
    let error = drop_cache(&roots, DropCache::DropCaches, &[], &[], &|| false).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(text.contains("needs root") && text.contains("--drop-cache dontneed"), "{text}");
}

#[test]
fn a_scratch_read_ends_as_soon_as_the_area_is_gone() {
    let Some((file, directory)) = cached_file() else {
        return skip("a_scratch_read_ends", IN_MEMORY);
    };
    drop_clean_pages(file.as_file(), Bytes(0), Bytes(AREA)).unwrap();
    let file = owned(file.as_file());
    let areas = [area(&file)];
    let looks = std::cell::Cell::new(0);
    let never = || {
        looks.set(looks.get() + 1);
        false
    };
    let outcome =
        drop_cache(&Roots::default(), DropCache::ScratchRead, &areas, &[directory], &never)
            .unwrap();
    assert_eq!(outcome.unwrap().resident_after_bytes, Some(Bytes(0)));
    assert_eq!(looks.get(), 1, "a look before each stretch, and none was read");
}

#[test]
fn a_file_system_in_memory_is_no_place_for_a_scratch_file() {
    let place = PathBuf::from("/dev/shm");
    let Ok(file) = tempfile::tempfile_in(&place) else {
        return skip("a_file_system_in_memory_is_no_place", "needs /dev/shm");
    };
    let file = owned(&file);
    let areas = [Area { file: &file, offset: Bytes(0), length: Bytes(1) }];
    let error = drop_cache(&Roots::default(), DropCache::ScratchRead, &areas, &[place], &|| false);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("--drop-cache dontneed"), "{text}");
}

#[test]
fn what_was_written_and_not_flushed_is_counted_and_nothing_after_the_flush() {
    let name = "what_was_written_and_not_flushed_is_counted";
    let Some((file, _)) = cached_file() else {
        return skip(name, IN_MEMORY);
    };
    let unwritten = || unwritten_bytes(file.as_file(), Bytes(0), Bytes(AREA));
    let Some(clean) = unwritten() else {
        return skip(name, "needs Linux 6.5, which tells what was not written back");
    };
    assert_eq!(clean, Bytes(0));
    file.as_file().write_all_at(&[1; 1 << 20], 0).unwrap();
    assert_eq!(unwritten(), Some(Bytes(1 << 20)));
    file.as_file().sync_data().unwrap();
    assert_eq!(unwritten(), Some(Bytes(0)));
}
