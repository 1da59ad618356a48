//! The map from units to slots, the states of the blocks, and the choice of the next block to collect.
//! Contains no timing.
//!
//! Both directions are arrays of one word per unit. Zero means none, so that the system need not even
//! allocate the memory of a fresh drive. Data that the host writes and data that the collector moves go to
//! separate blocks, because data that has survived a collection seldom changes. The victim is the full
//! block with the fewest valid units (greedy). Rejected: cost-benefit and windowed choices (greedy has a
//! known write amplification, which the tests use), and lists of blocks by valid units.

use super::geometry::Geometry;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Host,
    Collector,
}

/// The unfilled part of a stream's open block; empty before the first block.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    next: u32,
    end: u32,
}

#[derive(Debug, Default)]
pub(super) struct Mapping {
    pub(super) geometry: Geometry,
    /// Slot of each unit, plus one.
    slot_of: Vec<u32>,
    /// Unit in each slot, plus one.
    unit_in: Vec<u32>,
    valid: Vec<u32>,
    /// Blocks that can be collected: full, and not yet being emptied.
    full: Vec<bool>,
    free: VecDeque<u32>,
    open: [Open; 2],
}

impl Mapping {
    pub(super) fn new(geometry: Geometry) -> Self {
        let blocks = geometry.blocks as usize;
        Self {
            slot_of: vec![0; geometry.units as usize],
            unit_in: vec![0; geometry.slots() as usize],
            valid: vec![0; blocks],
            full: vec![false; blocks],
            free: (0..geometry.blocks).collect(),
            open: [Open::default(); 2],
            geometry,
        }
    }

    pub(super) fn slot(&self, unit: u32) -> Option<u32> {
        self.slot_of[unit as usize].checked_sub(1)
    }

    /// The unit whose current data is in a slot.
    pub(super) fn unit(&self, slot: u32) -> Option<u32> {
        self.unit_in[slot as usize].checked_sub(1)
    }

    /// Puts a unit into the next slot of a stream, and invalidates its old slot.
    pub(super) fn append(&mut self, stream: Stream, unit: u32) -> u32 {
        if let Some(old) = self.slot(unit) {
            self.give_up(old);
        }
        self.put(stream, unit)
    }

    /// Moves the unit in a slot of a victim into the collector's next slot; returns the new slot. The map
    /// from units is written but not read, because its entry is seldom in the processor's cache.
    pub(super) fn move_on(&mut self, old: u32, unit: u32) -> u32 {
        debug_assert_eq!(self.slot(unit), Some(old), "a slot holds its unit's present data");
        self.give_up(old);
        self.put(Stream::Collector, unit)
    }

    fn give_up(&mut self, slot: u32) {
        self.unit_in[slot as usize] = 0;
        let block = self.geometry.block_of(slot);
        self.valid[block as usize] -= 1;
    }

    fn put(&mut self, stream: Stream, unit: u32) -> u32 {
        let slot = self.take_slot(stream);
        self.slot_of[unit as usize] = slot + 1;
        self.unit_in[slot as usize] = unit + 1;
        let block = self.geometry.block_of(slot);
        self.valid[block as usize] += 1;
        slot
    }

    /// Takes the next slot of a stream without filling it.
    pub(super) fn take_slot(&mut self, stream: Stream) -> u32 {
        let open = &mut self.open[stream as usize];
        if open.next == open.end {
            // `may_take` stops the host well before the last block; see `FREE_LOW`.
            let block = self.free.pop_front().expect("the host waits before blocks run out");
            open.next = block * self.geometry.block_units;
            open.end = open.next + self.geometry.block_units;
        }
        let slot = open.next;
        open.next += 1;
        if open.next == open.end {
            self.full[self.geometry.block_of(slot) as usize] = true;
        }
        slot
    }

    /// The next slot of a stream, if it is inside a page.
    pub(super) fn inside_page(&self, stream: Stream) -> Option<u32> {
        let open = self.open[stream as usize];
        (!open.next.is_multiple_of(self.geometry.page_units)).then_some(open.next)
    }

    /// Slots that can be filled before anything is erased.
    pub(super) fn free_slots(&self) -> u64 {
        let open: u32 = self.open.iter().map(|open| open.end - open.next).sum();
        self.free.len() as u64 * u64::from(self.geometry.block_units) + u64::from(open)
    }

    /// The full block with the fewest valid units, if at most `valid_max`; the collector now owns it.
    pub(super) fn take_victim(&mut self, valid_max: u32) -> Option<u32> {
        let blocks = self.full.iter().zip(&self.valid).zip(0u32..);
        let full =
            blocks.filter(|((full, _), _)| **full).map(|((_, &valid), block)| (valid, block));
        let (_, block) = full.min().filter(|&(valid, _)| valid <= valid_max)?;
        self.full[block as usize] = false;
        Some(block)
    }

    pub(super) fn release(&mut self, block: u32) {
        debug_assert_eq!(self.valid[block as usize], 0, "an emptied block holds nothing valid");
        self.free.push_back(block);
    }

    /// Fills the next free block at once, with these units in these slots, for a start state.
    pub(super) fn fill_block(&mut self, contents: impl Iterator<Item = (u32, u32)>) {
        let Some(block) = self.free.pop_front() else { return };
        let first = block * self.geometry.block_units;
        for (place, unit) in contents {
            self.slot_of[unit as usize] = first + place + 1;
            self.unit_in[(first + place) as usize] = unit + 1;
            self.valid[block as usize] += 1;
        }
        self.full[block as usize] = true;
    }
}
