//! Simulates the lazy writer: when dirty pages go to the medium, in which order, and which writers wait.
//!
//! At a limit, writers wait until a pass of the lazy writer has written its share. On NT that is an eighth
//! of the dirty pages, in transfers of up to 64 KiB, one at a time (Riedel 1997, section 2). Then writers
//! copy until the limit is reached again. On Linux a writer continues as soon as the dirty data is below
//! the limit, and write-back begins at half of it.
//!
//! On NT 4 a scan every second also writes an eighth of the dirty pages. If more has become dirty since the
//! last scan and no writer waits, it writes that much (Solomon 1998, quoted from memory). So a slow writer
//! never waits for the limit, and the arm moves between two places. Windows 2000 does not show that (Chung
//! 2000, section 7.2: writes of 2 KiB at half the media rate, so in long turns), and Linux need not: there
//! a pass begins a period after the last one. A pass takes dirty frames by rising address from where the
//! last one ended.

use super::buffered::{first_run, run};
use super::spec::PAGE_BYTES;
use super::{FileAction, FileLayer, Purpose};
use record::{Nanos, OpKind};

/// Minimum bytes of a pass: with only an eighth of the rest, write-back would never end.
const LEAST_PASS_BYTES: u64 = 256 << 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
    /// Dirty frames when it began, in write order.
    numbers: Vec<u64>,
    at: usize,
    /// Bytes left to write.
    left_bytes: u64,
    in_flight: u32,
    /// Transfers sent, over all passes.
    sent: usize,
    /// The frame where the next pass begins.
    sweep: u64,
}

impl Pass {
    fn active(&self) -> bool {
        self.in_flight > 0 || self.left_bytes > 0
    }
}

impl FileLayer {
    /// Accepts a write into memory, or makes it wait for the lazy writer.
    pub(super) fn admit(&mut self, now: Nanos, request: u32, out: &mut Vec<FileAction>) {
        if self.throttled || self.is_full(request) {
            self.throttled = true;
            // While writers wait, data is written as fast as it becomes dirty anyway.
            self.made_dirty_bytes = 0;
            self.deferred.push_back(request);
            self.begin_pass(now, 0, out);
        } else {
            self.accept(now, request, out);
        }
    }

    /// Whether a write would exceed the limit.
    fn is_full(&self, request: u32) -> bool {
        let bytes = u64::from(self.requests[request].bytes);
        self.dirty_bytes > 0 && self.dirty_bytes + bytes > self.rules.dirty_limit
    }

    fn accept(&mut self, now: Nanos, request: u32, out: &mut Vec<FileAction>) {
        let bytes = self.requests[request].bytes;
        self.mark(request, true);
        self.made_dirty_bytes += u64::from(bytes);
        out.push(FileAction::Compute(self.spec.costs.buffered_write.ns(bytes)));
        self.end_request(request, out);
        let rests = self.rules.scans_on || !self.pass.active();
        if self.dirty_bytes > self.rules.dirty_background {
            self.begin_pass(now, 0, out);
        } else if self.tick.is_none() && rests {
            self.tick = Some(Nanos(now.0 + self.rules.period_ns));
        }
    }

    /// Begins a pass of its share of the dirty bytes, at least `least`, unless a pass is in progress.
    fn begin_pass(&mut self, now: Nanos, least: u64, out: &mut Vec<FileAction>) {
        if self.pass.active() {
            return;
        }
        self.pass.numbers.clear();
        self.pass.numbers.extend(&self.cache.dirty);
        let from = self.pass.numbers.partition_point(|&number| number < self.pass.sweep);
        self.pass.numbers.rotate_left(from);
        self.pass.at = 0;
        let share = self.dirty_bytes / self.rules.pass_share;
        self.pass.left_bytes = share.max(least).max(LEAST_PASS_BYTES);
        self.write_back(now, out);
    }

    /// Runs every period while any data is dirty.
    pub(super) fn scan(&mut self, now: Nanos, out: &mut Vec<FileAction>) {
        let made = std::mem::take(&mut self.made_dirty_bytes);
        let again = self.rules.scans_on && self.dirty_bytes > 0;
        self.tick = again.then(|| Nanos(now.0 + self.rules.period_ns));
        self.begin_pass(now, if self.rules.scans_on { made } else { 0 }, out);
    }

    /// Sends write-back up to the limit of writes in flight; decides what follows when the pass ends.
    pub(super) fn write_back(&mut self, now: Nanos, out: &mut Vec<FileAction>) {
        while self.pass.in_flight < self.rules.writes_at_once && self.pass.left_bytes > 0 {
            let Some(&number) = self.pass.numbers.get(self.pass.at) else {
                self.pass.left_bytes = 0;
                break;
            };
            self.pass.sweep = number;
            let slot = self.cache.find(number);
            let dirty = slot.map_or(0, |slot| self.cache.frames[slot].dirty);
            let (Some(slot), Some((first, length))) = (slot, first_run(dirty)) else {
                self.pass.at += 1;
                continue;
            };
            let most = self.rules.write_back_pages[self.pass.sent % 4];
            self.pass.sent += 1;
            let length = length.min(most);
            let pages = run(first, length);
            self.cache.clean(slot, pages);
            self.pass.in_flight += 1;
            let offset = number * self.rules.frame_bytes + u64::from(first) * PAGE_BYTES;
            let bytes = u64::from(length) * PAGE_BYTES;
            self.pass.left_bytes = self.pass.left_bytes.saturating_sub(bytes);
            self.send(Purpose::Back(length), (OpKind::Write, offset, bytes), out);
        }
        if !self.pass.active() {
            self.pass_over(now, out);
        }
    }

    fn pass_over(&mut self, now: Nanos, out: &mut Vec<FileAction>) {
        if self.dirty_bytes == 0 {
            self.tick = None;
        } else if self.throttled || self.dirty_bytes > self.rules.dirty_background {
            self.begin_pass(now, 0, out);
        } else if !self.rules.scans_on || self.tick.is_none() {
            self.tick = Some(Nanos(now.0 + self.rules.period_ns));
        }
    }

    pub(super) fn written_back(&mut self, now: Nanos, pages: u32, out: &mut Vec<FileAction>) {
        self.pass.in_flight -= 1;
        self.dirty_bytes -= u64::from(pages) * PAGE_BYTES;
        if self.dirty_bytes <= self.rules.dirty_resume {
            self.throttled = false;
        }
        while !self.throttled
            && let Some(&request) = self.deferred.front()
        {
            if self.is_full(request) {
                self.throttled = true;
                break;
            }
            self.deferred.pop_front();
            self.accept(now, request, out);
        }
        self.write_back(now, out);
    }
}
