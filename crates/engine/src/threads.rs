//! A pool of threads per job, each with blocking calls: depth without asynchronous calls.
//!
//! The pool has a thread for all that can be in flight. The job's thread puts a batch into a queue
//! under one lock and wakes as many threads as there are transfers; a thread that has finished puts
//! the completion into another queue and wakes the job's thread only if it waits for that many. Both
//! queues have their full length from the start, and the kernel is entered only to sleep or to wake.
//!
//! The threads' CPU time is our process's. Rejected: a queue per thread (a request would wait
//! for its thread while others are idle), and lock-free queues (waking costs more than the lock).

use crate::{
    Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    platform, transport,
};
use record::Nanos;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Stack of a pool thread: it makes a system call.
const STACK_BYTES: usize = 128 << 10;

/// A transfer in a queue that threads share.
#[derive(Clone, Copy, Debug)]
struct Work(Transfer);

// SAFETY: the address is the only part that is not `Send` by itself, and by the contract of
// `Transfer` its memory is nobody else's until the transfer completes.
unsafe impl Send for Work {}

#[derive(Debug, Default)]
struct Queue {
    work: VecDeque<Work>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Finished {
    done: Vec<Completion>,
    /// The job's thread sleeps until there are so many; 0 where it does not sleep.
    wanted: usize,
}

/// What the threads of the pool share with the job's.
#[derive(Debug)]
struct Shared {
    files: platform::Files,
    queue: Mutex<Queue>,
    work_there: Condvar,
    finished: Mutex<Finished>,
    finished_there: Condvar,
}

/// A panic of a thread cannot leave a queue half changed, so its poison means nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The life of a pool thread.
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

/// Transfers through a pool of threads.
#[derive(Debug)]
pub struct Threads {
    shared: Arc<Shared>,
    pool: Vec<JoinHandle<()>>,
    pending: Vec<Work>,
    in_flight: u32,
    /// Whether the threads are left to the end of the process, because one is in a call.
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
        // Pieces of a striped request wait for the files, not for threads.
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
            // Without a deadline no timer is armed.
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
        // What no thread has begun is called off, as on every engine.
        let called_off = lock(&self.shared.queue).work.drain(..).count() + self.pending.len();
        self.pending.clear();
        self.in_flight -= called_off as u32;
        let in_flight = self.in_flight;
        self.abandoned = !transport::drained(self, in_flight, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        let calls = format!("{} threads with {}", self.pool.len(), platform::PLAIN_CALLS);
        self.shared.files.features(&calls)
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
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}
