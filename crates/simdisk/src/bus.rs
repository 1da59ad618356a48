//! Buses between adapters and drives: who is on, and for how long with each phase.
//!
//! A command crosses a SCSI bus in two or more connections. In the first the adapter selects the
//! drive and hands over the command; the drive disconnects. When it has data to move it reselects
//! the adapter, moves a burst, and with the last one gives status and completion; a write that is
//! reported later takes one more connection. The phases are those of a bus analyser (Riedel 1997,
//! Table 4), and their times are counted by name, so that what a bus spends beside data can be
//! read off. Where several want the bus, drives that reconnect go before new commands: the
//! sequencer of an adapter gives way when it is reselected. Among equals the first to ask goes
//! first. Rejected: arbitration by SCSI number, which starves the far drives of a saturated bus and
//! moves the same bytes.
//!
//! An IDE channel is a bus with one drive, without arbitration and without disconnection.

use std::collections::VecDeque;

/// The phases by name.
pub const PHASES: [&str; 13] = [
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

const ARBITRATE: usize = 0;
const ARBITRATE_WIN: usize = 1;
const RESELECT: usize = 2;
const SELECT: usize = 3;
const SELECT_END: usize = 4;
const MESSAGE_IN: usize = 5;
const MESSAGE_OUT: usize = 6;
const COMMAND: usize = 7;
const DATA_IN: usize = 8;
const DATA_IN_END: usize = 9;
const DATA_OUT: usize = 10;
const DATA_OUT_END: usize = 11;
const STATUS: usize = 12;

/// A kind of bus. Times in nanoseconds, rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusSpec {
    /// Drives on one.
    pub most_drives: u32,
    /// From bus free to the decision.
    pub arbitrate_ns: u64,
    /// From the decision to selection.
    pub arbitrate_win_ns: u64,
    /// A drive selects the adapter.
    pub reselect_ns: u64,
    /// The adapter selects a drive.
    pub select_ns: u64,
    /// End of either.
    pub select_end_ns: u64,
    /// Messages of a drive at one occasion: identify and tag, save pointers and disconnect, or
    /// command complete.
    pub message_in_ns: u64,
    /// Messages of the adapter with a command.
    pub message_out_ns: u64,
    /// The command block.
    pub command_ns: u64,
    /// From the last byte of data to the next phase.
    pub data_end_ns: u64,
    /// The status byte.
    pub status_ns: u64,
    /// Rate of data from a drive.
    pub in_bytes_per_s: u64,
    /// Rate of data to a drive.
    pub out_bytes_per_s: u64,
}

/// One time on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The adapter hands a command over.
    Command,
    /// Data from the drive; the command ends with the last.
    In {
        /// Bytes.
        bytes: u32,
        /// With status.
        last: bool,
    },
    /// Data to the drive.
    Out {
        /// Bytes.
        bytes: u32,
        /// With status.
        last: bool,
    },
    /// Status alone.
    Report,
}

/// A bus: who has it, who wants it, and what its time went to.
#[derive(Clone, Debug)]
pub struct Bus {
    spec: BusSpec,
    /// Whether one at a time can be on.
    contended: bool,
    busy: bool,
    reconnecting: VecDeque<u32>,
    selecting: VecDeque<u32>,
    phase_ns: [u64; 13],
}

impl Bus {
    /// A free bus.
    #[must_use]
    pub fn new(spec: &BusSpec, contended: bool) -> Self {
        Self {
            spec: *spec,
            contended,
            busy: false,
            reconnecting: VecDeque::new(),
            selecting: VecDeque::new(),
            phase_ns: [0; 13],
        }
    }

    /// Time by phase so far, in nanoseconds.
    #[must_use]
    pub fn phase_ns(&self) -> &[u64; 13] {
        &self.phase_ns
    }

    /// A drive wants a connection; whether it is on at once.
    pub fn want(&mut self, drive: u32, command: bool) -> bool {
        if !self.busy || !self.contended {
            self.busy = true;
            return true;
        }
        if command {
            self.selecting.push_back(drive);
        } else {
            self.reconnecting.push_back(drive);
        }
        false
    }

    /// The bus is free: who is on next.
    pub fn next(&mut self) -> Option<u32> {
        let next = self.reconnecting.pop_front().or_else(|| self.selecting.pop_front());
        self.busy = next.is_some();
        next
    }

    fn spend(&mut self, phase: usize, ns: u64) -> u64 {
        self.phase_ns[phase] += ns;
        ns
    }

    /// Time up to the data of a connection, or all of it where there are none.
    pub fn begin_ns(&mut self, connection: Connection) -> u64 {
        let spec = self.spec;
        let won = self.spend(ARBITRATE, spec.arbitrate_ns)
            + self.spend(ARBITRATE_WIN, spec.arbitrate_win_ns);
        let met = match connection {
            Connection::Command => self.spend(SELECT, spec.select_ns),
            _ => self.spend(RESELECT, spec.reselect_ns),
        };
        let ended = self.spend(SELECT_END, spec.select_end_ns);
        let said = self.spend(MESSAGE_IN, spec.message_in_ns);
        let rest = match connection {
            Connection::Command => {
                self.spend(MESSAGE_OUT, spec.message_out_ns) + self.spend(COMMAND, spec.command_ns)
            }
            Connection::Report => self.complete_ns(),
            Connection::In { .. } | Connection::Out { .. } => 0,
        };
        won + met + ended + said + rest
    }

    /// Time of the data at the bus's own rate.
    #[must_use]
    pub fn data_ns(&self, connection: Connection) -> u64 {
        let time = |bytes: u32, rate: u64| u64::from(bytes) * 1_000_000_000 / rate.max(1);
        match connection {
            Connection::In { bytes, .. } => time(bytes, self.spec.in_bytes_per_s),
            Connection::Out { bytes, .. } => time(bytes, self.spec.out_bytes_per_s),
            Connection::Command | Connection::Report => 0,
        }
    }

    /// Time from the end of the data, which took `data_ns`, to the end of the connection.
    pub fn end_ns(&mut self, connection: Connection, data_ns: u64) -> u64 {
        let (data, end, last) = match connection {
            Connection::In { last, .. } => (DATA_IN, DATA_IN_END, last),
            Connection::Out { last, .. } => (DATA_OUT, DATA_OUT_END, last),
            Connection::Command | Connection::Report => return 0,
        };
        self.spend(data, data_ns);
        let ended = self.spend(end, self.spec.data_end_ns);
        // Status and completion, or the messages of a disconnection.
        let left =
            if last { self.complete_ns() } else { self.spend(MESSAGE_IN, self.spec.message_in_ns) };
        ended + left
    }

    fn complete_ns(&mut self) -> u64 {
        self.spend(STATUS, self.spec.status_ns) + self.spend(MESSAGE_IN, self.spec.message_in_ns)
    }
}

/// Something that moves bytes one transfer after the other: an adapter, a PCI bus, memory.
#[derive(Clone, Debug)]
pub struct Lane {
    in_bytes_per_s: u64,
    out_bytes_per_s: u64,
    contended: bool,
    free_ns: u64,
    busy_ns: u64,
}

impl Lane {
    /// A free lane with a rate for each direction, seen from the host; 0 for one that never binds.
    #[must_use]
    pub fn new(in_bytes_per_s: u64, out_bytes_per_s: u64, contended: bool) -> Self {
        Self { in_bytes_per_s, out_bytes_per_s, contended, free_ns: 0, busy_ns: 0 }
    }

    /// Takes a transfer that could begin at `now_ns`; when it ends. Transfers go in the order in
    /// which they are taken.
    pub fn take(&mut self, now_ns: u64, bytes: u64, inward: bool) -> u64 {
        let rate = if inward { self.in_bytes_per_s } else { self.out_bytes_per_s };
        if rate == 0 {
            return now_ns;
        }
        let time_ns = bytes * 1_000_000_000 / rate;
        self.busy_ns += time_ns;
        let begin_ns = if self.contended { self.free_ns.max(now_ns) } else { now_ns };
        self.free_ns = begin_ns + time_ns;
        self.free_ns
    }

    /// Busy time so far, in nanoseconds.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::bus;

    #[test]
    fn drives_that_reconnect_go_before_new_commands_and_the_first_of_each_first() {
        let mut bus = Bus::new(&bus("ultra-wide").unwrap(), true);
        assert!(bus.want(0, true));
        for (drive, command) in [(1, true), (2, false), (3, true), (4, false)] {
            assert!(!bus.want(drive, command));
        }
        let order: Vec<u32> = std::iter::from_fn(|| bus.next()).collect();
        assert_eq!(order, [2, 4, 1, 3]);
        assert!(bus.want(5, true));
    }

    #[test]
    fn a_lane_that_is_asked_for_more_than_it_carries_gives_its_rate() {
        let mut lane = Lane::new(100_000_000, 50_000_000, true);
        let end = (0..1_000).map(|step| lane.take(step, 64_000, true)).max();
        assert_eq!(end, Some(640_000_000));
        assert_eq!(lane.take(0, 1_000, false), 640_020_000);
    }
}
