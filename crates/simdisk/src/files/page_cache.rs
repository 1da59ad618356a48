//! Which pages of the file are in memory, which of them the medium lacks, and which go next.
//!
//! Pages are kept in frames, the unit of read-ahead and write-back, with a bit per page for
//! present, on its way and dirty. A dirty frame is in a list that the lazy writer walks; a clean
//! one that nothing waits for in a list by last use, from which memory is taken back; a clean one
//! with pages on their way in neither. Every step is of constant cost. Rejected: a record per page
//! (16 to 32 times the work of a large request), and one list for clean and dirty frames.

use super::spec::PAGE_BYTES;
use crate::number_map::NumberMap;
use crate::slab::Slab;

/// No frame, no waiter.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Apart,
    Clean,
    Dirty,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) number: u64,
    pub(super) valid: u32,
    pub(super) pending: u32,
    pub(super) dirty: u32,
    pub(super) waiters: u32,
    place: Place,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

#[derive(Clone, Debug)]
pub(super) struct PageCache {
    pub(super) frames: Slab<Frame>,
    index: NumberMap<u32>,
    clean: Ends,
    dirty: Ends,
    pages: u64,
    capacity_pages: u64,
}

impl PageCache {
    pub(super) fn new(memory_bytes: u64) -> Self {
        Self {
            frames: Slab::default(),
            index: NumberMap::default(),
            clean: EMPTY,
            dirty: EMPTY,
            pages: 0,
            capacity_pages: (memory_bytes / PAGE_BYTES).max(1),
        }
    }

    pub(super) fn find(&self, number: u64) -> Option<u32> {
        self.index.get(&number).copied()
    }

    /// The frame of a number, made if there is none. Follow with [`PageCache::settle`].
    pub(super) fn frame(&mut self, number: u64) -> u32 {
        if let Some(slot) = self.find(number) {
            return slot;
        }
        let frame = Frame {
            number,
            valid: 0,
            pending: 0,
            dirty: 0,
            waiters: NONE,
            place: Place::Apart,
            before: NONE,
            after: NONE,
        };
        let slot = self.frames.insert(frame);
        self.index.insert(number, slot);
        slot
    }

    pub(super) fn expect(&mut self, slot: u32, pages: u32) {
        self.frames[slot].pending |= pages;
        self.settle(slot);
    }

    /// Pages were read, or could not be.
    pub(super) fn arrive(&mut self, slot: u32, pages: u32, read: bool) {
        self.frames[slot].pending &= !pages;
        if read {
            self.add(slot, pages);
        }
        self.settle(slot);
    }

    /// Pages were written in memory; those that were not dirty before.
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

    /// The numbers of all dirty frames, in the order in which they became dirty.
    pub(super) fn dirty_numbers(&self, numbers: &mut Vec<u64>) {
        numbers.clear();
        let mut slot = self.dirty.first;
        while slot != NONE {
            let frame = &self.frames[slot];
            numbers.push(frame.number);
            slot = frame.after;
        }
    }

    /// Puts a frame where it belongs after a use, and takes back what memory lacks.
    pub(super) fn settle(&mut self, slot: u32) {
        let frame = self.frames[slot];
        let place = if frame.dirty != 0 {
            Place::Dirty
        } else if frame.pending != 0 || frame.waiters != NONE {
            Place::Apart
        } else {
            Place::Clean
        };
        // A clean frame moves to the end at each use; a dirty one keeps its place.
        if place != frame.place || place == Place::Clean {
            self.unlink(slot);
            self.link(slot, place);
        }
        while self.pages > self.capacity_pages && self.clean.first != NONE {
            self.drop_frame(self.clean.first);
        }
    }

    fn drop_frame(&mut self, slot: u32) {
        self.unlink(slot);
        let frame = self.frames[slot];
        self.pages -= u64::from(frame.valid.count_ones());
        self.index.remove(&frame.number);
        self.frames.release(slot);
    }

    fn ends(&mut self, place: Place) -> Option<&mut Ends> {
        match place {
            Place::Apart => None,
            Place::Clean => Some(&mut self.clean),
            Place::Dirty => Some(&mut self.dirty),
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Frame { before, after, place, .. } = self.frames[slot];
        let Some(ends) = self.ends(place) else { return };
        if before == NONE {
            ends.first = after;
        }
        if after == NONE {
            ends.last = before;
        }
        if before != NONE {
            self.frames[before].after = after;
        }
        if after != NONE {
            self.frames[after].before = before;
        }
        let frame = &mut self.frames[slot];
        (frame.before, frame.after, frame.place) = (NONE, NONE, Place::Apart);
    }

    fn link(&mut self, slot: u32, place: Place) {
        let Some(ends) = self.ends(place) else { return };
        let last = ends.last;
        ends.last = slot;
        if last == NONE {
            ends.first = slot;
        } else {
            self.frames[last].after = slot;
        }
        let frame = &mut self.frames[slot];
        (frame.before, frame.place) = (last, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_from_the_clean_frame_not_used_for_longest() {
        let mut cache = PageCache::new(4 * PAGE_BYTES);
        for number in 0..4 {
            let slot = cache.frame(number);
            cache.write(slot, 1, number == 1);
        }
        let first = cache.frame(0);
        cache.settle(first);
        let fifth = cache.frame(4);
        cache.write(fifth, 1, false);
        let present: Vec<u64> = (0..5).filter(|&number| cache.find(number).is_some()).collect();
        // 1 is older than 2, but dirty; 0 is older, but was used since.
        assert_eq!(present, [0, 1, 3, 4]);
        let dirty = cache.frame(1);
        cache.clean(dirty, 1);
        let sixth = cache.frame(5);
        cache.write(sixth, 0b111, false);
        let present: Vec<u64> = (0..6).filter(|&number| cache.find(number).is_some()).collect();
        assert_eq!(present, [1, 5], "the frame that was cleaned is the last used");
    }

    #[test]
    fn a_frame_with_pages_on_their_way_stays() {
        let mut cache = PageCache::new(PAGE_BYTES);
        let slot = cache.frame(7);
        cache.expect(slot, 0b10);
        let other = cache.frame(8);
        cache.write(other, 0b11, false);
        assert!(cache.find(7).is_some() && cache.find(8).is_none());
        cache.arrive(slot, 0b10, true);
        assert_eq!(cache.frames[slot].valid, 0b10);
    }
}
