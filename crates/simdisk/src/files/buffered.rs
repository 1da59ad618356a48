//! Serves requests through the page cache: hits, missing pages, read-ahead, and writes in memory.
//!
//! When a sequential reader misses pages, the rest of their frame is read too. When it enters a frame, the
//! next frame is requested. This is the 64 KiB pipeline of NT and the asynchronous window of Linux. On NT
//! the transfers of the cache form one queue per volume. A write of part of a page that is not in memory
//! reads the page first (Riedel 1997, section 2), unless it is beyond the data written so far. On NT a
//! random write of part of a frame reads the frame.

use super::spec::PAGE_BYTES;
use super::{CacheMode, FileAction, FileLayer, FileState, Purpose};
use record::{Nanos, OpKind};

#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    number: u64,
    pages: u32,
    kind: FillKind,
}

/// Why pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FillKind {
    /// A request needs them.
    Asked,
    Ahead,
    /// A write covers a part of them.
    Merge,
}

impl Fill {
    /// Whether GetProcessTimes charges the transfer to the process. It does not charge the read before a
    /// write of part of a page: a buffered write of 2 KB costs little more than one of a page (Riedel 1997,
    /// figure 2).
    pub(super) fn charged(&self) -> bool {
        self.kind != FillKind::Merge
    }
}

/// A request that waits for pages of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    request: u32,
    pages: u32,
}

/// The lowest run of set bits: first and length.
pub(super) fn first_run(pages: u32) -> Option<(u32, u32)> {
    let first = pages.trailing_zeros();
    (pages != 0).then(|| (first, (pages >> first).trailing_ones()))
}

/// A mask of `length` bits starting at bit `first`.
pub(super) fn run(first: u32, length: u32) -> u32 {
    let bits = if length >= u32::BITS { u32::MAX } else { (1 << length) - 1 };
    bits << first
}

impl FileLayer {
    /// All pages of a frame that are inside the file.
    fn frame_pages(&self, number: u64) -> u32 {
        let base = number * self.rules.frame_bytes;
        let bytes = self.end.saturating_sub(base).min(self.rules.frame_bytes);
        run(0, bytes.div_ceil(PAGE_BYTES) as u32)
    }

    /// The pages of frame `number` that `offset..end` touches; with `whole`, those fully covered.
    fn pages(&self, number: u64, offset: u64, end: u64, whole: bool) -> u32 {
        let base = number * self.rules.frame_bytes;
        let low = offset.max(base) - base;
        let high = end.min(base + self.rules.frame_bytes) - base;
        let (first, last) = if whole {
            (low.div_ceil(PAGE_BYTES), high / PAGE_BYTES)
        } else {
            (low / PAGE_BYTES, high.div_ceil(PAGE_BYTES))
        };
        if first < last { run(first as u32, (last - first) as u32) } else { 0 }
    }

    fn frames_of(&self, offset: u64, end: u64) -> std::ops::RangeInclusive<u64> {
        offset / self.rules.frame_bytes..=(end - 1) / self.rules.frame_bytes
    }

    pub(super) fn read_cached(&mut self, request: u32, out: &mut Vec<FileAction>) {
        let state = self.requests[request];
        let (offset, bytes, end) = (state.offset, state.bytes, state.end());
        let stream = self.reads.visit(self.begin, offset, bytes);
        let mut overtaking = stream
            .filter(|_| self.rules.ahead_overtakes && u64::from(bytes) > self.rules.frame_bytes);
        for number in self.frames_of(offset, end) {
            let pages = self.pages(number, offset, end, false);
            let rest = u32::MAX << pages.trailing_zeros();
            let also = if stream.is_some() { rest & self.frame_pages(number) } else { 0 };
            self.need(request, number, pages, also);
            if let Some(stream) = overtaking.take() {
                self.read_ahead(stream, end);
            }
        }
        if let Some(stream) = stream {
            self.read_ahead(stream, end);
        }
        self.fill(out);
        if self.requests[request].missing == 0 {
            self.copy_out(request, out);
        }
    }

    /// Requests the frame after the one that a sequential reader is in.
    fn read_ahead(&mut self, stream: usize, end: u64) {
        let next = (end - 1) / self.rules.frame_bytes + 1;
        let asked = &mut self.reads.streams[stream].ahead;
        if *asked >= next || (self.rules.nt && self.ahead_in_flight > 0) {
            return;
        }
        *asked = next;
        if next * self.rules.frame_bytes < self.end {
            self.want_pages(next, self.frame_pages(next), FillKind::Ahead);
        }
    }

    /// Makes a request wait for its missing pages, and requests these and `also`.
    fn need(&mut self, request: u32, number: u64, pages: u32, also: u32) {
        let slot = self.cache.frame(number);
        let missing = pages & !self.cache.frames[slot].valid;
        if missing == 0 {
            self.cache.settle(slot);
            return;
        }
        self.cache.frames[slot].waited_for = true;
        self.waiters.entry(number).or_default().push(Waiter { request, pages: missing });
        self.requests[request].missing += 1;
        let merge = self.requests[request].op == OpKind::Write;
        let kind = if merge { FillKind::Merge } else { FillKind::Asked };
        self.want_pages(number, missing | also, kind);
    }

    /// Requests pages that are neither present nor already requested.
    fn want_pages(&mut self, number: u64, pages: u32, kind: FillKind) {
        let slot = self.cache.frame(number);
        let frame = self.cache.frames[slot];
        let mut lacking = pages & !frame.valid & !frame.pending;
        self.cache.expect(slot, lacking);
        while let Some((first, length)) = first_run(lacking) {
            let pages = run(first, length);
            self.fills.push_back(Fill { number, pages, kind });
            self.ahead_in_flight += u32::from(kind == FillKind::Ahead);
            lacking &= !pages;
        }
    }

    /// Sends reads, up to the limit of reads in flight.
    fn fill(&mut self, out: &mut Vec<FileAction>) {
        while self.fills_in_flight < self.rules.reads_at_once {
            let Some(fill) = self.fills.pop_front() else { return };
            let Some((first, length)) = first_run(fill.pages) else { continue };
            self.fills_in_flight += 1;
            let offset = fill.number * self.rules.frame_bytes + u64::from(first) * PAGE_BYTES;
            let bytes = u64::from(length) * PAGE_BYTES;
            self.send(Purpose::Fill(fill), (OpKind::Read, offset, bytes), out);
        }
    }

    /// Records that pages were read, or could not be.
    pub(super) fn filled(
        &mut self,
        now: Nanos,
        fill: Fill,
        outcome: i32,
        out: &mut Vec<FileAction>,
    ) {
        let Fill { number, pages, kind } = fill;
        self.fills_in_flight -= 1;
        self.ahead_in_flight -= u32::from(kind == FillKind::Ahead);
        let slot = self.cache.frame(number);
        self.cache.frames[slot].waited_for = self.wake(number, pages, outcome);
        self.cache.arrive(slot, pages, outcome >= 0);
        // The next transfer starts before the copies, because the disk is slower than memory.
        self.fill(out);
        let mut ready = std::mem::take(&mut self.ready);
        for request in ready.drain(..) {
            match self.requests[request].op {
                OpKind::Read => self.copy_out(request, out),
                OpKind::Write => self.copy_in(now, request, out),
            }
        }
        self.ready = ready;
    }

    /// Removes requests that need no more pages of a frame; returns whether others still wait for it.
    fn wake(&mut self, number: u64, pages: u32, outcome: i32) -> bool {
        let Some(line) = self.waiters.get_mut(&number) else { return false };
        line.retain_mut(|waiter| {
            let state = &mut self.requests[waiter.request];
            if waiter.pages & pages != 0 && outcome < 0 {
                state.error = outcome;
            }
            waiter.pages &= !pages;
            if waiter.pages == 0 {
                state.missing -= 1;
                if state.missing == 0 {
                    self.ready.push(waiter.request);
                }
            }
            waiter.pages != 0
        });
        let waited_for = !line.is_empty();
        if !waited_for {
            self.waiters.remove(&number);
        }
        waited_for
    }

    fn copy_out(&mut self, request: u32, out: &mut Vec<FileAction>) {
        let bytes = self.requests[request].bytes;
        out.push(FileAction::Compute(self.spec.costs.buffered_read.ns(bytes)));
        self.end_request(request, out);
    }

    /// A write through the cache: requests the pages that must be present first.
    pub(super) fn write_cached(&mut self, now: Nanos, request: u32, out: &mut Vec<FileAction>) {
        let state = self.requests[request];
        let (offset, bytes, end) = (state.offset, state.bytes, state.end());
        let sequential = self.writes.visit(self.begin, offset, bytes).is_some();
        self.start_over(offset);
        // Data beyond the last byte written are known to be zero.
        let fresh = self.spec.state != FileState::Written && offset >= self.valid_end;
        self.valid_end = self.valid_end.max(end);
        for number in self.frames_of(offset, end) {
            let covered = self.pages(number, offset, end, true);
            let touched = self.pages(number, offset, end, false);
            let wanted = if fresh {
                0
            } else if self.rules.nt && !sequential {
                self.frame_pages(number) & !covered
            } else {
                touched & !covered
            };
            self.need(request, number, wanted, 0);
        }
        self.fill(out);
        if self.requests[request].missing == 0 {
            self.copy_in(now, request, out);
        }
    }

    /// Copies into the cache, when all required pages are present.
    fn copy_in(&mut self, now: Nanos, request: u32, out: &mut Vec<FileAction>) {
        let bytes = self.requests[request].bytes;
        if self.requests[request].error < 0 {
            self.end_request(request, out);
            self.next_in_line(now, out);
        } else if self.mode == CacheMode::Fs {
            self.mark(request, false);
            out.push(FileAction::Compute(self.spec.costs.buffered_write.ns(bytes)));
            self.transfer(request, false, out);
        } else {
            self.admit(now, request, out);
        }
    }

    /// Marks the pages of a write as present, and as dirty if the medium does not have them.
    pub(super) fn mark(&mut self, request: u32, dirty: bool) {
        let (offset, end) = (self.requests[request].offset, self.requests[request].end());
        for number in self.frames_of(offset, end) {
            let slot = self.cache.frame(number);
            let pages = self.pages(number, offset, end, false);
            let newly = self.cache.write(slot, pages, dirty);
            self.dirty_bytes += u64::from(newly.count_ones()) * PAGE_BYTES;
        }
    }
}
