//! Simulates a network between the client, where the application runs, and the server that owns the disks.
//!
//! A request costs CPU time at the client, crosses the link, costs CPU time at the server, is served like a
//! local one, and returns the same way. Each direction of the link is a queue of messages. At the server
//! the data crosses the PCI bus a second time, between memory and network card. Chung 2000 (section 9)
//! considers that the cause of the limit of 37.5 MB/s, and the machine charges [`Network::crossing`] bytes
//! for it. A write takes the client two round trips (ask, then send), because the authors saw "more
//! handshaking" on writes. In the results, the client's processors are the host's.
//!
//! Rejected: frames as events (90 per 128 KiB, for the same end), and loss and congestion (the paper's
//! machines are connected by one cable).

use crate::device::{HOST_CPU, component};
use crate::event_queue::EventQueue;
use crate::files::CallCost;
use crate::server::{Processors, Server};
use engine::ComponentSample;
use record::{Nanos, OpKind};

// Assumed, quoted from memory: a full Ethernet frame has 1,460 bytes of TCP payload in 1,538 with headers,
// preamble and gap (IEEE 802.3, RFC 793). An acknowledgement for every second segment is a frame of 64
// bytes plus 20 of preamble and gap (RFC 1122, section 4.2.3.2). A CIFS header has 64 bytes with its
// parameter words and what TCP adds (SNIA CIFS 1.0, sections 2.4 and 4.2).
const FRAME_PAYLOAD_BYTES: u64 = 1_460;
const FRAME_WIRE_BYTES: u64 = 1_538;
const SHORT_FRAME_BYTES: u64 = 84;
const HEADER_BYTES: u64 = 64;
/// A PCI bus that transfers 98.5 MB/s in pieces of 1 MB transfers 83.6 MB/s in smaller ones (Chung, section
/// 3.2, for 64 KB; frames are smaller still).
const LARGE_TRANSFER_RATE: u64 = 985;
const SMALL_TRANSFER_RATE: u64 = 836;

/// A link, and the costs at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// Bytes per second on the wire, each way.
    pub rate_bytes_per_s: u64,
    /// Delay from the last bit sent until the other end sees it: wire, card, interrupt.
    pub hop_ns: u64,
    /// CPU time of a request at the client.
    pub client: CallCost,
    /// CPU time of a request at the server, in addition to that of the file.
    pub server: CallCost,
    /// Processors of the client.
    pub client_processors: u32,
}

impl NetworkSpec {
    /// Gigabit Ethernet between two machines of 2 x 733 MHz (Chung, section 9). A mapped drive costs 563 us
    /// on a machine that is client and server, of which 51 us are for the file. The fixed costs divide the
    /// rest in the ratio of the processor shares of 2 KB reads: 32.2 % at the client, 28 % at the server. At
    /// 128 KB and 37.5 MB/s, 23.4 % and 14 % of two processors are used; the marginal costs are what remains
    /// of that after the fixed costs (and, at the server, after the file's).
    pub const GIGABIT: Self = Self {
        rate_bytes_per_s: 125_000_000,
        hop_ns: 20_000,
        client: CallCost { fixed_ns: 301_000, per_kib_ns: 10_400 },
        server: CallCost { fixed_ns: 211_000, per_kib_ns: 5_000 },
        client_processors: 2,
    };
}

/// The end that a message has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The request is at the server, with all of its data.
    Server,
    /// The reply is with the application.
    Application,
}

/// The next step of a message when its event occurs.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client has prepared the request.
    Made,
    /// The server is asked to accept the data of a write.
    Asked,
    /// The client is asked to send the data.
    Granted,
    CameBack,
    Ends(Reached),
}

#[derive(Clone, Copy, Debug)]
struct Message {
    token: u32,
    op: OpKind,
    bytes: u32,
    step: Step,
}

/// The network stage of a machine. Calls must be in order of time.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) spec: NetworkSpec,
    processors: Processors,
    to_server: Server,
    to_client: Server,
    agenda: EventQueue<Message>,
}

impl Network {
    /// An idle network.
    #[must_use]
    pub fn new(spec: &NetworkSpec) -> Self {
        Self {
            spec: *spec,
            processors: Processors::new(spec.client_processors.max(1)),
            to_server: Server::default(),
            to_client: Server::default(),
            agenda: EventQueue::default(),
        }
    }

    /// Sends a request from the application.
    pub fn send(&mut self, now: Nanos, token: u32, op: OpKind, bytes: u32) {
        let made = self.processors.take(now.0, self.spec.client.ns(bytes) / 2);
        self.agenda.push(Nanos(made), Message { token, op, bytes, step: Step::Made });
    }

    /// Sends the reply to a request that the server has served.
    pub fn reply(&mut self, now: Nanos, token: u32, op: OpKind, bytes: u32) {
        let data = if op == OpKind::Read { u64::from(bytes) } else { 0 };
        let back = self.cross(false, now.0, data);
        self.agenda.push(Nanos(back), Message { token, op, bytes, step: Step::CameBack });
    }

    /// The time of the next event.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.agenda.next_at()
    }

    /// Executes events at or before `until`, up to the first that brings a message to an end. Returns the
    /// time, the token of its request, and which end.
    pub fn step(&mut self, until: Nanos) -> Option<(Nanos, u32, Reached)> {
        loop {
            let (at, message) = self.agenda.pop_until(until)?;
            let Message { token, op, bytes, step } = message;
            let (next_ns, step) = match step {
                Step::Made if op == OpKind::Read => {
                    (self.cross(true, at.0, 0), Step::Ends(Reached::Server))
                }
                Step::Made => (self.cross(true, at.0, 0), Step::Asked),
                Step::Asked => (self.cross(false, at.0, 0), Step::Granted),
                Step::Granted => {
                    (self.cross(true, at.0, u64::from(bytes)), Step::Ends(Reached::Server))
                }
                Step::CameBack => {
                    let cost = self.spec.client.ns(bytes);
                    let taken = self.processors.take(at.0, cost - cost / 2);
                    (taken, Step::Ends(Reached::Application))
                }
                Step::Ends(end) => return Some((at, token, end)),
            };
            self.agenda.push(Nanos(next_ns), Message { step, ..message });
        }
    }

    /// The load of a request on the server's PCI bus between memory and network card, as bytes of a large
    /// transfer: its bytes on the wire and its acknowledgements, moved frame by frame.
    #[must_use]
    pub fn crossing(&self, bytes: u32) -> u64 {
        let wire = wire_bytes(u64::from(bytes));
        let acknowledged = wire + wire / (2 * FRAME_WIRE_BYTES) * SHORT_FRAME_BYTES;
        acknowledged * LARGE_TRANSFER_RATE / SMALL_TRANSFER_RATE
    }

    fn cross(&mut self, to_server: bool, at: u64, bytes: u64) -> u64 {
        let wire = u128::from(wire_bytes(bytes)) * 1_000_000_000;
        let ns = wire.div_ceil(u128::from(self.spec.rate_bytes_per_s.max(1))) as u64;
        let line = if to_server { &mut self.to_server } else { &mut self.to_client };
        line.serve(at, ns) + self.spec.hop_ns
    }

    /// Busy time of its parts since it was created.
    #[must_use]
    pub fn uses(&self) -> [ComponentSample; 3] {
        [
            component(HOST_CPU, self.processors.count, self.processors.busy_ns, &[]),
            component("link to server", 1, self.to_server.busy_ns, &[]),
            component("link to client", 1, self.to_client.busy_ns, &[]),
        ]
    }
}

/// Bytes on the wire for this much data, with headers.
fn wire_bytes(bytes: u64) -> u64 {
    let message = bytes + HEADER_BYTES;
    message + message.div_ceil(FRAME_PAYLOAD_BYTES) * (FRAME_WIRE_BYTES - FRAME_PAYLOAD_BYTES)
}
