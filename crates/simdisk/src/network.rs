//! A network between the client, where the application runs, and the server that owns the disks.
//!
//! A request costs processor time at the client, crosses the link to the server, costs processor
//! time there, is served as a local one, and comes back the same way. Data goes with the request of
//! a write and with the reply of a read. The link is full duplex: each direction is a line in which
//! messages wait. At the server the data crosses the PCI bus a second time, on its way between
//! memory and network card; Chung 2000 (section 9) takes that for the limit of 37.5 MB/s, and the
//! machine charges [`Network::crossing`] bytes to its bus for it.
//!
//! A write takes the client two turns (ask, then send), since its authors saw "more handshaking"
//! and "much higher bi-directional network traffic" on writes. The application runs at the client,
//! whose processors therefore are the host's in the results.
//!
//! Each line is a moment from which it is free; what happens between two lines is an event, so that
//! messages join a line in the order in which they reach it. Rejected: frames as events (90 per
//! 128 KiB, for the same end), and loss and congestion (the paper's machines are joined by one
//! cable).

use crate::device::HOST_CPU;
use crate::event_queue::EventQueue;
use crate::files::CallCost;
use crate::keys::choice;
use engine::ComponentSample;
use record::{Nanos, OpKind};

/// Assumed, quoted from memory: payload and length on the wire of a full Ethernet frame: 1,460 bytes of TCP payload in 1,538
/// with headers, preamble and gap (IEEE 802.3, RFC 793).
const FRAME_PAYLOAD_BYTES: u64 = 1_460;
const FRAME_WIRE_BYTES: u64 = 1_538;
/// Assumed, too: an acknowledgement is a frame of least length, 64 bytes with 20 of preamble and gap, for every
/// second segment (IEEE 802.3; RFC 1122, section 4.2.3.2).
const SHORT_FRAME_BYTES: u64 = 84;
/// A PCI bus that carries 98.5 MB/s in transfers of 1 MB carries 83.6 in smaller ones (Chung,
/// section 3.2, for 64 KB; frames are smaller still).
const LARGE_TRANSFER_RATE: u64 = 985;
const SMALL_TRANSFER_RATE: u64 = 836;
/// Assumed, too: a CIFS header with its parameter words, and what TCP adds (SNIA CIFS 1.0, sections 2.4 and 4.2).
const HEADER_BYTES: u64 = 64;

/// A link and the cost of what is at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// Bytes per second on the wire, each way.
    pub rate_bytes_per_s: u64,
    /// From the last bit sent until it is seen at the other end: wire, card, interrupt.
    pub hop_ns: u64,
    /// Processor time of a request at the client.
    pub client: CallCost,
    /// At the server, beside that of the file.
    pub server: CallCost,
    /// Processors of the client.
    pub client_processors: u32,
}

/// Networks by name.
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
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        choice(name, KNOWN)
    }
}

/// A resource in which one thing at a time waits its turn.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    free: u64,
    busy_ns: u64,
}

impl Line {
    /// Takes `ns` from `at` on, behind what is before; when it is over.
    fn pass(&mut self, at: u64, ns: u64) -> u64 {
        self.free = self.free.max(at) + ns;
        self.busy_ns += ns;
        self.free
    }
}

/// What a message does when an event of it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has made the request.
    Made,
    /// The server is asked to take the data of a write.
    Asked,
    /// The client is told to send it.
    Granted,
    /// All of it is at the server.
    AtServer,
    /// The reply is at the client.
    CameBack,
    /// The application has it.
    Done,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Message {
    token: u32,
    op: OpKind,
    bytes: u32,
    step: Step,
}

/// Which end a message has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The request is at the server.
    Server,
    /// The reply is with the application.
    Application,
}

/// A message that has reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Of its request.
    pub token: u32,
    /// When.
    pub at: Nanos,
    /// Where.
    pub reached: Reached,
}

/// The network stage of a machine. Calls come in order of time.
#[derive(Clone, Debug)]
pub struct Network {
    spec: NetworkSpec,
    processors: Vec<Line>,
    to_server: Line,
    to_client: Line,
    agenda: EventQueue<Message>,
}

impl Network {
    /// An idle network.
    #[must_use]
    pub fn new(spec: &NetworkSpec) -> Self {
        Self {
            spec: *spec,
            processors: vec![Line::default(); spec.client_processors.max(1) as usize],
            to_server: Line::default(),
            to_client: Line::default(),
            agenda: EventQueue::new(),
        }
    }

    /// A request leaves the application.
    pub fn send(&mut self, now: Nanos, token: u32, op: OpKind, bytes: u32) {
        let made = self.compute(now.0, self.spec.client.ns(bytes) / 2);
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

    /// Carries out every event at or before `until`; appends what has reached its end, in order of
    /// time.
    pub fn advance(&mut self, until: Nanos, delivered: &mut Vec<Delivered>) {
        while let Some((at, message)) = self.agenda.pop_until(until) {
            let Message { token, op, bytes, step } = message;
            let (next_at, next) = match step {
                Step::Made => match op {
                    OpKind::Read => (self.cross(true, at.0, 0), Step::AtServer),
                    OpKind::Write => (self.cross(true, at.0, 0), Step::Asked),
                },
                Step::Asked => (self.cross(false, at.0, 0), Step::Granted),
                Step::Granted => (self.cross(true, at.0, u64::from(bytes)), Step::AtServer),
                Step::CameBack => {
                    let cost = self.spec.client.ns(bytes);
                    (self.compute(at.0, cost - cost / 2), Step::Done)
                }
                Step::AtServer => {
                    delivered.push(Delivered { token, at, reached: Reached::Server });
                    continue;
                }
                Step::Done => {
                    delivered.push(Delivered { token, at, reached: Reached::Application });
                    continue;
                }
            };
            self.agenda.push(Nanos(next_at), Message { step: next, ..message });
        }
    }

    /// Processor time at the server for a request, beside that of the file.
    #[must_use]
    pub fn server_ns(&self, bytes: u32) -> u64 {
        self.spec.server.ns(bytes)
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
        line.pass(at, ns) + self.spec.hop_ns
    }

    fn compute(&mut self, at: u64, ns: u64) -> u64 {
        match self.processors.iter_mut().min_by_key(|processor| processor.free) {
            Some(processor) => processor.pass(at, ns),
            None => at + ns,
        }
    }

    /// Busy time of its parts since it was made, appended.
    pub fn uses(&self, uses: &mut Vec<ComponentSample>) {
        let client: u64 = self.processors.iter().map(|processor| processor.busy_ns).sum();
        let mut add = |name: &str, units: u32, busy_ns| {
            let name = name.to_owned();
            uses.push(ComponentSample { name, units, busy_ns, phases: Vec::new() });
        };
        add(HOST_CPU, self.processors.len() as u32, client);
        add("link to server", 1, self.to_server.busy_ns);
        add("link to client", 1, self.to_client.busy_ns);
    }
}

/// What so much data takes on the wire with its headers.
fn wire_bytes(bytes: u64) -> u64 {
    let message = bytes + HEADER_BYTES;
    message + message.div_ceil(FRAME_PAYLOAD_BYTES) * (FRAME_WIRE_BYTES - FRAME_PAYLOAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gigabit() -> Network {
        Network::new(&NetworkSpec::named("gigabit").unwrap())
    }

    /// Runs all events; the time at which each message reached its end, by token.
    fn run(network: &mut Network, tokens: usize) -> Vec<u64> {
        let mut delivered = Vec::new();
        network.advance(Nanos(u64::MAX), &mut delivered);
        let mut times = vec![0; tokens];
        for message in delivered {
            times[message.token as usize] = message.at.0;
        }
        times
    }

    #[test]
    fn a_stream_of_large_replies_fills_the_link_but_for_the_headers() {
        let mut network = gigabit();
        for token in 0..100 {
            network.reply(Nanos(0), token, OpKind::Read, 128 << 10);
        }
        let last = *run(&mut network, 100).iter().max().unwrap();
        let mut uses = Vec::new();
        network.uses(&mut uses);
        let wire_ns = uses[2].busy_ns;
        let rate = 100.0 * 131_072.0 / wire_ns as f64;
        // 1460 of 1538 bytes are payload.
        assert!((0.1170..0.1188).contains(&rate), "{rate} bytes per ns");
        assert!(last > wire_ns, "the last one still costs the client processor time");
    }

    #[test]
    fn the_two_directions_do_not_wait_for_each_other_and_messages_of_one_direction_do() {
        let reply_beside = |writes: u32, replies: u32| {
            let mut network = gigabit();
            for token in 0..writes {
                network.send(Nanos(0), token, OpKind::Write, 1 << 20);
            }
            let mut delivered = Vec::new();
            // The data of the first write is on the link.
            network.advance(Nanos(10_000_000), &mut delivered);
            for token in 0..replies {
                network.reply(Nanos(10_000_000), writes + token, OpKind::Read, 64 << 10);
            }
            let last = (writes + replies) as usize;
            run(&mut network, last)[last - 1]
        };
        let alone = reply_beside(0, 1);
        assert_eq!(reply_beside(1, 1), alone);
        assert!(reply_beside(0, 2) >= alone + 500_000);
    }

    #[test]
    fn a_write_takes_one_turn_more_than_a_read() {
        let round = |op| {
            let mut network = gigabit();
            network.send(Nanos(0), 0, op, 4_096);
            let there = run(&mut network, 1)[0];
            network.reply(Nanos(there), 0, op, 4_096);
            run(&mut network, 1)[0]
        };
        let more = round(OpKind::Write) - round(OpKind::Read);
        let turn = 2 * 20_000 + 2 * wire_bytes(0) * 8;
        assert_eq!(more, turn);
    }

    #[test]
    fn a_request_does_not_wait_for_a_reply_that_is_still_on_the_link() {
        let mut network = gigabit();
        network.reply(Nanos(0), 0, OpKind::Read, 8 << 20);
        network.reply(Nanos(0), 1, OpKind::Read, 8 << 20);
        network.send(Nanos(1_000), 2, OpKind::Read, 4_096);
        let half = NetworkSpec::named("gigabit").unwrap().client.ns(4_096) / 2;
        assert_eq!(run(&mut network, 3)[2], 1_000 + half + 20_000 + wire_bytes(0) * 8);
    }
}
