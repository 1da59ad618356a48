//! Runs the product's loop on any engine and clock, and the loops that it is compared with.
//!
//! The product has no switches to disable parts. The cost of its accounting is measured from outside:
//! by a bare loop that draws requests and manages slots but has no clock, histogram or statistics.

use anyhow::{Result, ensure};
use engine::{Clock, Engine, Submission, Wait};
use record::{Bytes, HistogramSnapshot, Nanos, OpKind, Workload};
use std::time::{Duration, Instant};
use trial::{Failures, JobPlan, Slice, Step, Window, Worker};
use workload::{Request, RequestStream};

/// Number of requests drawn from the stream at a time, as in the product.
const BATCH: usize = 256;
/// As in [`JobPlan::alone`].
const SEED: u64 = 0;
/// Area of the 4 KiB random reads: offsets of 18 bits.
const AREA: Bytes = Bytes(1 << 30);

/// 4 KiB random reads at a depth, as one job.
pub(super) fn reads(depth: u32) -> Workload {
    Workload { iodepth: depth, depth, size_bytes: AREA, ..Workload::default() }
}

pub(super) struct Counted {
    pub(super) ios: u64,
    /// Real time of its steps.
    pub(super) wall: Duration,
    pub(super) mean_ns: f64,
    pub(super) histogram: HistogramSnapshot,
}

/// Default length of a run of the product, which determines how often counts are saved.
const RUN: Nanos = Nanos(10_000_000_000);

/// Runs the product's worker, with all of its accounting, for a time by its clock: the first `length` of a
/// run of [`RUN`].
pub(super) fn worker(
    engine: impl Engine,
    clock: impl Clock,
    depth: u32,
    length: Nanos,
) -> Result<Counted> {
    let begin = clock.now();
    let window = Window { begin, end: begin.plus(length.max(RUN)) };
    let workload = reads(depth);
    let plan = JobPlan::alone(&workload, window);
    plan.control.end_at(begin.plus(length), None);
    let mut worker = Worker::new(engine, clock, &plan);
    let begin = Instant::now();
    while worker.step()? != Step::Done {}
    let wall = begin.elapsed();
    let (tally, _) = worker.finish();
    let failed = |failures: &Failures| failures.short > 0 || !failures.errors.is_empty();
    ensure!(!tally.failures.iter().any(failed), "requests failed: {:?}", tally.failures);
    let ios: u64 = tally.slices.iter().map(Slice::total_ios).sum();
    ensure!(ios > 0, "nothing completed");
    let latency_ns: u64 = tally.slices.iter().map(|slice| slice.latency_ns[0]).sum();
    let histogram = tally
        .segments
        .iter()
        .fold(HistogramSnapshot::default(), |sum, segment| sum.merged(&segment.latency[0]));
    Ok(Counted { ios, wall, mean_ns: latency_ns as f64 / ios as f64, histogram })
}

/// A loop with a generator and slots only: the minimum of any load generator.
pub(super) struct Bare<E> {
    engine: E,
    stream: RequestStream,
    batch: Vec<Request>,
    next: usize,
    requests: Vec<Request>,
    free: Vec<u32>,
    prepared: Vec<Submission>,
    done: Vec<engine::Completion>,
}

impl<E: Engine> Bare<E> {
    pub(super) fn new(engine: E, depth: u32) -> Self {
        let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
        Self {
            engine,
            stream: RequestStream::new(&reads(depth), SEED, 0),
            batch: vec![empty; BATCH],
            next: BATCH,
            requests: vec![empty; depth as usize],
            free: (0..depth).rev().collect(),
            prepared: Vec::with_capacity(depth as usize),
            done: Vec::with_capacity(depth as usize),
        }
    }

    /// Completes at least `count` requests, and returns the time per request.
    pub(super) fn run(mut self, count: u64) -> Result<f64> {
        let depth = self.requests.len() as u32;
        let mut completed = 0;
        let begin = Instant::now();
        while completed < count {
            self.prepared.clear();
            while let Some(slot) = self.free.pop() {
                if self.next == BATCH {
                    self.stream.fill(&mut self.batch);
                    self.next = 0;
                }
                let request = self.batch[self.next];
                self.next += 1;
                self.requests[slot as usize] = request;
                self.prepared.push(Submission { request, slot, generation: 0 });
            }
            self.engine.prepare(&self.prepared);
            self.done.clear();
            self.engine.wait(Wait::new(1, depth), &mut self.done)?;
            completed += self.done.len() as u64;
            self.free.extend(self.done.iter().map(|completion| completion.slot));
        }
        let wall = begin.elapsed();
        let left = depth - self.done.len() as u32;
        self.done.clear();
        self.engine.wait(Wait::new(left, left), &mut self.done)?;
        Ok(wall.as_nanos() as f64 / completed as f64)
    }
}

/// A real clock that is read many times for each reading: the planted fault of a slow harness.
#[derive(Clone, Debug)]
pub(super) struct SlowClock<C> {
    pub(super) clock: C,
    pub(super) times: u32,
}

impl<C: Clock> Clock for SlowClock<C> {
    #[inline]
    fn now(&self) -> Nanos {
        for _ in 1..self.times {
            std::hint::black_box(self.clock.now());
        }
        self.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{NullEngine, OpenEngine, Setup};
    use std::cell::Cell;

    /// A clock whose readings are a microsecond apart.
    #[derive(Debug, Default)]
    struct CountedClock(Cell<u64>);

    impl Clock for &CountedClock {
        fn now(&self) -> Nanos {
            self.0.set(self.0.get() + 1);
            Nanos(1_000 * self.0.get())
        }
    }

    fn null(depth: u32) -> NullEngine {
        NullEngine::open(&Setup::reading(Vec::new(), depth, 4_096)).unwrap()
    }

    #[test]
    fn the_worker_runs_by_any_clock_and_counts_all_that_it_asked() {
        let clock = CountedClock::default();
        let counted = worker(null(8), &clock, 8, Nanos(3_000_000)).unwrap();
        // A few readings per step of eight requests, and one more at each end.
        let per_step = clock.0.get() as f64 / (counted.ios as f64 / 8.0);
        assert!((1.5..=4.5).contains(&per_step), "{per_step}");
        assert_eq!(counted.histogram.count(), counted.ios);
        assert!(counted.mean_ns >= 1_000.0);
    }

    #[test]
    fn the_bare_loop_ends_when_it_has_done_its_count() {
        assert!(Bare::new(null(16), 16).run(1_000).unwrap() > 0.0);
    }
}
