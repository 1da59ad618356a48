//! Moves a command into the drive, through the controller, and back; also executes reads.

use super::dies::{Operation, Task};
use super::geometry::UNIT_BYTES;
use super::{Event, FlashDevice};
use crate::device::{Arrival, Ended};
use record::{Nanos, OpKind};

#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    token: u32,
    pub(super) op: OpKind,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// The first unit that it touches, and the number of units.
    pub(super) first: u32,
    pub(super) units: u32,
    /// Units admitted to the buffer, and units that have arrived there.
    pub(super) let_in: u32,
    pub(super) arrived: u32,
    /// What it waits for: die operations, plus one for the command itself while it is being processed.
    pub(super) left: u32,
    /// When the data so far has reached the host.
    ends: Nanos,
}

impl Command {
    pub(super) fn new(arrival: &Arrival) -> Self {
        debug_assert!(arrival.bytes > 0, "a request has bytes");
        let first = arrival.offset / UNIT_BYTES;
        let last = (arrival.offset + u64::from(arrival.bytes) - 1) / UNIT_BYTES;
        Self {
            token: arrival.token,
            op: arrival.op,
            offset: arrival.offset,
            bytes: arrival.bytes,
            first: first as u32,
            units: (last - first + 1) as u32,
            let_in: 0,
            arrived: 0,
            left: 0,
            ends: Nanos(0),
        }
    }

    pub(super) fn bytes_of(&self, units: u32) -> u64 {
        (u64::from(units) * UNIT_BYTES).min(self.bytes.into())
    }
}

impl FlashDevice {
    pub(super) fn take_in(&mut self, now: Nanos, command: u32) {
        self.taken += 1;
        self.collector.idle = false;
        let spent = match self.commands[command].op {
            OpKind::Read => self.spec.command,
            OpKind::Write => self.spec.write_command,
        };
        let passed = Nanos(self.controller.serve(now.0, spent.0));
        self.passed.push(passed.plus(self.spec.overhead), command);
    }

    /// Ends a command, which frees a place in the queue.
    pub(super) fn done(&mut self, now: Nanos, command: u32) -> Ended {
        let Command { token, bytes, .. } = self.commands.take(command);
        self.taken -= 1;
        if let Some(next) = self.outside.pop_front() {
            self.take_in(now, next);
        } else if self.taken == 0 {
            self.rest(now);
        }
        Ended { token, at: now, outcome: bytes as i32 }
    }

    /// Reads the units of a command: one operation for consecutive units in one page.
    pub(super) fn read(&mut self, now: Nanos, command: u32) {
        let Command { first, units, .. } = self.commands[command];
        self.commands[command].left = 1;
        let (mut elsewhere, mut page, mut in_page) = (0, 0, 0);
        for unit in first..first + units {
            let on_flash = self.mapping.slot(unit).map(|slot| self.mapping.geometry.page_of(slot));
            match on_flash.filter(|&page| !self.is_buffered(page)) {
                None => elsewhere += 1,
                Some(same) if in_page > 0 && same == page => in_page += 1,
                Some(other) => {
                    self.read_page(now, command, page, in_page);
                    (page, in_page) = (other, 1);
                }
            }
        }
        self.read_page(now, command, page, in_page);
        if elsewhere > 0 {
            self.send_to_host(now, now, command, elsewhere);
        }
        self.ready(now, command);
    }

    fn read_page(&mut self, now: Nanos, command: u32, page: u32, units: u32) {
        if units > 0 {
            self.commands[command].left += 1;
            self.submit(now, Operation { task: Task::Read, page, units, owner: command });
        }
    }

    pub(super) fn read_over(&mut self, now: Nanos, operation: Operation) {
        // The link sends each unit as soon as it has crossed the channel.
        let since = now.since(self.dies.transfer(operation.units - 1));
        self.send_to_host(since, now, operation.owner, operation.units);
        self.ready(now, operation.owner);
    }

    fn send_to_host(&mut self, since: Nanos, now: Nanos, command: u32, units: u32) {
        let state = &mut self.commands[command];
        let (bytes, unit) = (state.bytes_of(units), state.bytes_of(1));
        let ends = self.link.send_out(since, now, bytes, unit);
        state.ends = state.ends.max(ends);
    }

    /// Counts one part of the command as done, and ends the command after its last part.
    pub(super) fn ready(&mut self, now: Nanos, command: u32) {
        let state = &mut self.commands[command];
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        if state.ends > now {
            self.dies.agenda.push(state.ends, Event::Done(command));
        } else {
            self.done_now.push(command);
        }
    }
}
