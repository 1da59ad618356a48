//! Executes writes: into the buffer, into pages, onto the flash.
//!
//! A write gets room in the buffer and slots in the log before its data is sent, piece by piece, in order
//! of arrival. A forced write must be on the flash before it is done. It fills the open page, which is
//! programmed as soon as its die is idle, full or not. A single forced write wastes the rest of the page;
//! many at once share pages, as group commit does.

use super::dies::{Operation, Task};
use super::geometry::UNIT_BYTES;
use super::mapping::Stream;
use super::{FlashDevice, PageOwners};
use record::Nanos;

/// Units admitted to the buffer at once: 128 KiB, so that large writes share it.
const PIECE_UNITS: u32 = 32;

impl FlashDevice {
    pub(super) fn write(&mut self, now: Nanos, command: u32) {
        self.commands[command].left = 1;
        let begin = self.commands[command].offset;
        let end = begin + u64::from(self.commands[command].bytes);
        // The parts of its first and last unit that it does not cover must be read first.
        let (head, tail) = (begin / UNIT_BYTES, end / UNIT_BYTES);
        if !begin.is_multiple_of(UNIT_BYTES) {
            self.complete(now, command, head as u32);
        }
        if !end.is_multiple_of(UNIT_BYTES) && (head != tail || begin.is_multiple_of(UNIT_BYTES)) {
            self.complete(now, command, tail as u32);
        }
        self.line_up(now, command);
    }

    fn complete(&mut self, now: Nanos, command: u32, unit: u32) {
        let page = self.mapping.slot(unit).map(|slot| self.mapping.geometry.page_of(slot));
        if let Some(page) = page.filter(|&page| !self.is_buffered(page)) {
            self.commands[command].left += 1;
            let task = Task::Complete;
            self.submit(now, Operation { task, page, units: 1, owner: command });
        }
    }

    /// Queues a write for the buffer, once it needs no more data from the flash.
    pub(super) fn line_up(&mut self, now: Nanos, command: u32) {
        let state = &mut self.commands[command];
        state.left -= 1;
        if state.left == 0 {
            state.left = 1;
            self.writers.push_back(command);
            self.let_in(now);
        }
    }

    /// Admits writes to the buffer, as far as there is room there and on the flash.
    pub(super) fn let_in(&mut self, now: Nanos) {
        while let Some(&command) = self.writers.front() {
            let state = self.commands[command];
            let units = (state.units - state.let_in).min(PIECE_UNITS);
            if units > self.room || !self.may_take(now, units + self.padding()) {
                return;
            }
            self.room -= units;
            self.reserved += units + self.padding();
            if state.let_in + units == state.units {
                self.writers.pop_front();
            }
            self.commands[command].let_in += units;
            let there = self.link.send_in(now, state.bytes_of(units));
            self.sent.push(there, (command, units));
        }
    }

    /// Slots that a piece may leave empty: a forced write may close a page.
    fn padding(&self) -> u32 {
        if self.forced { self.mapping.geometry.page_units } else { 0 }
    }

    /// Assigns slots to units of a write that have arrived in the buffer.
    pub(super) fn place(&mut self, now: Nanos, command: u32, units: u32) {
        self.reserved -= units + self.padding();
        self.written.host += u64::from(units);
        let first = self.commands[command].first + self.commands[command].arrived;
        let page_units = self.mapping.geometry.page_units;
        for unit in first..first + units {
            let slot = self.mapping.append(Stream::Host, unit);
            let (page, place) = (slot / page_units, slot % page_units);
            if place == 0 {
                self.set_buffered(page, true);
            }
            self.open.units += 1;
            let last = unit + 1 == first + units;
            if self.forced && (last || place + 1 == page_units) {
                self.open.waiters.push(command);
                self.commands[command].left += 1;
            }
            if place + 1 == page_units {
                self.program(now, page);
            }
        }
        let state = &mut self.commands[command];
        state.arrived += units;
        if state.arrived == state.units {
            self.ready(now, command);
        }
        if let Some(slot) = self.mapping.inside_page(Stream::Host) {
            let page = self.mapping.geometry.page_of(slot);
            self.close_if_idle(now, self.mapping.geometry.die_of_page(page));
        }
        self.collect(now);
    }

    /// Programs the open page if commands wait for it and it is on this die, which is idle.
    pub(super) fn close_if_idle(&mut self, now: Nanos, die: u32) {
        if self.open.waiters.is_empty() || !self.dies.idle(die) {
            return;
        }
        let Some(slot) = self.mapping.inside_page(Stream::Host) else { return };
        let page = self.mapping.geometry.page_of(slot);
        if self.mapping.geometry.die_of_page(page) != die {
            return;
        }
        while self.mapping.inside_page(Stream::Host).is_some() {
            self.mapping.take_slot(Stream::Host);
            self.written.padded += 1;
        }
        self.program(now, page);
    }

    /// Programs the host's open page, which accepts no more units.
    fn program(&mut self, now: Nanos, page: u32) {
        let owner = self.waiters.insert(std::mem::take(&mut self.open));
        let (task, units) = (Task::Program, self.mapping.geometry.page_units);
        self.submit(now, Operation { task, page, units, owner });
    }

    pub(super) fn programmed(&mut self, now: Nanos, operation: Operation) {
        self.set_buffered(operation.page, false);
        self.waiters.release(operation.owner);
        let PageOwners { units, waiters } = std::mem::take(&mut self.waiters[operation.owner]);
        self.room += units;
        for command in waiters {
            self.ready(now, command);
        }
        self.let_in(now);
    }
}
