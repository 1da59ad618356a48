//! Virtual time, requests on their way, and the counters of the simulated device.
//!
//! The host gives each request a token, moves the time from event to event, hands completions to
//! the jobs that wait for them, and knows which jobs have something to do. The driver steps those
//! alone, so that the cost of an event does not grow with the number of jobs.

use crate::any_device::AnyDevice;
use crate::device::{Arrival, Conditions, Device, Ended, Rebuilding};
use crate::slab::Slab;
use engine::{Completion, ComponentSample, DeviceSample, Submission};
use record::{Nanos, OpKind, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The error number of what is not supported.
const EOPNOTSUPP: i32 = 95;
const NEVER: Nanos = Nanos(u64::MAX);

#[derive(Clone, Copy, Debug)]
struct Ticket {
    arrived: Nanos,
    job: u32,
    slot: u32,
    write: bool,
}

#[derive(Clone, Debug)]
struct JobState {
    /// Completions that it has not taken yet.
    due: Vec<Completion>,
    /// The moment that it waits for at most; the end of time for none.
    wake: Nanos,
    /// Whether it is among those that have something to do.
    listed: bool,
}

/// One simulated device with its time, shared by the jobs of a trial and kept between trials.
#[derive(Debug)]
pub struct SimHost {
    now: Nanos,
    device: AnyDevice,
    tickets: Slab<Ticket>,
    jobs: Vec<JobState>,
    turn: Vec<u32>,
    /// When jobs wake; one that no longer waits for that moment is passed over.
    wakes: BinaryHeap<Reverse<(Nanos, u32)>>,
    ended: Vec<Ended>,
    counters: DeviceSample,
    /// Time that completed reads and writes spent in progress, as a kernel counts it apart.
    pub progress_ns: [u64; 2],
    busy_since: Nanos,
}

impl SimHost {
    /// A host at time zero; `name` is what the device's counters are called.
    #[must_use]
    pub fn new(device: AnyDevice, name: String) -> Self {
        Self {
            now: Nanos(0),
            device,
            tickets: Slab::default(),
            jobs: Vec::new(),
            turn: Vec::new(),
            wakes: BinaryHeap::new(),
            ended: Vec::new(),
            counters: DeviceSample { device: name, ..Default::default() },
            progress_ns: [0; 2],
            busy_since: Nanos(0),
        }
    }

    /// The virtual time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Begins a trial of `jobs` jobs on the area of a workload; nothing is in flight from the one
    /// before.
    pub fn admit(&mut self, jobs: u32, workload: &Workload) {
        debug_assert!(self.in_flight() == 0, "a trial drains before it ends");
        let job = JobState { due: Vec::new(), wake: NEVER, listed: false };
        self.jobs = vec![job; jobs as usize];
        self.turn.clear();
        self.wakes.clear();
        self.device.begin(&Conditions {
            cache: workload.cache,
            offset_bytes: workload.offset_bytes.0,
            working_bytes: workload.size_bytes.0,
        });
    }

    /// Takes a request of a job now.
    #[inline]
    pub(crate) fn arrive(&mut self, job: u32, submission: &Submission) {
        if self.in_flight() == 0 {
            self.busy_since = self.now;
        }
        let request = &submission.request;
        let write = request.op == OpKind::Write;
        let ticket = Ticket { arrived: self.now, job, slot: submission.slot, write };
        let token = self.tickets.insert(ticket);
        let (op, offset, bytes) = (request.op, request.offset, request.bytes);
        self.device.arrive(self.now, &Arrival { token, op, offset, bytes });
    }

    /// Ends a flush, which no simulated device knows.
    pub(crate) fn refuse(&mut self, job: u32, slot: u32) {
        self.jobs[job as usize].due.push(Completion { slot, outcome: -EOPNOTSUPP });
        self.list(job);
    }

    /// Takes the due completions of a job, at most `max`.
    #[inline]
    pub(crate) fn collect(&mut self, job: u32, max: u32, done: &mut Vec<Completion>) {
        let due = &mut self.jobs[job as usize].due;
        if due.len() <= max as usize {
            done.append(due);
        } else {
            done.extend(due.drain(..max as usize));
        }
    }

    /// A job waits until `deadline` at most, or for completions alone.
    #[inline]
    pub(crate) fn wake_at(&mut self, job: u32, deadline: Option<Nanos>) {
        let wake = deadline.unwrap_or(NEVER);
        let state = &mut self.jobs[job as usize];
        if state.wake == wake {
            return;
        }
        state.wake = wake;
        if wake != NEVER {
            self.wakes.push(Reverse((wake, job)));
        }
    }

    /// Takes the jobs that have something to do, in order of their index.
    #[inline]
    pub fn take_turn(&mut self, jobs: &mut Vec<u32>) {
        jobs.clear();
        jobs.append(&mut self.turn);
        if jobs.len() > 1 {
            jobs.sort_unstable();
        }
        for &job in &*jobs {
            self.jobs[job as usize].listed = false;
        }
    }

    /// When the first job wakes that still waits for that.
    #[inline]
    fn next_wake(&mut self) -> Nanos {
        while let Some(&Reverse((at, job))) = self.wakes.peek() {
            if self.jobs[job as usize].wake == at {
                return at;
            }
            self.wakes.pop();
        }
        NEVER
    }

    /// Lets time pass up to `limit` at most, until some job has something to do; `false` if nothing
    /// will ever come up.
    #[inline]
    #[must_use]
    pub fn proceed(&mut self, limit: Nanos) -> bool {
        let wake = self.next_wake();
        let until = wake.min(limit);
        self.now = self.device.advance_to_end(self.now, until, &mut self.ended);
        if self.ended.is_empty() {
            if wake > limit {
                if wake == NEVER && self.device.next_event().is_none() {
                    return false;
                }
                self.now = self.now.max(limit);
                return true;
            }
            if wake == NEVER {
                return false;
            }
            self.now = self.now.max(wake);
        }
        self.take_ended();
        if wake <= self.now {
            self.wake_until(self.now);
        }
        true
    }

    /// Lets time pass until `time`, whatever comes up on the way.
    #[inline]
    pub fn advance(&mut self, time: Nanos) {
        debug_assert!(time >= self.now, "virtual time does not go back");
        let wake = self.next_wake();
        self.device.advance(time, &mut self.ended);
        self.take_ended();
        self.now = time;
        if wake <= time {
            self.wake_until(time);
        }
    }

    #[inline]
    fn take_ended(&mut self) {
        for index in 0..self.ended.len() {
            self.complete(self.ended[index]);
        }
        self.ended.clear();
    }

    fn wake_until(&mut self, time: Nanos) {
        while let Some(&Reverse((at, job))) = self.wakes.peek() {
            if at > time {
                return;
            }
            self.wakes.pop();
            let state = &mut self.jobs[job as usize];
            if state.wake == at {
                state.wake = NEVER;
                self.list(job);
            }
        }
    }

    #[inline]
    fn list(&mut self, job: u32) {
        let state = &mut self.jobs[job as usize];
        if !state.listed {
            state.listed = true;
            self.turn.push(job);
        }
    }

    #[inline]
    fn complete(&mut self, ended: Ended) {
        let Ticket { arrived, job, slot, write } = self.tickets.take(ended.token);
        debug_assert!(ended.at > arrived, "a request takes time");
        let index = usize::from(write);
        if ended.outcome > 0 {
            self.counters.bytes[index] += ended.outcome as u64;
        }
        self.counters.ios[index] += 1;
        self.progress_ns[index] += ended.at.since(arrived).0;
        if self.in_flight() == 0 {
            self.counters.busy_ns += ended.at.since(self.busy_since).0;
        }
        self.jobs[job as usize].due.push(Completion { slot, outcome: ended.outcome });
        self.list(job);
    }

    /// The counters as a kernel would show them now. The weighted time holds the requests that
    /// have completed, as Linux counts it.
    #[must_use]
    pub fn counters(&self) -> DeviceSample {
        let mut counters = self.counters.clone();
        counters.weighted_ns = self.progress_ns[0] + self.progress_ns[1];
        if self.in_flight() > 0 {
            counters.busy_ns += self.now.since(self.busy_since).0;
        }
        counters
    }

    /// Requests in progress now.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.tickets.in_use() as u32
    }

    /// How the rebuild of the device's failed disk stands, where one was asked for.
    #[must_use]
    pub fn rebuild(&self) -> Option<Rebuilding> {
        self.device.rebuild()
    }

    /// Busy time so far of the device's components.
    #[must_use]
    pub fn components(&self) -> Vec<ComponentSample> {
        self.device.uses()
    }
}
