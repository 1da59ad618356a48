//! Tracks which pages of the file are in memory, which are dirty, and which are evicted next.
//!
//! Pages are kept in frames, the unit of read-ahead and write-back, with one bit per page for each of
//! present, requested and dirty. The lazy writer takes dirty frames by number. Memory is reclaimed from
//! clean frames that no request waits for, by last use. Rejected: a record per page (16 to 32 times the
//! work of a large request).

use super::spec::PAGE_BYTES;
use crate::slab::{NumberMap, Slab};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    number: u64,
    pub(super) valid: u32,
    pub(super) pending: u32,
    pub(super) dirty: u32,
    /// Whether requests wait for pages of this frame.
    pub(super) waited_for: bool,
    /// When it was last used, if it is in `clean`.
    used: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PageCache {
    pub(super) frames: Slab<Frame>,
    index: NumberMap<u32>,
    /// Clean frames that no request waits for, by last use.
    clean: BTreeMap<u64, u32>,
    pub(super) dirty: BTreeSet<u64>,
    uses: u64,
    pages: u64,
    capacity_pages: u64,
}

impl PageCache {
    pub(super) fn new(memory_bytes: u64) -> Self {
        Self { capacity_pages: (memory_bytes / PAGE_BYTES).max(1), ..Self::default() }
    }

    pub(super) fn find(&self, number: u64) -> Option<u32> {
        self.index.get(&number).copied()
    }

    /// The frame with this number, created if missing. Call [`PageCache::settle`] afterwards.
    pub(super) fn frame(&mut self, number: u64) -> u32 {
        let frames = &mut self.frames;
        let new = || frames.insert(Frame { number, ..Frame::default() });
        *self.index.entry(number).or_insert_with(new)
    }

    pub(super) fn expect(&mut self, slot: u32, pages: u32) {
        self.frames[slot].pending |= pages;
        self.settle(slot);
    }

    /// Records that pages were read, or could not be.
    pub(super) fn arrive(&mut self, slot: u32, pages: u32, read: bool) {
        self.frames[slot].pending &= !pages;
        if read {
            self.add(slot, pages);
        }
        self.settle(slot);
    }

    /// Records that pages were written in memory; returns those that are newly dirty.
    pub(super) fn write(&mut self, slot: u32, pages: u32, dirty: bool) -> u32 {
        self.add(slot, pages);
        let newly = if dirty { pages & !self.frames[slot].dirty } else { 0 };
        self.frames[slot].dirty |= newly;
        self.settle(slot);
        newly
    }

    pub(super) fn clean(&mut self, slot: u32, pages: u32) {
        self.frames[slot].dirty &= !pages;
        self.settle(slot);
    }

    fn add(&mut self, slot: u32, pages: u32) {
        let frame = &mut self.frames[slot];
        self.pages += u64::from((pages & !frame.valid).count_ones());
        frame.valid |= pages;
    }

    /// Updates the lists after a use of a frame, and evicts frames if memory is exceeded.
    pub(super) fn settle(&mut self, slot: u32) {
        let frame = &mut self.frames[slot];
        self.clean.remove(&frame.used);
        if frame.dirty != 0 {
            self.dirty.insert(frame.number);
        } else {
            self.dirty.remove(&frame.number);
            if frame.pending == 0 && !frame.waited_for {
                self.uses += 1;
                frame.used = self.uses;
                self.clean.insert(self.uses, slot);
            }
        }
        while self.pages > self.capacity_pages
            && let Some((_, oldest)) = self.clean.pop_first()
        {
            let Frame { number, valid, .. } = self.frames.take(oldest);
            self.pages -= u64::from(valid.count_ones());
            self.index.remove(&number);
        }
    }
}
