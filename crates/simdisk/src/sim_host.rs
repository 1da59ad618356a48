//! Holds the virtual time, the requests in flight, and the counters of the simulated device.
//!
//! The host gives each request a token, advances time from event to event, passes completions to the jobs
//! that wait for them, and knows which jobs have something to do. The driver steps only those, so that the
//! cost of an event does not grow with the number of jobs.

use crate::any_device::AnyDevice;
use crate::device::{Arrival, Conditions, Device, Ended, Rebuilding};
use crate::slab::Slab;
use engine::{Completion, ComponentSample, DeviceSample, Submission};
use record::{Nanos, OpKind, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The error number of an unsupported operation.
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
    /// Completions that the job has not taken yet.
    due: Vec<Completion>,
    /// The latest time until which it waits; the maximum time if it waits for completions alone.
    wake: Nanos,
    /// Whether it is listed as having something to do.
    listed: bool,
}

/// One simulated device with its time. The jobs of a trial share it, and it persists between trials.
#[derive(Debug)]
pub struct SimHost {
    now: Nanos,
    device: AnyDevice,
    tickets: Slab<Ticket>,
    jobs: Vec<JobState>,
    turn: Vec<u32>,
    /// Wake-up times of jobs; outdated entries are skipped.
    wakes: BinaryHeap<Reverse<(Nanos, u32)>>,
    ended: Vec<Ended>,
    counters: DeviceSample,
    /// Time that completed reads and writes were in flight, separately as a kernel counts it.
    pub progress_ns: [u64; 2],
    busy_since: Nanos,
}

impl SimHost {
    /// A host at time zero; `name` is the device name in the counters.
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

    /// Begins a trial of `jobs` jobs on the area of a workload; nothing of the previous trial is in flight.
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

    /// Accepts a request of a job at the current time.
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

    /// Rejects a flush, which no simulated device supports.
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

    /// Makes a job wait until `deadline` at most, or for completions alone.
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

    /// The next wake-up time that a job still waits for.
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

    /// Advances time up to `limit`, until a job has something to do; returns `false` if no event is left.
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

    /// Advances time to `time`, whatever happens on the way.
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

    /// The counters as a kernel would report them. The weighted time covers completed requests, as on
    /// Linux.
    #[must_use]
    pub fn counters(&self) -> DeviceSample {
        let mut counters = self.counters.clone();
        counters.weighted_ns = self.progress_ns[0] + self.progress_ns[1];
        if self.in_flight() > 0 {
            counters.busy_ns += self.now.since(self.busy_since).0;
        }
        counters
    }

    /// Requests in flight now.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.tickets.in_use() as u32
    }

    /// The progress of rebuilding a failed disk, if requested.
    #[must_use]
    pub fn rebuild(&self) -> Option<Rebuilding> {
        self.device.rebuild()
    }

    /// Busy time of the device's components so far.
    #[must_use]
    pub fn components(&self) -> Vec<ComponentSample> {
        self.device.uses()
    }
}
