//! Virtual time, the events to come, and the counters of the simulated device.

use crate::QueueDevice;
use engine::{Completion, DeviceSample, Submission};
use record::{Nanos, OpKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A moment that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

/// A completion to come. Ordered by time, then by order of arrival, which makes ties
/// deterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Nanos,
    sequence: u64,
    job: u32,
    slot: u32,
    outcome: i32,
    write: bool,
    arrived: Nanos,
}

/// One simulated device with its time, shared by the jobs of a trial and kept between trials.
#[derive(Debug)]
pub struct Room {
    now: Nanos,
    device: QueueDevice,
    events: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    /// Completions that are due, per job.
    due: Vec<VecDeque<Completion>>,
    /// The moment that each job waits for at most; the end of time for none.
    wakes: Vec<Nanos>,
    counters: DeviceSample,
    busy_since: Nanos,
}

impl Room {
    /// A room at time zero.
    #[must_use]
    pub fn new(device: QueueDevice) -> Self {
        let counters =
            DeviceSample { device: format!("sim:{}", device.spec().text), ..Default::default() };
        Self {
            now: Nanos(0),
            device,
            events: BinaryHeap::new(),
            sequence: 0,
            due: Vec::new(),
            wakes: Vec::new(),
            counters,
            busy_since: Nanos(0),
        }
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Makes room for `jobs` jobs of a trial; nothing is in flight from the one before.
    pub fn admit(&mut self, jobs: u32) {
        debug_assert!(self.events.is_empty(), "a trial drains before it ends");
        self.due = vec![VecDeque::new(); jobs as usize];
        self.wakes = vec![NEVER; jobs as usize];
    }

    /// Takes a request of a job now.
    pub(crate) fn arrive(&mut self, job: u32, submission: &Submission) {
        if self.events.is_empty() {
            self.busy_since = self.now;
        }
        let (at, outcome) = self.device.arrive(self.now, &submission.request);
        self.sequence += 1;
        self.events.push(Reverse(Event {
            at,
            sequence: self.sequence,
            job,
            slot: submission.slot,
            outcome,
            write: submission.request.op == OpKind::Write,
            arrived: self.now,
        }));
    }

    /// Takes the due completions of a job, at most `max`.
    pub(crate) fn collect(&mut self, job: u32, max: u32, done: &mut Vec<Completion>) {
        let due = &mut self.due[job as usize];
        let count = due.len().min(max as usize);
        done.extend(due.drain(..count));
    }

    /// A job waits until `deadline` at most, or for completions alone.
    pub(crate) fn wake_at(&mut self, job: u32, deadline: Option<Nanos>) {
        self.wakes[job as usize] = deadline.unwrap_or(NEVER);
    }

    /// When the next request completes, or a job has waited long enough; a deadline that has
    /// passed is no event.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        let completion = self.events.peek().map_or(NEVER, |Reverse(event)| event.at);
        let wake = self.wakes.iter().copied().filter(|&at| at > self.now).min();
        Some(wake.map_or(completion, |at| at.min(completion))).filter(|&at| at != NEVER)
    }

    /// Lets time pass until `time`; completions on the way become due.
    pub fn advance(&mut self, time: Nanos) {
        debug_assert!(time >= self.now, "virtual time does not go back");
        while let Some(&Reverse(event)) = self.events.peek() {
            if event.at > time {
                break;
            }
            self.events.pop();
            self.now = event.at;
            self.complete(event);
        }
        self.now = time;
    }

    fn complete(&mut self, event: Event) {
        let index = usize::from(event.write);
        if event.outcome > 0 {
            self.counters.bytes[index] += event.outcome as u64;
        }
        self.counters.ios[index] += 1;
        self.counters.weighted_ns += event.at.since(event.arrived).0;
        if self.events.is_empty() {
            self.counters.busy_ns += event.at.since(self.busy_since).0;
        }
        let completion = Completion { slot: event.slot, outcome: event.outcome };
        self.due[event.job as usize].push_back(completion);
    }

    /// The counters as a kernel would show them now. The weighted time holds the requests that
    /// have completed, as Linux counts it.
    #[must_use]
    pub fn counters(&self) -> DeviceSample {
        let mut counters = self.counters.clone();
        if !self.events.is_empty() {
            counters.busy_ns += self.now.since(self.busy_since).0;
        }
        counters
    }
}
