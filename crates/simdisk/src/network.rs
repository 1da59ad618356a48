//! A network between the client, where the application runs, and the server that owns the disks.
//!
//! A request costs CPU time at the client, crosses the link, costs CPU time at the
//! server, is served as a local one, and comes back the same way. Each direction of the link is a
//! line in which messages wait. At the server the data crosses the PCI bus a second time, between
//! memory and network card; Chung 2000 (section 9) takes that for the limit of 37.5 MB/s, and the
//! machine charges [`Network::crossing`] bytes for it. A write takes the client two turns (ask,
//! then send), since its authors saw "more handshaking" on writes. The processors of the client are
//! the host's in the results.
//!
//! Rejected: frames as events (90 per 128 KiB, for the same end), and loss and congestion (the
//! paper's machines are joined by one cable).

use crate::device::{HOST_CPU, component};
use crate::event_queue::EventQueue;
use crate::files::CallCost;
use crate::keys::choice;
use crate::server::{Processors, Server};
use engine::ComponentSample;
use record::{Nanos, OpKind};

// Assumed, quoted from memory: a full Ethernet frame has 1,460 bytes of TCP payload in 1,538 with
// headers, preamble and gap (IEEE 802.3, RFC 793); an acknowledgement for every second segment is a
// frame of 64 bytes with 20 of preamble and gap (RFC 1122, section 4.2.3.2); a CIFS header has 64
// bytes with its parameter words and what TCP adds (SNIA CIFS 1.0, sections 2.4 and 4.2).
const FRAME_PAYLOAD_BYTES: u64 = 1_460;
const FRAME_WIRE_BYTES: u64 = 1_538;
const SHORT_FRAME_BYTES: u64 = 84;
const HEADER_BYTES: u64 = 64;
/// A PCI bus that carries 98.5 MB/s in transfers of 1 MB carries 83.6 in smaller ones (Chung,
/// section 3.2, for 64 KB; frames are smaller still).
const LARGE_TRANSFER_RATE: u64 = 985;
const SMALL_TRANSFER_RATE: u64 = 836;

/// A link and the cost of what is at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// Bytes per second on the wire, each way.
    pub rate_bytes_per_s: u64,
    /// From the last bit sent until it is seen at the other end: wire, card, interrupt.
    pub hop_ns: u64,
    /// CPU time of a request at the client.
    pub client: CallCost,
    /// At the server, beside that of the file.
    pub server: CallCost,
    /// Processors of the client.
    pub client_processors: u32,
}

const KNOWN: &[(&str, NetworkSpec)] = &[
    // Gigabit Ethernet between two machines of 2 x 733 MHz (Chung, section 9). Fixed costs share the
    // 563 us that a mapped drive costs on a machine that is client and server, less 51 us for the
    // file, as the processor shares of reads of 2 KB do: 32.2 % at the client, 28 % at the server.
    // Marginal costs are what is left of 23.4 % and 14 % of two processors at 128 KB and 37.5 MB/s
    // after the fixed ones (and, at the server, after the file's).
    (
        "gigabit",
        NetworkSpec {
            rate_bytes_per_s: 125_000_000,
            hop_ns: 20_000,
            client: CallCost { fixed_ns: 301_000, per_kib_ns: 10_400 },
            server: CallCost { fixed_ns: 211_000, per_kib_ns: 5_000 },
            client_processors: 2,
        },
    ),
];

impl NetworkSpec {
    /// The network of this name.
    ///
    /// # Errors
    /// Names those that there are.
    pub fn named(name: &str) -> Result<Self, String> {
        choice(name, KNOWN)
    }
}

/// Which end a message has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The request is at the server, all of its data with it.
    Server,
    /// The reply is with the application.
    Application,
}

/// What a message does when an event of it comes.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client has made the request.
    Made,
    /// The server is asked to take the data of a write.
    Asked,
    /// The client is told to send it.
    Granted,
    /// The reply is at the client.
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

/// The network stage of a machine. Calls come in order of time.
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

    /// A request leaves the application.
    pub fn send(&mut self, now: Nanos, token: u32, op: OpKind, bytes: u32) {
        let made = self.processors.take(now.0, self.spec.client.ns(bytes) / 2);
        self.agenda.push(Nanos(made), Message { token, op, bytes, step: Step::Made });
    }

    /// The server is done with a request.
    pub fn reply(&mut self, now: Nanos, token: u32, op: OpKind, bytes: u32) {
        let data = if op == OpKind::Read { u64::from(bytes) } else { 0 };
        let back = self.cross(false, now.0, data);
        self.agenda.push(Nanos(back), Message { token, op, bytes, step: Step::CameBack });
    }

    /// When something next happens.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.agenda.next_at()
    }

    /// Carries out events at or before `until`, up to the first that brings a message to an end:
    /// when, the token of its request, and which end.
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

    /// What a request is for the server's PCI bus between memory and network card, in bytes of a
    /// large transfer: what is on the wire and its acknowledgements, moved frame by frame.
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

    /// Busy time of its parts since it was made.
    #[must_use]
    pub fn uses(&self) -> [ComponentSample; 3] {
        [
            component(HOST_CPU, self.processors.count, self.processors.busy_ns, &[]),
            component("link to server", 1, self.to_server.busy_ns, &[]),
            component("link to client", 1, self.to_client.busy_ns, &[]),
        ]
    }
}

/// What so much data takes on the wire with its headers.
fn wire_bytes(bytes: u64) -> u64 {
    let message = bytes + HEADER_BYTES;
    message + message.div_ceil(FRAME_PAYLOAD_BYTES) * (FRAME_WIRE_BYTES - FRAME_PAYLOAD_BYTES)
}
