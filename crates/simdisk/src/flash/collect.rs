//! Simulates garbage collection: empties blocks, and limits how much the host may write meanwhile.
//!
//! While more than [`FREE_LOW`] blocks are free, the host writes as fast as the dies accept data. Below
//! that, it may fill as many slots as collection frees. So free space shrinks by no more than the contents
//! of the blocks being emptied, and the host is slowed evenly. Collection keeps every die busy, and stops
//! as soon as the host does not use the freed slots. With `gc=on`, a drive that has been at rest for
//! [`REST`] also collects, until a quarter of the spare blocks is free. It then takes only blocks of which
//! at least a tenth is invalid. A victim is erased once its units are in the controller; a real drive waits
//! until they are programmed.

use super::dies::{Operation, Task};
use super::geometry::{FREE_LOW, Geometry, VICTIMS};
use super::{Event, FlashDevice};
use record::Nanos;
use std::ops::Range;

/// Pages per die that are moved at the same time.
const PAGES_PER_DIE: u32 = 2;
/// Divisor from the spare blocks to those free after collection in idle time.
const IDLE_TARGET: u64 = 4;
/// Divisor: at least this part of a block (a tenth) must be invalid for collection in idle time.
const IDLE_GAIN: u32 = 10;

/// Time without a command after which a drive considers itself idle. Assumed.
const REST: Nanos = Nanos(5_000_000);

#[derive(Debug)]
struct Victim {
    block: u32,
    /// Pages not yet examined.
    pages: Range<u32>,
    reading: u32,
    /// Dies that have not yet erased their part.
    erasing: u32,
}

#[derive(Debug, Default)]
pub(super) struct Collector {
    while_idle: bool,
    /// Whether the drive considers itself idle, since when it has been at rest, and whether a check for
    /// that is scheduled.
    pub(super) idle: bool,
    resting_since: Nanos,
    looks: bool,
    victims: Vec<Victim>,
    /// Pages being read or programmed.
    under_way: u32,
    under_way_max: u32,
    /// Slots that the host may fill.
    promised: u64,
    /// Free slots below which the host gets only the promised slots.
    low: u64,
    /// Free slots at which collection in idle time ends.
    high: u64,
}

impl Collector {
    pub(super) fn new(geometry: &Geometry, while_idle: bool) -> Self {
        let block_units = u64::from(geometry.block_units);
        let low = u64::from(FREE_LOW) * block_units;
        let full = u64::from(geometry.full_blocks()) * block_units;
        let spare = full - u64::from(geometry.units);
        Self {
            while_idle,
            under_way_max: PAGES_PER_DIE * geometry.dies,
            low,
            high: low + spare / IDLE_TARGET,
            ..Self::default()
        }
    }
}

impl FlashDevice {
    fn uncommitted(&self) -> u64 {
        self.mapping.free_slots().saturating_sub(self.reserved.into())
    }

    /// Whether the host may fill this many more slots. If free blocks are low, uses its promised slots.
    pub(super) fn may_take(&mut self, now: Nanos, slots: u32) -> bool {
        let slots = u64::from(slots);
        // The same limit as in `collect`: between two different limits, the host would wait for nothing.
        if self.uncommitted() >= self.collector.low {
            self.collector.promised = 0;
            return true;
        }
        self.collect(now);
        let enough = self.collector.promised >= slots;
        if enough {
            self.collector.promised -= slots;
        }
        enough
    }

    /// Records that the drive has no more work for the host.
    pub(super) fn rest(&mut self, now: Nanos) {
        let useful = self.collector.while_idle && self.uncommitted() < self.collector.high;
        self.collector.resting_since = now;
        if useful && !self.collector.looks {
            self.collector.looks = true;
            self.dies.agenda.push(now.plus(REST), Event::Rested);
        }
    }

    /// Checks whether the drive has been at rest long enough to be idle.
    pub(super) fn rested(&mut self, now: Nanos) {
        self.collector.looks = false;
        if self.taken > 0 {
            return;
        }
        let idle_from = self.collector.resting_since.plus(REST);
        if idle_from > now {
            self.collector.looks = true;
            self.dies.agenda.push(idle_from, Event::Rested);
        } else {
            self.collector.idle = true;
            self.collect(now);
        }
    }

    pub(super) fn collect(&mut self, now: Nanos) {
        while self.collector.under_way < self.collector.under_way_max {
            let free = self.uncommitted();
            let low = free < self.collector.low;
            let idle = self.collector.idle && free < self.collector.high;
            if !(low || idle) || !self.collect_page(now, low) {
                return;
            }
        }
    }

    /// Examines one more page; returns whether there was one.
    fn collect_page(&mut self, now: Nanos, low: bool) -> bool {
        let Some(index) = self.victim_to_empty(low) else { return false };
        let geometry = &self.mapping.geometry;
        let victim = &mut self.collector.victims[index];
        let Some(page) = victim.pages.next() else { return false };
        let slots = geometry.slots_of_page(page);
        let valid = slots.filter(|&slot| self.mapping.unit(slot).is_some()).count() as u32;
        self.collector.promised += u64::from(geometry.page_units - valid);
        if valid > 0 {
            victim.reading += 1;
            let owner = victim.block;
            self.collector.under_way += 1;
            self.submit(now, Operation { task: Task::Collect, page, units: valid, owner });
        } else {
            self.erase_if_empty(now, index);
        }
        true
    }

    /// The victim that still has pages to examine, or a new one.
    fn victim_to_empty(&mut self, low: bool) -> Option<usize> {
        let victims = &mut self.collector.victims;
        let open = victims.iter().position(|victim| !victim.pages.is_empty());
        if open.is_some() || victims.len() == VICTIMS as usize {
            return open;
        }
        let geometry = &self.mapping.geometry;
        let block_units = geometry.block_units;
        let pages = block_units / geometry.page_units;
        let valid_max =
            if low { block_units - 1 } else { block_units - block_units.div_ceil(IDLE_GAIN) };
        let erasing = geometry.dies;
        let block = self.mapping.take_victim(valid_max)?;
        let pages = block * pages..(block + 1) * pages;
        victims.push(Victim { block, pages, reading: 0, erasing });
        Some(victims.len() - 1)
    }

    fn victim_index(&self, block: u32) -> Option<usize> {
        self.collector.victims.iter().position(|victim| victim.block == block)
    }

    /// Erases a victim on every die once all of its valid pages have been read.
    fn erase_if_empty(&mut self, now: Nanos, index: usize) {
        let victim = &self.collector.victims[index];
        if !victim.pages.is_empty() || victim.reading > 0 {
            return;
        }
        let erasure = Operation { task: Task::Erase, page: victim.block, units: 0, owner: 0 };
        for die in 0..self.mapping.geometry.dies {
            self.dies.submit(now, die, erasure);
        }
    }

    /// Records that a page of a victim is in the controller; its valid units go into the log.
    pub(super) fn collected(&mut self, now: Nanos, operation: Operation) {
        let page_units = self.mapping.geometry.page_units;
        let mut valid = 0;
        for slot in self.mapping.geometry.slots_of_page(operation.page) {
            let Some(unit) = self.mapping.unit(slot) else { continue };
            valid += 1;
            let new = self.mapping.move_on(slot, unit);
            let (page, place) = (new / page_units, new % page_units);
            if place == 0 {
                self.set_buffered(page, true);
            }
            if place + 1 == page_units {
                self.collector.under_way += 1;
                let (task, units) = (Task::Move, page_units);
                self.submit(now, Operation { task, page, units, owner: 0 });
            }
        }
        self.written.moved += u64::from(valid);
        // Units that the host has overwritten meanwhile are also promised to it.
        self.collector.promised += u64::from(operation.units - valid);
        self.collector.under_way -= 1;
        if let Some(index) = self.victim_index(operation.owner) {
            self.collector.victims[index].reading -= 1;
            self.erase_if_empty(now, index);
        }
        self.go_on_collecting(now);
    }

    pub(super) fn moved(&mut self, now: Nanos, page: u32) {
        self.set_buffered(page, false);
        self.collector.under_way -= 1;
        self.go_on_collecting(now);
    }

    pub(super) fn erased(&mut self, now: Nanos, block: u32) {
        let Some(index) = self.victim_index(block) else { return };
        let victim = &mut self.collector.victims[index];
        victim.erasing -= 1;
        if victim.erasing == 0 {
            self.collector.victims.swap_remove(index);
            self.mapping.release(block);
            self.go_on_collecting(now);
        }
    }

    fn go_on_collecting(&mut self, now: Nanos) {
        self.collect(now);
        self.let_in(now);
    }
}
