//! Connects a drive to the host: its interface does one thing at a time, over a shared bus.
//!
//! The interface receives a command, decodes it, moves data for the mechanism, and reports the end;
//! meanwhile it accepts nothing else. That limits small requests, not the wire. Commands in progress go
//! before new ones.

use super::{Event, Location, Machine};
use crate::bus::Connection;
use crate::drive::{Ask, Command, Drive, Order};
use record::OpKind;
use std::collections::VecDeque;

/// After this time without a command, a drive does other work.
const REST_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Free,
    /// A command crosses the bus, or waits for it.
    Hear(u32),
    Decode(u32),
    Prepare(Ask),
    /// Data or status cross the bus, or wait for it.
    Move(Ask),
    After,
}

/// A drive with its interface, and the commands that are held back for it.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) drive: Drive,
    pub(super) bus: u32,
    step: Step,
    asks: VecDeque<Ask>,
    held: VecDeque<u32>,
    open: u32,
    /// Where the last command handed over ended.
    last_end: u64,
    /// Time of the mechanism's event on the agenda.
    armed_ns: u64,
    deaf_until_ns: u64,
    rests_since_ns: u64,
    busy_since_ns: u64,
    /// Time during which the interface was not free.
    pub(super) busy_ns: u64,
}

impl Port {
    pub(super) fn new(drive: Drive, bus: u32) -> Self {
        Self {
            drive,
            bus,
            step: Step::Free,
            asks: VecDeque::new(),
            held: VecDeque::new(),
            open: 0,
            last_end: 0,
            armed_ns: u64::MAX,
            deaf_until_ns: 0,
            rests_since_ns: 0,
            busy_since_ns: 0,
            busy_ns: 0,
        }
    }

    /// Firmware time from a command until the drive is ready for data.
    fn decode_ns(&self, now_ns: u64, command: &Command, other: bool) -> u64 {
        let (spec, write) = (&self.drive.spec, command.op == OpKind::Write);
        let buffered = !write || spec.write_cache && !command.forced;
        let more_ns = if self.open > 1 || !self.held.is_empty() {
            spec.queued_ns
        } else if other && buffered && now_ns - self.rests_since_ns > REST_NS {
            spec.wake_ns
        } else {
            0
        };
        spec.command_ns + more_ns + if write { spec.write_command_ns } else { 0 }
    }

    fn set(&mut self, now_ns: u64, step: Step) {
        match (&self.step, &step) {
            (Step::Free, Step::Free) => {}
            (Step::Free, _) => self.busy_since_ns = now_ns,
            (_, Step::Free) => self.busy_ns += now_ns - self.busy_since_ns,
            _ => {}
        }
        self.step = step;
    }
}

impl Machine {
    pub(super) fn issue(&mut self, io: u32) {
        let drive = self.ios[io].drive;
        self.ports[drive as usize].held.push_back(io);
        self.go_on(drive);
    }

    fn next_held(&mut self, drive: u32) -> Option<u32> {
        let port = &mut self.ports[drive as usize];
        let spec = &port.drive.spec;
        if port.open >= spec.tags {
            return None;
        }
        // If a drive accepts only one command at a time, the host or adapter chooses the order.
        let index = if spec.tags == 1 && spec.order != Order::Arrival && port.held.len() > 1 {
            let from = port.last_end;
            let window = spec.window.max(1) as usize;
            let firsts = port.held.iter().take(window).map(|&io| self.ios[io].command.first);
            let nearest = firsts.enumerate().min_by_key(|&(_, first)| (first < from, first));
            nearest.map_or(0, |(index, _)| index)
        } else {
            0
        };
        port.held.remove(index)
    }

    /// Starts the next action of a free interface.
    fn go_on(&mut self, drive: u32) {
        let now_ns = self.now_ns;
        let port = &mut self.ports[drive as usize];
        if !matches!(port.step, Step::Free) {
            return;
        }
        if let Some(ask) = port.asks.pop_front() {
            let spec = &port.drive.spec;
            let prepare_ns = match ask {
                Ask::Finish { .. } => spec.write_through_ns,
                Ask::Send { again: true, .. } => spec.reread_ns,
                _ => 0,
            };
            if prepare_ns > 0 {
                port.set(now_ns, Step::Prepare(ask));
                self.at(now_ns + prepare_ns, Event::Interface(drive));
            } else {
                port.set(now_ns, Step::Move(ask));
                self.want_bus(drive, false);
            }
        } else if let Some(io) = self.next_held(drive) {
            let Command { first, bytes, .. } = self.ios[io].command;
            let port = &mut self.ports[drive as usize];
            port.open += 1;
            port.last_end = first + u64::from(bytes);
            port.set(now_ns, Step::Hear(io));
            self.want_bus(drive, true);
        }
    }

    fn want_bus(&mut self, drive: u32, command: bool) {
        let bus = self.ports[drive as usize].bus as usize;
        if self.buses[bus].want(drive, command) {
            self.connect(drive);
        }
    }

    /// Starts the connection of a drive that has got the bus.
    fn connect(&mut self, drive: u32) {
        let port = &self.ports[drive as usize];
        let (connection, ends) = match port.step {
            Step::Hear(_) => (Connection::Command, false),
            Step::Move(Ask::Send { bytes, last, .. }) => {
                (Connection::Data { bytes, inward: true, last }, last)
            }
            Step::Move(Ask::Fetch { bytes, last, cached, .. }) => {
                let last = last && cached;
                (Connection::Data { bytes, inward: false, last }, last)
            }
            _ => (Connection::Report, true),
        };
        let (bus, after_ns) = (port.bus as usize, port.drive.spec.after_ns);
        let begin_ns = self.now_ns + self.buses[bus].begin_ns(connection);
        let data_end_ns = self.data_end_ns(drive, connection, begin_ns);
        let rest_ns = self.buses[bus].end_ns(connection, data_end_ns - begin_ns);
        if ends {
            self.ports[drive as usize].deaf_until_ns = begin_ns + after_ns;
        }
        self.at(data_end_ns + rest_ns, Event::Bus(drive));
    }

    /// When the data of a connection ends, as limited by the slowest part of the path.
    fn data_end_ns(&mut self, drive: u32, connection: Connection, begin_ns: u64) -> u64 {
        let Connection::Data { bytes, inward, .. } = connection else { return begin_ns };
        let bytes = u64::from(bytes);
        let bus = self.ports[drive as usize].bus as usize;
        let end_ns = begin_ns + self.buses[bus].data_ns(bytes, inward);
        if self.spec.location == Location::Array {
            return end_ns;
        }
        let adapter = self.adapter(drive);
        let pci = adapter % self.pcis.len();
        end_ns
            .max(self.adapters[adapter].take(begin_ns, bytes, inward))
            .max(self.pcis[pci].take(begin_ns, bytes, inward))
            .max(self.memory.take(begin_ns, bytes, inward))
    }

    /// Ends a connection: the bus goes to the next drive, and this drive continues.
    pub(super) fn connection_ends(&mut self, drive: u32) {
        let now_ns = self.now_ns;
        let bus = self.ports[drive as usize].bus as usize;
        if let Some(next) = self.buses[bus].next() {
            self.connect(next);
        }
        let (port, asks) = (&mut self.ports[drive as usize], &mut self.asks);
        let done = match port.step {
            Step::Hear(io) => {
                let other = std::mem::replace(&mut self.buses[bus].heard, drive) != drive;
                let decode_ns = port.decode_ns(now_ns, &self.ios[io].command, other);
                port.set(now_ns, Step::Decode(io));
                self.at(now_ns + decode_ns, Event::Interface(drive));
                return;
            }
            Step::Move(ask @ Ask::Send { id, last, .. }) => {
                port.drive.sent(now_ns, &ask, asks);
                last.then_some(id)
            }
            Step::Move(ask @ Ask::Fetch { id, last, cached, .. }) => {
                port.drive.data_in(now_ns, &ask, asks);
                (last && cached).then_some(id)
            }
            Step::Move(Ask::Finish { id }) => Some(id),
            Step::Free | Step::Decode(_) | Step::Prepare(_) | Step::After => None,
        };
        let until_ns = port.deaf_until_ns;
        let deaf = done.is_some() && until_ns > now_ns;
        port.set(now_ns, if deaf { Step::After } else { Step::Free });
        if done.is_some() {
            port.open -= 1;
            port.rests_since_ns = now_ns;
        }
        if deaf {
            self.at(until_ns, Event::Interface(drive));
        }
        self.listen(drive);
        if let Some(io) = done {
            self.io_done(io);
        }
    }

    pub(super) fn firmware_done(&mut self, drive: u32) {
        let now_ns = self.now_ns;
        let port = &mut self.ports[drive as usize];
        match port.step {
            Step::Decode(io) => {
                port.set(now_ns, Step::Free);
                port.drive.accept(now_ns, &self.ios[io].command, &mut self.asks);
                self.listen(drive);
            }
            Step::Prepare(ask) => {
                port.set(now_ns, Step::Move(ask));
                self.want_bus(drive, false);
            }
            _ => {
                port.set(now_ns, Step::Free);
                self.go_on(drive);
            }
        }
    }

    /// Handles an event of a drive's mechanism, unless it was rescheduled.
    pub(super) fn mechanism(&mut self, drive: u32) {
        let port = &mut self.ports[drive as usize];
        if port.drive.next_ns != self.now_ns {
            return;
        }
        port.armed_ns = u64::MAX;
        port.drive.go_on(self.now_ns, &mut self.asks);
        self.listen(drive);
    }

    /// Takes the transfers that the drive requests, and schedules its next event.
    fn listen(&mut self, drive: u32) {
        let port = &mut self.ports[drive as usize];
        port.asks.extend(self.asks.drain(..));
        let next_ns = port.drive.next_ns;
        if next_ns != port.armed_ns {
            port.armed_ns = next_ns;
            if next_ns != u64::MAX {
                self.at(next_ns, Event::Mechanism(drive));
            }
        }
        self.go_on(drive);
    }
}
