//! Tracks when a paced job may send its next request: open-loop arrivals, and think time of slots.
//!
//! While all slots are in use, arrivals keep coming. A second copy of the request stream, drawn up to the
//! present moment, counts them. Rejected: a queue of the waiting requests (it grows without bound on an
//! overloaded device), and a thread that generates arrivals (the hand-over costs more than most requests).

use crate::{KINDS, OpenTotals, Window};
use record::{Nanos, OpKind, Workload};
use std::collections::VecDeque;
use workload::{Request, RequestStream};

pub(crate) const BATCH: usize = 256;
/// A placeholder that initializes memory for requests.
pub(crate) const NO_REQUEST: Request = Request { offset: 0, bytes: 0, op: OpKind::Read };

/// Requests with their arrival times, drawn in batches.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: RequestStream,
    requests: Vec<Request>,
    times: Vec<Nanos>,
    next: usize,
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

    /// The next request and its intended arrival; `None` after the last one of a finite stream.
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

#[derive(Debug)]
pub(crate) struct Arrivals {
    pub(crate) due: Timed,
    /// Requests handed over since the run began.
    taken: u64,
    /// A copy of the stream, drawn up to the present, and the number of arrivals drawn from it.
    seen: Timed,
    arrived: u64,
    /// Arrivals by direction since counting began.
    offered: [u64; KINDS],
    /// Since when at least one slot has been free without interruption; `None` while all are in use.
    pub(crate) free_since: Option<Nanos>,
    pub(crate) spin: Nanos,
    /// Time spent polling since the last boundary.
    pub(crate) spin_ns: u64,
    pub(crate) polling_since: Option<Nanos>,
    pub(crate) counting: bool,
    pub(crate) totals: OpenTotals,
}

impl Arrivals {
    /// `spin`: how long before an arrival the job starts to poll.
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

    pub(crate) fn begin_counting(&mut self, begin: Nanos) {
        self.see(begin);
        self.offered = [0; KINDS];
        self.counting = true;
    }

    /// Updates the backlog while all slots are in use.
    pub(crate) fn look_at_backlog(&mut self, now: Nanos) {
        self.see(now);
        let waiting = self.arrived.saturating_sub(self.taken);
        if self.counting {
            self.totals.backlog_max = self.totals.backlog_max.max(waiting);
        }
    }

    /// Records that the request with this arrival was handed over at `start`.
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

    /// The totals when counting ended at `end`.
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

/// Slots that wait for their think time before the next request.
#[derive(Debug)]
pub(crate) struct Think {
    pub(crate) time: Nanos,
    /// When each slot continues, soonest first: all think for the same time.
    pub(crate) slots: VecDeque<(Nanos, u32)>,
}

impl Think {
    pub(crate) fn new(workload: &Workload, depth: u32) -> Self {
        Self { time: workload.think_ns, slots: VecDeque::with_capacity(depth as usize) }
    }
}
