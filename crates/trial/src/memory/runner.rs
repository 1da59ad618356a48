//! Runs the memory tests: buffers, rounds, threads, and the null loop of each test.
//!
//! A visit runs whole passes until its time is over; the clock is read once per batch of passes, every few
//! MiB. Threads start together at a barrier. Each is timed separately, and their rates are added.

use super::loops::{
    READ_STEP_WORDS, WRITE_STEP_WORDS, buffer, copy, null_lines, null_words, read, read_lines,
    write, write_lines,
};
use super::{Job, caches, device_read_bytes, huge_pages, jobs};
use host::kernel::{self, Roots};
use record::{Bytes, MemoryRow, MemoryTest, MemoryTests, Nanos};
use std::fs::File;
use std::hint::black_box;
use std::io::Error;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use workload::{Rng, derive_seed};

const CALL_BYTES: usize = 64 << 10;
const BATCH_BYTES: u64 = 4 << 20;
/// Divisor from the length of a visit to that of its null loop.
const NULL_PART: u32 = 4;
/// Minimum and maximum visits of each test, and the budget for one visit.
const ROUNDS: (u32, u32) = (2, 5);
const ROUND_NS: u64 = 6_000_000_000;
const PAGE_BYTES: usize = 4_096;
const WORD_BYTES: usize = 8;

/// Why memory could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The kernel did not create a file in memory, or failed a call on it.
    #[error("cannot use the cached file of the memory tests: {0}; try again with more free memory")]
    File(#[from] Error),
    /// The data read differ from the data written.
    #[error(
        "{test} of {bytes} bytes read back different data than was written: the memory is \
             faulty"
    )]
    Data {
        /// Name of the test.
        test: &'static str,
        /// Size of its buffer.
        bytes: u64,
    },
    /// A thread panicked.
    #[error("a thread of the memory tests panicked")]
    Thread,
    /// The run was interrupted.
    #[error("the memory tests were interrupted")]
    Interrupted,
}

/// How memory is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads of the multi-threaded tests.
    pub threads: u32,
    /// Length of a visit; a started pass is finished.
    pub visit: Duration,
    /// Visits of each test, at least 2.
    pub rounds: u32,
    /// Seed of the order.
    pub seed: u64,
}

impl Settings {
    /// Uses all processors and takes 10 s, or more if caches are large. If all trials have less than half a
    /// minute, it makes fewer rounds.
    #[must_use]
    pub fn new(budget: Option<Nanos>, seed: u64) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let rounds = budget.map_or(ROUNDS.1, |budget| {
            let rounds = budget.0 / ROUND_NS;
            u32::try_from(rounds).map_or(ROUNDS.1, |rounds| rounds.clamp(ROUNDS.0, ROUNDS.1))
        });
        Self { threads, visit: Duration::from_millis(25), rounds, seed }
    }
}

/// Result of one visit: bytes per second as timed, and with the null loop subtracted.
#[derive(Clone, Copy, Debug)]
struct Visit {
    rate: f64,
    net: f64,
    null_share: f64,
}

/// Measures memory. `tick` receives the completed share and the name of the next test.
///
/// # Errors
/// [`MemoryError`].
pub fn measure(
    roots: &Roots,
    settings: &Settings,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(f64, &str),
) -> Result<MemoryTests, MemoryError> {
    let processor_caches = caches(roots);
    let free = super::available_memory(roots);
    let (jobs, left_out) = jobs(&processor_caches, free, settings.threads);
    let mut stage = Stage::new(&jobs)?;
    let before = device_read_bytes(roots);
    let mut visits: Vec<Vec<Visit>> = vec![Vec::new(); jobs.len()];
    let mut rng = Rng::new(derive_seed(settings.seed, 1));
    let total = settings.rounds as usize * jobs.len();
    for round in 0..settings.rounds as usize {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        rng.shuffle(&mut order);
        for (done, index) in order.into_iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err(MemoryError::Interrupted);
            }
            let job = &jobs[index];
            let share = (round * jobs.len() + done) as f64 / total as f64;
            tick(share, &format!("{} {}", job.test.name(), job.place));
            visits[index].push(stage.visit(job, settings.visit, round as u64)?);
        }
    }
    let device_read_bytes =
        before.zip(device_read_bytes(roots)).map(|(before, after)| after.saturating_sub(before));
    let rows = jobs.iter().zip(&visits).filter_map(|(job, visits)| row(job, visits)).collect();
    Ok(MemoryTests {
        caches: processor_caches,
        huge_pages: huge_pages(roots),
        file_on: kernel::MEMORY_FILE.to_owned(),
        device_read_bytes,
        left_out,
        rows,
    })
}

fn row(job: &Job, visits: &[Visit]) -> Option<MemoryRow> {
    let each = |value: fn(&Visit) -> f64| visits.iter().map(value).collect::<Vec<f64>>();
    Some(MemoryRow {
        test: job.test,
        threads: job.threads,
        buffer_bytes: Bytes(job.bytes),
        place: job.place.clone(),
        source_shift_bytes: job.shifts.0,
        destination_shift_bytes: job.shifts.1,
        bytes_per_s: stats::visits_mean(&each(|visit| visit.rate))?,
        net_bytes_per_s: stats::visits_mean(&each(|visit| visit.net))?,
        null_share: stats::median(each(|visit| visit.null_share)),
    })
}

struct Stage {
    words: Vec<AtomicU64>,
    from: Vec<u8>,
    to: Vec<u8>,
    file: File,
}

impl Stage {
    fn new(jobs: &[Job]) -> Result<Self, MemoryError> {
        let all = |job: &Job| (job.bytes * u64::from(job.threads)) as usize;
        let largest = jobs.iter().map(all).max().unwrap_or(0);
        let is_file = |job: &&Job| matches!(job.test, MemoryTest::FileRead | MemoryTest::FileWrite);
        let of_file = jobs.iter().filter(is_file).map(all).max().unwrap_or(0);
        let stage = Self {
            words: buffer(largest / WORD_BYTES),
            from: bytes(largest + 2 * PAGE_BYTES),
            to: vec![1; largest + 2 * PAGE_BYTES],
            file: kernel::memory_file()?,
        };
        engine::write_all(&stage.file, &stage.from[..of_file], 0).map_err(Error::from)?;
        Ok(stage)
    }

    fn visit(&mut self, job: &Job, length: Duration, mark: u64) -> Result<Visit, MemoryError> {
        match job.test {
            MemoryTest::Copy => self.copies(job, length),
            MemoryTest::FileRead | MemoryTest::FileWrite => self.file_calls(job, length),
            _ => self.words(job, length, mark),
        }
    }

    fn words(&self, job: &Job, length: Duration, mark: u64) -> Result<Visit, MemoryError> {
        let count = job.bytes as usize / WORD_BYTES;
        let parts = self.words.chunks_exact(count).take(job.threads as usize);
        let visits = together(parts, |part, ready| {
            let null = || match job.test {
                MemoryTest::LineRead | MemoryTest::LineWrite => null_lines(part),
                MemoryTest::Write => null_words::<WRITE_STEP_WORDS>(part),
                _ => null_words::<READ_STEP_WORDS>(part),
            };
            timed(job.bytes, length, ready, null, || match job.test {
                MemoryTest::Write => write(part, mark),
                MemoryTest::LineWrite => write_lines(part, mark),
                MemoryTest::LineRead => {
                    black_box(read_lines(part));
                }
                _ => {
                    black_box(read(part));
                }
            })
        })?;
        let part = &self.words[..count];
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let sound = match job.test {
            MemoryTest::Write => part.iter().all(|word| load(word) == mark),
            MemoryTest::Read => read(part) == part.iter().fold(0, |all, word| all ^ load(word)),
            _ => true,
        };
        if sound { Ok(visits) } else { Err(bad_data(job)) }
    }

    fn copies(&mut self, job: &Job, length: Duration) -> Result<Visit, MemoryError> {
        let count = job.bytes as usize;
        let place = |buffer: &[u8], shift: u32| {
            buffer.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES) + shift as usize
        };
        let from = place(&self.from, job.shifts.0);
        let to = place(&self.to, job.shifts.1);
        let sources = self.from[from..].chunks_exact(count);
        let destinations = self.to[to..].chunks_exact_mut(count);
        let parts = sources.zip(destinations).take(job.threads as usize);
        let visits = together(parts, |(from, to), ready| {
            let null = || {
                black_box(from.len());
            };
            timed(job.bytes, length, ready, null, || copy(from, &mut *to))
        })?;
        let same = self.from[from..from + count] == self.to[to..to + count];
        if same { Ok(visits) } else { Err(bad_data(job)) }
    }

    fn file_calls(&mut self, job: &Job, length: Duration) -> Result<Visit, MemoryError> {
        let calls = job.bytes / CALL_BYTES as u64;
        let mut failed = None;
        let null = || {
            for _call in 0..calls {
                black_box(());
            }
        };
        let reads = job.test == MemoryTest::FileRead;
        let page = self.to.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let target = &mut self.to[page..page + CALL_BYTES];
        let mut pass = || {
            for call in 0..calls {
                let at = call * CALL_BYTES as u64;
                let outcome = if reads {
                    engine::read_all(&self.file, target, at)
                } else {
                    // The program's buffer stays the same, as in memspeed.
                    engine::write_all(&self.file, &self.from[..CALL_BYTES], at)
                };
                if let Err(error) = outcome {
                    failed.get_or_insert(error);
                }
            }
        };
        let visit = timed(calls * CALL_BYTES as u64, length, &Barrier::new(1), null, &mut pass);
        failed.map_or(Ok(visit), |error| Err(Error::from(error).into()))
    }
}

fn bad_data(job: &Job) -> MemoryError {
    MemoryError::Data { test: job.test.name(), bytes: job.bytes }
}

/// Bytes that are not all the same.
fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|index| (index.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

/// Runs `test` on all parts at once, one thread each; this thread runs one part.
fn together<P: Send>(
    parts: impl Iterator<Item = P>,
    test: impl Fn(P, &Barrier) -> Visit + Sync,
) -> Result<Visit, MemoryError> {
    let mut parts: Vec<P> = parts.collect();
    let ready = Barrier::new(parts.len());
    let (test, ready) = (&test, &ready);
    let visits = match parts.pop() {
        Some(part) if parts.is_empty() => vec![test(part, ready)],
        last => thread::scope(|scope| {
            let started: Vec<_> = parts
                .into_iter()
                .chain(last)
                .map(|part| scope.spawn(move || test(part, ready)))
                .collect();
            started.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|_| MemoryError::Thread)?,
    };
    let sum = |value: fn(&Visit) -> f64| visits.iter().map(value).sum::<f64>();
    let null_share = sum(|visit| visit.null_share) / visits.len().max(1) as f64;
    Ok(Visit { rate: sum(|visit| visit.rate), net: sum(|visit| visit.net), null_share })
}

/// Times the null loop, then passes of `bytes` for about `length`.
fn timed(
    bytes: u64,
    length: Duration,
    ready: &Barrier,
    mut null: impl FnMut(),
    mut pass: impl FnMut(),
) -> Visit {
    let batch = (BATCH_BYTES / bytes.max(1)).max(1);
    let null_pass = per_pass(batch, length / NULL_PART, &mut null);
    ready.wait();
    let real_pass = per_pass(batch, length, &mut pass);
    // The loop overlaps with the accesses, so subtract at most half.
    let net_pass = (real_pass - null_pass).max(real_pass / 2.0);
    Visit {
        rate: bytes as f64 / real_pass,
        net: bytes as f64 / net_pass,
        null_share: null_pass / real_pass,
    }
}

/// Seconds per pass, over batches of passes that take at least `length`.
fn per_pass(batch: u64, length: Duration, pass: &mut dyn FnMut()) -> f64 {
    let mut passes = 0;
    let begin = Instant::now();
    loop {
        for _ in 0..batch {
            pass();
        }
        passes += batch;
        let spent = begin.elapsed();
        if spent >= length {
            return spent.as_secs_f64() / passes as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(test: MemoryTest, threads: u32, shifts: (u32, u32)) -> Job {
        Job { test, threads, bytes: 128 << 10, place: "here".to_owned(), shifts }
    }

    #[test]
    fn every_test_moves_its_data_and_has_a_rate_with_and_without_the_null_loop() {
        let tests = [
            MemoryTest::Read,
            MemoryTest::Write,
            MemoryTest::Copy,
            MemoryTest::FileRead,
            MemoryTest::FileWrite,
            MemoryTest::LineRead,
            MemoryTest::LineWrite,
        ];
        let jobs: Vec<Job> = tests.iter().map(|&test| small(test, 1, (0, 0))).collect();
        let mut stage = Stage::new(&jobs).unwrap();
        for job in &jobs {
            let visit = stage.visit(job, Duration::from_millis(1), 3).unwrap();
            assert!(visit.rate > 0.0 && visit.net >= visit.rate, "{job:?} {visit:?}");
            assert!(visit.null_share > 0.0, "{job:?} {visit:?}");
        }
    }

    #[test]
    fn threads_and_shifts_stay_within_the_buffers() {
        let jobs = [
            small(MemoryTest::Read, 3, (0, 0)),
            small(MemoryTest::Copy, 3, (0, 0)),
            small(MemoryTest::Copy, 1, (2_048, 1)),
        ];
        let mut stage = Stage::new(&jobs).unwrap();
        for job in &jobs {
            assert!(stage.visit(job, Duration::from_millis(1), 3).unwrap().rate > 0.0);
        }
    }
}
