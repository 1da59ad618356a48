//! Measures how fast all processors together read main memory, so that `limits` can compare it with the rest
//! of the path.
//!
//! The test is the read of `memspeed` (Chung, Gray, Worthington, Horst 2000, section 4.1), on a buffer several
//! times as large as the largest cache. In a virtual machine the hypervisor invents the sizes of the caches,
//! usually as those of the physical processor, which the machine shares with others. The test runs several
//! times, and the interval comes from the variance between runs. Rejected: the best run, as STREAM reports (it
//! grows with the number of runs and has no interval), and pinning threads.

use host::kernel::read::text;
use host::kernel::{self, Roots};
use record::{Estimate, format_bytes};
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where sysfs lists the caches of the first processor.
const CACHES: &str = "devices/system/cpu/cpu0/cache";
/// Size of the buffer, in multiples of the largest cache.
const BEYOND_CACHES: u64 = 4;
/// Minimum and maximum size of the buffer, if there is room.
const BUFFER_BYTES: (u64, u64) = (64 << 20, 2 << 30);
/// Minimum size if there is not: that of `memspeed`.
const LEAST_BYTES: u64 = 10 << 20;
/// Divisor from free memory to the size of the buffer.
const FREE_PART: u64 = 16;
const RUNS: u32 = 5;
/// Length of a run; a started pass is finished.
const RUN: Duration = Duration::from_millis(25);
/// Words per step of the unrolled loop: enough to make the cost of the loop itself negligible. With 32 loads
/// per step the compiler sums in a different order, and the loop was 4 to 9 % slower than the same loop in C;
/// with 16 the two are equal.
const STEP_WORDS: usize = 16;

/// The rate at which all processors together read memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRate {
    /// Bytes per second.
    pub bytes_per_s: Estimate,
    /// How it was measured, and what it includes besides memory.
    pub method: String,
}

/// Measures the rate in less than a second, or longer if caches are large; `None` if it was stopped.
#[must_use]
pub fn measure(roots: &Roots, stop: &AtomicBool) -> Option<MemoryRate> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let cache = largest_cache(roots);
    let bytes = buffer_bytes(cache, kernel::available_memory(roots));
    let words = buffer(bytes as usize / size_of::<u64>());
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        rates.push(run(&words, threads));
    }
    let of = match cache {
        0 => {
            let bytes = format_bytes(bytes);
            format!("{bytes} of data; the system does not report the size of CPU caches")
        }
        cache if bytes < 2 * cache => {
            let (bytes, cache) = (format_bytes(bytes), format_bytes(cache));
            format!("{bytes} of data, including hits of a CPU cache of {cache}")
        }
        _ => "data larger than the caches".to_owned(),
    };
    let by = if threads > 1 { format!(", {threads} threads") } else { String::new() };
    let method = format!("64-bit loads of {of}{by}");
    Some(MemoryRate { bytes_per_s: stats::visits_mean(&rates)?, method })
}

/// Size of the largest cache of the first processor; 0 if the system does not report it.
fn largest_cache(roots: &Roots) -> u64 {
    let entries = std::fs::read_dir(roots.sys.join(CACHES)).into_iter().flatten().flatten();
    let bytes = |size: &str| match size.split_at_checked(size.len().checked_sub(1)?)? {
        (number, "K") => Some(number.parse::<u64>().ok()? << 10),
        (number, "M") => Some(number.parse::<u64>().ok()? << 20),
        _ => size.parse().ok(),
    };
    entries.filter_map(|entry| bytes(&text(&entry.path().join("size"))?)).max().unwrap_or(0)
}

fn buffer_bytes(cache: u64, free: Option<u64>) -> u64 {
    let wanted = (cache * BEYOND_CACHES).clamp(BUFFER_BYTES.0, BUFFER_BYTES.1);
    let most = free.map_or(wanted, |free| free / FREE_PART).max(LEAST_BYTES);
    wanted.min(most) >> 20 << 20
}

/// A buffer of words that all differ. It is written, so that memory is allocated.
fn buffer(words: usize) -> Vec<AtomicU64> {
    let word = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index << 7);
    (0..words as u64).map(|index| AtomicU64::new(word(index))).collect()
}

/// Bytes per second of all threads. Each reads its own part of the buffer, again and again.
fn run(words: &[AtomicU64], threads: usize) -> f64 {
    let ready = Barrier::new(threads);
    let rate = &|part: &[AtomicU64]| {
        ready.wait();
        let (begin, mut passes) = (Instant::now(), 0);
        loop {
            black_box(read(part));
            passes += 1;
            let spent = begin.elapsed();
            if spent >= RUN {
                return (passes * size_of_val(part)) as f64 / spent.as_secs_f64();
            }
        }
    };
    let parts = words.chunks_exact(words.len() / threads).take(threads);
    thread::scope(|scope| {
        let started: Vec<_> = parts.map(|part| scope.spawn(move || rate(part))).collect();
        let rates =
            started.into_iter().map(|one| one.join().unwrap_or_else(|it| resume_unwind(it)));
        rates.sum()
    })
}

/// The exclusive or of all words. Four chains, so that the loads and not the sum limit the speed. Words are
/// relaxed atomics, which the language does not allow the compiler to merge, remove or widen: each access is
/// one plain 64-bit move. Rejected: volatile accesses (unsafe), and `black_box` around each word (a store per
/// load).
fn read(words: &[AtomicU64]) -> u64 {
    let mut sums = [0_u64; 4];
    let (steps, rest) = words.as_chunks::<STEP_WORDS>();
    for step in steps {
        for (index, word) in step.iter().enumerate() {
            sums[index % 4] ^= word.load(Ordering::Relaxed);
        }
    }
    for word in rest {
        sums[0] ^= word.load(Ordering::Relaxed);
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_whatever_the_length() {
        for length in [0, 1, 15, 16, 17, 1_000, 1_024] {
            let words = buffer(length);
            let xor = words.iter().fold(0, |all, word| all ^ word.load(Ordering::Relaxed));
            assert_eq!(read(&words), xor, "{length}");
        }
    }

    #[test]
    fn the_buffer_is_four_times_the_largest_cache_where_there_is_room() {
        assert_eq!(buffer_bytes(32 << 20, Some(64 << 30)), 128 << 20);
        assert_eq!(buffer_bytes(256 << 20, Some(4 << 30)), 256 << 20);
        assert_eq!(buffer_bytes(32 << 20, Some(1 << 20)), LEAST_BYTES);
        assert_eq!(buffer_bytes(0, None), BUFFER_BYTES.0);
    }
}
