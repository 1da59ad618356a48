//! Simulates a disk drive: buffer and mechanism, without the bus.
//!
//! The inputs are commands that its firmware has decoded, data that were moved, and time; the output is the
//! data that it wants to move ([`Ask`]). `geometry` places bytes at an angle and `seek` moves the arm.
//! `segments` hold data that was read, `writes` data that is not yet on the medium. `mechanism` does one
//! thing at a time, chooses the next, and reads ahead when idle. Data have no content: a drive only knows
//! which ranges it holds, and time depends on nothing else.

mod geometry;
mod mechanism;
mod seek;
mod segments;
mod spec;
mod writes;

use geometry::{Geometry, Place};
use seek::SeekCurve;
pub use spec::{DriveSpec, Order};

use mechanism::Mechanism;
use record::OpKind;
use segments::Segments;
use std::collections::VecDeque;
use writes::WriteBuffer;

const NEVER: u64 = u64::MAX;
/// No request waits longer than this, in nanoseconds, while others are preferred.
const PATIENCE_NS: u64 = 500_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Identifies the command to the sender.
    pub id: u32,
    pub op: OpKind,
    /// Must be on the medium before it ends, even with a write cache.
    pub forced: bool,
    pub first: u64,
    pub bytes: u32,
}

/// A transfer that the drive wants its interface to make for a command; `last` marks its last bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Send `bytes` to the host, up to byte `end`. Bytes sent before (`again`) take the firmware longer.
    Send {
        id: u32,
        bytes: u32,
        end: u64,
        last: bool,
        again: bool,
    },
    /// Fetch `bytes` from the host, starting at byte `first`. If the buffer counts as safe (`cached`), the
    /// command ends with its last bytes.
    Fetch {
        id: u32,
        first: u64,
        bytes: u32,
        last: bool,
        cached: bool,
    },
    Finish {
        id: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: u32,
    write: bool,
    /// Whether this is the last part of its command.
    last: bool,
    first: u64,
    bytes: u64,
    place: Place,
    since_ns: u64,
}

impl Waiting {
    fn end(&self) -> u64 {
        self.first + self.bytes
    }

    fn reading(&self) -> Reading {
        let (next, next_ns) = (self.first, self.place.stream_ns);
        Reading { id: self.id, next, next_ns, end: self.end() }
    }
}

/// A read in progress: the bytes that were requested and not yet sent.
#[derive(Clone, Copy, Debug)]
struct Reading {
    id: u32,
    next: u64,
    next_ns: u64,
    end: u64,
}

/// Busy time of the mechanism: moving the arm, waiting for rotation, and transferring requested data.
#[derive(Clone, Copy, Debug, Default)]
pub struct MechanismUse {
    pub seek_ns: u64,
    pub rotate_ns: u64,
    pub transfer_ns: u64,
}

#[derive(Debug)]
pub struct Drive {
    pub(crate) spec: DriveSpec,
    pub(crate) geometry: Geometry,
    seek: SeekCurve,
    mechanism: Mechanism,
    segments: Segments,
    writes: WriteBuffer,
    /// Writes that wait for room, with the bytes of each already requested.
    incoming: VecDeque<(Command, u32)>,
    /// Requests that wait for the mechanism, in order of arrival.
    waiting: Vec<Waiting>,
    /// Reads on the current stream, in order.
    reading: VecDeque<Reading>,
    /// Byte after the last that the current stream was asked to send.
    asked: u64,
    pub(crate) used: MechanismUse,
    /// Time of the mechanism's next event; `u64::MAX` for never.
    pub(crate) next_ns: u64,
}

impl Drive {
    /// A drive at rest with its arm at the outer edge, at the angle of the first byte.
    pub fn new(spec: &DriveSpec) -> Self {
        let geometry = Geometry::new(spec);
        let seek = SeekCurve::new(
            spec.track_seek_ns,
            spec.average_seek_ns,
            spec.full_seek_ns,
            geometry.cylinders,
        );
        Self {
            geometry,
            seek,
            mechanism: Mechanism::default(),
            segments: Segments::new(spec.segments, spec.segment_bytes, spec.rereads),
            writes: WriteBuffer::new(spec),
            incoming: VecDeque::new(),
            waiting: Vec::new(),
            reading: VecDeque::new(),
            asked: 0,
            used: MechanismUse::default(),
            next_ns: NEVER,
            spec: *spec,
        }
    }

    pub fn accept(&mut self, now_ns: u64, command: &Command, asks: &mut Vec<Ask>) {
        debug_assert!(command.first + u64::from(command.bytes) <= self.geometry.bytes);
        match command.op {
            OpKind::Read => self.accept_read(now_ns, command, asks),
            OpKind::Write => {
                self.incoming.push_back((*command, 0));
                self.admit_writes(asks);
            }
        }
        self.go_on(now_ns, asks);
    }

    pub fn data_in(&mut self, now_ns: u64, ask: &Ask, asks: &mut Vec<Ask>) {
        let &Ask::Fetch { id, first, bytes, last, cached } = ask else { return };
        let bytes = u64::from(bytes);
        self.segments.overwrite(first, first + bytes);
        if cached {
            self.writes.arrived(first, bytes);
        } else {
            let place = self.geometry.place(first);
            let waiting = Waiting { id, write: true, last, first, bytes, place, since_ns: now_ns };
            self.waiting.push(waiting);
        }
        self.go_on(now_ns, asks);
    }

    /// Records that data of a read were sent, which frees their room.
    pub fn sent(&mut self, now_ns: u64, ask: &Ask, asks: &mut Vec<Ask>) {
        let &Ask::Send { bytes, end, .. } = ask else { return };
        self.segments.sent(end - u64::from(bytes), end);
        self.make_room(now_ns);
        self.go_on(now_ns, asks);
    }

    /// Requests the data of writes for which there is room.
    fn admit_writes(&mut self, asks: &mut Vec<Ask>) {
        while let Some(&mut (command, ref mut asked)) = self.incoming.front_mut() {
            let cached = self.spec.write_cache && !command.forced;
            let left = u64::from(command.bytes - *asked);
            let stretch = left.min(self.spec.burst_bytes).min(self.spec.write_buffer_bytes);
            let first = command.first + u64::from(*asked);
            if !self.writes.reserve(first, stretch, cached) {
                break;
            }
            *asked += stretch as u32;
            let last = stretch == left;
            asks.push(Ask::Fetch { id: command.id, first, bytes: stretch as u32, last, cached });
            if last {
                self.incoming.pop_front();
            }
        }
    }

    /// Accepts a read: serves it from the cache, adds it to the current stream, or queues it.
    fn accept_read(&mut self, now_ns: u64, command: &Command, asks: &mut Vec<Ask>) {
        let (first, end) = (command.first, command.first + u64::from(command.bytes));
        let whole =
            |again| Ask::Send { id: command.id, bytes: command.bytes, end, last: true, again };
        if self.writes.holds(first, end) {
            asks.push(whole(false));
        } else if self.on_stream(now_ns, first, end) {
            let next_ns = self.geometry.place(first).stream_ns;
            // In order of address: the byte that passes first is sent first, and makes room for the rest.
            let at = self.reading.partition_point(|reading| reading.next <= first);
            self.reading.insert(at, Reading { id: command.id, next: first, next_ns, end });
            self.make_room(now_ns);
        } else if let Some(again) = self.segments.find(first, end) {
            asks.push(whole(again));
        } else {
            let (id, bytes, place) = (command.id, end - first, self.geometry.place(first));
            let (write, last, since_ns) = (false, true, now_ns);
            self.waiting.push(Waiting { id, write, last, first, bytes, place, since_ns });
        }
    }
}
