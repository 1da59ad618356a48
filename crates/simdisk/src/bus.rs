//! Simulates the buses between adapters and drives: which drive has the bus, and how long each phase takes.
//!
//! A command crosses a SCSI bus in two or more connections. In the first, the adapter selects the drive and
//! hands over the command; the drive disconnects. When the drive has data to move, it reselects the adapter
//! and moves a burst. With the last burst it gives status and completion; a write that is reported later
//! takes one more connection. The phases are those of a bus analyser (Riedel 1997, Table 4). If several
//! drives want the bus, drives that reconnect go before new commands, because the sequencer of an adapter
//! gives way when it is reselected; among equals the first to ask goes first. Rejected: arbitration by SCSI
//! number, which starves the far drives of a saturated bus and moves the same bytes. An IDE channel is a
//! bus with one drive, without arbitration and disconnection.

use std::collections::VecDeque;

pub(crate) const PHASES: [&str; 13] = [
    "Arbitrate",
    "Arbitrate Win",
    "Reselect",
    "Select",
    "(Re)Select End",
    "Message In",
    "Message Out",
    "Command",
    "Data In",
    "Data In End",
    "Data Out",
    "Data Out End",
    "Status",
];

pub(crate) const ARBITRATE: usize = 0;
pub(crate) const ARBITRATE_WIN: usize = 1;
pub(crate) const RESELECT: usize = 2;
pub(crate) const SELECT: usize = 3;
pub(crate) const SELECT_END: usize = 4;
/// A group of messages of a drive: identify and tag, save pointers and disconnect, or command complete.
pub(crate) const MESSAGE_IN: usize = 5;
pub(crate) const MESSAGE_OUT: usize = 6;
pub(crate) const COMMAND: usize = 7;
pub(crate) const DATA_IN: usize = 8;
pub(crate) const DATA_IN_END: usize = 9;
pub(crate) const DATA_OUT: usize = 10;
pub(crate) const DATA_OUT_END: usize = 11;
pub(crate) const STATUS: usize = 12;

/// A type of bus. Rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusSpec {
    pub most_drives: u32,
    /// Time of each phase, except data.
    pub phase_ns: [u64; PHASES.len()],
    pub in_bytes_per_s: u64,
    pub out_bytes_per_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// The adapter hands a command over.
    Command,
    /// Data from the drive (inward) or to it; the last data may end the command.
    Data {
        bytes: u32,
        inward: bool,
        last: bool,
    },
    Report,
}

/// The state of a bus: which drive has it, which drives want it, and the time spent in each phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bus {
    spec: BusSpec,
    /// Whether only one connection at a time is possible.
    contended: bool,
    busy: bool,
    reconnecting: VecDeque<u32>,
    selecting: VecDeque<u32>,
    /// The drive that received the last command.
    pub(crate) heard: u32,
    pub(crate) phase_ns: [u64; PHASES.len()],
}

impl Bus {
    pub(crate) fn new(spec: &BusSpec, contended: bool) -> Self {
        Self { spec: *spec, contended, ..Self::default() }
    }

    /// Requests a connection for a drive; returns whether it gets the bus at once.
    pub(crate) fn want(&mut self, drive: u32, command: bool) -> bool {
        if !self.busy || !self.contended {
            self.busy = true;
            return true;
        }
        let line = if command { &mut self.selecting } else { &mut self.reconnecting };
        line.push_back(drive);
        false
    }

    /// Frees the bus; returns the drive that gets it next.
    pub(crate) fn next(&mut self) -> Option<u32> {
        let next = self.reconnecting.pop_front().or_else(|| self.selecting.pop_front());
        self.busy = next.is_some();
        next
    }

    /// Counts these phases; returns their total time.
    fn spend(&mut self, phases: &[usize]) -> u64 {
        let mut spent_ns = 0;
        for &phase in phases {
            self.phase_ns[phase] += self.spec.phase_ns[phase];
            spent_ns += self.spec.phase_ns[phase];
        }
        spent_ns
    }

    /// Time up to the data of a connection, or the whole time of a connection without data.
    pub(crate) fn begin_ns(&mut self, connection: Connection) -> u64 {
        let met = if connection == Connection::Command { SELECT } else { RESELECT };
        let begun_ns = self.spend(&[ARBITRATE, ARBITRATE_WIN, met, SELECT_END, MESSAGE_IN]);
        begun_ns
            + match connection {
                Connection::Command => self.spend(&[MESSAGE_OUT, COMMAND]),
                Connection::Data { .. } => 0,
                Connection::Report => self.spend(&[STATUS, MESSAGE_IN]),
            }
    }

    pub(crate) fn data_ns(&self, bytes: u64, inward: bool) -> u64 {
        let rate = if inward { self.spec.in_bytes_per_s } else { self.spec.out_bytes_per_s };
        bytes * 1_000_000_000 / rate.max(1)
    }

    /// Time from the end of the data to the end of the connection; the data took `data_ns`.
    pub(crate) fn end_ns(&mut self, connection: Connection, data_ns: u64) -> u64 {
        let Connection::Data { inward, last, .. } = connection else { return 0 };
        let (data, end) = if inward { (DATA_IN, DATA_IN_END) } else { (DATA_OUT, DATA_OUT_END) };
        self.phase_ns[data] += data_ns;
        // Status and completion, or the messages of a disconnection.
        self.spend(if last { &[STATUS, MESSAGE_IN] } else { &[MESSAGE_IN] }) + self.spend(&[end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_that_reconnect_go_before_new_commands_and_the_first_of_each_first() {
        let mut bus = Bus::new(&BusSpec::default(), true);
        assert!(bus.want(0, true));
        for (drive, command) in [(1, true), (2, false), (3, true), (4, false)] {
            assert!(!bus.want(drive, command));
        }
        let order: Vec<u32> = std::iter::from_fn(|| bus.next()).collect();
        assert_eq!(order, [2, 4, 1, 3]);
        assert!(bus.want(5, true));
    }
}
