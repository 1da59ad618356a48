//! Simulates the file system between the application and the volume, as a state machine.
//!
//! The inputs are requests, completed blocks and time. The outputs are [`FileAction`]s, which the caller
//! carries out in order. So the layer can be tested against a trivial disk, and the same layer serves every
//! machine. It models, after Riedel 1997 (sections 2, 3, 5.4) and Chung 2000 (4.4, 5, 7.1, 7.2): requests
//! past the cache, split at the largest transfer; read-ahead and write-back in whole frames, one transfer
//! at a time on NT; the read of a page before a part of it is written; writers that wait when too much is
//! dirty; extension of a file, one request at a time, with zeroing. A trial begins with an empty cache, as
//! in the papers.
//!
//! Rejected: mixing cached and uncached use of one file (no trial does), and the file system's own records
//! on disk (neither paper describes them well enough to count their writes).

mod buffered;
mod page_cache;
mod spec;
mod streams;
mod write_back;

pub use spec::{CallCost, CallCosts, FileSpec, FileState, FileSystem};

use crate::device::{Arrival, Conditions};
use crate::slab::{NumberMap, Slab};
use buffered::{Fill, Waiter};
use page_cache::PageCache;
use record::{CacheMode, Nanos, OpKind};
use spec::Rules;
use std::collections::VecDeque;
use streams::Streams;
use write_back::Pass;

/// An action that the file layer requests from the machine, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// A transfer; when it ends, the machine passes its tag to [`FileLayer::block_done`]. Adjacent
    /// transfers in the list start together.
    Block {
        /// Identifies the transfer to the file layer.
        tag: u32,
        /// Read or write.
        op: OpKind,
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u32,
        /// Whether it must be on the medium before it ends.
        forced: bool,
    },
    /// Ends a request of the application.
    End {
        /// The token of its arrival.
        token: u32,
        /// Bytes transferred, or a negated error number.
        outcome: i32,
    },
    /// CPU time in nanoseconds; the following actions wait for it.
    Compute(u64),
    /// CPU time, as [`FileAction::Compute`], that the system charges to no process.
    Unclaimed(u64),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    token: u32,
    op: OpKind,
    offset: u64,
    bytes: u32,
    /// Blocks or frames that it still waits for.
    missing: u32,
    error: i32,
    /// Whether it is the current one of the requests that run one at a time: its end starts the next.
    in_turn: bool,
}

impl Request {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    Data(u32),
    /// Zeroes before a request's data, from `next` up to `until`.
    Zero {
        request: u32,
        next: u64,
        until: u64,
    },
    Fill(Fill),
    /// Write-back of this many dirty pages.
    Back(u32),
    /// A transfer of an earlier trial.
    Orphan,
}

/// A file and its file system.
#[derive(Clone, Debug, Default)]
pub struct FileLayer {
    spec: FileSpec,
    rules: Rules,
    mode: CacheMode,
    /// First byte of the file, and the byte after its last.
    begin: u64,
    end: u64,
    size: u64,
    /// End of the part of the file that has been written or zeroed.
    valid_end: u64,
    requests: Slab<Request>,
    blocks: Slab<Purpose>,
    /// Requests that run one at a time, and whether one of them is running.
    line: VecDeque<u32>,
    line_busy: bool,
    cache: PageCache,
    reads: Streams,
    writes: Streams,
    /// Waiting requests by frame, in order of arrival.
    waiters: NumberMap<Vec<Waiter>>,
    fills: VecDeque<Fill>,
    fills_in_flight: u32,
    /// Read-ahead transfers, in flight or queued, that no request waits for yet.
    ahead_in_flight: u32,
    ready: Vec<u32>,
    pass: Pass,
    /// Writers that wait until fewer pages are dirty.
    deferred: VecDeque<u32>,
    throttled: bool,
    dirty_bytes: u64,
    /// Bytes written into the cache since the last scan of the lazy writer.
    made_dirty_bytes: u64,
    tick: Option<Nanos>,
}

impl FileLayer {
    /// A file that may grow up to `size` bytes, on a volume of that size.
    #[must_use]
    pub fn new(spec: &FileSpec, size: u64) -> Self {
        Self {
            spec: *spec,
            rules: spec.rules(),
            mode: CacheMode::Device,
            end: size,
            size,
            cache: PageCache::new(spec.memory_bytes),
            ..Self::default()
        }
    }

    /// Begins a trial with an empty cache and the file in its first state. Old transfers may be in flight.
    pub fn begin(&mut self, conditions: &Conditions) {
        debug_assert_eq!(self.requests.in_use(), 0, "a trial drains before it ends");
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.iter_mut().for_each(|block| *block = Purpose::Orphan);
        let begin = conditions.offset_bytes;
        let end = self.size.min(begin.saturating_add(conditions.working_bytes));
        let fresh = Self::new(&self.spec, self.size);
        *self = Self { mode: conditions.cache, begin, end, valid_end: begin, blocks, ..fresh };
    }

    /// Accepts a request of the application.
    pub fn arrive(&mut self, now: Nanos, arrival: &Arrival, out: &mut Vec<FileAction>) {
        let request = self.requests.insert(Request {
            token: arrival.token,
            op: arrival.op,
            offset: arrival.offset,
            bytes: arrival.bytes,
            missing: 0,
            error: 0,
            in_turn: false,
        });
        let cached = matches!(self.mode, CacheMode::All | CacheMode::Fs);
        let one_at_a_time = match cached {
            true => self.mode == CacheMode::Fs && self.rules.nt,
            false => self.spec.state != FileState::Written,
        };
        match arrival.op {
            OpKind::Write if one_at_a_time => self.queue_up(now, request, out),
            OpKind::Write if cached => self.write_cached(now, request, out),
            OpKind::Read if cached => self.read_cached(request, out),
            OpKind::Read | OpKind::Write => self.transfer(request, true, out),
        }
    }

    /// Records the end of a transfer, with its bytes or a negated error number.
    pub fn block_done(&mut self, now: Nanos, tag: u32, outcome: i32, out: &mut Vec<FileAction>) {
        match self.blocks.take(tag) {
            Purpose::Orphan => {}
            Purpose::Data(request) => self.data_done(now, request, outcome, out),
            Purpose::Zero { request, next, until } => {
                if outcome < 0 {
                    self.requests[request].error = outcome;
                }
                self.zero(request, next, until, out);
            }
            Purpose::Fill(fill) => self.filled(now, fill, outcome, out),
            Purpose::Back(pages) => self.written_back(now, pages, out),
        }
    }

    /// The time of the lazy writer's next scan.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.tick
    }

    /// Does all work due by `now`.
    pub fn advance(&mut self, now: Nanos, out: &mut Vec<FileAction>) {
        if self.tick.is_some_and(|tick| tick <= now) {
            self.scan(now, out);
        }
    }

    /// A write at the first byte of a file that is being extended starts a new file.
    fn start_over(&mut self, offset: u64) {
        if offset == self.begin {
            self.valid_end = self.begin;
        }
    }

    /// Whether a write up to `end` reaches blocks that were never written.
    fn extends(&self, end: u64) -> bool {
        match self.spec.state {
            FileState::Written => false,
            FileState::Extend => end > self.valid_end,
            FileState::LastFirst => self.rules.nt && end > self.valid_end,
        }
    }

    /// Queues a request among those that run one at a time.
    fn queue_up(&mut self, now: Nanos, request: u32, out: &mut Vec<FileAction>) {
        self.line.push_back(request);
        self.next_in_line(now, out);
    }

    fn next_in_line(&mut self, now: Nanos, out: &mut Vec<FileAction>) {
        while !self.line_busy {
            let Some(request) = self.line.pop_front() else { return };
            let (offset, end) = (self.requests[request].offset, self.requests[request].end());
            if self.mode == CacheMode::Fs {
                self.take_turn(request);
                self.write_cached(now, request, out);
                continue;
            }
            self.start_over(offset);
            if self.extends(end) {
                self.take_turn(request);
                let until = match self.spec.state {
                    _ if !self.rules.nt => self.valid_end,
                    FileState::LastFirst => {
                        end.next_multiple_of(spec::ZERO_STEP_BYTES).min(self.end).max(end)
                    }
                    FileState::Written | FileState::Extend => offset,
                };
                self.zero(request, self.valid_end, until, out);
            } else {
                self.transfer(request, true, out);
            }
        }
    }

    fn take_turn(&mut self, request: u32) {
        self.line_busy = true;
        self.requests[request].in_turn = true;
    }

    /// Writes zeros from `next` up to `until`, one transfer at a time, then the request's data.
    fn zero(&mut self, request: u32, next: u64, until: u64, out: &mut Vec<FileAction>) {
        if next >= until {
            self.valid_end = self.valid_end.max(until);
            self.transfer(request, true, out);
            return;
        }
        let bytes = self.rules.transfer_bytes.min(until - next);
        let purpose = Purpose::Zero { request, next: next + bytes, until };
        self.send(purpose, (OpKind::Write, next, bytes), out);
    }

    /// Sends a transfer that no request asked for: operation, first byte and length.
    fn send(
        &mut self,
        purpose: Purpose,
        (op, offset, bytes): (OpKind, u64, u64),
        out: &mut Vec<FileAction>,
    ) {
        let charged = !matches!(&purpose, Purpose::Fill(fill) if !fill.charged());
        let (tag, bytes) = (self.blocks.insert(purpose), bytes.min(self.size - offset) as u32);
        let forced = self.mode == CacheMode::None;
        let ns = self.spec.costs.background_ns;
        out.push(if charged { FileAction::Compute(ns) } else { FileAction::Unclaimed(ns) });
        out.push(FileAction::Block { tag, op, offset, bytes, forced });
    }

    /// Passes a request's data to the volume, split at the largest transfer. Half of the call's CPU time is
    /// spent before, half at the end. `pay` is off for data whose cost was already counted as a copy.
    fn transfer(&mut self, request: u32, pay: bool, out: &mut Vec<FileAction>) {
        let Request { op, mut offset, bytes, .. } = self.requests[request];
        let largest = self.rules.transfer_bytes;
        let mut end = offset + u64::from(bytes);
        let mut forced = self.mode == CacheMode::None;
        if self.mode == CacheMode::Fs {
            forced = true;
            if !self.rules.nt {
                offset = offset / spec::PAGE_BYTES * spec::PAGE_BYTES;
                end = end.next_multiple_of(spec::PAGE_BYTES).min(self.size.max(end));
            }
        }
        let transfers = (end - offset).div_ceil(largest);
        if pay {
            let cost = self.call_cost(request);
            let extra = self.spec.costs.extra_transfer_ns * (transfers - 1);
            out.push(FileAction::Compute(cost - cost / 2 + extra));
        }
        self.requests[request].missing = transfers as u32;
        while offset < end {
            let bytes = largest.min(end - offset);
            let tag = self.blocks.insert(Purpose::Data(request));
            out.push(FileAction::Block { tag, op, offset, bytes: bytes as u32, forced });
            offset += bytes;
        }
    }

    fn call_cost(&mut self, request: u32) -> u64 {
        let Request { op, bytes, .. } = self.requests[request];
        match op {
            OpKind::Read => self.spec.costs.direct_read.ns(bytes),
            OpKind::Write => self.spec.costs.direct_write.ns(bytes),
        }
    }

    fn data_done(&mut self, now: Nanos, request: u32, outcome: i32, out: &mut Vec<FileAction>) {
        let state = &mut self.requests[request];
        if outcome < 0 && state.error == 0 {
            state.error = outcome;
        }
        state.missing -= 1;
        if state.missing > 0 {
            return;
        }
        if state.in_turn {
            let end = state.end();
            self.valid_end = self.valid_end.max(end);
        }
        if self.mode != CacheMode::Fs {
            let ns = self.call_cost(request) / 2;
            out.push(FileAction::Compute(ns));
        }
        self.end_request(request, out);
        self.next_in_line(now, out);
    }

    /// Ends a request, and starts the next one in the queue.
    fn end_request(&mut self, request: u32, out: &mut Vec<FileAction>) {
        let Request { token, bytes, error, in_turn, .. } = self.requests.take(request);
        let outcome = if error < 0 { error } else { bytes as i32 };
        out.push(FileAction::End { token, outcome });
        if in_turn {
            self.line_busy = false;
        }
    }
}
