//! The arrivals of an open loop and the think time of slots: what a paced job waits for.
//!
//! A second copy of the request stream, drawn up to the present moment, counts the arrivals that wait
//! while all slots are in use. Rejected: a queue of the waiting requests (it grows without bound on an
//! overloaded device), and a thread that makes arrivals (the hand-over costs more than most requests).

use crate::{KINDS, OpenTotals, Window};
use record::{Nanos, OpKind, Workload};
use std::collections::VecDeque;
use workload::{Request, RequestStream};

/// Descriptors drawn from the stream at a time.
pub(crate) const BATCH: usize = 256;
/// A request that asks for nothing, to fill memory with.
pub(crate) const NO_REQUEST: Request = Request { offset: 0, bytes: 0, op: OpKind::Read };

/// Requests with their arrivals, drawn in batches.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: RequestStream,
    requests: Vec<Request>,
    times: Vec<Nanos>,
    next: usize,
    /// When the job's run began.
    origin: Nanos,
}

impl Timed {
    fn new(stream: &RequestStream, origin: Nanos) -> Self {
        Self {
            stream: stream.clone(),
            requests: vec![NO_REQUEST; BATCH],
            times: vec![Nanos(0); BATCH],
            next: BATCH,
            origin,
        }
    }

    /// The next request and its intended arrival; `None` after the last, where there is one.
    pub(crate) fn peek(&mut self) -> Option<(Request, Nanos)> {
        if self.next == self.requests.len() {
            let count = self.stream.fill_timed(&mut self.requests, &mut self.times);
            self.requests.truncate(count);
            self.times.truncate(count);
            self.next = 0;
        }
        let request = self.requests.get(self.next)?;
        Some((*request, self.origin.plus(self.times[self.next])))
    }

    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }
}

/// The arrivals of an open loop.
#[derive(Debug)]
pub(crate) struct Arrivals {
    pub(crate) due: Timed,
    /// Handed over since the run began.
    taken: u64,
    /// The same stream, up to the present, and how many it has seen.
    seen: Timed,
    arrived: u64,
    /// Arrivals by direction since counting began.
    offered: [u64; KINDS],
    /// Since when there has been a free slot all the time; `None` while there is none.
    pub(crate) free_since: Option<Nanos>,
    pub(crate) spin: Nanos,
    /// Time polled away since the last boundary.
    pub(crate) spin_ns: u64,
    pub(crate) polling_since: Option<Nanos>,
    pub(crate) counting: bool,
    pub(crate) totals: OpenTotals,
}

impl Arrivals {
    /// `spin`: how long before an arrival the job polls.
    pub(crate) fn new(
        stream: &RequestStream,
        workload: &Workload,
        window: Window,
        spin: Nanos,
    ) -> Self {
        let origin = Nanos(window.begin.0.saturating_sub(workload.ramp_ns.0));
        Self {
            due: Timed::new(stream, origin),
            taken: 0,
            seen: Timed::new(stream, origin),
            arrived: 0,
            offered: [0; KINDS],
            free_since: Some(Nanos(0)),
            spin,
            spin_ns: 0,
            polling_since: None,
            counting: false,
            totals: OpenTotals::default(),
        }
    }

    /// Draws the copy up to `now`.
    fn see(&mut self, now: Nanos) {
        while let Some((request, at)) = self.seen.peek() {
            if at >= now {
                return;
            }
            self.seen.advance();
            self.arrived += 1;
            self.offered[request.op as usize] += 1;
        }
    }

    /// From here on arrivals count.
    pub(crate) fn begin_counting(&mut self, begin: Nanos) {
        self.see(begin);
        self.offered = [0; KINDS];
        self.counting = true;
    }

    /// Counts what waits, all slots being in use.
    pub(crate) fn look_at_backlog(&mut self, now: Nanos) {
        self.see(now);
        let waiting = self.arrived.saturating_sub(self.taken);
        if self.counting {
            self.totals.backlog_max = self.totals.backlog_max.max(waiting);
        }
    }

    /// A request with this arrival was handed over at `start`.
    pub(crate) fn handed_over(&mut self, arrived: Nanos, start: Nanos) {
        self.taken += 1;
        if !self.counting {
            return;
        }
        let late = start.since(arrived).0;
        self.totals.late.record(late);
        self.totals.late_times.add(late);
        if self.free_since.is_some_and(|since| since <= arrived) {
            self.totals.pacer_late.add(late);
        }
    }

    /// What it came to when counting ended at `end`.
    pub(crate) fn finish(mut self, end: Nanos) -> OpenTotals {
        if self.counting {
            self.see(end);
            self.totals.offered = self.offered;
            self.totals.backlog_end = self.arrived.saturating_sub(self.taken);
            self.totals.backlog_max = self.totals.backlog_max.max(self.totals.backlog_end);
        }
        self.totals
    }
}

/// Slots that think before their next request.
#[derive(Debug)]
pub(crate) struct Think {
    pub(crate) time: Nanos,
    /// When each goes on, soonest first: all think equally long.
    pub(crate) slots: VecDeque<(Nanos, u32)>,
}

impl Think {
    pub(crate) fn new(workload: &Workload, depth: u32) -> Self {
        Self { time: workload.think_ns, slots: VecDeque::with_capacity(depth as usize) }
    }
}
