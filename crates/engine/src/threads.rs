//! A pool of threads per job, each with blocking calls: queue depth without asynchronous calls.
//!
//! The pool has one thread for each transfer that can be in flight. The job's thread puts a batch into a
//! queue under one lock and wakes as many threads as there are transfers. A thread that has finished puts the
//! completion into another queue, and wakes the job's thread only if it waits for that many. Both queues are
//! allocated at full length from the start. The threads enter the kernel only for I/O, to sleep or to wake.
//!
//! The threads' CPU time counts for this process. Rejected: a queue per thread (a request would wait for its
//! thread while others are idle), and lock-free queues (waking costs more than the lock).

use crate::{
    Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    platform, transport,
};
use record::Nanos;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Stack size of a pool thread, which only makes system calls.
const STACK_BYTES: usize = 128 << 10;

/// A transfer in a queue that threads share.
#[derive(Clone, Copy, Debug)]
struct Work(Transfer);

// SAFETY: only the address is not `Send` by itself. By the contract of `Transfer`, nothing else uses its
// memory until the transfer completes.
unsafe impl Send for Work {}

#[derive(Debug, Default)]
struct Queue {
    work: VecDeque<Work>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Finished {
    done: Vec<Completion>,
    /// Number of completions that the sleeping job's thread waits for; 0 if it does not sleep.
    wanted: usize,
}

/// State shared by the pool's threads and the job's thread.
#[derive(Debug)]
struct Shared {
    files: platform::Files,
    queue: Mutex<Queue>,
    work_there: Condvar,
    finished: Mutex<Finished>,
    finished_there: Condvar,
}

/// Locks a mutex. Poisoning is ignored, because a panic of a thread cannot leave a queue half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Main loop of a pool thread.
    fn serve(&self) {
        loop {
            let Work(transfer) = {
                let mut queue = lock(&self.queue);
                loop {
                    if let Some(work) = queue.work.pop_front() {
                        break work;
                    }
                    if queue.closed {
                        return;
                    }
                    queue = self.work_there.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            };
            let outcome = self.files.carry_out(&transfer);
            let mut finished = lock(&self.finished);
            finished.done.push(Completion { slot: transfer.tag, outcome });
            let wake = finished.wanted > 0 && finished.done.len() >= finished.wanted;
            drop(finished);
            if wake {
                self.finished_there.notify_one();
            }
        }
    }
}

/// Performs transfers through a pool of threads.
#[derive(Debug)]
pub struct Threads {
    shared: Arc<Shared>,
    pool: Vec<JoinHandle<()>>,
    pending: Vec<Work>,
    in_flight: u32,
    /// Whether the threads stay until the process ends, because one is in a call.
    abandoned: bool,
}

impl Transport for Threads {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            files: platform::Files::of_threads(setup)?,
            queue: Mutex::new(Queue {
                work: VecDeque::with_capacity(most as usize),
                closed: false,
            }),
            work_there: Condvar::new(),
            finished: Mutex::new(Finished { done: Vec::with_capacity(most as usize), wanted: 0 }),
            finished_there: Condvar::new(),
        });
        let mut threads = Self {
            shared,
            pool: Vec::with_capacity(most as usize),
            pending: Vec::with_capacity(most as usize),
            in_flight: 0,
            abandoned: false,
        };
        // The pieces of a striped request wait for the files, not for threads.
        let asked = setup.depth.max(1).saturating_mul(setup.files.len().max(1) as u32).min(most);
        for started in 0..asked {
            let shared = Arc::clone(&threads.shared);
            let builder = Builder::new().name(format!("pool-{started}")).stack_size(STACK_BYTES);
            let thread = builder
                .spawn(move || shared.serve())
                .map_err(|source| EngineError::Threads { started, asked, source })?;
            threads.pool.push(thread);
        }
        Ok(threads)
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.pending.push(Work(transfer));
        self.in_flight += 1;
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        let count = self.pending.len();
        if count > 0 {
            lock(&self.shared.queue).work.extend(self.pending.drain(..));
            for _ in 0..count {
                self.shared.work_there.notify_one();
            }
        }
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.hand_over()?;
        let wanted = ask.min.min(self.in_flight) as usize;
        let mut finished = lock(&self.shared.finished);
        while finished.done.len() < wanted {
            finished.wanted = wanted;
            let there = &self.shared.finished_there;
            // Without a deadline, no timer is needed.
            finished = match ask.deadline.map(|end| end.since(MonotonicClock.now())) {
                None => there.wait(finished).unwrap_or_else(PoisonError::into_inner),
                Some(Nanos(0)) => break,
                Some(left) => {
                    let waited = there.wait_timeout(finished, Duration::from_nanos(left.0));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        finished.wanted = 0;
        let count = finished.done.len().min(ask.max as usize);
        done.extend(finished.done.drain(..count));
        self.in_flight -= count as u32;
        Ok(())
    }

    fn quiesce(&mut self) -> bool {
        // Transfers that no thread has started are cancelled, as on every engine.
        let called_off = lock(&self.shared.queue).work.drain(..).count() + self.pending.len();
        self.pending.clear();
        self.in_flight -= called_off as u32;
        let in_flight = self.in_flight;
        self.abandoned = !transport::drained(self, in_flight, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        let calls = format!("{} threads with {}", self.pool.len(), platform::PLAIN_CALLS);
        vec![calls]
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.work_there.notify_all();
        if self.abandoned {
            return;
        }
        for thread in self.pool.drain(..) {
            // A thread that panicked has reported it on standard error.
            let _ = thread.join();
        }
    }
}
