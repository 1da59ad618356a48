//! Measures memory as the papers' programs did: `memspeed` (Chung, Gray, Worthington, Horst 2000, section
//! 4.1) and the table of Riedel, van Ingen and Gray 1997, section 5.1.
//!
//! `memspeed` moved 10 MB, which fits in a cache today. So there is a buffer for each cache, one of 10 MiB,
//! and one several times the size of the largest cache. All tests run in rounds, each round in a different
//! order; intervals come from the variance between visits. The cached file is a memfd, because the papers'
//! files were in memory. Rejected: the best of all visits, as STREAM reports (it grows with their number
//! and has no interval), and pinning threads.

mod caches;
mod loops;
mod runner;

pub use caches::{available_memory, caches, device_read_bytes, huge_pages};
pub use loops::{buffer, copy, read, write};
pub use runner::{MemoryError, Settings, measure};

use record::{Bytes, MemoryTest, ProcessorCache, format_bytes};

const MEMSPEED_BYTES: u64 = 10 << 20;
/// Buffer of the table of alignments, as in the 1997 paper.
const SHIFT_BYTES: u64 = 4 << 20;
/// Divisor from a cache's size to its buffer: the two buffers of a copy leave half of the cache free.
const CACHE_PART: u64 = 4;
/// Size of the buffer in memory, in multiples of the largest cache.
const BEYOND_CACHES: u64 = 4;
const MEMORY_BYTES: (u64, u64) = (64 << 20, 2 << 30);
/// Divisor from free memory to the largest buffer: there are four buffers of that size.
const FREE_PART: u64 = 16;
/// Offsets of source and destination from the start of a page.
const SHIFTS: [(u32, u32); 8] =
    [(0, 0), (8, 0), (0, 8), (1, 0), (0, 1), (64, 0), (0, 64), (2_048, 0)];

/// Tests of every buffer size, with one thread and with several.
const WORD_TESTS: [MemoryTest; 3] = [MemoryTest::Read, MemoryTest::Write, MemoryTest::Copy];
/// Additional tests of the buffer in memory.
const OTHER_TESTS: [MemoryTest; 4] =
    [MemoryTest::FileRead, MemoryTest::FileWrite, MemoryTest::LineRead, MemoryTest::LineWrite];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) test: MemoryTest,
    pub(crate) threads: u32,
    pub(crate) bytes: u64,
    pub(crate) place: String,
    pub(crate) shifts: (u32, u32),
}

/// A buffer size and the level of memory where it resides.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    name: String,
    bytes: u64,
    /// Whether each thread has a buffer of this size, or a share of one.
    per_thread: bool,
}

/// The size of the buffer in memory, and what is wrong with it.
fn memory_bytes(caches: &[ProcessorCache], free: Option<Bytes>) -> (u64, Option<String>) {
    let largest = caches.iter().map(|cache| cache.bytes.0).max().unwrap_or(0);
    let wanted = (largest * BEYOND_CACHES).clamp(MEMORY_BYTES.0, MEMORY_BYTES.1);
    let most = free.map_or(wanted, |free| free.0 / FREE_PART).max(MEMSPEED_BYTES);
    let bytes = wanted.min(most) >> 20 << 20;
    let short = (bytes < largest * 2).then(|| {
        format!(
            "buffers of {} are less than twice the largest cache ({}): the memory rows include \
             cache hits",
            format_bytes(bytes),
            format_bytes(largest)
        )
    });
    (bytes, short)
}

/// All tests for a machine, and the tests that are left out.
pub(crate) fn jobs(
    caches: &[ProcessorCache],
    free: Option<Bytes>,
    threads: u32,
) -> (Vec<Job>, Vec<String>) {
    let (memory, short) = memory_bytes(caches, free);
    let mut left_out: Vec<String> = short.into_iter().collect();
    if caches.is_empty() {
        left_out.push("the system does not report CPU caches, so they have no rows".to_owned());
    }
    let mut places: Vec<Place> = caches
        .iter()
        .map(|cache| Place {
            name: format!("cache {}", cache.level),
            bytes: (cache.bytes.0 / CACHE_PART).min(memory) >> 12 << 12,
            per_thread: true,
        })
        .collect();
    places.push(Place { name: "10 MiB".to_owned(), bytes: MEMSPEED_BYTES, per_thread: true });
    places.push(Place { name: "memory".to_owned(), bytes: memory, per_thread: false });
    let mut jobs = Vec::new();
    let job = |test, threads: u32, place: &Place, shifts| Job {
        test,
        threads,
        bytes: if place.per_thread { place.bytes } else { place.bytes / u64::from(threads) },
        place: place.name.clone(),
        shifts,
    };
    for place in places.iter().filter(|place| place.bytes > 0) {
        jobs.extend(WORD_TESTS.map(|test| job(test, 1, place, (0, 0))));
    }
    for place in &places[caches.len()..] {
        jobs.extend(OTHER_TESTS.map(|test| job(test, 1, place, (0, 0))));
        if threads > 1 {
            jobs.extend(WORD_TESTS.map(|test| job(test, threads, place, (0, 0))));
        }
    }
    if threads < 2 {
        left_out.push("with one CPU, there are no rows for several threads".to_owned());
    }
    let shifted = Place { name: "shifts".to_owned(), bytes: SHIFT_BYTES, per_thread: true };
    jobs.extend(SHIFTS.iter().map(|&shifts| job(MemoryTest::Copy, 1, &shifted, shifts)));
    (jobs, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u32, bytes: u64) -> ProcessorCache {
        ProcessorCache { level, bytes: Bytes(bytes), shared_by: 2 }
    }

    #[test]
    fn there_are_memspeeds_eight_tests_in_and_beyond_the_caches() {
        let caches = [cache(1, 48 << 10), cache(2, 2 << 20), cache(3, 105 << 20)];
        let (jobs, left_out) = jobs(&caches, Some(Bytes(16 << 30)), 4);
        assert!(left_out.is_empty(), "{left_out:?}");
        let has = |test, threads, place: &str| {
            jobs.iter().any(|job| {
                job.test == test
                    && job.threads == threads
                    && job.place == place
                    && job.shifts == (0, 0)
            })
        };
        use MemoryTest::{Copy, FileRead, FileWrite, LineRead, LineWrite, Read, Write};
        for place in ["10 MiB", "memory"] {
            for test in [Read, Write, FileRead, FileWrite, Copy, LineRead, LineWrite] {
                assert!(has(test, 1, place), "{test:?} {place}");
            }
            for test in [Read, Write, Copy] {
                assert!(has(test, 4, place), "{test:?} {place} with threads");
            }
        }
        for place in ["cache 1", "cache 2", "cache 3"] {
            assert!([Read, Write, Copy].iter().all(|&test| has(test, 1, place)), "{place}");
        }
        assert_eq!(jobs.iter().filter(|job| job.place == "shifts").count(), SHIFTS.len());
    }

    #[test]
    fn the_buffer_in_memory_is_four_times_the_largest_cache_where_there_is_room() {
        assert_eq!(memory_bytes(&[cache(3, 32 << 20)], Some(Bytes(64 << 30))).0, 128 << 20);
        let (bytes, short) = memory_bytes(&[cache(3, 256 << 20)], Some(Bytes(4 << 30)));
        assert_eq!(bytes, 256 << 20);
        assert!(short.unwrap().contains("less than twice the largest cache"));
        assert_eq!(memory_bytes(&[], None), (MEMORY_BYTES.0, None));
    }

    #[test]
    fn threads_share_the_buffer_in_memory_and_have_the_small_ones_each() {
        let (jobs, _) = jobs(&[cache(3, 32 << 20)], Some(Bytes(64 << 30)), 4);
        let bytes = |place: &str| {
            jobs.iter().find(|job| job.threads == 4 && job.place == place).unwrap().bytes
        };
        assert_eq!((bytes("memory"), bytes("10 MiB")), (32 << 20, 10 << 20));
    }
}
